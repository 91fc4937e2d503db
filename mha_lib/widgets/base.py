"""What our widgets share: a fixed repr, a static fallback, and one-file HTML."""

import base64
import codecs
import html
import json
import re
import zlib
from pathlib import Path
from typing import Any

import anywidget

_PAGE = Path(__file__).parent / "static" / "page.html"
_PACKED_FROM = 65536  # bytes: more than that is packed, so that a real model makes a small page


def _name_surrogate(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    halves = error.object[error.start : error.end]
    return "".join(f"[U+{ord(half):04X}]" for half in halves), error.end


codecs.register_error("mha_name_surrogates", _name_surrogate)


class Fallback:
    """A widget that also reads without a kernel, without JavaScript and in nbval.

    A subclass gives `fallback()`: deterministic HTML that stands in for the widget on a
    code host, in print and in a saved notebook, and that nbval compares. Stands before the
    widget's class among the bases.
    """

    # ipywidgets 7 shows itself by a method of this name, which wins over the bundle below
    # and would leave the HTML out.
    _ipython_display_ = None
    model_id: str

    def fallback(self) -> str:
        """Return the static picture as HTML; the same bytes on every machine."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        above = getattr(super(), "_repr_mimebundle_", None)  # ipywidgets 7 has none
        bundle = above(**kwargs) if above else None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        own = {"text/plain": repr(self), "text/html": self.fallback()}
        return {"application/vnd.jupyter.widget-view+json": view, **data, **own}, metadata


def _plain(value: object) -> dict[str, str]:
    if isinstance(value, (bytes, memoryview)):
        large = len(value) > _PACKED_FROM
        data = zlib.compress(bytes(value), 1) if large else bytes(value)
        return {"deflate" if large else "base64": base64.b64encode(data).decode()}
    raise TypeError(f"cannot store {type(value).__name__} in a page")


class BrowserPicture(Fallback, anywidget.AnyWidget):
    """An anywidget with a fallback, which can be saved as a page of its own."""

    def page_state(self) -> dict[str, Any]:
        """Return the traits that a page without a kernel needs, `offline` among them."""
        shared = set(anywidget.AnyWidget.class_trait_names())
        own = {k: v for k, v in self.get_state().items() if k not in shared and k[0] != "_"}
        return own | {"offline": True}

    def state_json(self) -> str:
        """Return `page_state()` as JSON that may stand in a script tag.

        Bytes become {"base64": …}, many of them {"deflate": …}, packed with zlib.
        """
        return json.dumps(self.page_state(), default=_plain).replace("<", "\\u003c")

    def save_html(self, path: str | Path, title: str | None = None) -> Path:
        """Write the widget as one HTML file that works offline in any browser.

        No kernel and no network are needed. Half a character (a lone surrogate), which no
        file can hold, is named in its place: [U+D800]. Returns the path that was written.
        """
        parts = {
            "title": html.escape(title or type(self).__name__),
            "css": str(self._css),
            "fallback": self.fallback(),
            "esm": str(self._esm).replace("</script", "<\\/script"),
            "state": self.state_json(),
        }
        page = re.sub("@([a-z]+)@", lambda part: parts[part[1]], _PAGE.read_text(encoding="utf-8"))
        path = Path(path)
        path.write_text(page, encoding="utf-8", errors="mha_name_surrogates")
        return path
