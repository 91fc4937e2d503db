"""Names for the axes of a recorded tensor, read off its cells' addresses.

Nothing here knows what reshape or permute does: an axis is called "word" when walking
along it changes the word a cell came from, and nothing else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int64]


class Factor(NamedTuple):
    """One thing that an axis counts: "head", of which there are two."""

    name: str
    size: int
    twin: int = 0  # tells two axes of the same name apart
    whole: bool = True  # False for a part, or another order: its indices do not name it

    @property
    def thing(self) -> tuple[str, int]:
        """What it counts, however many of them."""
        return self.name, self.twin


Axis = tuple[Factor, ...]  # slowest first: the stack's first axis is (sentence, 2), (head, 2)
MIXED = "?"
TENSOR, PLAIN = "tensor", "one"  # which of several inputs; an axis of one that stands for nothing


@dataclass(frozen=True, eq=False)
class Origin:
    """Where cells are followed from: the input itself, or the result of some arithmetic."""

    name: str
    start: int  # its cells are numbered from start to stop, in the order of its memory
    stop: int
    axes: tuple[Axis, ...]
    places: Cells  # (cells in memory, number of axes): the index at each address
    step: int  # the step that made it

    def holds(self, ids: Cells) -> NDArray[np.bool_]:
        """Tell of each cell whether it comes from here."""
        return (ids >= self.start) & (ids < self.stop)


def axes_of(names: Iterable[str], sizes: Iterable[int]) -> tuple[Axis, ...]:
    """Return one axis a name; a name may stand twice."""
    axes: list[Axis] = []
    for name, size in zip(names, sizes, strict=True):
        twins = sum(axis[0].name == name for axis in axes)
        axes.append((Factor(name, size, twins),))
    return tuple(axes)


def default_axes(shape: Sequence[int], names: Sequence[str] | None) -> tuple[Axis, ...]:
    """Return one axis a size, named as given, or as a batch of sentences, or by letters."""
    if names is None:
        usual = {2: ("word", "feature"), 3: ("sentence", "word", "feature")}
        names = usual.get(len(shape)) or tuple("abcdefghijklmnopqrstuvwxyz"[: len(shape)])
    return axes_of(names, shape)


def with_heads(axes: Sequence[Axis], num_heads: int | None) -> tuple[Axis, ...]:
    """Cut the feature axis into (head, feature) where `num_heads` divides it."""
    last = axes[-1] if axes else ()
    if (
        len(last) == 1
        and last[0].name == "feature"
        and last[0].whole
        and num_heads
        and last[0].size % num_heads == 0
    ):
        return (*axes[:-1], (Factor("head", num_heads), Factor("feature", last[0].size // num_heads)))
    return tuple(axes)


def is_mixed(axis: Axis) -> bool:
    """Whether several things change along the axis, so that its indices have no name."""
    return any(factor.name == MIXED for factor in axis)


def tone_names(axis: Axis) -> tuple[str, ...]:
    """Return the names of what the axis counts; a head's features are the features."""
    names = tuple(factor.name for factor in axis)
    return names[:-2] + ("feature",) if names[-2:] == ("head", "feature") else names


def axis_name(axis: Axis, number: int) -> str:
    """Return the axis' name, such as "word" or "sentence·head", or "axis 2" if it has none."""
    return f"axis {number}" if is_mixed(axis) else "·".join(tone_names(axis))


def coordinates(ids: Cells, origins: Sequence[Origin]) -> dict[Factor, Cells]:
    """Return, for each factor of the cells' origin, every cell's coordinate (-1: no origin)."""
    if not origins or any(origin.axes != origins[0].axes for origin in origins):
        return {}
    places_by: dict[Factor, Cells] = {}
    tensor = np.full_like(ids, -1)
    for number, origin in enumerate(origins):
        inside = origin.holds(ids)
        tensor[inside] = number
        for place, axis in zip(origin.places[ids[inside] - origin.start].T, origin.axes, strict=True):
            for factor in reversed(axis):
                coordinate = places_by.setdefault(factor, np.full_like(ids, -1))
                place, coordinate[inside] = np.divmod(place, factor.size)
    several = {Factor(TENSOR, len(origins)): tensor} if len(origins) > 1 else {}
    return {**several, **places_by}


def _changes(places: Cells) -> dict[int, int]:
    """Return axis → the first index along the axis at which the coordinate changes."""
    first = {}
    for axis in range(places.ndim):
        lines = np.moveaxis(places, axis, 0)
        old, new = lines[:-1], lines[1:]
        changed = ((old != new) & (old >= 0) & (new >= 0)).any(tuple(range(1, places.ndim)))
        if changed.any():
            first[axis] = int(changed.argmax())
    return first


def name_axes(
    ids: Cells, origins: Sequence[Origin]
) -> tuple[tuple[Axis, ...], dict[int, tuple[Factor, ...]]]:
    """Return the axes of an array of cells, and for each mixed axis the factors it mixes."""
    places = coordinates(ids, origins)
    along = {factor: _changes(coordinate) for factor, coordinate in places.items()}
    ones = [factor for factor in places if factor.size == 1]
    axes: list[Axis] = []
    mixed: dict[int, tuple[Factor, ...]] = {}
    for number, size in enumerate(ids.shape):
        own = sorted((f for f in places if number in along[f]), key=lambda f: -along[f][number])
        if size == 1:
            axes.append((ones.pop(0),) if ones else (Factor(PLAIN, 1),))
        elif places and not own:
            axes.append((Factor("copy", size),))
        else:
            axis = _named(own, along, number, size)
            if axis and not _in_order(axis, number, places):
                axis = tuple(factor._replace(whole=False) for factor in axis)
            axes.append(axis or (Factor(MIXED, size),))
            if not axis and own:
                mixed[number] = tuple(f for f in places if f in own)
    return tuple(axes), mixed


def _named(own: Sequence[Factor], along: dict[Factor, dict[int, int]], number: int, size: int) -> Axis | None:
    """Name an axis by the factors that change along it, if they change along no other one."""
    if own and all(len(along[factor]) == 1 for factor in own):
        if prod(factor.size for factor in own) == size:
            return tuple(own)
        several = [factor._replace(whole=False) for factor in own if factor.name != TENSOR]
        return tuple(several) if len(several) > 1 else (own[-1]._replace(size=size, whole=False),)
    if len(own) == 1 and all(sum(a in along[f] for f in along) == 1 for a in along[own[0]]):
        part = sorted(along[own[0]]).index(number) + 1  # of a factor that was cut in several
        return (Factor(f"{own[0].name}.{part}", size),)
    return None


def _in_order(axis: Axis, number: int, places: dict[Factor, Cells]) -> bool:
    """Whether the slices along the axis stand in the order in which its factors are counted."""
    place = None
    for factor in axis:
        if factor not in places:
            return True
        lines = np.moveaxis(places[factor], number, 0)
        highest = lines.reshape(len(lines), -1).max(1, initial=-1)
        place = highest if place is None else place * factor.size + highest
    return place is not None and bool((place == np.arange(len(place))).all())


def new_axes(
    operation: str, inputs: Sequence[tuple[tuple[Axis, ...], Sequence[int]]], shape: Sequence[int]
) -> tuple[Axis, ...]:
    """Return the axes of what arithmetic made, taken over from the tensors it read: (axes, shape) each."""
    read = [list(zip(axes, sizes, strict=True)) for axes, sizes in inputs]
    candidates: list[list[tuple[Axis, int]]] = []
    first, last = read[-2 if operation == "baddbmm" and len(read) > 1 else 0], read[-1]
    if operation in ("matmul", "__matmul__", "bmm", "mm", "baddbmm") and len(read) > 1 and first and last:
        rows, columns = first[-2:-1], last[-1:]
        if rows and columns and rows[0][0][0].name == columns[0][0][0].name == "word":
            query: Axis = (rows[0][0][0]._replace(name="query"),)
            key: Axis = (columns[0][0][0]._replace(name="key"),)
            rows, columns = [(query, rows[0][1])], [(key, columns[0][1])]
        candidates.append([*first[:-2], *rows, *columns])
    if operation == "linear" and first and shape:
        candidates.append([*first[:-1], ((Factor("feature", shape[-1]),), shape[-1])])
    if operation == "scaled_dot_product_attention":
        candidates.append([*first[:-1], *last[-1:]])
    for axes in (*candidates, *read):
        if [size for _, size in axes] == list(shape):
            return tuple(axis for axis, _ in axes)
    return tuple((Factor(MIXED, size),) for size in shape)
