"""A few controls and a picture that follows them, without pyplot and without an Output widget."""

import base64
import html
import threading

import ipywidgets
from traitlets import Bunch

from ..look.style import Drawing
from ..text import sentences
from .base import Fallback
from .own_keys import OwnKeys

text = sentences("console")

DELAY = 0.12  # seconds of rest before the picture follows a control that moves


def image(drawing: Drawing) -> str:
    """Return the drawing as an HTML image with its size and its alt text."""
    width, height = (drawing.get_size_inches() * 96).round().astype(int)
    data = base64.b64encode(drawing.png()).decode()
    alt = html.escape(drawing.alt, quote=True)
    size = f'width="{width}" height="{height}" style="width:{width}px;height:{height}px;max-width:none"'
    return f'<img decoding="sync" {size} alt="{alt}" src="data:image/png;base64,{data}">'


class PictureConsole(Fallback, ipywidgets.VBox):
    """Controls above, a picture and a line of text below.

    A control that moves fast causes one redraw, of its last value. `report` and whatever
    else a subclass offers are up to date when read: a pending redraw is done first. A redraw
    that raises shows the error in the picture's place: no old picture stays and looks right.

    A subclass gives `_draw()` → HTML of the picture, and (mark, sentence) for each line of
    the text; and `fallback()`.
    """

    def __init__(self, controls: dict[str, ipywidgets.Widget], height: int) -> None:
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
        self._show(*self._draw())
        for control in controls.values():
            control.observe(self._later, names="value")

    def _draw(self) -> tuple[str, list[tuple[str, str]]]:
        raise NotImplementedError

    def _later(self, change: Bunch) -> None:
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
        try:
            picture, lines = self._draw()
        except Exception as error:  # a timer's thread has nobody else to tell
            kind = type(error).__name__
            lines = [("✗", text.failed.format(kind=kind, error=error))]
            picture = f"<p>{html.escape(text.no_picture)}</p>"
        self._show(picture, lines)

    def _show(self, picture: str, lines: list[tuple[str, str]]) -> None:
        self._picture.value, self._lines = picture, lines
        shown = "".join(f"<p style='margin:0'>{mark} {html.escape(line)}</p>" for mark, line in lines)
        self._text.value = f'<div role="status" style="font-size:14px;line-height:1.4">{shown}</div>'
        self.redraws += 1

    @property
    def report(self) -> str:
        """What the text says."""
        self._update()
        return " ".join(line for _, line in self._lines)

    def _repr_mimebundle_(self, **kwargs: object) -> tuple[dict[str, object], dict[str, object]]:
        self._update()
        return super()._repr_mimebundle_(**kwargs)
