"""plot_moves: every step of a recording in one figure, for a slide or a sheet of paper."""

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ..heatmaps.draw import shorten
from ..look.fonts import drawable, families_for
from ..look.style import MONO, Drawing
from ..text import sentences
from .compare import compare, verdict_sentence
from .layout import CELL, NARROW, WIDE, Picture, Words, frame_picture, place
from .looks import EACH_CELL, Looks, check_size, looks, numbers_of
from .recording import Frame, Recording
from .tape import tape_words

words = sentences("moves")
PIXEL = 0.75  # points: the layout's numbers are pixels, 96 to the inch
HEAD, TAPE, MARGIN = 64, 56, 16  # pixels above and below each picture, and around
TONES = ("#8a4b00", "#1d5fa8", "#a8307c", "#00705a", "#6a3fb5", "#57606a")  # as in tensor_moves.css
MARK, SOFT = "#c00030", "#57606a"


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
    sentence, alt = "", "; ".join(lane.path for lane in lanes)
    width: float = NARROW if columns > 1 else WIDE
    shown = []
    for lane in lanes:
        look = looks(lane)
        for number, frame in list(enumerate(lane.frames))[0 if beside is None else -1 :]:
            shown.append((number, frame, look, frame_picture(frame, width, labels)))
    if labels:
        width = max(width, *(picture["size"][0] for *_, picture in shown))
    panels = [_Panel(*each, width, labels) for each in shown]
    if beside is not None:
        comparison = compare(recording, beside)
        panels[-1].wrong, sentence = comparison.pairs[0].wrong, verdict_sentence(comparison)
        alt = f"{alt}. {sentence}"
    rows = [panels[k : k + columns] for k in range(0, len(panels), columns)]
    heights = [max(panel.height for panel in row) for row in rows]
    said = wrap(sentence, int(columns * width / 9))
    above = MARGIN + 24 * len(said)
    size = (columns * (width + MARGIN) + MARGIN, sum(heights) + above)
    figure = Drawing(figsize=(size[0] / 96, size[1] / 96), alt=alt)
    canvas = figure.add_axes((0, 0, 1, 1))
    canvas.set(xlim=(0, size[0]), ylim=(size[1], 0))
    canvas.axis("off")
    canvas.text(MARGIN, 12, "\n".join(said), size=16 * PIXEL, weight="bold", va="top", linespacing=1.4)
    for row, side_by_side in enumerate(rows):
        for column, panel in enumerate(side_by_side):
            panel.draw(canvas, MARGIN + column * (width + MARGIN), above + sum(heights[:row]))
    return figure


class _Panel:
    """One step: what was done, the picture, the memory as a strip under it."""

    def __init__(
        self, number: int, frame: Frame, look: Looks, shown: Picture, width: float, labels: bool
    ) -> None:
        self.number, self.frame, self.shown, self.width, self.labels = number, frame, shown, width, labels
        self.look = look
        self.zoom = min(1.0, width / max(shown["size"][0], 1))
        self.sentence = wrap(frame.sentence, int(width / 7.5))
        self.head = HEAD + 18 * len(self.sentence)
        self.height = self.head + shown["size"][1] * self.zoom + TAPE
        self.wrong: NDArray[np.bool_] | None = None

    def draw(self, canvas, x: float, y: float) -> None:
        """Draw into `canvas`, whose unit is a pixel, with the upper left corner at (x, y)."""
        self.canvas, self.x, self.y = canvas, x, y
        step = self.frame.steps[0]
        title = shorten(f"{self.number}. {self.frame.operation}", int(self.width / 10.6))
        self.text(0, 12, title, 17, family=MONO, weight="bold")
        self.text(0, 34, f"{step.shape} = ({', '.join(step.axis_names)})", 14)
        self.text(0, 52, f"{words.labels['stride']} {step.stride}", 14, SOFT)
        for line, sentence in enumerate(self.sentence):
            self.text(0, 70 + 18 * line, sentence, 14, SOFT)
        size = (CELL[0] * self.zoom, CELL[1] * self.zoom)
        for step, piece in zip(self.frame.steps, self.shown["pieces"], strict=True):
            count = step.ids.numel()
            sides = place(piece, np.indices(step.shape).reshape(len(step.shape), count))
            spots = np.stack([np.full(count, side) for side in sides], 1) * self.zoom + (0, self.head)
            self.cells(step.ids.numpy().ravel(), spots, size, numbers_of(step) if self.labels else None)
            if self.wrong is not None and self.wrong.any():
                self.cross(spots[self.wrong.ravel()], size)
        for left, top, wide, parts in self.shown["blocks"]:
            self.label(left + wide / 2, self.head + top + 9, parts, "center")
            across, down = [x + left, x + left + wide - 1], [y + self.head + top + 19] * 2
            canvas.add_line(Line2D(across, down, color=TONES[parts[-1][1]] if parts else SOFT))
        for left, top, wide, parts in self.shown["rows"]:
            self.label(left + wide, self.head + top + CELL[1] / 2, parts, "right")
        self.tape(self.height - TAPE + 8)

    def tape(self, y: float) -> None:
        memory = self.frame.memory
        each = self.width / max(len(memory), 1)
        spots = np.stack([np.arange(len(memory)) * each, np.full(len(memory), y + 18)], 1)
        self.text(0, y + 8, words.labels["memory"], 14, SOFT)
        self.text(self.width, y + 8, tape_words(self.frame), 14, weight="bold", align="right")
        self.cells(memory, spots, (each, 12), None)

    def cells(self, ids, spots, size, numbers: Sequence[str] | None) -> None:
        """Draw cells, with their numbers if there are any."""
        w, h = (side - min(1, side / 10) for side in size)
        square = np.array([(0, 0), (w, 0), (w, h), (0, h)])
        turn = np.linspace(0, 2 * np.pi, 33)  # the second sentence's cells are round at both ends
        side, up = np.cos(turn), np.sin(turn)
        across = w / 2 + side * h / 2 + np.sign(side.round(6)) * (w - h) / 2
        outline = np.stack([across, h / 2 + up * h / 2], 1)
        spots = spots + (self.x, self.y)
        paints = [self.look.palette[self.look.colours[i]] if i >= 0 else ("#ffffff", SOFT) for i in ids]
        shapes = [outline if numbers is not None and i >= 0 and self.look.corners[i] else square for i in ids]
        self.canvas.add_collection(
            PolyCollection(
                [shape + spot for shape, spot in zip(shapes, spots, strict=True)],
                facecolors=[back for back, _ in paints],
                edgecolors=[SOFT if i < 0 else "none" for i in ids],
                linestyles="dashed" if (ids < 0).any() else "solid",
                linewidths=0.8,
            )
        )
        if numbers is not None:
            for number, (x, y), (_, front) in zip(numbers, spots, paints, strict=True):
                self.canvas.text(
                    x + w / 2,
                    y + h / 2 + 1,
                    number,
                    color=front,
                    ha="center",
                    va="center",
                    family=MONO,
                    size=12.5 * PIXEL,
                    weight="bold",
                )

    def cross(self, spots, size) -> None:
        """Mark cells in a wrong place: a frame, and a cross at the corner."""
        w, h = size[0] - 1, size[1] - 1
        spots = spots + (self.x, self.y)
        frame = np.array([(1, 1), (w - 1, 1), (w - 1, h - 1), (1, h - 1)])
        self.canvas.add_collection(
            PolyCollection([frame + spot for spot in spots], facecolors="none", edgecolors=MARK)
        )
        corner = (spots + (w - 2, 2)).T
        self.canvas.plot(*corner, "o", color=MARK, markersize=8 * self.zoom)
        self.canvas.plot(
            *corner, "x", color="white", markersize=4.5 * self.zoom, markeredgewidth=1.5 * self.zoom
        )

    def text(self, x, y, text: str, pixels, colour="#1c2128", align="left", **look) -> None:
        if not text.isascii():  # an axis may have a Chinese name
            families = families_for(text)
            text = drawable(text, families)
            look["family"] = [*([look["family"]] if "family" in look else []), *families]
        self.canvas.text(
            self.x + x,
            self.y + y,
            text,
            size=pixels * PIXEL,
            color=colour,
            ha=align,
            va="center",
            parse_math=False,
            **look,
        )

    def label(self, x: float, y: float, parts: Words, align: str) -> None:
        colour = TONES[parts[0][1]] if parts else SOFT
        self.text(x, y, " · ".join(part for part, _ in parts), 14, colour, align)
