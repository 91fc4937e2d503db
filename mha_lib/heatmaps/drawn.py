"""What a drawn heatmap shows, read back from the figure: so its words cannot differ from it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_hex

from ..look.fonts import drawable
from .draw import shorten


@dataclass(frozen=True)
class DrawnMap:
    """One map as it stands in the picture.

    Attributes:
        weights: (Lq, Lk), NaN where a cell has a cross.
        hatched: bool, as `weights`.
        numbers: the figures that stand in cells, by (row, column).
        ends: the colours of a weight of 0 and of 1, as #rrggbb.
        name, colour: the head's, from its badge; None where it has none.
    """

    weights: np.ndarray
    hatched: np.ndarray
    numbers: dict[tuple[int, int], str]
    ends: tuple[str, str]
    name: str | None
    colour: str | None

    def number(self, row: int, column: int) -> str:
        """Return what stands in a cell, or would, were there room."""
        return self.numbers.get((row, column), f"{self.weights[row, column]:.2f}")


def read_back(ax: Axes) -> DrawnMap:
    """Read one map from the axes that `draw.draw_map` and `draw.badge` drew it into."""
    (image,) = ax.images
    weights: np.ndarray = np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan)
    hatched = np.zeros(weights.shape, bool)
    for patches in (each for each in ax.collections if isinstance(each, PatchCollection)):
        for path in patches.get_paths():
            (x, y), (right, below) = path.get_extents().get_points() + 0.5
            hatched[int(y) : int(below), int(x) : int(right)] = True
    numbers = {}
    name = None
    colour = None
    for text in ax.texts:
        if paper := text.get_bbox_patch():
            name, colour = text.get_text(), to_hex(paper.get_facecolor())
        elif text.get_transform() is ax.transData:
            x, y = text.get_position()
            numbers[int(y), int(x)] = text.get_text()
    low, high = image.to_rgba(np.array([[0.0, 1.0]]))[0]
    return DrawnMap(weights, hatched, numbers, (to_hex(low), to_hex(high)), name, colour)


def named(axis: Axis, words: Sequence[str], families: list[str]) -> list[str]:
    """Return the name of each row or column as the axis has it; where it has none, the word.

    A word that this machine's fonts cannot show, or that is too long, is given in full.
    """
    names = list(words)
    for place, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True):
        word = words[int(place)]
        if label.get_text() != drawable(shorten(word), families):
            names[int(place)] = label.get_text()
    return names
