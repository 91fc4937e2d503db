"""A real JupyterLab in a real Chromium, for the browser tests.

    def test_next_moves_on(lab):
        book = lab.open(["import mha_lib as mha", "mha.widgets.TensorMoves(...)"])
        book.page.get_by_role("button", name="Next").click()
        book.theme("JupyterLab Dark")
        assert book.axe(".mha-moves") == []

`lab.open(source)` takes a list of cell sources (a source that starts with "# md" becomes
markdown) or the path of a notebook, opens a copy of it in a workspace of its own, runs every
cell and waits for the last one. Options: `run=False` shows the saved outputs without running,
`theme`, `reduced_motion=True`, `size=(1280, 720)`. `lab.show(path)` opens a saved HTML page
from disk. Both return a Book; `lab.present(book)` saves it and shows it as slides:

    book.page      the Playwright page; its locators wait by themselves
    book.output(i) locator of what cell i shows (counted from 0, markdown cells too)
    book.cell(i)   locator of the whole cell
    book.run(), book.theme(name), book.axe(selector), book.errors(), book.foreign()
    book.save(), book.saved()   write the notebook to disk, and read it back with nbformat

When a test ends, every Book of it must have made no request that leaves 127.0.0.1 and logged
no error to the console, or the test fails. Where there is no Chromium the tests are skipped
with one line; under CI (CI=true) they fail.

JupyterLab takes three seconds to load and a kernel two to import torch, so that pages are used
again for the next notebook, if a test leaves them as it found them, and kernels come from tools/warm_kernels.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import nbformat
import pytest
from warm_kernels import warm_kernels

RISE_CSS = Path(__file__).parents[1] / "notebooks" / "rise.css"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # offline, whatever a page asks for
)
PATIENCE = 60_000  # milliseconds; a state that comes is not waited for any longer, on a busy machine neither
LOCAL = {"127.0.0.1", None}  # None: data:, blob: and file: addresses have no host

# What JupyterLab 4.6 itself writes to the console; nothing of ours may be added here.
# In a page that is used again, what the notebook before was still waiting for ends like this.
ALLOWED_ERRORS = (r"^(Error: )?Disposed\b",)
# What jupyterlab-rise 0.43 writes whatever it shows: it takes the focus from itself in a circle
# once, and asks for a style sheet named after the notebook, which there need not be.
ALLOWED_IN_SLIDES = (
    r"Maximum call stack size exceeded .*/static/rise/",
    r"/files/book-\w+\.css",
)

SETTINGS = {
    # No news, no update checks: they would leave this machine and put a notice over the page.
    "apputils-extension/notification": '{"fetchNews": "false", "checkForUpdates": false}',
    # Every cell stays in the page, so that a locator finds what is not scrolled into view.
    "notebook-extension/tracker": '{"windowingMode": "none"}',
}


_running: list = []  # the browser, while it is up


@pytest.fixture(scope="session")
def chromium(request):
    """The browser, started once for all folders of tests that ask: Playwright runs once in a process."""
    if _running:
        yield _running[0]
        return
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("browser tests need Chromium: install the package chromium or Google Chrome")
    api = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright: make setup")
    api.expect.set_options(timeout=PATIENCE)
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=list(FLAGS), headless=not request.config.getoption("--headed", False)
        )
        _running.append(browser)
        yield browser
        _running.clear()
        browser.close()


@dataclass
class Server:
    url: str
    token: str
    root: Path
    pid: int = 0  # once it runs

    def ask(self, path: str, method: str = "GET") -> bytes:
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory):
    """JupyterLab on 127.0.0.1 with a token, and folders of its own for all it writes."""
    home = tmp_path_factory.mktemp("jupyter")
    root = home / "root"
    root.mkdir()
    for name, text in SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    folders = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    env = os.environ | {f"JUPYTER_{name}": str(home / name.lower()) for name in folders}
    env |= {
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "OMP_NUM_THREADS": "1",
    }
    server = Server(f"http://127.0.0.1:{free_port()}/", uuid.uuid4().hex, root)
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={urlsplit(server.url).port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={server.token}",
        f"--ServerApp.root_dir={root}",
        "--LabApp.expose_app_in_browser=True",
    ]
    log = home / "server.log"
    with log.open("w") as out, warm_kernels(home / "data_dir"):
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        server.pid = process.pid
        try:
            wait_for(server, process, log)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_for(server: Server, process: subprocess.Popen, log: Path):
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            server.ask("api/status")
            return
        time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}", pytrace=False)


@dataclass
class Book:
    """One open page, and what it has said and asked for so far."""

    page: object
    path: Path
    logged: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ()  # what the console may say in this test, as patterns

    def watch(self):
        for event, hear in self._hearers().items():
            self.page.on(event, hear)
        return self

    def forget(self):
        """Hear no more of the page: another notebook has it now."""
        for event, hear in self._hearers().items():
            self.page.remove_listener(event, hear)

    def _hearers(self):
        return {
            "console": self._note,
            "pageerror": self._note_raised,
            "request": self._note_request,
            "websocket": self._note_request,
        }

    def _note_raised(self, error):
        self.logged.append(error.stack or str(error))

    def _note_request(self, request):
        self.asked.append(request.url)

    def _note(self, message):
        if message.type == "error":
            self.logged.append(f"{message.text} ({message.location['url']})")

    def errors(self) -> list[str]:
        """What the console holds that is not known and allowed."""
        known = ALLOWED_IN_SLIDES if "/rise/" in self.page.url else ALLOWED_ERRORS
        known += self.allowed
        return [text for text in self.logged if not any(re.search(pattern, text) for pattern in known)]

    def foreign(self) -> list[str]:
        """The requests that left 127.0.0.1."""
        return [url for url in self.asked if urlsplit(url).hostname not in LOCAL]

    @property
    def widget(self) -> str:
        """JupyterLab's widget of the notebook, as an expression for the page."""
        return (
            f"[...window.jupyterapp.shell.widgets('main')].find(w => w.context?.path === '{self.path.name}')"
        )

    def command(self, name: str, **args):
        """Run one of JupyterLab's commands and wait for it."""
        # page.evaluate has no time limit of its own, so a command that never ends gets one.
        return self.page.evaluate(
            "([name, args]) => Promise.race([window.jupyterapp.commands.execute(name, args).then(() => null),"
            " new Promise((_, no) => setTimeout(() => no(Error(name + ' did not end in 300 s')), 300000))])",
            [name, args],
        )

    def run(self):
        """Run every cell, in order, and wait for the last; a cell that raises fails the test."""
        # A run that comes before the kernel is there opens a dialogue that asks for one.
        self.page.wait_for_function(f"() => {self.widget}.sessionContext.isReady")
        self.command("notebook:run-all-cells")
        # Outputs are drawn a moment after the run; the model behind the page has them already.
        raised = self.page.evaluate(
            f"() => {self.widget}.content.model.toJSON().cells"
            ".flatMap(c => c.outputs || []).filter(o => o.output_type === 'error')"
            ".map(o => o.ename + ': ' + o.evalue)"
        )
        assert not raised, f"a cell raised {raised[0]}"

    def cell(self, index: int):
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def output(self, index: int):
        return self.cell(index).locator(".jp-OutputArea-output")

    def theme(self, name: str):
        """Switch to "JupyterLab Dark", "JupyterLab Light" or "JupyterLab Dark High Contrast"."""
        self.command("apputils:change-theme", theme=name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)

    def save(self):
        """Write the notebook to disk, whichever tab has the focus."""
        # JupyterLab's own command saves what has the focus, and nothing where that is no document.
        self.page.evaluate(f"() => {self.widget}.context.save()")

    def saved(self):
        return nbformat.read(self.path, as_version=4)

    def axe(self, selector: str) -> list[str]:
        """What axe-core finds wrong inside `selector`: one line for each kind of fault."""
        axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python: make setup")
        self.page.locator(selector).first.wait_for()
        if not self.page.evaluate("() => 'axe' in window"):
            script = Path(axe.__file__).with_name("axe.min.js")
            # JupyterLab's require.js would swallow a script that finds `define`.
            self.page.evaluate(f"() => {{ const define = undefined; {script.read_text('utf-8')} }}")
        found = self.page.evaluate(
            "selector => axe.run(selector, {preload: false}).then(r => r.violations)", selector
        )
        return [
            f"{v['id']} ({v['impact']}): {v['help']} — " + "; ".join(n["html"][:160] for n in v["nodes"][:3])
            for v in found
        ]


class Lab:
    """Opens notebooks and saved pages, and holds every one of them to account at the end."""

    def __init__(self, context, server_of, free_pages: list):
        self.context, self.server_of, self.free_pages = context, server_of, free_pages
        self.books: list[Book] = []

    def _book(self, page, path: Path, size, reduced_motion: bool) -> Book:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        motion = "reduce" if reduced_motion else "no-preference"
        page.emulate_media(reduced_motion=motion, color_scheme="null", forced_colors="null")
        book = Book(page, path).watch()
        self.books.append(book)
        return book

    def open(
        self, source, *, run=True, theme="JupyterLab Light", reduced_motion=False, size=(1280, 720)
    ) -> Book:
        server = self.server_of()
        if isinstance(source, (str, Path)):
            notebook = nbformat.read(source, as_version=4)
        else:
            notebook = notebook_of(source)
        path = server.root / f"book-{uuid.uuid4().hex[:8]}.ipynb"
        nbformat.write(notebook, path)
        page = self.free_pages.pop() if self.free_pages else self.context.new_page()
        book = self._book(page, path, size, reduced_motion)
        if not page.url.startswith(f"{server.url}lab"):
            page.goto(f"{server.url}lab/workspaces/{path.stem}?reset&token={server.token}")
            page.wait_for_function("() => window.jupyterapp && window.jupyterapp.restored.then(() => true)")
            # The splash lies over the page until JupyterLab has restored its workspace.
            page.locator("#jupyterlab-splash").wait_for(state="detached")
            page.evaluate("() => { window.loadedOnce = true; }")
        self._wait_for_launcher(page)
        book.command("docmanager:open", path=path.name)
        page.wait_for_function(
            "name => window.jupyterapp.shell.currentWidget?.context?.path === name"
            " && window.jupyterapp.shell.currentWidget.context.isReady",
            arg=path.name,
        )
        page.evaluate(  # the launcher would stay as a tab
            "() => { const shell = window.jupyterapp.shell;"
            " for (const other of [...shell.widgets('main')])"
            " if (other !== shell.currentWidget) other.dispose(); }"
        )
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        book.theme(theme)
        if run:
            book.run()
        return book

    def _wait_for_launcher(self, page):
        """It comes a moment after the last notebook is gone, and would take the focus from the next."""
        page.wait_for_function("() => [...window.jupyterapp.shell.widgets('main')].length > 0")

    def present(self, book: Book):
        """Save an open notebook and show it as slides, with the kernel that it has."""
        server = self.server_of()
        shutil.copy(RISE_CSS, server.root)
        book.save()
        book.page.goto(f"{server.url}rise/{quote(book.path.name)}?token={server.token}")
        book.page.locator(".reveal .slides > section.present .jp-Cell").first.wait_for()

    def show(self, path, *, reduced_motion=False, size=(1280, 720)) -> Book:
        """Open an HTML file from disk, as a learner who double-clicks it does, or an address of a server."""
        book = self._book(self.context.new_page(), Path(path), size, reduced_motion)
        book.page.goto(path if str(path).startswith("http") else Path(path).resolve().as_uri())
        # A saved widget unpacks its numbers before it draws, which may be after the page has loaded.
        book.page.wait_for_function("() => document.getElementById('picture')?.childElementCount !== 0")
        return book

    def close(self):
        for book in self.books:
            if book.path.suffix == ".ipynb" and self._left_as_found(book):
                book.forget()
                self.free_pages.append(book.page)
            else:
                book.page.close()
            if book.path.suffix == ".ipynb":
                threading.Thread(target=self._stop_kernel, args=[book], daemon=True).start()

    def _left_as_found(self, book: Book) -> bool:
        """Close the notebook in its page; say whether the page is as it was before it came."""
        page = book.page
        if "/lab/workspaces/" not in page.url:
            return False
        page.mouse.move(0, 0)
        closed = page.evaluate(
            f"() => {{ const book = window.loadedOnce && {book.widget};"
            " if (!book) return false;"
            " book.context.model.dirty = false; book.dispose(); return true; }"
        )
        return closed and page.locator(".jp-Notebook, .jp-Dialog, .Toastify__toast").count() == 0

    def _stop_kernel(self, book: Book):
        """Ask the server to; a kernel takes a second to end, and nobody has to wait for it."""
        server = self.server_of()
        with contextlib.suppress(OSError):
            for session in json.loads(server.ask("api/sessions")):
                if session["path"] == book.path.name:
                    server.ask(f"api/sessions/{session['id']}", "DELETE")


def notebook_of(sources):
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for text in sources:
        if text.startswith("# md"):
            notebook.cells.append(nbformat.v4.new_markdown_cell(text.removeprefix("# md").lstrip("\n")))
        else:
            notebook.cells.append(nbformat.v4.new_code_cell(text))
    return notebook


@pytest.fixture(scope="session")
def context(chromium):
    """One browser profile for all tests: JupyterLab's scripts are loaded and compiled once."""
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture(scope="session")
def free_pages():
    """Pages of JupyterLab that hold no notebook any more."""
    return []


@pytest.fixture
def lab(context, request, free_pages):
    """See the top of this file."""
    opened = Lab(context, lambda: request.getfixturevalue("jupyter"), free_pages)
    yield opened
    faults = [f"left this machine: {url}" for book in opened.books for url in book.foreign()]
    faults += [f"console error: {text}" for book in opened.books for text in book.errors()]
    opened.close()
    assert not faults, "\n".join(faults)
