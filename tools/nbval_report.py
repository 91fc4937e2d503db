"""A pytest plugin (-p tools.nbval_report): what nbval found, in a line that says where to look.

The line names the notebook, the heading above the cell, what was expected and what came;
nbval's own report follows it.
"""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from outputs import differences, headings, shown  # noqa: E402  (a plugin is found before pytest sets paths)

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
