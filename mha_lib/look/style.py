"""The one visual language: what colours, letters and frames mean in every picture.

A cell's hue is the head its feature belongs to, its lightness the word. Colours come
from Okabe and Ito's set, which colour-blind readers can tell apart.
"""

import colorsys
import io
from typing import Any

from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patheffects import AbstractPathEffect, withStroke

HEAD_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
MONO = "DejaVu Sans Mono"
WRONG = "#c00030"  # the frame around what is wrong, beside a mark
# Around black letters that stand on no paper of their own: they read on a dark page, too.
HALO: list[AbstractPathEffect] = [withStroke(linewidth=2.5, foreground="white")]


def head_letter(head: int) -> str:
    """Return A for head 0, B for head 1, … Z, then AA, AB, …"""
    before = head_letter(head // 26 - 1) if head >= 26 else ""
    return before + chr(ord("A") + head % 26)


def head_colour(head: int) -> str:
    """Return the head's colour as #rrggbb; the colours repeat after seven heads."""
    return HEAD_COLOURS[head % len(HEAD_COLOURS)]


def cell_colour(head: int, word: int, num_words: int) -> str:
    """Return the colour of a cell: the head's hue, darkest for the first word, #rrggbb."""
    hue, _, saturation = colorsys.rgb_to_hls(*to_rgb(head_colour(head)))
    lightness = 0.34 + 0.48 * word / max(num_words - 1, 1)
    return to_hex(colorsys.hls_to_rgb(hue, lightness, min(saturation, 0.85)))


def ink(background: str) -> str:
    """Return black or white, whichever reads better on `background` (WCAG contrast)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(background)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "#ffffff"


class Drawing(Figure):
    """A matplotlib Figure that shows itself in a notebook without pyplot.

    Nothing is registered globally, so no figure is shown twice or left open. `alt` is
    the text for those who cannot see the picture; it is also the plain repr, which
    nbval compares. `details` says in a second line, for nbval alone, what else was drawn
    (colours, hatching). `paper` is "none" for a picture whose letters have a HALO.
    """

    def __init__(self, *args: Any, alt: str = "", details: str = "", paper: str = "white", **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.set_facecolor(paper)
        self.alt = alt
        self.details = details

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
        return {"image/png": self.png(), "text/plain": repr(self)}, {"image/png": shown}
