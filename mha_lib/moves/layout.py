"""Where each cell of a tensor with any number of axes is drawn.

An axis is three numbers (dx, dy, wrap): index i adds (i % wrap)·dx to x and
(i // wrap)·dy to y. The browser and plot_moves both place cells by these numbers, in
pixels, and know no other rule.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from math import prod
from typing import Any, TypedDict

from ..look.colours import head_letter
from ..text import read
from .axes import MIXED, Axis
from .recording import Frame, Kind

NAMES = read("moves")["names"]
CELL = (34, 26)
LABEL = 22  # above every block
ROWS = 58  # left of the blocks, for the rows' labels
GAP, SLIT = 22, 4  # between blocks, and between words or heads within one block
WIDE, NARROW = 860, 450
MOST_LABELS = 64
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


def place(piece: Piece, index: Iterable[Any]) -> tuple[float, float]:
    """Return x and y of the cell at `index`; the axes it leaves out are at their first.

    An array an axis places many cells at once.
    """
    x, y = piece["at"]
    for i, (dx, dy, wrap) in zip(index, piece["axes"], strict=False):
        x, y = x + i % wrap * dx, y + i // wrap * dy
    return x, y


def tone(factor: str) -> int:
    """Return the number of the colour in which an axis of this name is written."""
    return TONES.get(factor, 5)


@cache
def index_words(axis: Axis, index: int) -> Words:
    """Say what `index` along an axis means: [("sentence 1", 0), ("head A", 2)], or [3]."""
    if prod(factor.size for factor in axis) <= index or any(factor.name == MIXED for factor in axis):
        return ((f"[{index}]", 5),)
    found: Words = ()
    for name, size, *_ in reversed(axis):
        index, i = divmod(index, size)
        shown = head_letter(i) if name == "head" else str(i + 1)
        found = ((f"{NAMES.get(name, name)} {shown}", tone(name)), *found)
    return found


def picture(
    tensors: Sequence[tuple[str, tuple[int, ...], tuple[Axis, ...]]], width: float = WIDE, labels: bool = True
) -> Picture:
    """Lay out one frame: each tensor as (its title, shape, axes), side by side while they fit."""
    drawn: Picture = {"size": (0, 0), "pieces": [], "blocks": [], "rows": []}
    if not labels:  # many cells, to be shown smaller: a sheet about twice as wide as high
        width = max(width, (2 * CELL[0] * CELL[1] * sum(prod(shape) for _, shape, _ in tensors)) ** 0.5)
    x = y = high = 0.0
    for title, shape, axes in tensors:
        placed, rows, block, size = _arrange(shape, axes, width, labels)
        names = _row_names(shape, axes, rows) if labels else {}
        left = max(ROWS, *map(_long, names.values())) + 8 if names else 0
        if x and x + left + size[0] > width:
            x, y, high = 0.0, y + high + GAP / 2, 0.0
        piece: Piece = {"at": (x + left, y + LABEL), "axes": placed}
        drawn["pieces"].append(piece)
        if labels:
            _label(drawn, piece, title, shape, axes, rows, block, names, left)
        x, high = x + left + size[0] + GAP, max(high, size[1])
        drawn["size"] = (max(drawn["size"][0], x - GAP), y + high)
    return drawn


def _arrange(shape, axes, width, labels):
    """Return the axes' numbers, which of them are rows, a block's width, and the whole's size."""
    numbers = [(0.0, 0.0, 1)] * len(shape)
    sizes = [max(n, 1) for n in shape]
    block, high = CELL
    width -= ROWS
    if shape:
        columns = max(int(width // CELL[0]), 1) if len(shape) == 1 else sizes[-1]
        numbers[-1] = (*CELL, columns)
        block, high = CELL[0] * min(sizes[-1], columns), CELL[1] * -(-sizes[-1] // columns)
    rows = range(max(len(shape) - 2, 0), max(len(shape) - 1, 0))
    cut = len(shape) > 2 and [factor.name for factor in axes[-2]] == ["head"]  # each word into its heads
    if labels and cut and sizes[-3] > (width + GAP) // (block + GAP) <= prod(sizes[:-3]):
        rows = range(rows.start - 1, rows.stop)  # the sentences fill the width: words below each other
    for axis in reversed(rows):
        apart = SLIT if cut and axis == rows.start else 0
        numbers[axis] = (0, high + apart, 1)
        high = (high + apart) * sizes[axis] - apart
    wide, high = block, high + LABEL
    for outer, axis in enumerate(reversed(range(rows.start))):
        n, fit = sizes[axis], max(int((width + GAP) // (wide + GAP)), 1)
        wrap = n if n <= fit else next((k for k in range(fit, 1, -1) if n % k == 0), fit)
        if labels and outer % 2:  # sentences below each other, their heads side by side
            wrap = 1
        numbers[axis] = (wide + GAP, high + GAP / 3, wrap)
        wide, high = (wide + GAP) * wrap - GAP, (high + GAP / 3) * -(-n // wrap) - GAP / 3
    return numbers, rows, block, (wide, high)


def _row_names(shape, axes, rows) -> dict[tuple[int, ...], Words]:
    """Say what each row of a block is: "word 1", or "word 1 · A" where heads are rows too."""
    names: dict[tuple[int, ...], Words] = {}
    if rows and prod(shape[a] for a in rows) <= MOST_LABELS:
        for index in product(*(range(shape[a]) for a in rows)):
            first, *others = (index_words(axes[a], i) for a, i in zip(rows, index, strict=True))
            names[index] = sum(map(_short, others), first)
    return names


def _label(drawn, piece, title, shape, axes, rows, block, names, left):
    """Write above each block what it is, and left of the leftmost ones what the rows are."""
    outer = shape[: rows.start]
    if 0 in shape or prod(outer) > MOST_LABELS:
        return
    for index in product(*map(range, outer)):
        x, y = place(piece, index)
        parts = sum(map(index_words, axes, index), ((title, 5),) if title else ())
        if _long(parts) > block + GAP / 2:
            parts = _short(parts)
        drawn["blocks"].append((x, y - LABEL, block, parts if _long(parts) <= block + GAP else ()))
        if x - piece["at"][0] < 1:
            for row, name in names.items():
                drawn["rows"].append((x - left, place(piece, (*index, *row))[1], left - 8, name))


def _short(parts: Words) -> Words:
    """Only the numbers and letters: "1 · A" for "sentence 1 · head A"."""
    return tuple((words.split()[-1], number) for words, number in parts)


def _long(parts: Words) -> float:
    return CHARACTER * (sum(len(words) for words, _ in parts) + 3 * max(len(parts) - 1, 0))


def frame_picture(frame: Frame, width: float, labels: bool) -> Picture:
    """Lay the frame out; where it shows several tensors, each has its name or number as title."""
    several = len(frame.steps) > 1
    titles = [step.operation if frame.kind is Kind.INPUT else f"[{k}]" for k, step in enumerate(frame.steps)]
    return picture(
        [
            (title if several else "", step.shape, step.axes)
            for title, step in zip(titles, frame.steps, strict=True)
        ],
        width,
        labels,
    )
