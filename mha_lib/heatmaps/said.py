"""What a figure of heads shows, in words that are read back from it."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ..text import counted, sentences
from .drawn import DrawnMap, named, read_back
from .read import WeightMaps

text = sentences("heads")
MOST_ROWS, ALL_ROWS = 8, 32  # what is told of one map, and of all


def say_drawn(maps: WeightMaps, axes: Sequence[Axes], families: list[str]) -> tuple[str, str]:
    """Return the alt text (who looks where) and the details (colours, hatching) of a figure.

    Names stand on the first map's rows and on the last one's columns. Of a large map some rows
    are told, evenly chosen.
    """
    Lq, Lk = maps.weights.shape[-2:]
    lines = [text.alt.format(**counted(heads=len(maps.heads), queries=Lq, keys=Lk))]
    if not Lq or not Lk:
        return lines[0], ""
    queries = named(axes[0].yaxis, maps.queries, families)
    keys = named(axes[-1].xaxis, maps.keys, families)
    drawn = [read_back(ax) for ax in axes]
    count = min(Lq, MOST_ROWS, max(1, ALL_ROWS // len(drawn)))
    rows = [Lq * i // count for i in range(count)]
    for panel in drawn:
        looks = ", ".join(_say_row(panel, row, queries[row], keys) for row in rows)
        lines.append(text.alt_head.format(name=panel.name, looks=looks))
    return " ".join(lines), _say_looks(drawn)


def _say_row(panel: DrawnMap, row: int, query: str, keys: Sequence[str]) -> str:
    may = ~panel.hatched[row]
    weights = panel.weights[row]
    if not may.any():
        return text.alt_nothing.format(query=query)
    if np.isnan(weights[may]).any():
        return text.alt_nan.format(query=query)
    best = int(np.argmax(np.where(may, weights.round(3), -1)))
    even = may.sum() > 1 and np.ptp(weights[may].round(3)) == 0
    form = text.alt_even if even else text.alt_looks
    return form.format(query=query, key=keys[best], weight=panel.number(row, best))


def _say_looks(drawn: Sequence[DrawnMap]) -> str:
    low, high = drawn[0].ends
    heads = ", ".join(f"{panel.name} {panel.colour}" for panel in drawn)
    hatched = sum(int(panel.hatched.sum()) for panel in drawn)
    return text.details.format(low=low, high=high, heads=heads) + text.details_hatched.format(
        count=hatched
    ) * bool(hatched)
