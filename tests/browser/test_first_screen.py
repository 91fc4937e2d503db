"""`make lab` as a learner meets it: the lesson, and nothing before it."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import install
import lab
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """The server of `make lab`, in a copy of the collection, with a home that cannot be written."""
    installed = Path(sys.prefix) / install.SETTINGS_PLACE
    if not installed.exists():
        pytest.skip("JupyterLab's settings are not in this environment: python tools/install.py settings")
    root, data = tmp_path_factory.mktemp("collection"), tmp_path_factory.mktemp("jupyter")
    shutil.copytree(ROOT / "tools", root / "tools")
    shutil.copytree(ROOT / "notebooks", root / "notebooks", ignore=shutil.ignore_patterns("mine"))
    env = {name: value for name, value in os.environ.items() if not name.startswith(("DISPLAY", "BROWSER"))}
    env |= {name: str(data / folder) for name, folder in lab.FOLDERS.items()}
    env |= {"HOME": "/nowhere", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(root / "tools" / "lab.py"), str(lab.free_port())]
    # Into a file: a pipe stays open for as long as any kernel of the server lives, and its reader with it.
    log = data / "said.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield address_in(log, process), log, process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def address_in(log: Path, process: subprocess.Popen) -> str:
    """Wait until the server has said where it listens."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\S+token=\w+", log.read_text()):
            return found.group()
        time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}", pytrace=False)


def test_the_first_screen_is_the_lesson(started, context):
    address, log, process = started
    base, token = f"http://{urlsplit(address).netloc}/", urlsplit(address).query.removeprefix("token=")

    def asking(path, method="GET"):
        headers = {"Authorization": f"token {token}"}
        request = urllib.request.Request(base + path, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or "null")

    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    assert page.locator(".jp-Notebook h1").first.inner_text().startswith("Start here")
    assert urlsplit(page.url).path.endswith("notebooks/mine/00_start_here.ipynb")
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for()
    assert page.locator(".Toastify__toast, .jp-Dialog").count() == 0
    assert [url for url in asked if urlsplit(url).hostname not in ("127.0.0.1", None)] == []

    plugin = asking("lab/api/settings/@jupyterlab/docmanager-extension:plugin")
    assert plugin["schema"]["properties"]["autosaveInterval"]["default"] == 30
    # The page says idle before there is a kernel; one that is interrupted as it starts says so in the log.
    while [kernel["execution_state"] for kernel in asking("api/kernels")] != ["idle"]:
        time.sleep(0.1)
    # Stopped by a word and not by a signal, so that the kernel's last words are in the log too.
    asking("api/shutdown", "POST")
    page.close()
    with contextlib.suppress(subprocess.TimeoutExpired):  # how soon Jupyter ends is its own affair
        process.wait(timeout=15)
    said = log.read_text()
    assert "eavesdropping" not in said and "Traceback" not in said and "ERROR" not in said, said
    assert said.splitlines()[0].endswith("notebooks came to notebooks/mine, for you to write in.")
