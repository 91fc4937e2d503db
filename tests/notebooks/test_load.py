"""Several kernels at once show what one shows, in any home."""

import lab
import load
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output


def test_what_a_kernel_shows_otherwise_is_said(tmp_path):
    stream = new_output("stream", name="stdout", text="here\n")
    sources = ("print('here')", "import os\nprint(os.environ['HOME'])")
    nbformat.write(
        new_notebook(cells=[new_code_cell(source, outputs=[stream]) for source in sources]),
        tmp_path / "a.ipynb",
    )
    outcome = load.at_once(tmp_path / "a.ipynb", 2)
    assert len(outcome.seconds) == 2 and outcome.bytes_held > 1e6
    assert [line.partition(":")[0] for line in outcome.different] == ["cell 1, under “”"] * 2


@pytest.mark.ci
def test_three_kernels_at_once_in_a_home_that_cannot_be_written(monkeypatch, tmp_path):
    """As in `make lab`, which keeps what Jupyter and IPython write out of the home."""
    for name, value in (lab.environment(tmp_path) | {"HOME": "/proc"}).items():
        monkeypatch.setenv(name, value)
    outcome = load.at_once(load.LESSON, 3)
    assert outcome.different == ()
    assert outcome.bytes_held < 3 * 600e6
