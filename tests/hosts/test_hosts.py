"""Colab's kernel, Notebook 7, Voilà and marimo: what each shows of every widget."""

import contextlib
import subprocess
import time
import urllib.request
from urllib.parse import urlsplit

import links
import nbformat
import pytest
from in_browser import Book
from nbclient import NotebookClient

from .conftest import ROOT, START, WIDGETS, environ, free_port, kernelspec

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Voilà's page asks these for its icons whatever it shows, and works without them.
VOILAS_OWN = {"cdn.jsdelivr.net", "cdnjs.cloudflare.com"}
PUBLISHED = links.Links("https://github.com/someone/heads")


@contextlib.contextmanager
def server(command, env, folder, address):
    """Start a host and wait until it answers."""
    log = folder / "host.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
                break
            time.sleep(0.2)
        else:
            pytest.fail(f"the host did not start:\n{log.read_text()[-2000:]}", pytrace=False)
        yield
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def page(context):
    """A page that is held to account: no error of our own, no request that leaves this machine."""
    book = Book(context.new_page(), None).watch()
    yield book
    book.page.close()
    assert [url for url in book.foreign() if urlsplit(url).hostname not in VOILAS_OWN] == []


def shown(page, selectors):
    """Every widget is there and has a size."""
    for selector in selectors:
        element = page.locator(selector).first
        element.scroll_into_view_if_needed()
        element.wait_for()
        box = element.bounding_box()
        assert box["width"] > 5 and box["height"] > 5, selector


def move_on(page):
    """The first TensorMoves answers a key: it is alive, not a still."""
    slider = page.locator(".mha-moves").first.get_by_role("slider").first
    before = slider.input_value()
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("([e, before]) => e.value !== before", arg=[slider.element_handle(), before])


@pytest.fixture(scope="session")
def colab(environment, tmp_path_factory):
    """Colab's kernel with a stand-in for google.colab, which every kernel there has imported."""
    folder = tmp_path_factory.mktemp("colab_home")
    python = environment("colab")
    kernelspec(folder, python, "colab")
    package = folder / "google" / "colab"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from types import SimpleNamespace\nswitched_on = []\n"
        "output = SimpleNamespace(enable_custom_widget_manager=lambda: switched_on.append(True))\n"
    )
    startup = folder / "ipythondir" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "colab.py").write_text(
        "import google.colab\nget_ipython().register_magic_function(lambda line: None, magic_name='pip')\n"
    )
    return environ(folder, python, PYTHONPATH=f"{ROOT}:{folder}")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_on_colab_and_keeps_its_fallbacks(colab, path, monkeypatch):
    """ipywidgets 7.7 would save a widget without its HTML; the opening cell runs and says nothing."""
    for name, value in colab.items():
        monkeypatch.setenv(name, value)
    committed = nbformat.read(path, as_version=4)
    notebook = links.with_cell(nbformat.read(path, as_version=4), PUBLISHED.colab_cell())
    place = next(i for i, cell in enumerate(notebook.cells) if cell.get("id") == links.CELL_ID)
    told = "import google.colab, ipywidgets; (ipywidgets.__version__, google.colab.switched_on)"
    notebook.cells.append(nbformat.v4.new_code_cell(told))
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, kernel_name="colab", timeout=180, resources=resources).execute()
    assert notebook.cells.pop().outputs[0].data["text/plain"] == "('7.7.1', [True])"
    assert notebook.cells.pop(place).outputs == []
    for before, now in zip(committed.cells, notebook.cells, strict=True):
        had = [output.data for output in before.get("outputs", []) if "text/html" in output.get("data", {})]
        has = [output.data for output in now.get("outputs", []) if "text/html" in output.get("data", {})]
        assert len(has) == len(had), f"lost the HTML of: {now.source}"


def test_notebook_7_shows_every_widget(environment, every_widget, page, tmp_path):
    python, port = environment("notebook"), free_port()
    options = [
        f"--port={port}",
        "--no-browser",
        "--allow-root",
        "--IdentityProvider.token=",
        "--ip=127.0.0.1",
    ]
    options += ["--JupyterNotebookApp.expose_app_in_browser=True", f"--ServerApp.root_dir={tmp_path}"]
    address = f"http://127.0.0.1:{port}"
    with server(
        [python, "-m", "notebook", *options], environ(tmp_path, python), tmp_path, f"{address}/api/status"
    ):
        page.page.goto(f"{address}/notebooks/{every_widget.name}")
        page.page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        page.page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.sessionContext?.isReady")
        page.command("notebook:run-all-cells")
        shown(page.page, WIDGETS.values())
        move_on(page.page)


def test_voila_shows_every_widget(environment, every_widget, page, tmp_path):
    python, port = environment("voila"), free_port()
    options = [f"--port={port}", "--no-browser", "--Voila.ip=127.0.0.1", str(every_widget)]
    address = f"http://127.0.0.1:{port}"
    with server(
        [python, "-m", "voila", *options],
        environ(tmp_path, python),
        tmp_path,
        f"{address}/voila/static/voila.js",
    ):
        page.page.goto(address, timeout=90_000)
        shown(page.page, WIDGETS.values())
        move_on(page.page)


MARIMO = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
{start}
    mo.vstack([{shown}])
    return
"""


def test_marimo_shows_the_pictures_that_are_anywidgets(environment, page, tmp_path):
    """mo.ui.anywidget takes our pictures; consoles and questions, made of ipywidgets, it does not show."""
    python, port = environment("marimo"), free_port()
    pictures = [
        source
        for source, selector in WIDGETS.items()
        if selector.startswith((".mha-moves", ".mha-heads", ".mha-plane", ".mha-scale"))
    ]
    text = MARIMO.format(
        start="\n".join(f"    {line}" for line in START.splitlines()),
        shown=", ".join(f"mo.ui.anywidget({source})" for source in pictures),
    )
    (tmp_path / "app.py").write_text(text)
    command = [
        python,
        "-m",
        "marimo",
        "run",
        "app.py",
        f"--port={port}",
        "--host=127.0.0.1",
        "--headless",
        "--no-token",
    ]
    env = environ(tmp_path, python, HOME=str(tmp_path))
    with server(command, env, tmp_path, f"http://127.0.0.1:{port}/"):
        page.page.goto(f"http://127.0.0.1:{port}/")
        shown(page.page, [".mha-moves", ".mha-heads", ".mha-plane", ".mha-scale"])
        move_on(page.page)
