"""What our browser widgets share: a fixed repr, a static fallback, and one-file HTML."""

import base64
import html
import json
import re
import zlib
from pathlib import Path

import anywidget

_PAGE = Path(__file__).parent / "static" / "page.html"


def _plain(value):
    if isinstance(value, (bytes, memoryview)):
        large = len(value) > 65536  # packed, so that a real model's weights make a small page
        data = zlib.compress(bytes(value), 1) if large else bytes(value)
        return {"deflate" if large else "base64": base64.b64encode(data).decode()}
    raise TypeError(f"cannot store {type(value).__name__} in a page")


class BrowserPicture(anywidget.AnyWidget):
    """An anywidget that also reads without a kernel, without JavaScript and in nbval.

    A subclass gives `fallback()`: deterministic HTML that stands in for the widget on a
    code host, in print and in a saved notebook, and that nbval compares.
    """

    def fallback(self) -> str:
        """Return the static picture as HTML; the same bytes on every machine."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/plain": repr(self), "text/html": self.fallback()}, metadata

    def save_html(self, path, title: str | None = None) -> Path:
        """Write the widget as one HTML file that works offline in any browser.

        No kernel and no network are needed. Returns the path that was written.
        """
        shared = set(anywidget.AnyWidget.class_trait_names())
        own = {k: v for k, v in self.get_state().items() if k not in shared and k[0] != "_"}
        own["offline"] = True
        parts = {
            "title": html.escape(title or type(self).__name__),
            "css": str(self._css),
            "fallback": self.fallback(),
            "esm": str(self._esm).replace("</script", "<\\/script"),
            "state": json.dumps(own, default=_plain).replace("<", "\\u003c"),
        }
        page = re.sub("@([a-z]+)@", lambda part: parts[part[1]], _PAGE.read_text(encoding="utf-8"))
        path = Path(path)
        path.write_text(page, encoding="utf-8")
        return path
