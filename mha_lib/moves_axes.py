"""Names for the axes of a recorded tensor, read off its cells' addresses.

Nothing here knows what reshape or permute does: an axis is called "word" when walking
along it changes the word a cell came from, and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Factor = tuple[str, int]
Axis = tuple[Factor, ...]  # slowest first: (("sentence", 2), ("head", 2)) is the stack's first axis
MIXED = "?"


@dataclass(frozen=True, eq=False)
class Origin:
    """Where cells are followed from: X itself, or the result of some arithmetic."""

    name: str
    start: int  # its cells are numbered start, start + 1, … in the order of its memory
    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    places: Tensor  # (cells in memory, number of axes): the index at each address


def default_axes(shape: Sequence[int], names: Sequence[str] | None) -> tuple[Axis, ...]:
    """Return one axis a size, named as given, or as a batch of sentences, or by letters."""
    if names is None:
        usual = {2: ("word", "feature"), 3: ("sentence", "word", "feature")}
        names = usual.get(len(shape)) or "abcdefghijklmnopqrstuvwxyz"[: len(shape)]
    return tuple(((name, size),) for name, size in zip(names, shape, strict=True))


def with_heads(axes: Sequence[Axis], num_heads: int | None) -> tuple[Axis, ...]:
    """Cut the feature axis into (head, feature) where `num_heads` divides it."""
    def cut(axis: Axis) -> Axis:
        if num_heads and len(axis) == 1 and axis[0][0] == "feature" and axis[0][1] % num_heads == 0:
            return (("head", num_heads), ("feature", axis[0][1] // num_heads))
        return axis
    return (*axes[:-1], cut(axes[-1])) if axes else ()


def axis_name(axis: Axis, number: int) -> str:
    """Return the axis' name, such as "word" or "sentence·head", or "axis 2" if it has none."""
    name = "·".join(factor for factor, _ in axis).replace("head·feature", "feature")
    return f"axis {number}" if MIXED in name else name


def coordinates(ids: Tensor, origins: Sequence[Origin]) -> dict[Factor, Tensor]:
    """Return, for each factor of the cells' origin, every cell's coordinate (-1: no origin)."""
    used = [o for o in origins if ((ids >= o.start) & (ids < o.start + len(o.places))).any()]
    if not used or any(o.axes != used[0].axes for o in used):
        return {}
    found: dict[Factor, Tensor] = {}
    if len(used) > 1:
        found[("tensor", len(used))] = torch.full_like(ids, -1)
    for number, origin in enumerate(used):
        inside = (ids >= origin.start) & (ids < origin.start + len(origin.places))
        index = origin.places[(ids - origin.start).clamp(0, max(len(origin.places) - 1, 0))]
        for axis, place in zip(origin.axes, index.unbind(-1), strict=True):
            for factor in reversed(axis):
                before = found.get(factor, torch.full_like(ids, -1))
                found[factor] = torch.where(inside, place % factor[1], before)
                place = place // factor[1]
        if len(used) > 1:
            found[("tensor", len(used))][inside] = number
    return found


def name_axes(ids: Tensor, origins: Sequence[Origin]) -> tuple[tuple[Axis, ...], dict[int, list[str]]]:
    """Return the axes of a tensor of cells, and for each mixed axis the names it mixes."""
    found = coordinates(ids, origins)
    along: dict[Factor, dict[int, int]] = {}  # factor → axis → the first index where it changes
    for factor, place in found.items():
        along[factor] = {}
        for axis in range(ids.ndim):
            old, new = place.narrow(axis, 0, max(ids.shape[axis] - 1, 0)), place.narrow(axis, 1, max(
                ids.shape[axis] - 1, 0)) if ids.shape[axis] else place
            change = (old != new) & (old >= 0) & (new >= 0) if ids.shape[axis] > 1 else torch.zeros(0)
            if change.any():
                other = [a for a in range(ids.ndim) if a != axis]
                where = change.any(dim=other) if other else change
                along[factor][axis] = int(where.nonzero()[0])
    ones = [factor for factor in found if factor[1] == 1]
    axes: list[Axis] = []
    mixed: dict[int, list[str]] = {}
    for axis, size in enumerate(ids.shape):
        own = sorted((f for f in found if axis in along[f]), key=lambda f: -along[f][axis])
        alone = [f for f in own if len(along[f]) == 1]
        product = 1
        for factor in own:
            product *= factor[1]
        if size == 1:
            axes.append((ones.pop(0),) if ones else (("one", 1),))
        elif not found:
            axes.append(((MIXED, size),))
        elif not own:
            axes.append((("copy", size),))
        elif len(alone) == len(own):
            axes.append(tuple(own) if product == size else (("·".join(f for f, _ in own if f != "tensor"), size),))
        elif len(own) == 1 and all(sum(a in along[f] for f in found) == 1 for a in along[own[0]]):
            part = sorted(along[own[0]]).index(axis) + 1
            axes.append(((f"{own[0][0]}.{part}", size),))
        else:
            axes.append(((MIXED, size),))
            mixed[axis] = list(dict.fromkeys(f for f, _ in sorted(own, key=list(found).index)))
    return tuple(axes), mixed


def new_axes(operation: str, inputs: Sequence[tuple[Axis, ...]], shape: Sequence[int]) -> tuple[Axis, ...]:
    """Return the axes of what arithmetic made, taken over from the tensors it read."""
    def fits(axes: Sequence[Axis]) -> bool:
        sizes = []
        for axis in axes:
            sizes.append(1)
            for _, size in axis:
                sizes[-1] *= size
        return sizes == list(shape)

    candidates: list[tuple[Axis, ...]] = []
    first, last = inputs[0], inputs[-1]
    if operation in ("matmul", "bmm", "mm", "baddbmm") and len(inputs) > 1 and first and last:
        if operation == "baddbmm":
            first = inputs[-2]
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
        if fits(axes):
            return axes
    return tuple(((MIXED, size),) for size in shape)
