"""The site, built once for all its tests, and a browser that is kept from every network."""

import functools
import http.server
import threading
from pathlib import Path

import pytest
from in_browser import Lab, chromium, context, free_pages, lab  # noqa: F401

website = pytest.importorskip("website.__main__", reason="the site needs Sphinx: make site")


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The whole collection as `make site` builds it; a warning of Sphinx fails."""
    folder = tmp_path_factory.mktemp("site") / "html"
    assert website.build(folder, strict=True) == 0
    return folder


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def served(site):
    """The address of the site on a server of this machine."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
