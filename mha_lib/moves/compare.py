"""Two recordings held against each other: what they returned, cell by cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import torch
from numpy.typing import NDArray

from ..text import sentences
from .axes import Cells, Factor, coordinates
from .labels import Part, axis_factors, bracketed, mark, named, shared
from .recording import Kind, Recording, Step

text = sentences("moves")


class Verdict(Enum):
    """How the results compare; the value is its name among the texts."""

    SAME = "same"
    MISPLACED = "wrong"  # cells stand in other places
    DIFFERENT = "values"  # arithmetic came in between: the numbers are compared
    SHAPES = "shape"
    COUNT = "count"  # one returned more tensors than the other


@dataclass(frozen=True, eq=False)
class Pair:
    """One returned tensor of each: which places of the second are wrong."""

    right: Step
    beside: Step
    wrong: NDArray[np.bool_]
    belongs: Cells  # of each wrong place the flat place where what it holds belongs; -1 if unknown


@dataclass(frozen=True, eq=False)
class Mixed:
    """The first place whose contents differ in kind: what it should hold, and what it does."""

    place: tuple[Part, ...]
    right: Mapping[Factor, Sequence[int]]
    beside: Mapping[Factor, Sequence[int]]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What was found; `pairs` has one entry a returned tensor."""

    verdict: Verdict
    pairs: tuple[Pair, ...]
    shapes: tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]
    mixed: Mixed | None = None

    @property
    def wrong(self) -> int:
        """How many numbers are wrong."""
        return sum(int(pair.wrong.sum()) for pair in self.pairs)

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return sum(pair.wrong.size for pair in self.pairs)


def compare(right: Recording, beside: Recording) -> Comparison:
    """Compare what two recordings returned: places where every cell is followed, else numbers."""
    good, other = right.result_steps, beside.result_steps
    shapes = tuple(step.shape for step in good), tuple(step.shape for step in other)
    if len(good) != len(other):
        return Comparison(Verdict.COUNT, (), shapes)
    if shapes[0] != shapes[1]:
        blank = [np.zeros(step.shape, dtype=bool) for step in other]
        pairs = [Pair(*each, np.full(each[2].shape, -1)) for each in zip(good, other, blank, strict=True)]
        return Comparison(Verdict.SHAPES, tuple(pairs), shapes)
    placed = _same_inputs(right, beside) and _followed(right) and _followed(beside)
    pairs = [_pair(one, two, placed) for one, two in zip(good, other, strict=True)]
    if not any(pair.wrong.any() for pair in pairs):
        return Comparison(Verdict.SAME, tuple(pairs), shapes)
    if not placed:
        return Comparison(Verdict.DIFFERENT, tuple(pairs), shapes)
    mixed = next((mixture for pair in pairs if (mixture := _mixed(pair))), None)
    return Comparison(Verdict.MISPLACED, tuple(pairs), shapes, mixed)


def verdict_sentence(comparison: Comparison) -> str:
    """Say it in a sentence or two."""
    first, second = (text.both.join(map(str, shapes)) for shapes in comparison.shapes)
    sentence: str = text.compare[comparison.verdict.value].format(
        wrong=comparison.wrong, total=comparison.total, right=first, beside=second
    )
    if (mixed := comparison.mixed) is None:
        return sentence
    place = " · ".join(part.text for part in mixed.place)
    told: str = text.compare["mixed"].format(
        place=place[:1].upper() + place[1:],
        right=_things(mixed.right, mixed.beside),
        found=_things(mixed.beside, mixed.right),
    )
    return f"{sentence} {told}"


def _same_inputs(right: Recording, beside: Recording) -> bool:
    one, two = (recording.frames[0].steps for recording in (right, beside))
    return len(one) == len(two) and all(
        a.ids.equal(b.ids) and _close(a, b).all() for a, b in zip(one, two, strict=True)
    )


def _close(one: Step, two: Step) -> torch.Tensor:
    if one.shape != two.shape:
        return torch.zeros(1, dtype=torch.bool)
    kind = torch.complex128 if one.values.is_complex() or two.values.is_complex() else torch.float64
    return torch.isclose(one.values.to(kind), two.values.to(kind), rtol=1e-5, atol=1e-6, equal_nan=True)


def _followed(recording: Recording) -> bool:
    """Tell whether every cell of the result comes from the input itself, or from nowhere."""
    inputs = sum(len(frame.steps) for frame in recording.frames if frame.kind is Kind.INPUT)
    return all(origin.step < inputs for step in recording.result_steps for origin in step.origins)


def _pair(right: Step, beside: Step, placed: bool) -> Pair:
    nowhere = ~_close(right, beside).numpy()
    belongs = np.full(beside.shape, -1)
    if not placed:
        return Pair(right, beside, nowhere, belongs)
    good, other = right.ids.numpy(), beside.ids.numpy()
    wrong = (good != other) | ((good < 0) & nowhere)
    home = {cell: place for place, cell in reversed(list(enumerate(good.ravel().tolist()))) if cell >= 0}
    places = [home.get(cell, -1) for cell in other[wrong].tolist()]
    belongs[wrong] = places
    return Pair(right, beside, wrong, belongs)


def _mixed(pair: Pair) -> Mixed | None:
    here, there = (coordinates(step.ids.numpy(), step.origins) for step in (pair.right, pair.beside))
    if not here or set(here) != set(there):
        return None
    factors = [factor for factor in here if factor.name != "feature"] or list(here)
    for depth in range(1, len(pair.right.shape) + 1):
        somewhere = pair.wrong.reshape(*pair.wrong.shape[:depth], -1).any(-1)
        for at in map(tuple, np.argwhere(somewhere).tolist()):
            right, beside = ({f: np.unique(c[f][at]).tolist() for f in factors} for c in (here, there))
            if right != beside:
                return Mixed(_place(pair.right, here, at), right, beside)
    return None


def _place(step: Step, places: Mapping[Factor, Cells], at: tuple[int, ...]) -> tuple[Part, ...]:
    """Name the part of a result at an index by what it should hold."""
    common = shared(places, at)
    parts: list[Part] = []
    for axis, index in zip(step.axes, at, strict=False):
        factors = axis_factors(axis, common)
        parts += [named(factor, common[factor]) for factor in factors] or [bracketed(index)]
    return tuple(parts)


def _things(held: Mapping[Factor, Sequence[int]], other: Mapping[Factor, Sequence[int]]) -> str:
    """Say what a place holds, where it differs from what the other holds there; heads always."""
    phrases = []
    for factor, values in sorted(held.items(), key=lambda item: item[0].name != "head"):
        if values != other[factor] or factor.name == "head":
            marks = [mark(factor, value) for value in values if value >= 0] or [""]
            plural = "s" if len(marks) > 1 else ""
            listed = text.both.join([", ".join(marks[:-1]), marks[-1]] if plural else marks)
            phrases.append(f"{factor.name}{plural} {listed}")
    return str(text.of).join(phrases)
