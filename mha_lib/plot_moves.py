"""plot_moves: every step of a recording in one figure, for a slide or a sheet of paper."""

from collections.abc import Sequence

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D

from .moves_cells import (
    EACH_CELL,
    check_size,
    colours,
    compare,
    frame_memory,
    frame_operation,
    frame_title,
    short,
    tape_words,
    values,
)
from .moves_layout import CELL, NARROW, WIDE, Picture, Words, picture
from .style import MONO, Drawing
from .text import moves as words
from .watch import Recording, Step

PIXEL = 0.75  # points: the layout's numbers are pixels, 96 to the inch
HEAD, TAPE, MARGIN = 84, 50, 16  # pixels above and below each picture, and around
TONES = ("#8a4b00", "#1d5fa8", "#a8307c", "#00705a", "#6a3fb5", "#57606a")  # as in tensor_moves.css
MARK, SOFT = "#c00030", "#57606a"


def plot_moves(recording: Recording, beside: Recording | None = None, *, columns: int | None = None) -> Drawing:
    """Draw every step of a recording: cells, names, shape, strides and memory.

    Two steps stand side by side unless `columns` says otherwise. With `beside` each
    recording has a column, and cells of the second that ended in a wrong place are
    crossed out. Beyond 500 cells the numbers are left out.
    Raises: InputTypeError for anything but recordings; InputValueError beyond 100,000 cells.

    >>> plot_moves(watch(lambda X: X.mT, torch.arange(6.).reshape(1, 2, 3)))
    [picture] X (1, 2, 3) → X.mT (1, 3, 2)
    """
    lanes = [recording] if beside is None else [recording, beside]
    labels = max(map(check_size, lanes)) <= EACH_CELL
    columns = 2 if beside else min(columns or 2, len(recording.frames))
    width = NARROW if columns > 1 else WIDE
    shown = [[_layout(frame, width, labels) for frame in lane.frames] for lane in lanes]
    width = max(width, *(p["size"][0] for lane in shown for p in lane))
    panels = [(lane, k) for lane in lanes for k in range(len(lane.frames))]
    at = [(k // columns, k % columns) for k in range(len(panels))] if beside is None else [
        (k, lanes.index(lane)) for lane, k in panels]
    rows = max(row for row, _ in at) + 1
    heights = [max(shown[lanes.index(lane)][k]["size"][1] for (lane, k), (r, _) in zip(panels, at, strict=True)
                   if r == row) + HEAD + TAPE for row in range(rows)]
    size = (columns * (width + MARGIN) + MARGIN, sum(heights) + MARGIN)
    alt = "; ".join(" → ".join(f"{frame_operation(f)} {', '.join(str(s.shape) for s in f)}" for f in lane.frames)
                    for lane in lanes)
    wrong = None
    if beside is not None:
        wrong, sentence = compare(recording, beside)
        alt = f"{alt}. {sentence}"
    figure = Drawing(figsize=(size[0] / 96, size[1] / 96), alt=alt)
    canvas = figure.add_axes((0, 0, 1, 1))
    canvas.set(xlim=(0, size[0]), ylim=(size[1], 0))
    canvas.axis("off")
    palette: dict[tuple[str, str], int] = {}
    looks = [(colours(lane, palette), values(lane)) for lane in lanes]
    for (lane, k), (row, column) in zip(panels, at, strict=True):
        number = lanes.index(lane)
        corner = (MARGIN + column * (width + MARGIN), MARGIN + sum(heights[:row]))
        last = wrong is not None and number == 1 and k == len(lane.frames) - 1
        panel = _Panel(canvas, corner, looks[number], list(palette), width)
        panel.draw(k, lane.frames[k], shown[number][k], wrong if last else None)
    return figure


def _layout(frame: Sequence[Step], width: float, labels: bool) -> Picture:
    return picture([(frame_title(list(frame), step), step.shape, step.axes) for step in frame], width, labels)


class _Panel:
    """One step: what was done, the picture, the memory as a strip under it."""

    def __init__(self, canvas, corner, look, palette, width):
        self.canvas, (self.x, self.y), self.palette, self.width = canvas, corner, palette, width
        (self.colours, self.corners), self.texts = look

    def draw(self, number: int, frame: list[Step], shown: Picture, wrong) -> None:
        step = frame[0]
        self.text(0, 12, f"{number}. {frame_operation(frame)}", 17, family=MONO, weight="bold")
        self.text(0, 34, f"{step.shape} = ({', '.join(step.axis_names)})", 14)
        self.text(0, 52, f"{words.LABELS['stride']} {step.stride}", 14, colour=SOFT)
        self.text(0, 70, step.sentence, 13, colour=SOFT)
        y = HEAD
        small = sum(s.ids.numel() for s in frame) <= EACH_CELL
        for step, piece in zip(frame, shown["pieces"], strict=True):
            index = np.indices(step.shape).reshape(len(step.shape), -1)
            place = np.array(piece["at"], dtype=float)[:, None].repeat(max(step.ids.numel(), 0), 1)
            for i, (dx, dy, wrap) in zip(index, piece["axes"], strict=True):
                place = place + np.stack([i % wrap * dx, i // wrap * dy])
            blank = short(next(iter(step.values[step.ids < 0].flatten()), 0))
            self.cells(step.ids.numpy().ravel(), place.T + (0, y), CELL, blank if small else None)
            if wrong is not None:
                self.cross(place.T[wrong.numpy().ravel()] + (0, y))
        for x, top, wide, parts in shown["blocks"]:
            self.label(x + wide / 2, y + top + 9, parts, "center")
            tone = TONES[parts[-1][1]] if parts else SOFT
            self.canvas.add_line(Line2D([self.x + x, self.x + x + wide - 1], [self.y + y + top + 19] * 2, color=tone))
        for x, top, wide, parts in shown["rows"]:
            self.label(x + wide, y + top + CELL[1] / 2, parts, "right")
        self.tape(frame, y + shown["size"][1] + 8)

    def tape(self, frame: list[Step], y: float) -> None:
        memory, _ = frame_memory(frame)
        each = self.width / max(len(memory), 1)
        place = np.stack([np.arange(len(memory)) * each, np.full(len(memory), y + 18)], 1)
        self.text(0, y + 8, words.LABELS["tape"], 13, colour=SOFT)
        self.text(self.width, y + 8, tape_words(frame), 13, weight="bold", align="right")
        self.cells(memory, place, (each, 12), None)

    def cells(self, ids, place, size, blank: str | None) -> None:
        """Draw cells; with their numbers unless `blank`, the number of an added cell, is None."""
        w, h = size[0] - min(1, size[0] / 10), size[1] - 1
        cut = 7 if blank is not None else 0  # the second sentence's cells have their corners cut
        corners = [self.corners[i] if self.corners and i >= 0 else 0 for i in ids]
        outline = np.array([(cut, 0), (w - cut, 0), (w, cut), (w, h - cut), (w - cut, h), (cut, h), (0, h - cut), (0, cut)])
        square = np.array([(0, 0), (w, 0), (w, h), (0, h)])
        place = place + (self.x, self.y)
        looks = [self.palette[self.colours[i]] if i >= 0 else ("#ffffff", SOFT) for i in ids]
        self.canvas.add_collection(PolyCollection(
            [(outline if c else square) + p for c, p in zip(corners, place, strict=True)],
            facecolors=[back for back, _ in looks], edgecolors=[SOFT if i < 0 else "none" for i in ids],
            linestyles="dashed" if (ids < 0).any() else "solid", linewidths=0.8))
        if blank is not None:
            for i, (x, y), (_, front) in zip(ids, place, looks, strict=True):
                self.canvas.text(x + w / 2, y + h / 2 + 1, self.texts[i] if i >= 0 else blank, color=front,
                                 ha="center", va="center", family=MONO, size=12.5 * PIXEL, weight="bold")

    def cross(self, place) -> None:
        """Mark cells in a wrong place: a frame, and a cross at the corner."""
        w, h = CELL[0] - 1, CELL[1] - 1
        place = place + (self.x, self.y)
        frame = np.array([(1, 1), (w - 1, 1), (w - 1, h - 1), (1, h - 1)])
        self.canvas.add_collection(PolyCollection([frame + p for p in place], facecolors="none", edgecolors=MARK))
        self.canvas.plot(*(place + (w - 2, 2)).T, "o", color=MARK, markersize=8)
        self.canvas.plot(*(place + (w - 2, 2)).T, "x", color="white", markersize=4.5, markeredgewidth=1.5)

    def text(self, x, y, text, pixels, colour="#1c2128", align="left", **look) -> None:
        self.canvas.text(self.x + x, self.y + y, text, size=pixels * PIXEL, color=colour, ha=align, va="center",
                         parse_math=False, **look)

    def label(self, x: float, y: float, parts: Words, align: str) -> None:
        self.text(x, y, " · ".join(part for part, _ in parts), 14, TONES[parts[0][1]] if parts else SOFT, align)
