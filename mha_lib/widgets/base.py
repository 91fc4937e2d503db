"""What our widgets share: a fixed repr, a static fallback, and one-file HTML."""

import base64
import codecs
import html
import json
import re
import zlib
from pathlib import Path
from typing import Any, ClassVar

import anywidget

from ..look.colours import page_colours
from ..look.unseen import visible

STATIC = Path(__file__).parent / "static"
MIME = (
    "application/vnd.mha.picture"  # a picture's state as one line of JSON, for a site that executes nothing
)
MOST_SAVED = 100_000  # bytes of numbers: a larger picture is saved in a notebook as its fallback only
_PAGE = STATIC / "page.html"
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


def style(*names: str) -> str:
    """Return the sheets NAME.css of `static`, after the colours that all pictures share."""
    sheets = ((STATIC / f"{sheet}.css").read_text("utf-8") for sheet in ("theme", *names))
    return page_colours() + "".join(sheets)


class BrowserPicture(Fallback, anywidget.AnyWidget):
    """An anywidget with a fallback, which can be saved as a page of its own.

    A subclass gives `module`, the name of its script in `static`.
    """

    module: ClassVar[str]

    def page_traits(self) -> dict[str, Any]:
        """Return what a page without a kernel needs to know, `offline` among it."""
        shared = set(anywidget.AnyWidget.class_trait_names())
        own = {k: v for k, v in self.get_state().items() if k not in shared and k[0] != "_"}
        return own | {"offline": True}

    def page_state(self) -> dict[str, Any]:
        """Return the widget as plain JSON: its module, a title and its state.

        Bytes become {"base64": …}, many of them {"deflate": …}, packed with zlib. The script
        static/standalone.js shows it: start(element, module, state).
        """
        state = json.loads(json.dumps(self.page_traits(), default=_plain, sort_keys=True))
        return {"module": self.module, "title": self.headline(), "state": state}

    def headline(self) -> str:
        """Return the picture in one line."""
        return repr(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs)
        if self.size() <= MOST_SAVED:
            data[MIME] = json.dumps(self.page_state(), separators=(",", ":"), sort_keys=True)
        return data, metadata

    def size(self) -> int:
        """Return how many bytes of numbers the widget holds for the page."""
        return sum(len(value) for value in self.get_state().values() if isinstance(value, bytes))

    def save_html(self, path: str | Path, title: str | None = None) -> Path:
        """Write the widget as one HTML file that works offline in any browser.

        No kernel and no network are needed. Half a character (a lone surrogate), which no
        file can hold, is named in its place: [U+D800]. Returns the path that was written.
        """
        scripts = {"esm": str(self._esm), "standalone": (STATIC / "standalone.js").read_text("utf-8")}
        parts = {name: script.replace("</script", "<\\/script") for name, script in scripts.items()}
        parts |= {
            "title": html.escape(visible(title or type(self).__name__)),
            "css": str(self._css),
            "fallback": self.fallback(),
            "state": json.dumps(self.page_state()["state"]).replace("<", "\\u003c"),
        }
        page = re.sub("@([a-z]+)@", lambda part: parts[part[1]], _PAGE.read_text(encoding="utf-8"))
        path = Path(path)
        path.write_text(page, encoding="utf-8", errors="mha_name_surrogates")
        return path
