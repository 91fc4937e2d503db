"""A kernel that dies, a page that is loaded anew, a notebook that is not trusted: nothing is lost."""

import json

import nbformat
from in_browser import notebook_of

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
