"""What the walk's notebooks show is the same elsewhere: other kernels, threads, seeds, folders, fonts."""

from pathlib import Path

import cells
import pytest
import steady

WALK = sorted((Path(steady.ROOT) / "notebooks").glob("0[0-7]*.ipynb"))


@pytest.mark.ci
@pytest.mark.parametrize("surroundings", steady.SURROUNDINGS, ids=lambda each: each.name)
def test_the_walk_shows_the_same(surroundings):
    assert WALK
    assert steady.differences(surroundings, WALK) == []


def test_what_differs_is_said(tmp_path, monkeypatch):
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook, new_output

    stream = new_output("stream", name="stdout", text="1\n")
    cell = new_code_cell("n = globals().get('n', 0) + 1\nprint(n)", outputs=[stream])
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "count.ipynb")
    assert cells.in_fork(lambda: cells.run(tmp_path / "count.ipynb")).difference == ""
    twice = steady.Surroundings("twice", options=("--each-twice",))
    (line,) = steady.differences(twice, [tmp_path / "count.ipynb"])
    assert "expected “1”, got “2”" in line
