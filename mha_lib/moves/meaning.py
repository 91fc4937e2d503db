"""What the recorded steps mean: names for their axes, and one sentence on what happened."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum

import numpy as np
import torch

from ..text import sentences
from .axes import Factor, Origin, axis_name, coordinates, default_axes, name_axes, new_axes, with_heads
from .labels import NAMES, mark
from .recording import Frame, Kind, Step

text = sentences("moves")


class Change(Enum):
    """What happened at a step; the value is its name among the texts."""

    INPUT = "input"
    SAME = "same"  # nothing to do
    CUT = "cut"  # the order of reading stays, there are more axes
    FOLD = "fold"  # … fewer axes
    REWRAP = "rewrap"  # … as many, of other sizes
    EXCHANGE = "exchange"  # other order of reading, the memory stays
    PART = "part"
    REPEAT = "repeat"
    COPY_FOLD = "copy_fold"  # the order of reading stays, the memory follows it
    COPY_ORDER = "copy_order"
    COPY_SAME = "copy_same"
    COPY_PART = "copy_part"
    COPY_REPEAT = "copy_repeat"
    JOIN = "join"
    FILL = "fill"
    WRITE = "write"
    IN_PLACE = "in_place"
    OUTSIDE = "outside"
    NO_CHANGE = "no_change"
    NEW_VALUES = "new_values"
    RESULT = "result"


_ALIKE = {
    "bmm": "matmul",
    "baddbmm": "matmul",
    "mm": "matmul",
    "__matmul__": "matmul",
    "div": "scale",
    "mul": "scale",
    "__truediv__": "scale",
    "__mul__": "scale",
    "__rmul__": "scale",
    "masked_fill": "mask",
    "where": "mask",
}


def explain(
    frames: Sequence[Frame], origins: Sequence[Origin], axes: Sequence[str] | None, num_heads: int | None
) -> tuple[list[Frame], list[Origin], int | None]:
    """Return the frames with axes, changes and sentences, the origins with axes, and the heads."""
    bare = [step for frame in frames for step in frame.steps]
    origins, heads = list(origins), num_heads or _heads(bare, origins)
    births: dict[int, list[int]] = {}
    for number, origin in enumerate(origins):
        births.setdefault(origin.step, []).append(number)
    steps: list[Step] = []
    explained: list[Frame] = []
    for frame in frames:
        first = len(steps)
        mixed: dict[int, tuple[Factor, ...]] = {}
        for step in frame.steps:
            read = [(steps[k].axes, steps[k].shape) for k in frame.parents if k < len(steps)]
            own = new_axes(frame.name, read, step.shape) if read else default_axes(step.shape, axes)
            for born in births.get(len(steps), []):
                origins[born] = replace(origins[born], axes=with_heads(own, heads))
            ids = step.ids.numpy()
            used = tuple(origin for origin in origins if origin.holds(ids).any())
            named, mixed = name_axes(ids, used)
            steps.append(replace(step, axes=named, origins=used))
        made = replace(frame, steps=tuple(steps[first:]))
        change = _change(made, steps, any(first + k in births for k in range(len(made.steps))))
        sentence = _sentence(made, change, origins[0].name, mixed, [steps[k] for k in frame.parents])
        explained.append(replace(made, change=change, sentence=sentence))
    return explained, origins, heads


def _heads(steps: Sequence[Step], origins: Sequence[Origin]) -> int | None:
    """Read the number of heads off the first step whose last axis is a piece of the features."""
    for step in steps:
        if step.ids.ndim and step.ids.numel():
            last = int(step.ids.max())
            made = [steps[o.step].shape for o in origins if o.start <= last < o.stop and o.step < len(steps)]
            piece = step.shape[-1]
            width = next((shape[-1] for shape in made if shape), 0)
            together = (step.ids[..., -1] - step.ids[..., 0] == piece - 1).all()
            if 1 < piece < width and width % piece == 0 and together:
                return width // piece
    return None


def _change(frame: Frame, steps: Sequence[Step], new: bool) -> Change:
    """Tell what happened, from the cells and the memory alone."""
    if frame.kind is Kind.IN_PLACE:
        return Change.IN_PLACE if new else Change.WRITE
    if frame.kind is not Kind.MOVE:
        return Change[frame.kind.name]
    step = frame.steps[0]
    old = steps[frame.parents[0]]
    order = step.ids.flatten().equal(old.ids.flatten())
    fewer = step.ids.numel() < old.ids.numel()
    come = step.ids[step.ids >= 0]
    repeats = len(set(come.flatten().tolist())) < come.numel()
    if step.shares_memory:
        if order:
            return _same_order(step, old)
        return Change.REPEAT if repeats else Change.PART if fewer else Change.EXCHANGE
    if (step.ids < 0).sum() > (old.ids < 0).sum():
        return Change.FILL
    if len(frame.parents) > 1:
        return Change.JOIN
    if order:
        return Change.COPY_SAME if old.is_contiguous else Change.COPY_FOLD
    return Change.COPY_REPEAT if repeats else Change.COPY_PART if fewer else Change.COPY_ORDER


def _same_order(step: Step, old: Step) -> Change:
    if step.shape == old.shape:
        return Change.SAME
    axes, before = len(step.shape), len(old.shape)
    return Change.CUT if axes > before else Change.FOLD if axes < before else Change.REWRAP


def _sentence(
    frame: Frame,
    change: Change,
    origin: str,
    mixed: Mapping[int, tuple[Factor, ...]],
    read: Sequence[Step],
) -> str:
    """Say what happened; of arithmetic what it means, where it is one of attention's own operations."""
    if change is Change.NEW_VALUES:
        return _meaning(frame, read)
    sentence: str = text.sentences[change.value].replace("{origin}", origin)
    if frame.kind is Kind.MOVE and mixed:
        step = frame.steps[-1]
        joined = ", ".join(_mixed(step, axis, factors) for axis, factors in mixed.items())
        sentence += f" {joined[:1].upper()}{joined[1:]}."
    return sentence


def _mixed(step: Step, axis: int, factors: Sequence[Factor]) -> str:
    """Say what an axis without a name holds: slice by slice where these are ranges, else what it mixes."""
    places = coordinates(step.ids.numpy(), step.origins)
    for factor in factors:
        lines = np.moveaxis(places[factor], axis, 0)
        ranges = [(int(line.min()), int(line.max())) for line in lines]
        apart = all(one[1] + 1 == two[0] for one, two in zip(ranges, ranges[1:], strict=False))
        full = all(len(np.unique(line)) == b - a + 1 for line, (a, b) in zip(lines, ranges, strict=True))
        if apart and full and len(ranges) <= 4:
            return str(
                text.ranges.format(axis=axis, ranges=text.then.join(_range(factor, r) for r in ranges))
            )
    return str(text.mixed.format(axis=axis, names=text.both.join(factor.name for factor in factors)))


def _range(factor: Factor, ends: tuple[int, int]) -> str:
    first, last = (mark(factor, end) for end in ends)
    one, several = text.range
    name = NAMES.get(factor.name, factor.name)
    return str((one if first == last else several).format(name=name, first=first, last=last))


def _meaning(frame: Frame, read: Sequence[Step]) -> str:
    """Name what was computed, where the numbers and the axes bear it out."""
    operation = _ALIKE.get(frame.name, frame.name)
    step = frame.steps[0]
    last = [axis_name(axis, number) for number, axis in enumerate(step.axes)][-2:]
    if operation == "softmax":
        return _softmax(step, last)
    if operation == "matmul" and last == ["query", "key"]:
        operation = "scores"
    elif operation == "matmul" and last == ["query", "feature"]:
        operation = "context"
    known = {"scale": lambda: _same_factor(step, read), "mask": lambda: last == ["query", "key"]}
    if not known.get(operation, lambda: True)():
        operation = ""
    sentence: str = text.meanings.get(operation, text.sentences["new_values"])
    return sentence


def _softmax(step: Step, last: Sequence[str]) -> str:
    """Say along which axis the numbers sum to 1: over the keys, where it is attention."""
    for axis in reversed(range(len(step.shape))):
        sums = step.values.double().sum(axis)
        if sums.numel() and (sums - 1).abs().max() < 1e-2:
            if axis == len(step.shape) - 1:
                return str(text.meanings["weights" if last == ["query", "key"] else "softmax"])
            return str(text.softmax_along.format(axis=axis_name(step.axes[axis], axis)))
    return str(text.sentences["new_values"])


def _same_factor(step: Step, read: Sequence[Step]) -> bool:
    """Whether every number is one that was read, times the same factor."""
    if len(read) != 1 or read[0].shape != step.shape or step.values.is_complex():
        return False
    old, new = read[0].values.double().flatten(), step.values.double().flatten()
    largest = int(old.abs().nan_to_num(0, 0, 0).argmax()) if old.numel() else 0
    if not old.numel() or not old[largest]:
        return False
    return bool(torch.allclose(old * (new[largest] / old[largest]), new, rtol=1e-4, equal_nan=True))
