"""Where each cell of a tensor is drawn, and what is written beside it.

An axis is a list of digits (size, dx, dy), slowest first: an index is written in that mixed
radix, and each digit moves the cell by so much. Page and figure both place cells by these
numbers, in pixels, and know no other rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .axes import Cells, Factor, coordinates
from .compare import Comparison, Verdict
from .labels import Part, Parts, Words, axis_factors, bracketed, named, row_parts, shared, shortened, width
from .lines import CELL, GAP, HIGH, LABEL, NARROW, SLIT, WIDE, Lines, outer_axes, set_lines
from .recording import Frame, Kind, Recording, Step

__all__ = ["CELL", "NARROW", "WIDE", "Digit", "Label", "Picture", "Piece", "pictures", "place"]

MOST_LABELS = 64
WRONG_TONE = 6


class Digit(NamedTuple):
    """One digit of an axis: how many values it has, and what each adds to x and y."""

    size: int
    dx: float
    dy: float


class Piece(NamedTuple):
    """One tensor of a frame: where its first cell is, and the digits of its axes."""

    at: tuple[float, float]
    axes: tuple[tuple[Digit, ...], ...]


class Label(NamedTuple):
    """Something written: its upper left corner, its width, and its parts."""

    x: float
    y: float
    width: float
    parts: Parts


@dataclass(frozen=True)
class Picture:
    """One frame: its size, its pieces, and the labels of blocks, rows and heads."""

    size: tuple[float, float]
    pieces: tuple[Piece, ...]
    blocks: tuple[Label, ...] = ()
    rows: tuple[Label, ...] = ()
    brackets: tuple[Label, ...] = ()


@dataclass(frozen=True)
class _Sheet:
    """What all frames of a recording have in common, so that nothing jumps between them."""

    words: Words
    room: float
    left: float = 0.0  # room for the names of rows
    top: float = 0.0  # room for labels above the first line
    pitch: float = 0.0  # from one column of text to the next
    band: float = 0.0  # from one band of a column to the next


def place(piece: Piece, index: Sequence[Any]) -> tuple[Any, Any]:
    """Return x and y of the cell at `index`; the axes it leaves out are at their first.

    An array an axis places many cells at once.
    """
    x, y = piece.at
    for i, digits in zip(index, piece.axes, strict=False):
        for position, digit in enumerate(reversed(digits)):
            value = i if position == len(digits) - 1 else i % digit.size  # the first takes what is left
            x, y, i = x + value * digit.dx, y + value * digit.dy, i // digit.size
    return x, y


def pictures(
    recording: Recording,
    room: float = WIDE,
    labels: bool = True,
    against: Comparison | None = None,
    cell: float = CELL[0],
) -> tuple[Picture, ...]:
    """Lay out every frame of a recording in `room` pixels, with cells that are `cell` pixels wide.

    `room` says what stands beside what, for cells of the usual width; narrower ones only move closer.
    With `against`, in which it is the second recording, the blocks of what it returned that hold
    wrong numbers are called by what they should hold, with a question mark.
    """
    lines = set_lines(recording, room, labels)
    panels = [_Panel(step, set_, labels, cell) for step, set_ in zip(recording.steps, lines, strict=True)]
    _keep_gaps(panels)
    _drop_bands(recording, panels)
    sheet = _Sheet(recording.words, room)
    if labels:
        rows = [label for panel in panels for _, label in panel.row_names(recording.words)]
        sheet = replace(
            sheet,
            left=max([0.0, *(width(parts) + 8 for parts in rows)]),
            top=LABEL * (2 if any(panel.heads for panel in panels) else 1),
        )
    beside = [panel.line for panel in panels if panel.columns > 1] or [0.0]
    below = [panel.band_height for panel in panels if panel.bands > panel.columns] or [0.0]
    sheet = replace(sheet, pitch=sheet.left + max(beside) + GAP, band=max(below))
    wrong = _suspects(against)
    drawn: list[Picture] = []
    for frame in recording.frames:
        first = sum(len(picture.pieces) for picture in drawn)
        own = panels[first : first + len(frame.steps)]
        last = frame is recording.frames[-1]
        drawn.append(_frame(frame, own, sheet, wrong if last else {}))
    return tuple(drawn)


def _keep_gaps(panels: Sequence["_Panel"]) -> None:
    """Let all steps of a run have a gap where one of them has: a line stays where it is."""
    for run in {panel.run for panel in panels}:
        own = [panel for panel in panels if panel.run == run]
        block, gap = min(panel.block for panel in own), max(panel.gap for panel in own)
        if block and all(panel.has_blocks_of(block) for panel in own):
            for panel in own:
                panel.block, panel.gap = block, gap


def _drop_bands(recording: Recording, panels: Sequence["_Panel"]) -> None:
    """Several tensors stand below each other as they are: bands are for frames of one tensor."""
    numbered = iter(panels)
    for frame in recording.frames:
        own = [next(numbered) for _ in frame.steps]
        if len(own) > 1:
            for panel in own:
                panel.bands = panel.columns


def _suspects(against: Comparison | None) -> dict[int, tuple[Step, NDArray[np.bool_]]]:
    """Return for each wrong result, by what it is, the right one and the wrong places."""
    if against is None or against.verdict is not Verdict.MISPLACED:
        return {}
    return {id(pair.beside.ids): (pair.right, pair.wrong) for pair in against.pairs}


def _frame(
    frame: Frame,
    panels: Sequence["_Panel"],
    sheet: _Sheet,
    wrong: Mapping[int, tuple[Step, NDArray[np.bool_]]],
) -> Picture:
    """Set the tensors of a frame below each other, and beside each other where that gets too high."""
    several = len(panels) > 1
    pieces: list[Piece] = []
    blocks: list[Label] = []
    rows: list[Label] = []
    brackets: list[Label] = []
    x = y = wide = high = next_x = 0.0
    for number, panel in enumerate(panels):
        across, down = panel.size(sheet)
        if y and y + down > max(HIGH, high):
            x, y = next_x + GAP, 0.0
        piece = panel.piece(sheet, x, y)
        pieces.append(piece)
        if panel.labels:
            name = panel.step.operation if frame.kind is Kind.INPUT else f"[{number}]"
            title = (Part(name, bracketed(0).tone),) if several else ()
            blocks += panel.block_labels(piece, sheet, title, wrong.get(id(panel.step.ids)))
            rows += panel.row_labels(piece, sheet)
            brackets += panel.head_labels(piece)
        wide, high, next_x = max(wide, x + across), max(high, y + down), max(next_x, x + across)
        y += down + SLIT
    wide = max([wide, *(label.x + label.width for label in (*blocks, *brackets))])
    return Picture((wide, high), tuple(pieces), tuple(blocks), tuple(rows), tuple(brackets))


class _Panel:
    """One tensor as text: its digits, and what its rows, blocks and columns are called."""

    def __init__(self, step: Step, lines: Lines, labels: bool, cell: float) -> None:
        self.step = step
        self.labels = labels
        self.cell = cell
        self.shape = step.shape
        self.width = lines.width
        padded = [*self.shape]
        if padded and padded[-1] > self.width:
            padded[-1] = ceil(padded[-1] / self.width) * self.width
        self.weights = [prod(max(n, 1) for n in padded[k:]) for k in range(len(padded) + 1)]
        self.part = max(self.weights[0] // lines.columns, 1)  # the cells of a column
        self.columns, self.bands, self.run = lines.columns, lines.bands, lines.run
        self.outer = outer_axes(self.shape, self.width)
        self.empty = 0 in self.shape
        self.places = coordinates(step.ids.numpy(), step.origins) if labels else {}
        self.heads = self._head_runs() if labels and not self.empty else {}
        cuts = [weight for weight in self.weights[1:] if 1 < weight < self.width]
        self.slits = sorted({*cuts})
        blocks = [weight // self.width for weight in self.weights if weight > self.width]
        self.block = min(blocks, default=0)  # lines from one block to the next, 0 if there is one alone
        self.gap = float(LABEL * (2 if self.heads else 1) + 4 if labels and self.outer else SLIT)
        self.line = self._across(self.width - 1) + cell

    def _across(self, cells: int) -> float:
        return cells * self.cell + SLIT * sum(cells // cut for cut in self.slits)

    def _down(self, lines: int) -> float:
        gaps = lines // self.block if self.block else 0
        return lines * CELL[1] + gaps * self.gap

    @property
    def band(self) -> int:
        """The cells of a band."""
        return max(self.weights[0] // self.bands, 1)

    @property
    def band_height(self) -> float:
        """The room of a band, the gap after it included."""
        return self._down(self.band // self.width)

    def has_blocks_of(self, lines: int) -> bool:
        """Whether a gap after so many lines, again and again, would stand between slices of an axis."""
        cells = lines * self.width
        return all(w % cells == 0 or cells % w == 0 for w in self.weights) and self.block % lines == 0

    def _step(self, weight: int, sheet: _Sheet) -> tuple[float, float]:
        """Return how far a cell stands from the one that is `weight` cells before it in a column's text."""
        if weight >= self.part:
            return sheet.pitch * (weight // self.part), 0.0
        if weight >= self.band:
            return 0.0, sheet.band * (weight // self.band)
        if weight >= self.width:
            return 0.0, self._down(weight // self.width)
        return self._across(weight), 0.0

    def piece(self, sheet: _Sheet, x: float, y: float) -> Piece:
        """Return the tensor's digits, its first cell being under the labels and beside the names."""
        axes = []
        for high, low in zip(self.weights, self.weights[1:], strict=False):
            ends = {self.width, self.block * self.width, self.band, self.part}
            stops = [low, *sorted(end for end in ends if low < end < high), high]
            pairs = list(zip(stops, stops[1:], strict=False))
            axes.append(tuple(Digit(b // a, *self._step(a, sheet)) for a, b in reversed(pairs)))
        return Piece((x + sheet.left, y + sheet.top), tuple(axes))

    def size(self, sheet: _Sheet) -> tuple[float, float]:
        """Return the room that the tensor needs, names and labels included."""
        lines = max(self.band // self.width, 1)
        bands = sheet.band * (self.bands // self.columns - 1)
        high = 0.0 if self.empty else bands + self._down(lines - 1) + CELL[1]
        return sheet.pitch * (self.columns - 1) + sheet.left + self.line, sheet.top + high

    def _blocks(self) -> Iterator[tuple[int, ...]]:
        outer = self.shape[: self.outer]
        if not self.empty and prod(outer) <= MOST_LABELS:
            yield from product(*map(range, outer))

    def block_labels(
        self, piece: Piece, sheet: _Sheet, title: Parts, wrong: tuple[Step, NDArray[np.bool_]] | None
    ) -> Iterator[Label]:
        """Say above each block what all of its cells have in common."""
        for at in self._blocks():
            x, y = place(piece, at)
            parts = self._block_parts(self.step, self.places, at)
            if wrong and wrong[1][at].any():
                right = self._block_parts(wrong[0], coordinates(wrong[0].ids.numpy(), wrong[0].origins), at)
                index = ", ".join(map(str, at))
                suspect = (Part(f"[{index}]", WRONG_TONE), *(Part(p.text, WRONG_TONE) for p in right))
                parts = (*suspect[:-1], Part(f"{suspect[-1].text}?", WRONG_TONE))
            elif not title and not parts:
                continue
            above = LABEL * (2 if self.heads.get(at) else 1)
            beside = sheet.pitch - SLIT if self.columns > 1 else sheet.room - sheet.left
            parts = shortened((*title, *parts), max(self.line, beside))
            yield Label(x, y - above, max(self.line, width(parts)), parts)

    def _block_parts(self, step: Step, places: Mapping[Factor, Cells], at: tuple[int, ...]) -> Parts:
        common = shared(places, at)
        parts: list[Part] = []
        told: set[Factor] = set()
        for size, axis, index in zip(step.shape, step.axes, at, strict=False):
            factors = axis_factors(axis, common)
            told.update(factors)
            if size > 1 or factors:
                names = [named(factor, common[factor]) for factor in factors if factor.size > 1]
                parts += names or [bracketed(index)] * (size > 1)
        rest = [f for f in common if f.name in ("sentence", "head") and f.size > 1 and f.whole]
        return (*parts, *(named(f, common[f]) for f in rest if f not in told))

    def row_names(self, words: Words) -> Iterator[tuple[tuple[int, ...], Parts]]:
        """Name each row of each block, by index."""
        rows = self.outer
        is_axis = rows < len(self.shape) and self.weights[rows + 1] >= self.width and len(self.shape) > 1
        if not is_axis or self.shape[rows] < 1 or prod(self.shape[: rows + 1]) > 4 * MOST_LABELS:
            return
        for at in self._blocks():
            for row in range(self.shape[rows]):
                common = shared(self.places, (*at, row))
                yield (*at, row), row_parts(self.step.axes[rows], row, common, words)

    def row_labels(self, piece: Piece, sheet: _Sheet) -> Iterator[Label]:
        """Write the rows' names left of them."""
        for at, parts in self.row_names(sheet.words):
            x, y = place(piece, at)
            yield Label(x - sheet.left, y, sheet.left - 8, parts)

    def head_labels(self, piece: Piece) -> Iterator[Label]:
        """Write above the columns of a block whose head they are, where there are several."""
        for at, runs in self.heads.items():
            x, y = place(piece, at)
            for first, last, part in runs:
                left, right = self._across(first), self._across(last) + self.cell
                yield Label(x + left, y - LABEL, right - left, (part,))

    def _head_runs(self) -> dict[tuple[int, ...], list[tuple[int, int, Part]]]:
        """For each block the columns that belong to one head: first, last, and the head's name."""
        factor = next((f for f in self.places if f.name == "head" and f.size > 1 and f.whole), None)
        if factor is None or self.width < 2 or self.weights[0] % self.width or self.shape[-1] > self.width:
            return {}
        runs: dict[tuple[int, ...], list[tuple[int, int, Part]]] = {}
        for at in self._blocks():
            block = self.places[factor][at].reshape(-1, self.width)
            if (block != block[:1]).any() or (block < 0).any():
                continue
            edges = [0, *(np.flatnonzero(np.diff(block[0])) + 1).tolist(), self.width]
            if len(edges) > 2:
                pairs = zip(edges, edges[1:], strict=False)
                runs[at] = [(a, b - 1, named(factor, int(block[0, a]))) for a, b in pairs]
        return runs
