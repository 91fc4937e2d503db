"""The one visual language: what figures look like, and the colours that they share with pages."""

import io
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patheffects import AbstractPathEffect, withStroke

from .colours import HEAD_COLOURS, MARK, cell_colour, head_colour, head_letter, ink
from .inventory import MIME, inventory

__all__ = ["HEAD_COLOURS", "MONO", "Drawing", "cell_colour", "head_colour", "head_letter", "ink"]

MONO = "DejaVu Sans Mono"
WRONG = MARK.light  # the frame around what is wrong, beside a mark
# Around black letters that stand on no paper of their own: they read on a dark page, too.
HALO: list[AbstractPathEffect] = [withStroke(linewidth=2.5, foreground="white")]


class Drawing(Figure):
    """A matplotlib Figure that shows itself in a notebook without pyplot.

    Nothing is registered globally, so no figure is shown twice or left open. `alt` is
    the text for those who cannot see the picture; it is also the plain repr, which
    nbval compares. `details` says in a second line, for nbval alone, what else was drawn
    (colours, hatching). In a notebook the outputs also hold what is drawn, artist by artist,
    unless it was `measured`, and differs from run to run. It has no paper of its own, so that it
    glares on no dark page: letters that stand on no colour have a HALO.
    """

    def __init__(
        self,
        *args: Any,
        alt: str = "",
        details: str = "",
        measured: bool = False,
        **kwargs: Any,
    ):
        super().__init__(*args, **kwargs)
        self.set_facecolor("none")
        self.alt = alt
        self.details = details
        self.measured = measured

    def __repr__(self) -> str:
        return f"[picture] {self.alt}" + f"\n{self.details}" * bool(self.details)

    def png(self, dpi: int = 144) -> bytes:
        """Return the picture as the bytes of a PNG file."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=dpi)
        return buffer.getvalue()

    def _repr_mimebundle_(self, **kwargs: object) -> tuple[dict[str, Any], dict[str, Any]]:
        width, height = (self.get_size_inches() * 96).astype(int)
        shown = {"width": int(width), "height": int(height)}
        data: dict[str, Any] = {"image/png": self.png(), "text/plain": repr(self)}
        if not self.measured:
            data[MIME] = inventory(self)
        return data, {"image/png": shown}
