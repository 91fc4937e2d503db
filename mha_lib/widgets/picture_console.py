"""A few controls and a picture that follows them, without pyplot and without an Output widget."""

import base64
import html
import threading

import ipywidgets

from ..look.style import Drawing
from .own_keys import OwnKeys

DELAY = 0.12  # seconds of rest before the picture follows a control that moves


def image(drawing: Drawing) -> str:
    """Return the drawing as an HTML image with its size and its alt text."""
    width, height = (drawing.get_size_inches() * 96).round().astype(int)
    data = base64.b64encode(drawing.png()).decode()
    alt = html.escape(drawing.alt, quote=True)
    size = f'width="{width}" height="{height}" style="width:{width}px;height:{height}px;max-width:none"'
    return f'<img decoding="sync" {size} alt="{alt}" src="data:image/png;base64,{data}">'


class PictureConsole(ipywidgets.VBox):
    """Controls above, a picture and a line of text below.

    A control that moves fast causes one redraw, of its last value. `report` and whatever
    else a subclass offers are up to date when read: a pending redraw is done first.

    A subclass gives `_draw()` → HTML of the picture, and (mark, sentence) for each line of
    the text; and `fallback()`.
    """

    def __init__(self, controls: dict[str, ipywidgets.Widget], height: int):
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()
        self.redraws = 0
        # `tooltip` must be a text: ipywidgets 8 writes title="null" for none.
        for control in controls.values():
            control.tooltip = control.description
            control.layout.width = "auto"
            control.style.description_width = "initial"
        row = ipywidgets.Layout(flex_flow="row wrap", grid_gap="0 14px", overflow="visible")
        fixed = ipywidgets.Layout(min_height=f"{height}px", overflow="visible")
        self._picture = ipywidgets.HTML(layout=fixed)
        self._text = ipywidgets.HTML(layout=ipywidgets.Layout(min_height="52px"))
        controls_row = ipywidgets.Box(list(controls.values()), layout=row)
        controls_row.add_class(OwnKeys.WHERE)
        super().__init__([controls_row, self._picture, self._text, OwnKeys()])
        self.controls = controls
        self._redraw()
        for control in controls.values():
            control.observe(self._later, names="value")

    def _draw(self) -> tuple[str, list[tuple[str, str]]]:
        raise NotImplementedError

    def fallback(self) -> str:
        """Return the numbers of the picture as HTML; the same bytes on every machine."""
        raise NotImplementedError

    def _later(self, change) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(DELAY, self._update)
            self._timer.daemon = True
            self._timer.start()

    def _update(self) -> None:
        """Do the redraw that is pending, if there is one."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
                self._redraw()

    def _redraw(self) -> None:
        self._picture.value, self._lines = self._draw()
        said = "".join(f"<p style='margin:0'>{mark} {html.escape(line)}</p>" for mark, line in self._lines)
        self._text.value = f'<div role="status" style="font-size:14px;line-height:1.4">{said}</div>'
        self.redraws += 1

    @property
    def report(self) -> str:
        """What the text says."""
        self._update()
        return " ".join(line for _, line in self._lines)

    def _repr_mimebundle_(self, **kwargs):
        self._update()
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        return {
            "text/plain": repr(self),
            "text/html": self.fallback(),
            "application/vnd.jupyter.widget-view+json": view,
        }
