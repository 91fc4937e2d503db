"""Heatmaps of attention weights: what each head looks at, on one scale from 0 to 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from torch import Tensor

from ..errors import value_error
from ..look.fonts import HINT, drawable, families_for
from ..look.style import HALO, Drawing, head_colour, head_letter
from ..look.unseen import visible
from ..text import sentences
from .draw import HATCH, LINE, MASKED, badge, colour_bar, draw_map, inches, name_axis, shorten
from .read import WeightMaps, Weights, read_maps
from .said import say_drawn
from .sheet import draw_sheet
from .words import Words

text = sentences("heads")

# Inches: the largest cell, a notebook's width, the maps' height on a projector.
CELL, WIDTH, HEIGHT = 0.62, 10.0, 4.9
TITLE, GAP, BAR = 0.45, 0.3, 1.05  # inches: above a map, between maps, for the colour bar
NEUTRAL = "#666666"  # the badge of what is no head of the layer
MOST_PANELS = 24  # more heads than that are a sheet of thumbnails


def plot_heads(
    weights: Weights,
    queries: Words = None,
    keys: Words = None,
    *,
    sample: int | None = None,
    heads: Sequence[int] | None = None,
    valid_lens: Tensor | None = None,
    attn_mask: Tensor | None = None,
    mean: bool = False,
    names: Sequence[str] | None = None,
) -> Drawing:
    """Draw what each head gives each key: a panel a head, rows are queries, columns keys.

    All panels share the scale from 0 to 1. Give the `valid_lens` and `attn_mask` that the
    layer was given, and what a query may not attend to is hatched; without them it is a 0
    like any other. NaN is a cross. Several blocks, or more than 24 heads, become a sheet of
    thumbnails that can be printed, a row a block.

    Args:
        weights: (B, h, Lq, Lk), (h, Lq, Lk) or (Lq, Lk), as a layer returns them; or of
            several layers (layers, B, h, Lq, Lk), or a list of them. Tensors or arrays.
        queries, keys: words, one a row and one a column, or for each sample its words.
            Without `keys` a square map has the same words on both axes.
        sample: which sentence of the batch; may be left out when there is one.
        heads: which heads, in the order to show; all when left out.
        valid_lens: (B,) or (B, Lq). attn_mask: bool, True = may attend.
        mean: whether to add the mean of the heads as a last panel.
        names: what to call the maps, in place of "Head A", "Head B"; without the heads' colours.

    Raises:
        TypeError, ValueError: what was wrong with which argument.

    Example:
        >>> import torch
        >>> plot_heads(torch.eye(2)[None], ["the", "cat"])
        [picture] Attention weights, 1 head, 2 queries by 2 keys. Head A: the → the 1.00, cat → cat 1.00.
        Colours: #f7fcfd for 0 to #4d004b for 1. Head A #0072b2.
    """
    maps = read_maps(weights, queries, keys, sample, heads, valid_lens, attn_mask)
    if len(maps.weights) > 1 or len(maps.heads) > MOST_PANELS:
        return draw_sheet(maps)
    values, mask = maps.weights[0].numpy(), maps.mask[0].numpy()
    titles = _titles(maps, names)
    panels = [_Panel(*title, values[i], mask[i]) for i, title in enumerate(titles)]
    if mean:
        letters = ", ".join(map(head_letter, maps.heads))
        panels.append(_Panel(text.mean.format(letters=letters), NEUTRAL, values.mean(0), np.any(mask, 0)))
    return _draw(maps, panels)


def _titles(maps: WeightMaps, names: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return what each map is called, with the colour of its badge."""
    if names is None:
        return [(text.head.format(name=maps.name(0, i)), head_colour(n)) for i, n in enumerate(maps.heads)]
    if isinstance(names, str) or len(names) != len(maps.heads):
        raise value_error("names", f"a list of {len(maps.heads)}, one for each map", repr(names))
    return [(visible(name), NEUTRAL) for name in names]


@dataclass(frozen=True)
class _Panel:
    name: str
    colour: str
    weights: np.ndarray
    mask: np.ndarray


@dataclass(frozen=True)
class _Plan:
    """Where the panels stand, in inches from the lower left corner."""

    columns: int
    wide: float  # of a cell
    high: float
    width: float  # of a map
    height: float
    left: float
    size: tuple[float, float]

    def box(self, n: int) -> tuple[float, float, float, float]:
        """Return the place of the n-th map as matplotlib wants it: parts of the figure."""
        row, column = divmod(n, self.columns)
        x = self.left + column * (self.width + GAP)
        y = self.size[1] - (row + 1) * (self.height + TITLE)
        return x / self.size[0], y / self.size[1], self.width / self.size[0], self.height / self.size[1]

    @property
    def bar(self) -> tuple[float, float, float, float]:
        """The place of the colour bar."""
        high = max(self.height, 0.9)
        x, y = 1 - (BAR - 0.25) / self.size[0], 1 - (TITLE + high) / self.size[1]
        return x, y, 0.14 / self.size[0], high / self.size[1]


def _plan(maps: WeightMaps, count: int, marks: int) -> _Plan:
    Lq, Lk = maps.weights.shape[-2:]
    columns = min(count, 4 if count <= 12 else 6)
    rows = -(-count // columns)
    left = inches([shorten(word) for word in maps.queries]) + 0.35
    widest = (WIDTH - left - BAR - GAP * (columns - 1)) / (columns * max(Lk, 1))
    wide, high = min(CELL, widest), min(CELL, HEIGHT / (rows * max(Lq, 1)))
    if 0.5 < Lq / max(Lk, 1) < 2:  # only a narrow map may have cells that are not square
        wide = high = min(wide, high)
    width, height = max(wide * Lk, 0.95), max(high * Lq, 0.3)
    longest = inches([shorten(word) for word in maps.keys])
    below = max(longest if longest > wide else 0, LINE) + 0.4 + 0.22 * marks
    size = (left + columns * width + GAP * (columns - 1) + BAR, rows * (height + TITLE) + below)
    return _Plan(columns, wide, high, width, height, left, size)


def _draw(maps: WeightMaps, panels: list[_Panel]) -> Drawing:
    words = "".join(maps.queries + maps.keys)
    labels = "".join(panel.name for panel in panels) + text.queries + text.keys + text.masked
    families = families_for(words + labels + text.not_a_number + "□")
    marks = _marks(maps, families, drawable(words, families))
    plan = _plan(maps, len(panels), len(marks))
    figure = Drawing(plan.size)
    axes = []
    for n, panel in enumerate(panels):
        ax = figure.add_axes(plan.box(n))
        draw_map(ax, panel.weights, panel.mask, min(plan.wide, plan.high))
        badge(ax, panel.name, panel.colour, families)
        if n % plan.columns == 0:
            _name_queries(ax, maps, plan.high, families)
        if n + plan.columns >= len(panels):
            _name_keys(ax, maps, plan.wide, families)
        axes.append(ax)
    colour_bar(figure, figure.add_axes(plan.bar), families)
    if marks:
        look: dict[str, Any] = {"frameon": False, "borderaxespad": 0.2, "labelspacing": 0.3}
        look |= {"loc": "lower left", "bbox_to_anchor": (plan.left / plan.size[0] - 0.01, 0)}
        look |= {"prop": {"family": families, "size": 10}, "handlelength": 1.2}
        for label in figure.legend(handles=marks, **look).get_texts():
            label.set_path_effects(HALO)
    figure.alt, figure.details = say_drawn(maps, axes, families)
    return figure


def _padding(maps: WeightMaps) -> np.ndarray:
    return ~maps.mask[0].flatten(0, 1).any(0).numpy()


def _name_queries(ax: Axes, maps: WeightMaps, cell: float, families: list[str]) -> None:
    grey = _padding(maps) if maps.queries == maps.keys else np.zeros(len(maps.queries), bool)
    name_axis(ax, ax.yaxis, maps.queries, cell, families, grey)
    ax.set_ylabel(text.queries, size=10.5, style="italic", family=families, path_effects=HALO)


def _name_keys(ax: Axes, maps: WeightMaps, cell: float, families: list[str]) -> None:
    name_axis(ax, ax.xaxis, maps.keys, cell, families, _padding(maps))
    ax.set_xlabel(text.keys, size=10.5, style="italic", family=families, path_effects=HALO)


def _marks(maps: WeightMaps, families: list[str], words: str) -> list[Patch | Line2D]:
    """Explain the marks that are in the picture, and only those."""
    marks: list[Patch | Line2D] = []
    if not maps.mask.all():
        marks.append(Patch(label=text.masked, facecolor=MASKED, edgecolor=HATCH, hatch="////", linewidth=0))
    if bool((maps.weights.isnan() & maps.mask).any()):
        marks.append(Line2D([], [], color="black", marker="x", markersize=8, ls="", label=text.not_a_number))
    if "□" in words:
        marks.append(Line2D([], [], linestyle="", label=drawable(HINT, families)))
    return marks
