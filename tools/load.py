"""A class at once: many kernels on one notebook, and what each of them shows, how long it took, what it held.

    python tools/load.py                                  ten kernels with notebook 03
    python tools/load.py --kernels 4 notebooks/09_….ipynb
    python tools/load.py --home /proc                     with a home in which nothing can be written

Prints the time until the first and the last had finished, the most memory that all kernels held
together, and a line for each that shows anything but what is committed.
"""

import argparse
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import lab
import nbformat
import psutil
from nbclient import NotebookClient
from outputs import differences, headings, shown

ROOT = Path(__file__).resolve().parents[1]
LESSON = ROOT / "notebooks" / "03_split_heads_reshape_then_permute.ipynb"


@dataclass(frozen=True)
class Load:
    """What came of it: seconds until each had finished, bytes that all held at most, what differed."""

    seconds: tuple[float, ...]
    bytes_held: int
    different: tuple[str, ...]


def one(path: Path, start: float) -> tuple[float, list[str]]:
    """Run one notebook in a kernel of its own; return when it had finished, and what differs."""
    committed = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    NotebookClient(
        fresh, kernel_name="python3", timeout=600, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    under = headings(fresh.cells)
    lines = [
        f"cell {place}, under “{under[place]}”: {line}"
        for place, (old, new) in enumerate(zip(committed.cells, fresh.cells, strict=True))
        if new.cell_type == "code"
        for line in differences(shown(old.outputs), shown(new.outputs))
    ]
    return time.monotonic() - start, lines


def _watch_memory(most: list[int], done: threading.Event) -> None:
    while not done.wait(0.2):
        held = 0
        for process in psutil.Process().children(recursive=True):
            try:
                held += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        most[0] = max(most[0], held)


def at_once(path: Path, kernels: int) -> Load:
    """Run a notebook in so many kernels at the same time."""
    most, done = [0], threading.Event()
    watching = threading.Thread(target=_watch_memory, args=(most, done))
    watching.start()
    start = time.monotonic()
    try:
        with ThreadPoolExecutor(kernels) as pool:
            ended = list(pool.map(lambda _: one(path, start), range(kernels)))
    finally:
        done.set()
        watching.join()
    different = tuple(line for _, lines in ended for line in lines)
    return Load(tuple(sorted(seconds for seconds, _ in ended)), most[0], different)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebook", nargs="?", type=Path, default=LESSON)
    parser.add_argument("--kernels", type=int, default=10)
    parser.add_argument("--home", help="another home, as one that cannot be written")
    options = parser.parse_args(arguments)
    if options.home:
        os.environ.update(lab.environment() | {"HOME": options.home})  # the folders that `make lab` gives
    load = at_once(options.notebook.resolve(), options.kernels)
    print(f"{options.kernels} kernels: the first had finished after {load.seconds[0]:.0f} s, ", end="")
    print(f"the last after {load.seconds[-1]:.0f} s, holding at most {load.bytes_held / 1e9:.2f} GB")
    counted = Counter(load.different).items()  # most kernels that differ do so in the same places
    lines = [f"{line} ({kernels} kernels)" for line, kernels in counted]
    print(*lines or ["each shows what is committed"], sep="\n")
    return int(bool(load.different))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
