"""Run a notebook's cells in this process, and compare what they show with what is committed.

    python tools/cells.py [--each-twice] [--no-fonts] notebooks/03_….ipynb …

--each-twice runs each cell a second time, right after the first; --no-fonts does as if there
were no font but matplotlib's own. The first line that differs is printed, a line a notebook.

A kernel for each of a thousand runs would cost an hour; here the packages are imported once,
and each run happens in a fork of that process.
"""

import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from outputs import differences, headings, shown

PACKAGES = (
    "torch",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "ipywidgets",
    "anywidget",
    "einops",
)
SECONDS = 120


@dataclass(frozen=True)
class Outcome:
    """How a run ended: "" if it showed what is committed, else the first line that differs."""

    difference: str
    modules: frozenset[str] = frozenset()  # of mha_lib, that were loaded


def warm() -> None:
    """Import what every notebook needs, but not mha_lib, so that a fork has it for nothing."""
    import importlib

    for package in PACKAGES:
        importlib.import_module(package)
    sys.modules["torch"].set_num_threads(1)


class Notebook:
    """A notebook in this process: its cells can be run from any place on. Make it in a fork."""

    def __init__(self, path: Path) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        self.path = path
        self.shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        self.cells = nbformat.read(path, as_version=4).cells
        self.under = headings(self.cells)
        os.chdir(path.parent)

    def difference(self, place: int) -> str:
        """Run one cell, and say in a line what it shows otherwise than is committed, "" for nothing."""
        cell = self.cells[place]
        if cell.cell_type != "code":
            return ""
        lines = list(differences(shown(cell.outputs), shown(_outputs(self.shell, cell.source))))
        where = f"{self.path.name}, under “{self.under[place]}”, cell {place}"
        return f"{where}: {lines[0]}" if lines else ""


def run(notebook: Path, each_twice: bool = False) -> Outcome:
    """Run the cells in order up to the first that shows something else. Call it in a fork."""
    book = Notebook(notebook)
    for place in range(len(book.cells)):
        for _ in range(1 + each_twice):
            if difference := book.difference(place):
                return Outcome(difference, _loaded())
    return Outcome("", _loaded())


def _loaded() -> frozenset[str]:
    return frozenset(name for name in sys.modules if name.split(".")[0] == "mha_lib")


def _outputs(shell: Any, source: str) -> list[dict[str, Any]]:
    """Run one cell as a kernel does, and return what it shows as a notebook keeps it."""
    from IPython.core.displayhook import CapturingDisplayHook
    from IPython.core.displaypub import CapturingDisplayPublisher

    outputs: list[dict[str, Any]] = []
    shell.display_pub = CapturingDisplayPublisher()
    shell.display_pub.outputs = outputs
    shell.display_trap.hook = CapturingDisplayHook(shell=shell, outputs=outputs)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        result = shell.run_cell(source, store_history=True)
    shown_now = [{"output_type": "display_data", "data": output["data"]} for output in outputs]
    error = result.error_in_exec or result.error_before_exec
    if error is not None:
        return [{"output_type": "error", "ename": type(error).__name__, "evalue": str(error)[:200]}]
    for name, stream in (("stdout", out), ("stderr", err)):
        if stream.getvalue():
            shown_now.append({"output_type": "stream", "name": name, "text": stream.getvalue()})
    return shown_now


def in_fork(task: Callable[[], Outcome], seconds: int = SECONDS) -> Outcome:
    """Run a task in a fork of this process and return how it ended."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.alarm(seconds)
        try:
            outcome = task()
        except BaseException:
            outcome = Outcome("the run itself fell over: " + traceback.format_exc(limit=-1).splitlines()[-1])
        with os.fdopen(write, "w") as pipe:
            json.dump([outcome.difference, sorted(outcome.modules)], pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if not answer:
        late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        return Outcome(f"no answer within {seconds} seconds" if late else f"the process ended with {status}")
    difference, modules = json.loads(answer)
    return Outcome(difference, frozenset(modules))


def _without_fonts() -> None:
    from mha_lib.look import fonts

    fonts.OTHERS = ()


def main(arguments: list[str]) -> int:
    paths = [Path(name).resolve() for name in arguments if not name.startswith("--")]
    warm()
    lines = []
    for path in paths:

        def task(path: Path = path) -> Outcome:
            if "--no-fonts" in arguments:
                _without_fonts()
            return run(path, "--each-twice" in arguments)

        lines += filter(None, [in_fork(task, seconds=5 * SECONDS).difference])  # beside busy processes, too
    print(*lines, sep="\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
