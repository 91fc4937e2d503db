"""One heatmap of attention weights, drawn into a matplotlib axes: the parts of every such picture."""

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import Normalize, to_hex
from matplotlib.patches import Rectangle

from ..look.fonts import drawable
from ..look.style import HALO, MONO, Drawing, ink
from ..text import sentences

text = sentences("heads")

# Light to dark in every form of colour blindness, and none of the heads' own colours.
COLOURS = colormaps["BuPu"]
PALETTE = tuple(to_hex(colour) for colour in COLOURS(range(256)))
SCALE = Normalize(0, 1)
MASKED, HATCH, BAD = "#d9d9d9", "#8c8c8c", "#ffe9a8"
LINE = 0.2  # inches: a line of words
NUMBERED, GRIDDED = 0.35, 0.15  # inches: the smallest cell with its number, with white around it


def weight_colour(weight: float) -> str:
    """Return the map's colour for a weight as #rrggbb; below 0 that of 0, above 1 that of 1."""
    return PALETTE[int(min(max(weight * 256, 0), 255))]


def inches(words: Sequence[str]) -> float:
    """Return the width of the longest word at the size of a label."""
    wide = [sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in word) for word in words]
    return 0.088 * max(wide, default=0) + 0.1


def shorten(word: str, most: int = 14) -> str:
    """Return the word, or its beginning and … when it is longer than `most` signs."""
    return word if len(word) <= most else word[: most - 1] + "…"


def draw_map(ax: Axes, weights: np.ndarray, mask: np.ndarray, cell: float) -> None:
    """Draw one head's weights (Lq, Lk) into `ax`, whose cells are `cell` inches wide.

    Numbers stand in the cells that are large enough. Where `mask` is False a cell is hatched,
    and NaN is a cross: neither can be taken for a weight of 0.
    """
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    Lq, Lk = weights.shape
    if not weights.size:
        return
    ax.set_facecolor(BAD)
    shown = np.ma.masked_invalid(np.where(mask, weights, 0.0))
    ax.imshow(shown, COLOURS, SCALE, aspect="auto", interpolation="nearest")
    _hatch(ax, mask)
    _cross(ax, np.isnan(weights) & mask, cell)
    if cell > GRIDDED:
        ax.vlines(np.arange(0.5, Lk - 1), -0.5, Lq - 0.5, color="white", linewidth=1.5)
        ax.hlines(np.arange(0.5, Lq - 1), -0.5, Lk - 0.5, color="white", linewidth=1.5)
    if cell >= NUMBERED:
        _number(ax, weights, mask & ~np.isnan(weights), size=min(11.5, 26 * cell))
    ax.set(xlim=(-0.5, Lk - 0.5), ylim=(Lq - 0.5, -0.5))


def _hatch(ax: Axes, mask: np.ndarray) -> None:
    edges = np.argwhere(np.diff(np.pad(~mask, ((0, 0), (1, 1)))))  # where a masked run begins or ends
    runs = [
        Rectangle((start - 0.5, y - 0.5), stop - start, 1)
        for (y, start), (_, stop) in zip(edges[::2], edges[1::2], strict=True)
    ]
    hatch = PatchCollection(runs, facecolor=MASKED, edgecolor=HATCH, hatch="////", linewidth=0)
    ax.add_collection(hatch, autolim=False)


def _cross(ax: Axes, bad: np.ndarray, cell: float) -> None:
    lines = [[(x + a, y - 0.3), (x - a, y + 0.3)] for y, x in np.argwhere(bad) for a in (-0.3, 0.3)]
    pen = 1.5 if cell > 0.2 else 0.7
    ax.add_collection(LineCollection(lines, colors="black", linewidths=pen), autolim=False)


def _number(ax: Axes, weights: np.ndarray, seen: np.ndarray, size: float) -> None:
    centred: dict[str, Any] = {"ha": "center", "va": "center", "family": MONO, "size": size}
    for y, x in np.argwhere(seen):
        colour = ink(weight_colour(weights[y, x]))
        ax.text(x, y, f"{weights[y, x]:.2f}", color=colour, **centred)


def name_axis(
    ax: Axes, axis: Axis, words: Sequence[str], cell: float, families: list[str], grey: np.ndarray
) -> None:
    """Put a tick and its word on one axis, together; every n-th where all would touch."""
    if not words:
        return
    places = range(0, len(words), max(1, int(np.ceil(LINE / max(cell, 1e-6)))))
    labels = [drawable(shorten(words[i]), families) for i in places]
    axis.set_ticks(places, labels, parse_math=False, family=families, size=10.5, path_effects=HALO)
    axis.set_tick_params(length=0 if len(places) == len(words) else 3, pad=3)
    for place, label in zip(places, axis.get_ticklabels(), strict=True):
        label.set_color("#666666" if grey[place] else "black")
    if axis is ax.xaxis and inches(labels) > cell * (places[1] if len(places) > 1 else 1):
        axis.set_tick_params(rotation=90)


def badge(ax: Axes, name: str, colour: str, families: list[str]) -> None:
    """Write a head's name above its map, on its colour."""
    ax.annotate(
        name,
        (0.5, 1),
        (0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        color=ink(colour),
        weight="bold",
        size=10.5,
        bbox={"boxstyle": "round,pad=0.3", "facecolor": colour, "edgecolor": "none"},
        family=families,
    )


def colour_bar(figure: Drawing, box: Axes, families: list[str]) -> None:
    """Draw the scale from 0 to 1 into the axes `box`."""
    bar = figure.colorbar(ScalarMappable(SCALE, COLOURS), cax=box, ticks=[0, 0.5, 1])
    bar.ax.set_yticklabels(["0", "0.5", "1"], path_effects=HALO)
    bar.set_label(text.weight, size=10.5, family=families, path_effects=HALO)
    bar.outline.set_visible(False)
    box.tick_params(labelsize=10.5, length=0)
