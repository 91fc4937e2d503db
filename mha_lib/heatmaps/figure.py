"""Heatmaps of attention weights: what each head looks at, on one scale from 0 to 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from torch import Tensor

from ..look.fonts import HINT, drawable, families_for
from ..look.style import Drawing, head_colour, head_letter
from ..text import counted, sentences
from .draw import HATCH, LINE, MASKED, badge, colour_bar, draw_map, inches, name_axis, shorten
from .read import WeightMaps, Words, read_maps

text = sentences("heads")

# Inches: the largest cell, a notebook's width, the maps' height on a projector.
CELL, WIDTH, HEIGHT = 0.62, 10.0, 4.9
TITLE, GAP, BAR = 0.45, 0.3, 1.05  # inches: above a map, between maps, for the colour bar


def _alt(maps: WeightMaps, panels) -> str:
    Lq, Lk = maps.weights.shape[-2:]
    said = [text.alt.format(**counted(heads=len(maps.heads), queries=Lq, keys=Lk))]
    for name, _, weights, keep in panels if 0 < Lq <= 8 and Lk else ():
        looks = []
        for query, row, may in zip(maps.queries, weights.round(3), keep, strict=True):
            form = text.alt_looks if may.any() else text.alt_nothing
            form = text.alt_even if may.sum() > 1 and np.ptp(row[may]) == 0 else form
            form = text.alt_nan if np.isnan(row[may]).any() else form
            best = int(np.argmax(np.where(may, row, -1)))
            looks.append(form.format(query=query, key=maps.keys[best], weight=f"{row[best]:.2f}"))
        said.append(text.alt_head.format(name=name, looks=", ".join(looks)))
    return " ".join(said)


def plot_heads(
    weights: Tensor,
    queries: Words = None,
    keys: Words = None,
    *,
    sample: int | None = None,
    heads: Sequence[int] | None = None,
    valid_lens: Tensor | None = None,
    attn_mask: Tensor | None = None,
    mean: bool = False,
) -> Drawing:
    """Draw what each head gives each key: a panel a head, rows are queries, columns keys.

    All panels share the scale from 0 to 1. Give the `valid_lens` and `attn_mask` that the
    layer was given, and what a query may not attend to is hatched; without them it is a 0
    like any other. NaN is a cross.

    Args:
        weights: (B, h, Lq, Lk), (h, Lq, Lk) or (Lq, Lk), as a layer returns them.
        queries, keys: words, one a row and one a column, or for each sample its words.
            Without `keys` a square map has the same words on both axes.
        sample: which sentence of the batch; may be left out when there is one.
        heads: which heads, in the order to show; all when left out.
        valid_lens: (B,) or (B, Lq). attn_mask: bool, True = may attend.
        mean: whether to add the mean of the heads as a last panel.

    Raises:
        TypeError, ValueError: what was wrong with which argument.

    Example:
        >>> import torch
        >>> plot_heads(torch.eye(2)[None], ["the", "cat"])
        [picture] Attention weights, 1 head, 2 queries by 2 keys. Head A: the → the 1.00, cat → cat 1.00.
    """
    maps = read_maps(weights, queries, keys, sample, heads, valid_lens, attn_mask)
    values, keep = maps.weights[0].numpy(), maps.keep[0].numpy()
    panels = [
        (text.head.format(letter=head_letter(head)), head_colour(head), values[i], keep[i])
        for i, head in enumerate(maps.heads)
    ]
    if mean:
        letters = ", ".join(map(head_letter, maps.heads))
        panels.append((text.mean.format(letters=letters), "#666666", values.mean(0), keep.any(0)))
    return _draw(maps, panels)


def _draw(maps: WeightMaps, panels) -> Drawing:
    Lq, Lk = maps.weights.shape[-2:]
    said = "".join(name for name, *_ in panels) + text.queries + text.keys + text.masked + text.not_a_number
    families = families_for("".join(maps.queries + maps.keys) + said + "□")
    columns = min(len(panels), 4 if len(panels) <= 12 else 6)
    rows = -(-len(panels) // columns)
    left = inches([shorten(word) for word in maps.queries]) + 0.35
    widest = (WIDTH - left - BAR - GAP * (columns - 1)) / (columns * max(Lk, 1))
    wide, high = min(CELL, widest), min(CELL, HEIGHT / (rows * max(Lq, 1)))
    if 0.5 < Lq / max(Lk, 1) < 2:  # only a narrow map may have cells that are not square
        wide = high = min(wide, high)
    width, height = max(wide * Lk, 0.95), max(high * Lq, 0.3)
    words = [shorten(word) for word in maps.keys]
    padding = ~maps.keep[0].flatten(0, 1).any(0).numpy()
    marks = _marks(maps, families, drawable("".join(maps.queries + maps.keys), families))
    below = max(inches(words) if inches(words) > wide else 0, LINE) + 0.4 + 0.22 * len(marks)
    tall = rows * (height + TITLE) + below
    size = (left + columns * width + GAP * (columns - 1) + BAR, tall)
    figure = Drawing(size, alt=_alt(maps, panels))
    for n, (name, colour, weights, keep) in enumerate(panels):
        row, column = divmod(n, columns)
        x, y = left + column * (width + GAP), tall - (row + 1) * (height + TITLE)
        ax = figure.add_axes((x / size[0], y / tall, width / size[0], height / tall))
        draw_map(ax, weights, keep, min(wide, high))
        badge(ax, name, colour, families)
        if column == 0:
            grey = padding if maps.queries == maps.keys else np.zeros(Lq, bool)
            name_axis(ax, ax.yaxis, maps.queries, high, families, grey)
            ax.set_ylabel(text.queries, size=10.5, style="italic", family=families)
        if n + columns >= len(panels):
            name_axis(ax, ax.xaxis, maps.keys, wide, families, padding)
            ax.set_xlabel(text.keys, size=10.5, style="italic", family=families)
    high = max(height, 0.9)
    x, y = 1 - (BAR - 0.25) / size[0], 1 - (TITLE + high) / tall
    box = figure.add_axes((x, y, 0.14 / size[0], high / tall))
    colour_bar(figure, box, families)
    if marks:
        look: dict[str, Any] = {"frameon": False, "borderaxespad": 0.2, "labelspacing": 0.3}
        look |= {"loc": "lower left", "bbox_to_anchor": (left / size[0] - 0.01, 0), "handlelength": 1.2}
        figure.legend(handles=marks, prop={"family": families, "size": 10}, **look)
    return figure


def _marks(maps: WeightMaps, families: list[str], words: str) -> list:
    """Explain the marks that are in the picture, and only those."""
    marks: list[Patch | Line2D] = []
    if not maps.keep.all():
        marks.append(Patch(label=text.masked, facecolor=MASKED, edgecolor=HATCH, hatch="////", linewidth=0))
    if bool((maps.weights.isnan() & maps.keep).any()):
        marks.append(Line2D([], [], color="black", marker="x", markersize=8, ls="", label=text.not_a_number))
    if "□" in words:
        marks.append(Line2D([], [], linestyle="", label=drawable(HINT, families)))
    return marks
