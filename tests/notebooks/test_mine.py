"""The learner's own copies: without outputs at first, never overwritten, new versions beside them."""

import json
import subprocess
import sys
from pathlib import Path

import mine
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output


def publish(root: Path, text: str, name: str = "01_a.ipynb") -> None:
    shown = [new_output("stream", text="the answer")]
    notebook = new_notebook(cells=[new_markdown_cell(text), new_code_cell("my = ...", outputs=shown)])
    path = root / "notebooks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def own(root: Path, name: str = "01_a.ipynb") -> Path:
    return root / "notebooks" / "mine" / name


def answer(root: Path, text: str, name: str = "01_a.ipynb") -> str:
    """Type an answer, run it, save; return what the file then holds."""
    notebook = nbformat.read(own(root, name), as_version=4)
    notebook.cells[1].source = text
    notebook.cells[1].outputs = [new_output("stream", text="mine")]
    nbformat.write(notebook, own(root, name))
    return own(root, name).read_text()


@pytest.fixture
def root(tmp_path):
    publish(tmp_path, "first edition")
    publish(tmp_path, "solution", "solutions/01_a_solutions.ipynb")
    for name in ("images/a.png", "rise.css"):
        (tmp_path / "notebooks" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "notebooks" / name).write_text("as published")
    return tmp_path


def test_the_first_copies_have_no_outputs_and_all_that_their_links_lead_to(root):
    arrived = mine.copy_to_mine(root)
    assert arrived.new == ["01_a.ipynb", "01_a_solutions.ipynb"] and not arrived.beside
    copy = nbformat.read(own(root), as_version=4)
    nbformat.validate(copy)
    assert copy.cells[0].source == "first edition" and copy.cells[1].outputs == []
    assert own(root, "images/a.png").is_file() and own(root, "rise.css").is_file()
    assert json.loads(own(root, mine.STANDING).read_text()) == {}


def test_nothing_new_says_nothing_and_touches_nothing(root):
    mine.copy_to_mine(root)
    written, stamp = answer(root, "my = 3"), own(root).stat().st_mtime_ns
    assert str(mine.copy_to_mine(root)) == ""
    assert own(root).read_text() == written and own(root).stat().st_mtime_ns == stamp


def test_a_new_version_comes_beside_what_was_typed_once(root):
    mine.copy_to_mine(root)
    written = answer(root, "my = 3")
    publish(root, "second edition")
    arrived = mine.copy_to_mine(root)
    assert own(root).read_text() == written
    assert arrived.beside == ["01_a.new.ipynb"] and "01_a.new.ipynb" in str(arrived)
    assert "second edition" in own(root, "01_a.new.ipynb").read_text()
    assert str(mine.copy_to_mine(root)) == ""
    publish(root, "third edition")  # nobody has typed in the second: the third takes its place
    assert mine.copy_to_mine(root).beside == ["01_a.new.ipynb"]
    also = answer(root, "my = 4", "01_a.new.ipynb")
    publish(root, "fourth edition")
    assert mine.copy_to_mine(root).beside == ["01_a.new2.ipynb"]
    assert own(root).read_text() == written and own(root, "01_a.new.ipynb").read_text() == also


def test_a_copy_that_was_only_run_is_renewed_in_its_place(root):
    mine.copy_to_mine(root)
    answer(root, "my = ...")  # outputs are not typed
    publish(root, "second edition")
    assert mine.copy_to_mine(root).new == ["01_a.ipynb"]
    assert "second edition" in own(root).read_text() and not own(root, "01_a.new.ipynb").exists()


def test_copies_of_before_there_was_a_record_are_kept(root):
    mine.copy_to_mine(root)
    written = answer(root, "my = 3")
    own(root, mine.RECORD).unlink()
    assert mine.copy_to_mine(root).beside == ["01_a.new.ipynb"]
    own(root).write_text("no notebook any more")
    publish(root, "second edition")
    mine.copy_to_mine(root)
    assert own(root).read_text() == "no notebook any more" != written


def test_a_notebook_that_was_thrown_away_comes_again(root):
    mine.copy_to_mine(root)
    own(root).unlink()
    assert mine.copy_to_mine(root).new == ["01_a.ipynb"]


def test_the_standing_survives(root):
    mine.copy_to_mine(root)
    own(root, mine.STANDING).write_text('{"one_head.score": true}')
    mine.copy_to_mine(root)
    assert own(root, mine.STANDING).read_text() == '{"one_head.score": true}'


def test_where_nothing_can_be_written_one_line_says_what_to_do(root):
    script = root / "tools" / "mine.py"
    script.parent.mkdir()
    script.write_text(Path(mine.__file__).read_text("utf-8"), "utf-8")
    (root / "notebooks" / "mine").write_text("in the way")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "copy this folder" in done.stderr
