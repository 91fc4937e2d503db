"""A cell shows the same whenever it is run: each notebook once down, and then once from the last cell up.

ageron/handson-ml2 PR 41: a name that two cells bind to different things, a tensor changed in place,
or a generator that goes on where it stopped shows other numbers to whoever runs a cell again.
"""

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from refresh import ROOT, notebooks

TEXTS = ("text/plain", "text/html", "text/markdown", "image/svg+xml")


@pytest.fixture
def shell():
    """An IPython without a kernel: no start-up to wait for, and the library is loaded once for all."""
    shell = InteractiveShell.instance()
    shell.reset()
    yield shell
    shell.reset()
    InteractiveShell.clear_instance()


def shown(shell, source: str) -> list:
    """Run a cell and return what a reader sees of it as text."""
    with capture_output() as captured:
        result = shell.run_cell(source)
    result.raise_error()
    data = [output.data for output in captured.outputs]
    return [captured.stdout, *({mime: part.get(mime) for mime in TEXTS} for part in data)]


def changed_when_run_again(shell, sources: list[str]) -> list[str]:
    """Run every cell, then each again from the last to the first; return those that show other things."""
    first = [shown(shell, source) for source in sources]
    again = [shown(shell, source) for source in reversed(sources)]
    return [s for s, a, b in zip(sources, first, reversed(again), strict=True) if a != b]


# The labs train and measure, and the gallery shows a thousand answers: minutes when each cell runs twice.
LONG = ("08", "09", "10", "11", "answers", "controls", "layers", "moves", "pictures")
PATHS = [
    pytest.param(path, marks=[pytest.mark.ci] * path.name.startswith(LONG), id=str(path.relative_to(ROOT)))
    for path in notebooks()
]


@pytest.mark.parametrize("path", PATHS)
def test_any_cell_can_be_run_again(path, shell, monkeypatch):
    monkeypatch.chdir(path.parent)
    cells = nbformat.read(path, as_version=4).cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    assert changed_when_run_again(shell, sources) == []


@pytest.mark.parametrize(
    ("sources", "caught"),
    [
        (["x = 1", "print(x)", "x = 2"], ["print(x)"]),
        (["x = 1", "x", "x = 2"], ["x"]),
        (["x = [0]", "x.append(1)\nprint(x)"], ["x.append(1)\nprint(x)"]),
        (["import random; r = random.Random(0)", "print(r.random())"], ["print(r.random())"]),
        (["import random", "r = random.Random(0)\nprint(r.random())"], []),
    ],
)
def test_the_run_upwards_notices(sources, caught, shell):
    assert changed_when_run_again(shell, sources) == caught
