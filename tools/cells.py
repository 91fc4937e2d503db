"""Run a notebook's cells in this process, and compare what they show with what is committed.

A kernel for each of a thousand runs would cost an hour; here the packages are imported once,
and each run happens in a fork of that process.
"""

import io
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


def run(notebook: Path) -> Outcome:
    """Run the cells in order up to the first that shows something else. Call it in a fork."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    os.chdir(notebook.parent)
    cells = nbformat.read(notebook, as_version=4).cells
    under = headings(cells)
    for place, cell in enumerate(cells):
        if cell.cell_type == "code":
            lines = list(differences(shown(cell.outputs), shown(_outputs(shell, cell.source))))
            if lines:
                return Outcome(
                    f"{notebook.name}, under “{under[place]}”, cell {place}: {lines[0]}", _loaded()
                )
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


def in_fork(task: Callable[[], Any], seconds: int = SECONDS) -> Any:
    """Run a task in a fork of this process and return its result; "too long" or what ended it otherwise."""
    import pickle

    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.alarm(seconds)
        try:
            answer = task()
        except BaseException:
            answer = Outcome("the run itself fell over: " + traceback.format_exc(limit=-1).splitlines()[-1])
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(answer) if answer else Outcome(f"no answer within {seconds} seconds")
