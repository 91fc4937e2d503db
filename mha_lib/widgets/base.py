"""What our browser widgets share: a fixed repr, a static fallback, and one-file HTML."""

import base64
import html
import json
import zlib
from pathlib import Path

import anywidget

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{css}</style></head>
<body><main><h1>{title}</h1><div id="picture"></div><noscript>{fallback}</noscript></main>
<script type="text/plain" id="esm">{esm}</script>
<script type="application/json" id="state">{state}</script>
<script type="module">
const text = id => document.getElementById(id).textContent;
const bytes = base64 => Uint8Array.from(atob(base64), c => c.charCodeAt(0));
const values = JSON.parse(text("state"), (key, value) => value && value.base64 !== undefined
  ? new DataView(bytes(value.base64).buffer) : value);
for (const [name, value] of Object.entries(values)) {{
  if (value?.deflate === undefined) continue;
  const open = new Blob([bytes(value.deflate)]).stream().pipeThrough(new DecompressionStream("deflate"));
  values[name] = new DataView(await new Response(open).arrayBuffer());
}}
const listeners = {{}};
const model = {{
  get: name => values[name],
  set: (name, value) => {{
    values[name] = value;
    for (const call of listeners["change:" + name] || []) call();
  }},
  save_changes: () => {{}},
  on: (event, call) => (listeners[event] = listeners[event] || []).push(call),
  off: (event, call) => {{ listeners[event] = (listeners[event] || []).filter(c => c !== call); }},
  send: () => {{}},
}};
const url = URL.createObjectURL(new Blob([text("esm").replaceAll("<\\\\/script", "<" + "/script")],
                                         {{ type: "text/javascript" }}));
const {{ default: widget }} = await import(url);
widget.render({{ model, el: document.getElementById("picture") }});
</script></body></html>
"""
_CSS = """
:root { color-scheme: light dark; }
body { margin: 0; background: Canvas; color: CanvasText; font-family: system-ui, sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 8px; }
h1 { font-size: 20px; margin: 4px 12px; }
"""


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
        page = _PAGE.format(
            title=html.escape(title or type(self).__name__),
            css=_CSS + str(self._css),
            fallback=self.fallback(),
            esm=str(self._esm).replace("</script", "<\\/script"),
            state=json.dumps(own, default=_plain).replace("<", "\\u003c"),
        )
        path = Path(path)
        path.write_text(page, encoding="utf-8")
        return path
