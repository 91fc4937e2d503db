"""A kernel that dies, a page that is loaded anew, a notebook that is not trusted: nothing is lost."""

import contextlib
import json
import sys

import nbformat
import pytest
from in_browser import notebook_of

resource = pytest.importorskip("resource", reason="there is none on Windows")

SPLIT = [
    "import torch\nimport mha_lib as mha",
    "mha.widgets.TensorMoves(mha.watch(lambda X: mha.split_heads(X, 2), "
    "torch.arange(80.).reshape(2, 4, 10)))",
]

# The widget manager and the debugger say that nobody hears them; the picture does not need to be heard.
ABOUT_THE_DEAD = (
    "Could not send widget sync message",
    "Kernel is dead",
    "Could not restore the debugger state",
)


def alive(book):
    """The picture answers a key: its cells move, without a kernel as well."""
    slider = book.page.locator(".mha-moves").get_by_role("slider").first
    before = slider.input_value()
    slider.focus()
    book.page.keyboard.press("End" if before in ("0", "0.0") else "Home")
    book.page.wait_for_function("([e, before]) => e.value !== before", arg=[slider.element_handle(), before])


def kill(book, lab):
    """Kill the kernel as a machine without memory does, and wait until JupyterLab knows."""
    server = lab.server_of()
    session = next(s for s in json.loads(server.ask("api/sessions")) if s["path"] == book.path.name)
    server.ask(f"api/sessions/{session['id']}", "DELETE")
    book.page.wait_for_function(
        "() => ['unknown', 'dead', 'terminating'].includes("
        "window.jupyterapp.shell.currentWidget.sessionContext.kernelDisplayStatus)"
        " || window.jupyterapp.shell.currentWidget.sessionContext.session === null"
    )


def test_a_kernel_that_dies_in_mid_animation_leaves_a_picture_that_still_moves(lab):
    book = lab.open(SPLIT)
    alive(book)
    book.page.get_by_role("button", name="Play").first.click()
    book.allowed = ABOUT_THE_DEAD
    kill(book, lab)
    alive(book)
    book.save()
    assert book.saved().cells[1].outputs[0].data["text/html"]


def test_after_a_reload_the_saved_picture_is_there_and_a_run_brings_it_to_life(lab):
    book = lab.open(SPLIT)
    book.save()
    book.page.reload()
    book.page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    book.page.wait_for_function("() => window.jupyterapp && window.jupyterapp.restored.then(() => true)")
    book.page.locator("#jupyterlab-splash").wait_for(state="detached")
    book.run()
    alive(book)


def test_an_untrusted_notebook_shows_its_numbers_and_runs_nothing(lab, tmp_path):
    """Saved by somebody else, its HTML is cleaned: the table stays, a script does not."""
    notebook = notebook_of([])
    fallback = "<table><tr><th>word 1</th><td>63</td></tr></table><script>window.wasRun = true</script>"
    output = nbformat.v4.new_output(
        "execute_result", data={"text/plain": "x", "text/html": fallback}, execution_count=1
    )
    notebook.cells = [nbformat.v4.new_code_cell("1", outputs=[output], execution_count=1)]
    path = tmp_path / "foreign.ipynb"
    nbformat.write(notebook, path)
    book = lab.open(path, run=False)
    assert "63" in book.output(0).inner_text()
    assert book.page.evaluate("() => window.wasRun") is None


@contextlib.contextmanager
def full_disk(server):
    """Let the server write no file of more than a hundred bytes, as on a disk that has no room left."""
    whole = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (100, whole[1]))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, whole)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a running process be limited")
def test_a_full_disk_on_save_loses_neither_the_file_nor_what_was_typed(lab):
    book = lab.open(SPLIT)
    book.save()
    before = book.path.read_bytes()
    book.cell(0).locator(".cm-content").click()
    book.page.keyboard.press("Control+End")
    book.page.keyboard.type("\n# typed while the disk is full")
    book.allowed = ("Unexpected error while saving file", "Internal Server Error")
    with full_disk(lab.server_of()):
        book.page.keyboard.press("Control+s")
        dialogue = book.page.locator(".jp-Dialog")
        dialogue.wait_for()
        assert "save" in dialogue.inner_text().lower()
        dialogue.get_by_role("button").last.click()
        dialogue.wait_for(state="detached")
    assert book.path.read_bytes() == before
    assert "# typed while the disk is full" in book.cell(0).inner_text()
    book.save()
    assert "# typed while the disk is full" in book.saved().cells[0].source
