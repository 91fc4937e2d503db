"""A recording as the browser gets it: words and layouts as JSON, and one blob of numbers.

Every list of numbers is a slice of the blob, (first, how many), under a name of its own;
what is put in twice is stored once.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from ..text import sentences
from .axes import Cells, axis_name, is_mixed, tone_names
from .compare import Comparison, compare, verdict_sentence
from .labels import PLAIN_TONE, tone
from .layout import CELL, NARROW, WIDE, Picture, pictures
from .looks import EACH_CELL, Looks, Paint, check_size, looks
from .recording import Frame, Kind, Recording, Step
from .tape import tape_words

text = sentences("moves")
Slice = tuple[int, int]


class Blob:
    """Whole numbers, end to end; `put` says where they stand."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._known: dict[bytes, Slice] = {}
        self._length = 0

    def put(self, numbers: Any) -> Slice:
        """Store the numbers, unless the same ones are there already, and return their slice."""
        part = np.ascontiguousarray(numbers, "<i4").tobytes()
        if part not in self._known:
            self._known[part] = (self._length, len(part) // 4)
            self._parts.append(part)
            self._length += len(part) // 4
        return self._known[part]

    def packed(self) -> bytes:
        """Return all of them as little-endian int32."""
        return b"".join(self._parts)


class Texts:
    """The cells' numbers as they are written: each different text once."""

    def __init__(self, cells: int) -> None:
        self.table: dict[str, int] = {}
        self._latest = np.full(cells + 1, -1)  # the last place is for cells from nowhere

    def of(self, step: Step, numbers: tuple[str, ...]) -> Cells:
        """Return for each cell of the step the place of its own number, then, in the table."""
        places = [self.table.setdefault(number, len(self.table)) for number in numbers]
        self._latest[step.ids.numpy().ravel()] = places
        self._latest[-1] = -1
        return np.array(places, dtype=np.int64)

    def in_memory(self, memory: Cells) -> Cells:
        """Return the same for the cells as they lie in memory."""
        return np.asarray(self._latest[memory], dtype=np.int64)


def state(
    recording: Recording, beside: Recording | None, names: tuple[str, str] | None = None
) -> tuple[dict[str, Any], bytes]:
    """Return what the page needs: words and layouts as JSON, and the numbers.

    `names`, if there are any, are written over the two lanes.
    """
    blob = Blob()
    palette = dict[Paint, int]()
    first, second = names or (text.labels["right"], text.labels["beside"])
    pair = [(first, recording)]
    if beside is not None:
        pair.append((second, beside))
    for _, lane in pair:
        check_size(lane)
    comparison = compare(recording, beside) if beside is not None else None
    shown: dict[str, Any] = {
        "lanes": [
            _lane(title, lane, blob, palette, comparison if lane is beside else None) for title, lane in pair
        ],
        "cell": CELL,
        "words": {**text.controls, **text.labels, "keys": text.keys},
        "each": EACH_CELL,
        "palette": list(palette),
    }
    if names is not None:
        shown["named"] = True
    if beside is not None and comparison is not None:
        wrong, belongs = _marks(comparison, beside.frames[-1])
        shown["compare"] = {
            "sentence": verdict_sentence(comparison),
            "wrong": blob.put(wrong),
            "belongs": blob.put(belongs),
        }
    return shown, blob.packed()


def _lane(
    title: str, lane: Recording, blob: Blob, palette: dict[Paint, int], against: Comparison | None
) -> dict[str, Any]:
    labels = check_size(lane) <= EACH_CELL
    look = looks(lane)
    texts = Texts(len(look.colours)) if any(look.numbers) else None
    numbers = iter(look.numbers)
    frames = []
    drawn = zip(*(pictures(lane, room, labels, against) for room in (WIDE, NARROW)), strict=True)
    for before, frame, layouts in zip((lane.frames[0], *lane.frames), lane.frames, drawn, strict=False):
        steps = [
            _step(step, start, blob) | {"texts": blob.put(texts.of(step, next(numbers))) if texts else None}
            for step, start in zip(frame.steps, frame.starts, strict=True)
        ]
        frames.append(_frame(before, frame, blob, texts, layouts) | {"steps": steps})
    return {
        "title": title,
        "frames": frames,
        "texts": list(texts.table) if texts else [],
        "origins": [(origin.name, origin.start) for origin in lane.origins],
        **_looks(look, blob, palette),
    }


def _frame(
    before: Frame, frame: Frame, blob: Blob, texts: Texts | None, layouts: tuple[Picture, ...]
) -> dict[str, Any]:
    copied = frame.kind is Kind.MOVE and not frame.steps[0].shares_memory
    return {
        "name": text.changes[frame.change.value] if frame.change else frame.name,
        "operation": frame.operation,
        "within": frame.within,
        "sentence": frame.sentence,
        "tape": tape_words(before, frame),
        "copied": copied,
        "memory": blob.put(frame.memory),
        "memoryTexts": blob.put(texts.in_memory(frame.memory)) if texts else None,
        "layouts": [asdict(picture) for picture in layouts],
    }


def _step(step: Step, start: int, blob: Blob) -> dict[str, Any]:
    return {
        "shape": step.shape,
        "stride": step.stride,
        "offset": step.offset,
        "start": start,
        "contiguous": step.is_contiguous,
        "axes": [
            [(axis_name(axis, number), PLAIN_TONE)]
            if is_mixed(axis)
            else [(name, tone(name)) for name in tone_names(axis)]
            for number, axis in enumerate(step.axes)
        ],
        "ids": blob.put(step.ids.numpy().ravel()),
    }


def _looks(look: Looks, blob: Blob, palette: dict[Paint, int]) -> dict[str, Any]:
    """Return the cells' colours as places in a palette that the lanes share, their corners and ticks."""
    places = np.array([palette.setdefault(paint, len(palette)) for paint in look.palette], dtype=np.int64)
    cells = {"colours": places[look.colours], "corners": look.corners, "ticks": look.ticks}
    return {name: blob.put(numbers) for name, numbers in cells.items()}


def _marks(comparison: Comparison, last: Frame) -> tuple[Cells, Cells]:
    """Return, for the cells of the last frame in reading order, which are wrong and where they belong."""
    wrong = []
    belongs = []
    first = 0
    pairs = {id(pair.beside): pair for pair in comparison.pairs}
    for step in last.steps:
        pair = pairs.get(id(step))
        count = step.ids.numel()
        wrong.append(pair.wrong.ravel().astype(np.int64) if pair else np.zeros(count, dtype=np.int64))
        home = pair.belongs.ravel() if pair else np.full(count, -1)
        belongs.append(np.where(home < 0, -1, home + first))
        first += count
    return np.concatenate(wrong), np.concatenate(belongs)
