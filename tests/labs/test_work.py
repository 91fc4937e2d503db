"""One thread while the labs work, as many as before afterwards; progress ends in one fixed line."""

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from mha_lib.labs import training
from mha_lib.labs.work import one_thread, progress


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_threads_come_back_after_an_error_too(three_threads):
    with pytest.raises(KeyError), one_thread():
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == 3


def test_every_lab_works_on_one_thread_and_leaves_the_users_alone(three_threads):
    seen = []

    class Spy(training.nn.Module):
        def forward(self, queries, keys, values, attn_mask=None):
            seen.append(torch.get_num_threads())
            return values

    task = training.copying()
    model = training.train(task, Spy, steps=2).model
    training.score(model, *task.sample(4, torch.Generator()))
    training.gradient_noise(model, task, batches=2)
    assert set(seen) == {1} and len(seen) == 6
    assert torch.get_num_threads() == 3


def test_progress_yields_all_and_leaves_one_line(capsys):
    assert list(progress("abc", "letters read")) == ["a", "b", "c"]
    assert capsys.readouterr().out.split("\r") == [
        "",
        "0 of 3 letters read",
        "1 of 3 letters read",
        "2 of 3 letters read",
        "3 of 3 letters read\n",
    ]
    assert list(progress(range(1000), "done")) == list(range(1000))
    lines = capsys.readouterr().out.split("\r")
    assert len(lines) == 12 and {len(line.strip("\n")) for line in lines[1:]} == {len("1000 of 1000 done")}


def test_in_a_notebook_the_last_line_alone_is_saved():
    source = "from mha_lib.labs.work import progress\n"
    source += "print(len(list(progress(range(3), 'letters read'))), 'in all')"
    notebook = new_notebook(cells=[new_code_cell(source)])
    NotebookClient(notebook, kernel_name="python3", coalesce_streams=True).execute()
    nbformat.validate(notebook)
    assert [output.text for output in notebook.cells[0].outputs] == ["3 of 3 letters read\n3 in all\n"]
