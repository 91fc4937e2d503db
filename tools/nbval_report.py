"""A pytest plugin (-p tools.nbval_report): what nbval found, in a line that says where to look.

The line names the notebook, the heading above the cell, what was expected and what came;
nbval's own report follows it. The kernels are warm ones, where a process can be forked.
"""

import os
import re
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from outputs import differences, headings, shown  # noqa: E402  (a plugin is found before pytest sets paths)
from warm_kernels import warm_kernels  # noqa: E402

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FAILED_AT = re.compile(r"^-+> *\d+ +(.*)$", re.M)  # the line that IPython's traceback points at


def what_happened(item, error: BaseException) -> str:
    """Say in one line where a cell stands, and what it shows now instead of what is committed."""
    cells = item.parent.nb.cells
    place = next(i for i, cell in enumerate(cells) if cell is item.cell)
    where = f"{Path(item.fspath).name}, under “{headings(cells)[place]}”, cell {place}"
    new = item.test_outputs or []
    raised = next((output for output in new if output.output_type == "error"), None)
    if raised is not None:
        return f"{where}: raises {raised.ename}{_why(raised)}"
    lines = list(differences(shown(item.cell.outputs), shown(new)))
    return f"{where}: {lines[0] if lines else str(error)}"


def _why(raised) -> str:
    """What an error says, or, as most assertions say nothing, the line that raised it."""
    message = COLOUR.sub("", str(raised.evalue)).strip().splitlines()
    if message:
        return f": {message[0]}"
    line = FAILED_AT.search(COLOUR.sub("", "\n".join(raised.get("traceback", []))))
    return f" at: {line[1]}" if line else ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and call.excinfo is not None and type(item).__name__ == "IPyNbCell":
        line = what_happened(item, call.excinfo.value)
        report.longrepr = f"{line}\n\n{COLOUR.sub('', str(report.longrepr))}"
    return report


class WarmKernels:
    """Starts the process whose forks the kernels are with the first notebook, and ends it with the last."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.data = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):
        if type(item).__name__ != "IPyNbCell":
            return (yield)
        if not self.data:
            self.data = self.stack.enter_context(tempfile.TemporaryDirectory())
            self.stack.enter_context(warm_kernels(Path(self.data)))
            item.config.option.nbval_current_env = False  # that would start a cold kernel
        before = os.environ.get("JUPYTER_PATH")
        os.environ["JUPYTER_PATH"] = self.data  # here a kernel is started
        try:
            return (yield)
        finally:
            os.environ.pop("JUPYTER_PATH")
            if before is not None:
                os.environ["JUPYTER_PATH"] = before

    def pytest_sessionfinish(self):
        self.stack.close()


def pytest_configure(config):
    if config.getoption("nbval_current_env", False) and hasattr(os, "fork"):
        config.pluginmanager.register(WarmKernels())
