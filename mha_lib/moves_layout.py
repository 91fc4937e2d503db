"""Where each cell of a tensor with any number of axes is drawn.

An axis is three numbers (dx, dy, wrap): index i adds (i % wrap)·dx to x and
(i // wrap)·dy to y. The browser and plot_moves both place cells by these numbers, in
pixels, and know no other rule.
"""

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import TypedDict

from .moves_axes import MIXED, Axis, axis_name
from .style import head_letter
from .text.moves import NAMES

CELL = (34, 26)
LABEL = 22  # above every block
ROWS = 58  # left of the blocks, for the rows' labels
GAP, SLIT = 22, 4  # between blocks, and between heads that are the rows of one block
WIDE, NARROW = 860, 420
CHARACTER = 7.4  # of a label, on average

TONES = {"sentence": 0, "word": 1, "query": 1, "head": 2, "feature": 3, "key": 4}
Words = tuple[tuple[str, int], ...]  # pieces of a label, each with the tone of its axis


class Piece(TypedDict):
    """One tensor of a frame: where its first cell is, and its axes' (dx, dy, wrap)."""

    at: tuple[float, float]
    axes: list[tuple[float, float, int]]


class Picture(TypedDict):
    """One frame: its size, its pieces, and labels as (x, y, width, words)."""

    size: tuple[float, float]
    pieces: list[Piece]
    blocks: list[tuple[float, float, float, Words]]
    rows: list[tuple[float, float, float, Words]]


def place(piece: Piece, index: Sequence[int]) -> tuple[float, float]:
    """Return x and y of the cell at `index`."""
    x, y = piece["at"]
    for i, (dx, dy, wrap) in zip(index, piece["axes"], strict=True):
        x, y = x + i % wrap * dx, y + i // wrap * dy
    return x, y


def tone(factor: str) -> int:
    """Return the number of the colour in which an axis of this name is written."""
    return TONES.get(factor, 5)


@cache
def index_words(axis: Axis, index: int) -> Words:
    """Say what `index` along an axis means: [("sentence 1", 0), ("head A", 2)], or [3]."""
    if prod(size for _, size in axis) <= index or any(name == MIXED for name, _ in axis):
        return ((f"[{index}]", 5),)
    found: Words = ()
    for name, size in reversed(axis):
        index, i = divmod(index, size)
        shown = head_letter(i) if name == "head" else str(i + 1)
        found = ((f"{NAMES.get(name, name)} {shown}", tone(name)), *found)
    return found


def picture(tensors: Sequence[tuple[str, tuple[int, ...], tuple[Axis, ...]]], width: float = WIDE,
            labels: bool = True) -> Picture:
    """Lay out one frame: each tensor as (its title, shape, axes), side by side while they fit."""
    drawn: Picture = {"size": (0, 0), "pieces": [], "blocks": [], "rows": []}
    if not labels:  # many cells, to be shown smaller: a sheet about twice as wide as high
        width = max(width, (2 * CELL[0] * CELL[1] * sum(prod(shape) for _, shape, _ in tensors)) ** 0.5)
    x = y = high = 0.0
    for title, shape, axes in tensors:
        placed, inner, size, rows = _arrange(shape, axes, width, labels)
        left = 0.0
        if labels and rows is not None:
            left = max(ROWS, _long(index_words(axes[rows], max(shape[rows] - 1, 0))) + 12)
        if x and x + left + size[0] > width:
            x, y, high = 0.0, y + high + GAP / 2, 0.0
        piece: Piece = {"at": (x + left, y + LABEL), "axes": placed}
        drawn["pieces"].append(piece)
        if labels:
            _label(drawn, piece, title, shape, axes, inner, rows, left)
        x, high = x + left + size[0] + GAP, max(high, size[1])
        drawn["size"] = (max(drawn["size"][0], x - GAP), y + high)
    return drawn


def _arrange(shape, axes, width, labels):
    """Return the axes' numbers, how many axes a block has and its width, the size, the row axis."""
    width -= ROWS
    numbers = [(0.0, 0.0, 1)] * len(shape)
    wide, high = CELL
    last = len(shape) - 1
    if last < 0:
        return numbers, (0, wide), (wide, high + LABEL), None
    columns = max(int(width // CELL[0]), 1) if last == 0 else max(shape[-1], 1)
    numbers[last] = (CELL[0], CELL[1], columns)
    wide, high = CELL[0] * min(max(shape[-1], 1), columns), CELL[1] * max(-(-shape[-1] // columns), 1)
    inner = (last, wide)
    rows = last - 1 if last >= 1 else None
    if rows is not None:
        apart = SLIT if axis_name(axes[rows], 0) == "head" else 0
        numbers[rows] = (0, high + apart, 1)
        high = (high + apart) * max(shape[rows], 1) - apart
    high += LABEL
    for outer, axis in enumerate(range((last if rows is None else rows) - 1, -1, -1)):
        n = max(shape[axis], 1)
        fit = max(int((width + GAP) // (wide + GAP)), 1)
        wrap = n if n <= fit else next((k for k in range(fit, 1, -1) if n % k == 0), fit)
        if labels and outer % 2:  # sentences below each other, their heads side by side
            wrap = 1
        numbers[axis] = (wide + GAP, high + GAP / 3, wrap)
        wide, high = (wide + GAP) * wrap - GAP, (high + GAP / 3) * -(-n // wrap) - GAP / 3
    return numbers, inner, (wide, high), rows


def _label(drawn, piece, title, shape, axes, inner, rows, left):
    """Write above each block what it is, and left of the leftmost ones what the rows are."""
    apart = [a for a in range(inner[0]) if a != rows]
    if prod(shape) == 0 or prod(shape[a] for a in apart) > 64:
        return
    for block in range(prod(shape[a] for a in apart)):
        index, rest = [0] * len(shape), block
        for a in reversed(apart):
            rest, index[a] = divmod(rest, shape[a])
        x, y = place(piece, index)
        parts: Words = ((title, 5),) if title else ()
        for a in apart:
            parts += index_words(axes[a], index[a])
        if _long(parts) > inner[1] + GAP / 2:  # only numbers and letters: "1·A"
            parts = tuple((words.split()[-1], number) for words, number in parts)
        if _long(parts) > inner[1] + GAP:
            parts = ()
        drawn["blocks"].append((x, y - LABEL, inner[1], parts))
        if rows is not None and abs(x - piece["at"][0]) < 1 and shape[rows] <= 40:
            for i in range(shape[rows]):
                index[rows] = i
                drawn["rows"].append((x - left, place(piece, index)[1], left - 8, index_words(axes[rows], i)))


def _long(parts: Words) -> float:
    return CHARACTER * (sum(len(words) for words, _ in parts) + 3 * max(len(parts) - 1, 0))
