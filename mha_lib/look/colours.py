"""The colours and letters of heads, cells, axes and ink. No plotting library is needed for them.

A cell's hue is the head its feature belongs to, its lightness the word. The hues come
from Okabe and Ito's set, which colour-blind readers can tell apart.
"""

import colorsys
from typing import NamedTuple

# Okabe and Ito's seven; then nine that stay as far from them and from each other as those do
# (in CIELAB, for colour-blind eyes too).
HEAD_COLOURS = (
    *"#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #F0E442".split(),
    *"#F0004B #782D0F #0000FF #3CF087 #6900B4 #6996FF #960069 #96D2A5 #6969FF".split(),
)


class Themed(NamedTuple):
    """A colour on a light page, and on a dark one."""

    light: str
    dark: str


PAPER = Themed("#ffffff", "#12161c")
INK = Themed("#1c2128", "#e8ecf1")
SOFT = Themed("#57606a", "#aab4bf")  # words that stand back; 4.5:1 on paper
LINE = Themed("#c9d1d9", "#3b444f")  # between things
EDGE = Themed("#808a95", "#77828e")  # of a control; 3:1 on paper
WASH = Themed("#f3f5f8", "#1d232b")  # behind what is chosen
MARK = Themed("#c00030", "#ff8fa3")  # what is wrong
# By tone: sentence, word, head, feature, key, an axis without a name; no hue that a head has.
TONES = (
    Themed("#6a3fb5", "#c3a6ff"),
    Themed("#3a7300", "#a0d66a"),
    INK,
    SOFT,
    Themed("#8b1a8b", "#ee9bee"),
    SOFT,
)
_NAMES = {"paper": PAPER, "ink": INK, "soft": SOFT, "line": LINE, "edge": EDGE, "wash": WASH, "mark": MARK}


def page_colours() -> str:
    """Return the colours as variables of a style sheet, --mha-ink and so on, for both themes."""
    named = _NAMES | {f"tone{number}": tone for number, tone in enumerate(TONES)}
    lines = (f"  --mha-{name}: light-dark({light}, {dark});" for name, (light, dark) in named.items())
    return "\n".join([".mha-theme {", *lines, "}", ""])


def head_letter(head: int) -> str:
    """Return A for head 0, B for head 1, … Z, then AA, AB, …"""
    before = head_letter(head // 26 - 1) if head >= 26 else ""
    return before + chr(ord("A") + head % 26)


def head_colour(head: int) -> str:
    """Return the head's colour as #rrggbb; the colours repeat after sixteen heads."""
    return HEAD_COLOURS[head % len(HEAD_COLOURS)]


def cell_colour(head: int, word: int, num_words: int) -> str:
    """Return the colour of a cell: the head's hue, darkest for the first word, #rrggbb."""
    hue, _, saturation = colorsys.rgb_to_hls(*_shares(head_colour(head)))
    lightness = 0.34 + 0.48 * word / max(num_words - 1, 1)
    red, green, blue = colorsys.hls_to_rgb(hue, lightness, min(saturation, 0.85))
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def ink(background: str) -> str:
    """Return black or white, whichever reads better on `background`, a #rrggbb (WCAG contrast)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _shares(background)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "#ffffff"


def _shares(colour: str) -> tuple[float, float, float]:
    red, green, blue = bytes.fromhex(colour[1:7])
    return red / 255, green / 255, blue / 255
