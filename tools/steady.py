"""Do the notebooks show the same elsewhere, and again and again under load?

    python tools/steady.py               each notebook in each of the surroundings below
    python tools/steady.py --times 50    those that train or measure, so often, beside two busy processes

Prints a line for each surrounding or round: the time it took, and what differed. What depends on
the machine's speed or on training is in 08 to 11.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "a folder 带空格"  # blanks and Chinese in its name


@dataclass(frozen=True)
class Surroundings:
    """Where and how notebooks run: variables, options of cells.py, the folder, busy processes beside."""

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    elsewhere: bool = False
    busy: int = 0


SURROUNDINGS = (
    Surroundings("plain kernels", {"ATEN_CPU_CAPABILITY": "default"}),
    Surroundings("avx2", {"ATEN_CPU_CAPABILITY": "avx2"}),
    Surroundings("two threads", {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}),
    Surroundings("another hash seed", {"PYTHONHASHSEED": "4711"}),
    Surroundings("another folder", elsewhere=True),
    Surroundings("a Chinese locale", {"LC_ALL": "zh_CN.UTF-8", "LANG": "zh_CN.UTF-8"}),
    Surroundings("no Chinese font", options=("--no-fonts",)),
    Surroundings("each cell twice", options=("--each-twice",)),
    Surroundings("both cores busy", busy=2),
)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep so many cores busy."""
    # They end with this process, however it ends.
    spin = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    spinning = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def differences(surroundings: Surroundings, notebooks: Sequence[Path]) -> list[str]:
    """Run notebooks in their surroundings; return a line for each that shows something else."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **surroundings.variables}
    with tempfile.TemporaryDirectory() as scratch, busy(surroundings.busy):
        paths = list(notebooks)
        if surroundings.elsewhere:
            copy = Path(scratch, FOLDER, "notebooks")
            shutil.copytree(ROOT / "notebooks", copy, ignore=shutil.ignore_patterns("mine", ".*"))
            paths = [copy / path.relative_to(ROOT / "notebooks") for path in paths]
        command = [sys.executable, str(ROOT / "tools" / "cells.py"), *surroundings.options, *map(str, paths)]
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line]
    return lines or ([done.stderr.strip()[-300:]] if done.returncode else [])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=0)
    times = parser.parse_args(arguments).times
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    rounds: list[Surroundings] = list(SURROUNDINGS)
    if times:
        notebooks = [path for path in notebooks if path.name[:2] in ("08", "09", "10", "11")]
        rounds = [Surroundings(f"round {number + 1}", busy=2) for number in range(times)]
    flipped = 0
    for surroundings in rounds:
        start = time.monotonic()
        lines = differences(surroundings, notebooks)
        flipped += bool(lines)
        print(
            f"{surroundings.name}: {time.monotonic() - start:.0f} s, {'; '.join(lines) or 'the same'}",
            flush=True,
        )
    print(f"{len(rounds) - flipped} of {len(rounds)} showed what is committed")
    return int(bool(flipped))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
