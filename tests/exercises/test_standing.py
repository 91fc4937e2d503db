"""A learner's standing: noted beside the own copies, and nowhere else."""

import json
import os
from pathlib import Path

import mine
import pytest

import mha_lib as mha
from mha_lib.exercises.standing import STANDING
from mha_lib.text import read

ROOT = Path(mha.__file__).parents[1]


@pytest.fixture
def own_copies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / STANDING).write_text("{}")
    return tmp_path / STANDING


def test_what_was_right_is_noted_and_stays_so(own_copies):
    assert mha.progress().done == 0
    mha.check("one_head.score", 5)
    assert mha.progress().done == 0
    mha.check("one_head.score", 3)
    mha.check("one_head.score", 5)  # a later try that fails takes nothing away
    mha.check("merging.columns", (6, 9))
    standing = mha.progress()
    assert standing.done == 2 and standing.notebooks["01 One head by hand"]["one_head.score"]
    assert json.loads(own_copies.read_text()) == {"one_head.score": True, "merging.columns": True}
    said = repr(standing)
    assert "01 One head by hand: 1 of 4" in said and "✓ one_head.score" in said and "○ one_head.mend" in said
    assert "In all: 2 of 39" in said


def test_away_from_the_own_copies_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mha.check("one_head.score", 3)
    assert not os.listdir(tmp_path) and not mha.progress().kept and "notebooks/mine" in repr(mha.progress())


def test_a_file_that_cannot_be_read_begins_anew(own_copies):
    own_copies.write_text("no json")
    assert mha.progress().done == 0
    assert mha.check("one_head.score", 3) and mha.progress().done == 1


def test_the_committed_notebooks_keep_no_standing():
    assert mine.STANDING == STANDING
    assert not list((ROOT / "notebooks").glob(STANDING)) and not list(
        (ROOT / "notebooks" / "solutions").glob(STANDING)
    )


def test_the_notebooks_have_the_exercises_that_progress_names():
    told = read("learning")["notebooks"]
    lessons = [path for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")) if path.name[:2] != "00"]
    for (title, names), path in zip(told.items(), lessons, strict=True):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        assert title[:2] == path.name[:2]
        assert [name for name in names if f'mha.check("{name}"' in code] == names
        assert code.count("mha.check(") == len(names)
