"""plot_moves: every step of a recording in one figure, for a slide or a sheet of paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from numpy.typing import NDArray

from ..heatmaps.draw import shorten
from ..look import colours
from ..look.fonts import drawable, families_for
from ..look.style import HALO, MONO, WRONG, Drawing
from ..text import sentences
from .axes import Cells
from .compare import Comparison, Pair, compare, verdict_sentence
from .labels import Parts
from .layout import CELL, WIDE, Label, Picture, pictures, place
from .looks import EACH_CELL, Looks, Paint, check_size, looks, numbers_of
from .recording import Frame, Recording, Step
from .tape import tape_words

text = sentences("moves")
PIXEL = 0.75  # points: the layout's numbers are pixels, 96 to the inch
HEAD, TAPE, MARGIN = 64, 56, 16  # pixels above and below each picture, and around
COLUMN = 460  # the room of a step where two stand side by side, with sentences below each other
DIGIT, BESIDE_DIGITS = 7.5, 5  # pixels: the width of a digit, and the room left and right of a number
BROAD = 660  # as broad as such a step may be with sentences beside each other
INK, SOFT, PAPER = colours.INK.light, colours.SOFT.light, colours.PAPER.light
TONES = (*(tone.light for tone in colours.TONES), WRONG)
Spots = NDArray[np.float64]


def plot_moves(
    recording: Recording, beside: Recording | None = None, *, columns: int | None = None
) -> Drawing:
    """Draw every step of a recording: cells, names, shape, strides and memory.

    Two steps stand side by side unless `columns` says otherwise. With `beside` only the
    two results are drawn, and cells of the second that are in a wrong place are marked.
    Beyond 500 cells the numbers are left out.
    Raises: InputTypeError for anything but recordings; InputValueError beyond 100,000 cells.

    >>> import torch
    >>> from mha_lib import watch
    >>> plot_moves(watch(lambda X: X.mT, torch.arange(6.).reshape(1, 2, 3)))
    [picture] X (1, 2, 3) → X.mT (1, 3, 2)
    """
    lanes = [recording] if beside is None else [recording, beside]
    labels = max(map(check_size, lanes)) <= EACH_CELL
    columns = 2 if beside else min(columns or 2, len(recording.frames))
    comparison = compare(recording, beside) if beside else None
    shown = _laid_out(lanes, WIDE, labels, comparison)
    if columns > 1 and (not labels or _broadest(shown) > BROAD):
        shown = _laid_out(lanes, COLUMN, labels, comparison)
    width: float = COLUMN if columns > 1 else WIDE
    if labels:
        width = max(width, _broadest(shown))
    panels = [_Panel(each, width) for each in shown]
    alt = "; ".join(lane.path for lane in lanes)
    if comparison is None:
        return _figure(panels, columns, width, "", alt)
    sentence = verdict_sentence(comparison)
    return _figure(panels, columns, width, sentence, f"{alt}. {sentence}")


def _laid_out(
    lanes: Sequence[Recording], room: float, labels: bool, comparison: Comparison | None
) -> list["_Shown"]:
    """Lay out what the panels show: every step, or only what each of two recordings returned."""
    cell = _cell_width([step for lane in lanes for step in lane.steps]) if labels else CELL[0]
    shown: list[_Shown] = []
    for lane in lanes:
        against = comparison if lane is not lanes[0] else None
        look = looks(lane)
        drawn = pictures(lane, room, labels, against, cell)
        steps = enumerate(zip((lane.frames[0], *lane.frames), lane.frames, strict=False))
        pairs = against.pairs if against else ()
        each = [_Shown(n, *frames, look, drawn[n], pairs, cell, labels) for n, frames in steps]
        shown += each if comparison is None else each[-1:]
    return shown


def _cell_width(steps: Sequence[Step]) -> float:
    """As narrow as the longest number allows."""
    longest = max((len(number) for step in steps for number in numbers_of(step)), default=0)
    return min(CELL[0], max(longest, 2) * DIGIT + 2 * BESIDE_DIGITS)


def _broadest(shown: Sequence["_Shown"]) -> float:
    return max(each.picture.size[0] for each in shown)


def _figure(panels: Sequence["_Panel"], columns: int, width: float, sentence: str, alt: str) -> Drawing:
    """Put the panels into rows, under a sentence about them all."""
    rows = [panels[k : k + columns] for k in range(0, len(panels), columns)]
    for together in rows:
        deepest = max(panel.head for panel in together)
        for panel in together:
            panel.head = deepest
    heights = [max(panel.height for panel in row) for row in rows]
    lines = wrap(sentence, int(columns * width / 10.4))
    above = MARGIN + 24 * len(lines)
    size = (columns * (width + MARGIN) + MARGIN, sum(heights) + above)
    figure = Drawing(figsize=(size[0] / 96, size[1] / 96), alt=alt)
    canvas = figure.add_axes((0, 0, 1, 1))
    canvas.set(xlim=(0, size[0]), ylim=(size[1], 0))
    canvas.axis("off")
    look: dict[str, Any] = {"weight": "bold", "va": "top", "linespacing": 1.4, "path_effects": HALO}
    canvas.text(MARGIN, 12, "\n".join(lines), size=16 * PIXEL, **look)
    for row, side_by_side in enumerate(rows):
        for column, panel in enumerate(side_by_side):
            panel.draw(canvas, MARGIN + column * (width + MARGIN), above + sum(heights[:row]))
    return figure


@dataclass(frozen=True)
class _Shown:
    """What one panel shows."""

    number: int
    before: Frame
    frame: Frame
    look: Looks
    picture: Picture
    pairs: tuple[Pair, ...]  # the results that it is held against
    cell: float  # the width of a cell
    labels: bool


class _Panel:
    """One step: what was done, the picture, the memory as a strip under it."""

    canvas: Axes

    def __init__(self, shown: _Shown, width: float) -> None:
        self.frame = shown.frame
        self.picture = shown.picture
        self.look = shown.look
        self.width = width
        self.shown = shown
        self.labels = shown.labels
        self.zoom = min(1.0, width / max(shown.picture.size[0], 1))
        self.sentence = wrap(shown.frame.sentence, int(width / 7.5))
        self.head = HEAD + 18 * len(self.sentence)
        self.x = self.y = 0.0

    @property
    def height(self) -> float:
        """The room that the panel needs."""
        return self.head + self.picture.size[1] * self.zoom + TAPE

    def draw(self, canvas: Axes, x: float, y: float) -> None:
        """Draw into `canvas`, whose unit is a pixel, with the upper left corner at (x, y)."""
        self.canvas, self.x, self.y = canvas, x, y
        step = self.frame.steps[0]
        title = shorten(f"{self.shown.number}. {self.frame.operation}", int(self.width / 11))
        self.text(0, 12, title, 17, family=MONO, weight="bold")
        self.text(0, 34, f"{step.shape} = ({', '.join(step.axis_names)})", 14)
        self.text(0, 52, f"{text.labels['stride']} {step.stride}", 14)
        for line, sentence in enumerate(self.sentence):
            self.text(0, 70 + 18 * line, sentence, 14)
        self.tensors()
        for label in self.picture.blocks:
            self.label(label, label.width / 2, 9, "center")
        for label in (*self.picture.brackets, *(b for b in self.picture.blocks if b.parts)):
            self.brace(label, hooked=label in self.picture.brackets)
        for label in self.picture.brackets:
            self.label(label, label.width / 2, 8, "center")
        for label in self.picture.rows:
            self.label(label, label.width, CELL[1] / 2, "right")
        self.tape(self.height - TAPE + 8)

    def tensors(self) -> None:
        """Draw the cells of each tensor, and a cross at those in a wrong place."""
        size = (self.shown.cell * self.zoom, CELL[1] * self.zoom)
        for step, piece in zip(self.frame.steps, self.picture.pieces, strict=True):
            count = step.ids.numel()
            sides = place(piece, list(np.indices(step.shape).reshape(len(step.shape), count)))
            spots = np.stack([np.full(count, side) for side in sides], 1) * self.zoom + (0, self.head)
            numbers = numbers_of(step) if self.labels else None
            self.cells(step.ids.numpy().ravel(), spots, size, numbers)
            for pair in self.shown.pairs:
                if pair.beside.ids is step.ids and pair.wrong.any():
                    self.cross(spots[pair.wrong.ravel()], size)

    def tape(self, y: float) -> None:
        """Draw the memory, from its first address to its last."""
        memory = self.frame.memory
        each = self.width / max(len(memory), 1)
        spots = np.stack([np.arange(len(memory)) * each, np.full(len(memory), y + 18)], 1)
        self.text(0, y + 8, text.labels["memory"], 14)
        self.text(
            self.width, y + 8, tape_words(self.shown.before, self.frame), 14, align="right", weight="bold"
        )
        self.cells(memory, spots, (each, 12), None)

    def cells(
        self, ids: Cells, spots: Spots, size: tuple[float, float], numbers: Sequence[str] | None
    ) -> None:
        """Draw cells, with their numbers if there are any."""
        w, h = (side - min(1, side / 10) for side in size)
        square = np.array([(0, 0), (w, 0), (w, h), (0, h)])
        rounded = _rounded(w, h)  # the second sentence's cells are round at both ends
        spots = spots + (self.x, self.y)
        paints = [self.look.palette[self.look.colours[i]] if i >= 0 else Paint(PAPER, SOFT) for i in ids]
        shapes = [rounded if numbers and i >= 0 and self.look.corners[i] else square for i in ids]
        self.canvas.add_collection(
            PolyCollection(
                [shape + spot for shape, spot in zip(shapes, spots, strict=True)],
                facecolors=[back for back, _ in paints],
                edgecolors=[SOFT if i < 0 else "none" for i in ids],
                linestyles="dashed" if (ids < 0).any() else "solid",
                linewidths=0.8,
            )
        )
        if numbers:
            self.ticks(ids, spots, paints, h)
            look: dict[str, Any] = {"ha": "center", "va": "center", "family": MONO, "weight": "bold"}
            for number, (x, y), (_, front) in zip(numbers, spots, paints, strict=True):
                small = PIXEL * (13 if len(number) < 4 else 11 if len(number) < 5 else 9)
                self.canvas.text(x + w / 2, y + h / 2 + 1, number, color=front, size=small, **look)

    def ticks(self, ids: Cells, spots: Spots, paints: Sequence[Paint], h: float) -> None:
        """Give the cells of heads B, C and D one, two and three ticks, which a print in grey keeps."""
        marked = [(k, t) for k, i in enumerate(ids) if i >= 0 for t in range(self.look.ticks[i])]
        lines = [[spots[k] + (6 + 7 * t, h - 3), spots[k] + (11 + 7 * t, h - 3)] for k, t in marked]
        pens = [paints[k].ink for k, _ in marked]
        self.canvas.add_collection(LineCollection(lines, colors=pens, linewidths=1.5))

    def cross(self, spots: Spots, size: tuple[float, float]) -> None:
        """Mark cells in a wrong place: a frame, and a cross at the corner."""
        w, h = size[0] - 1, size[1] - 1
        spots = spots + (self.x, self.y)
        frame = np.array([(1, 1), (w - 1, 1), (w - 1, h - 1), (1, h - 1)])
        self.canvas.add_collection(
            PolyCollection([frame + spot for spot in spots], facecolors="none", edgecolors=WRONG)
        )
        x, y = (spots + (w - 2, 2)).T
        self.canvas.plot(x, y, "o", color=WRONG, markersize=8 * self.zoom)
        pen, edge = 4.5 * self.zoom, 1.5 * self.zoom
        self.canvas.plot(x, y, "x", color="white", markersize=pen, markeredgewidth=edge)

    def text(
        self,
        x: float,
        y: float,
        written: str,
        pixels: float,
        colour: str = INK,
        align: str = "left",
        **look: Any,
    ) -> None:
        """Write, with fonts that have the signs."""
        if not written.isascii():  # an axis may have a Chinese name
            families = families_for(written)
            written = drawable(written, families)
            look["family"] = [*([look["family"]] if "family" in look else []), *families]
        look |= {"size": pixels * PIXEL, "color": colour, "ha": align, "va": "center", "parse_math": False}
        look["path_effects"] = HALO
        self.canvas.text(self.x + x, self.y + y, written, **look)

    def label(self, label: Label, right: float, down: float, align: str) -> None:
        """Write a label into its place."""
        if label.parts:
            written = _joined(label.parts)
            colour = TONES[label.parts[0].tone]
            self.text(label.x + right, self.head + label.y + down, written, 14, colour, align)

    def brace(self, label: Label, hooked: bool) -> None:
        """Draw a line under a label, as far as it holds; with hooks where it spans columns."""
        left, right = self.x + label.x + 1, self.x + label.x + label.width - 2
        y = self.y + self.head + label.y + 19
        line = [(left, y), (right, y)]
        if hooked:
            line = [(left, y + 3), *line, (right, y + 3)]
        tone = TONES[label.parts[-1].tone]
        self.canvas.add_collection(LineCollection([line], colors=[tone], linewidths=1.2, path_effects=HALO))


def _joined(parts: Parts) -> str:
    return " · ".join(part.text for part in parts)


def _rounded(w: float, h: float) -> Spots:
    turn = np.linspace(0, 2 * np.pi, 33)
    side, up = np.cos(turn), np.sin(turn)
    across = w / 2 + side * h / 2 + np.sign(side.round(6)) * (w - h) / 2
    outline: Spots = np.stack([across, h / 2 + up * h / 2], 1)
    return outline
