"""A sheet of thumbnails: all heads of all blocks on one page, which can be printed."""

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from ..look.fonts import families_for
from ..look.style import HALO, Drawing
from ..text import counted, sentences
from .draw import colour_bar, draw_map
from .drawn import read_back
from .pool import MASKED, pooled
from .read import WeightMaps

text = sentences("heads")
WIDTH, LARGEST = 10.0, 0.95  # inches: the sheet, a thumbnail
NAME, GAP, BAR, TOP = 0.19, 0.07, 0.75, 0.08  # inches: above a thumbnail, between two, at the right, above
MOST_COLUMNS, MOST_CELLS = 16, 64


def draw_sheet(maps: WeightMaps) -> Drawing:
    """Draw every head as a thumbnail with its name, a row a block, on one scale."""
    small = pooled(maps.weights, maps.mask, MOST_CELLS)
    blocks, heads, queries, keys = small.shape
    columns = heads if heads <= MOST_COLUMNS else 12
    rows = blocks * -(-heads // columns)
    wide = min(LARGEST, (WIDTH - BAR) / columns - GAP)
    high = wide * min(max(queries / max(keys, 1), 0.35), 2.0)
    size = (columns * (wide + GAP) + BAR, max(rows * (high + NAME) + TOP, 1.2))
    families = families_for("")
    figure = Drawing(size)
    axes = []
    for n in range(blocks * heads):
        block, head = divmod(n, heads)
        row, column = divmod(head, columns)
        down = (block * -(-heads // columns) + row + 1) * (high + NAME)
        place = (column * (wide + GAP) + GAP, size[1] - down)
        ax = figure.add_axes((place[0] / size[0], place[1] / size[1], wide / size[0], high / size[1]))
        draw_map(ax, *_numbers(small[block, head]), cell=0.0)
        ax.set_title(maps.name(block, head), size=7.5, pad=1.5, path_effects=HALO)
        axes.append(ax)
    high = min(size[1] - 0.4, 2.5)
    bar = (1 - (BAR - 0.12) / size[0], 1 - (high + NAME + TOP) / size[1], 0.1 / size[0], high / size[1])
    colour_bar(figure, figure.add_axes(bar), families)
    counts = counted(heads=heads, queries=maps.weights.shape[-2], keys=maps.weights.shape[-1])
    figure.alt = text.alt_sheet.format(blocks=blocks, **counts)
    figure.details = "\n".join(
        text.sheet_block.format(looks=", ".join(_say(ax) for ax in axes[i : i + heads]))
        for i in range(0, len(axes), heads)
    )
    return figure


def _numbers(small: Tensor) -> tuple[np.ndarray, np.ndarray]:
    values = small.numpy()
    return values, values != MASKED


def _say(ax: Axes) -> str:
    """Say of one thumbnail where its largest weight is, as it is drawn: row and column from 1."""
    if not ax.images:
        return text.sheet_empty.format(name=ax.get_title())
    drawn = read_back(ax)
    seen = np.where(drawn.hatched, -1, np.nan_to_num(drawn.weights, nan=-1.0)).round(2)
    row, column = divmod(int(seen.argmax()), seen.shape[1])
    return text.sheet_head.format(
        name=ax.get_title(), row=row + 1, column=column + 1, weight=drawn.number(row, column)
    )
