"""Names for the axes of a recorded tensor, read off its cells' addresses.

Nothing here knows what reshape or permute does: an axis is called "word" when walking
along it changes the word a cell came from, and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

Factor = tuple[str, int]
Axis = tuple[Factor, ...]  # slowest first: (("sentence", 2), ("head", 2)) is the stack's first axis
MIXED = "?"


@dataclass(frozen=True, eq=False)
class Origin:
    """Where cells are followed from: X itself, or the result of some arithmetic."""

    name: str
    start: int  # its cells are numbered start, start + 1, … in the order of its memory
    axes: tuple[Axis, ...]
    places: np.ndarray  # (cells in memory, number of axes): the index at each address
    step: int  # the step that made it

    def holds(self, ids):
        """Tell of each cell whether it comes from here."""
        return (ids >= self.start) & (ids < self.start + len(self.places))


def default_axes(shape: Sequence[int], names: Sequence[str] | None) -> tuple[Axis, ...]:
    """Return one axis a size, named as given, or as a batch of sentences, or by letters."""
    if names is None:
        usual = {2: ("word", "feature"), 3: ("sentence", "word", "feature")}
        names = usual.get(len(shape)) or "abcdefghijklmnopqrstuvwxyz"[: len(shape)]
    return tuple(((name, size),) for name, size in zip(names, shape, strict=True))


def with_heads(axes: Sequence[Axis], num_heads: int | None) -> tuple[Axis, ...]:
    """Cut the feature axis into (head, feature) where `num_heads` divides it."""
    match axes[-1:]:
        case [(("feature", size),)] if num_heads and size % num_heads == 0:
            return (*axes[:-1], (("head", num_heads), ("feature", size // num_heads)))
    return tuple(axes)


def axis_name(axis: Axis, number: int) -> str:
    """Return the axis' name, such as "word" or "sentence·head", or "axis 2" if it has none."""
    name = "·".join(factor for factor, _ in axis).replace("head·feature", "feature")
    return f"axis {number}" if MIXED in name else name


def coordinates(ids: np.ndarray, origins: Sequence[Origin]) -> dict[Factor, np.ndarray]:
    """Return, for each factor of the cells' origin, every cell's coordinate (-1: no origin)."""
    if not origins or any(origin.axes != origins[0].axes for origin in origins):
        return {}
    found: dict[Factor, np.ndarray] = {}
    tensor = np.full_like(ids, -1)
    for number, origin in enumerate(origins):
        inside = origin.holds(ids)
        tensor[inside] = number
        for place, axis in zip(origin.places[ids[inside] - origin.start].T, origin.axes, strict=True):
            for factor in reversed(axis):
                coordinate = found.setdefault(factor, np.full_like(ids, -1))
                place, coordinate[inside] = np.divmod(place, factor[1])
    return {("tensor", len(origins)): tensor, **found} if len(origins) > 1 else found


def _changes(places: np.ndarray) -> dict[int, int]:
    """Return axis → the first index along the axis at which the coordinate changes."""
    first = {}
    for axis in range(places.ndim):
        lines = np.moveaxis(places, axis, 0)
        old, new = lines[:-1], lines[1:]
        changed = ((old != new) & (old >= 0) & (new >= 0)).any(tuple(range(1, places.ndim)))
        if changed.any():
            first[axis] = int(changed.argmax())
    return first


def name_axes(ids: np.ndarray, origins: Sequence[Origin]) -> tuple[tuple[Axis, ...], dict[int, list[str]]]:
    """Return the axes of an array of cells, and for each mixed axis the names it mixes."""
    found = coordinates(ids, origins)
    along = {factor: _changes(places) for factor, places in found.items()}
    ones = [factor for factor in found if factor[1] == 1]
    axes: list[Axis] = []
    mixed: dict[int, list[str]] = {}
    for axis, size in enumerate(ids.shape):
        own = sorted((f for f in found if axis in along[f]), key=lambda f: -along[f][axis])
        if size == 1:
            axes.append((ones.pop(0),) if ones else (("one", 1),))
        elif found and not own:
            axes.append((("copy", size),))
        elif own and all(len(along[f]) == 1 for f in own):  # they change along no other axis
            joined = "·".join(name for name, _ in own if name != "tensor")
            axes.append(tuple(own) if prod(f[1] for f in own) == size else ((joined, size),))
        elif len(own) == 1 and all(sum(a in along[f] for f in found) == 1 for a in along[own[0]]):
            part = sorted(along[own[0]]).index(axis) + 1  # of a factor that was cut in several
            axes.append(((f"{own[0][0]}.{part}", size),))
        else:
            axes.append(((MIXED, size),))
            if own:
                mixed[axis] = [f[0] for f in found if f in own]
    return tuple(axes), mixed


def new_axes(operation: str, inputs: Sequence[tuple[Axis, ...]], shape: Sequence[int]) -> tuple[Axis, ...]:
    """Return the axes of what arithmetic made, taken over from the tensors it read."""
    candidates: list[tuple[Axis, ...]] = []
    first, last = inputs[-2 if operation == "baddbmm" else 0], inputs[-1]
    if operation in ("matmul", "bmm", "mm", "baddbmm") and len(inputs) > 1 and first and last:
        rows, columns = first[-2:-1], last[-1:]
        if rows == columns and rows and rows[0][0][0] == "word":
            size = rows[0][0][1]
            rows, columns = ((("query", size),),), ((("key", size),),)
        candidates.append((*first[:-2], *rows, *columns))
    if operation == "linear" and first:
        candidates.append((*first[:-1], (("feature", shape[-1]),)))
    if operation == "scaled_dot_product_attention":
        candidates.append((*first[:-1], *last[-1:]))
    for axes in (*candidates, *inputs):
        if [prod(size for _, size in axis) for axis in axes] == list(shape):
            return axes
    return tuple(((MIXED, size),) for size in shape)
