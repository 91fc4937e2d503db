"""Refreshing a notebook: runs it, cleans it, keeps what a person wrote, and nbval agrees."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import refresh
from hygiene import LIVE_MODEL, faults
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

WIDGET = """import ipywidgets

class Picture(ipywidgets.Button):
    def __repr__(self):
        return "Picture()"
    def _repr_mimebundle_(self, **kwargs):
        return super()._repr_mimebundle_(**kwargs) | {"text/html": "<p>a still picture</p>"}

Picture()"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A notebook as an editor leaves it, refreshed once: (path, what it was before)."""
    path = tmp_path_factory.mktemp("books") / "00_one.ipynb"
    cells = [
        new_markdown_cell("# One\n\nAda's note:   two blanks at the end  "),
        new_code_cell(WIDGET, metadata={"execution": {"iopub.status.busy": "x"}, "tags": ["keep"]}),
        new_code_cell("for i in range(3):\n    print(i, flush=True)\n", metadata={"scrolled": True}),
        new_code_cell("import os\nos.environ['OMP_NUM_THREADS']"),
    ]
    metadata = {"widgets": {}, "language_info": {"name": "python", "version": "2"}}
    before = new_notebook(cells=cells, metadata=metadata)
    nbformat.write(before, path)
    os.environ["OMP_NUM_THREADS"] = "1"
    assert refresh.refresh(path).trouble == ""
    return path, before


def test_sources_and_ids_stay(book):
    path, before = book
    after = nbformat.read(path, as_version=4)
    assert [(c.id, c.source, c.cell_type) for c in after.cells] == [
        (c.id, c.source, c.cell_type) for c in before.cells
    ]


def test_what_is_left_is_clean(book):
    after = nbformat.read(book[0], as_version=4)
    assert faults(after) == []
    assert after.cells[1].outputs[0].data == {
        "text/plain": "Picture()",
        "text/html": "<p>a still picture</p>",
    }
    assert after.cells[1].metadata == {"tags": ["keep"], "slideshow": {"slide_type": "-"}}
    assert after.cells[0].metadata == {"slideshow": {"slide_type": "slide"}}
    assert [o.text for o in after.cells[2].outputs] == ["0\n1\n2\n"]
    assert after.metadata.language_info == {"name": "python"}
    assert LIVE_MODEL not in book[0].read_text()


def test_a_second_run_changes_no_byte(book):
    before = book[0].read_bytes()
    assert refresh.refresh(book[0]) == refresh.Refreshed(book[0])
    assert book[0].read_bytes() == before


def test_strict_nbval_passes_it_and_fails_an_edited_one(book, tmp_path):
    notebook = nbformat.read(book[0], as_version=4)
    nbformat.write(notebook, tmp_path / "same.ipynb")
    notebook.cells[1].outputs[0].data["text/html"] = "<p>another picture</p>"
    nbformat.write(notebook, tmp_path / "edited.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "--nbval", "--nbval-current-env"]
    command += [f"-pno:{name}" for name in ("cacheprovider", "hypothesispytest", "xdist", "anyio")]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert run.returncode == 1, run.stdout
    assert "1 failed, 5 passed" in run.stdout
    assert "edited.ipynb::Cell 0" in run.stdout


def one_cell(tmp_path, source):
    path = tmp_path / "one.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("x = 1"), new_code_cell(source)]), path)
    return path, path.read_bytes()


def test_a_notebook_that_raises_is_left_and_named(tmp_path):
    path, before = one_cell(tmp_path, "x / 0")
    assert refresh.refresh(path).trouble == "cell 1 raised ZeroDivisionError: division by zero"
    assert path.read_bytes() == before


def test_work_that_is_saved_meanwhile_is_not_overwritten(tmp_path):
    source = "from pathlib import Path\nfile = Path('one.ipynb')\nfile.write_text(file.read_text() + ' ')\n1"
    path, before = one_cell(tmp_path, source)
    assert "saved while it ran" in refresh.refresh(path).trouble
    assert path.read_bytes() == before + b" "


def test_a_full_disk_takes_nothing_away(tmp_path, monkeypatch):
    path, before = one_cell(tmp_path, "1 + 1")

    def full(notebook, file):
        Path(file).write_text("half of i")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(refresh.nbformat, "write", full)
    assert "No space left on device" in refresh.refresh(path).trouble
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["one.ipynb"]


def test_the_command_says_which_failed_and_goes_on(tmp_path, capsys):
    bad, _ = one_cell(tmp_path, "x / 0")
    fine = tmp_path / "fine.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 + 1")]), fine)
    assert refresh.main([str(bad), str(fine)]) == 1
    said = capsys.readouterr()
    assert "cell 1 raised" in said.err and "1 of 2 notebooks are fresh" in said.out
    assert json.loads(fine.read_text())["cells"][0]["outputs"]
    assert refresh.main([str(tmp_path / "absent.ipynb")]) == 1


def test_the_collection_is_found_without_a_learners_own(tmp_path):
    names = ("01_a.ipynb", "solutions/01_a_solutions.ipynb", "mine/01_a.ipynb", ".ipynb_checkpoints/x.ipynb")
    for name in names:
        file = tmp_path / "notebooks" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert [p.name for p in refresh.notebooks(tmp_path)] == ["01_a.ipynb", "01_a_solutions.ipynb"]
