"""Does a call only move cells, and where to? Done by torch itself, on numbers of cells.

Beside a tensor stands its shadow: a tensor of the same layout whose cells hold their own
numbers, counted from 1. What torch does to the shadow tells where each cell went; no rule
of reshape or gather is written here.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from .calls import CASTS, SORTS, Call, tensors_of
from .memory import NOWHERE, Memory, Numbers, addresses, has_memory, key

FOREIGN = -7.0  # in a shadow: a number that was written from a tensor that is not followed
_FAILS = (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError)


class Traced(NamedTuple):
    """A memory after a write, by address: its cells, and which of them came from a tensor not followed."""

    cells: Tensor
    foreign: Tensor


def moved(
    call: Call, outputs: list[Tensor], memories: Mapping[int, Memory], numbers: Numbers
) -> list[Tensor | None] | None:
    """Return the cells of each output if the call only moved cells into new memory; else None.

    Where a call sorts, what it says of the order is new: None stands for its cells.
    """
    if not call.may_move:
        return None
    if call.name in SORTS and len(outputs) == 2:
        picked = _sorted(call, outputs[1], memories)
        return [picked, None] if numbers.agree(picked, outputs[0]) else None
    cast = call.name in CASTS
    cells = [_cells_of(call.tensors[0], memories)] if cast else _tried(call, outputs, memories)
    if cells is None or [each.shape for each in cells] != [tensor.shape for tensor in outputs]:
        return None
    return [*cells] if all(map(numbers.agree, cells, outputs)) else None


def _cells_of(tensor: Tensor, memories: Mapping[int, Memory]) -> Tensor:
    memory = memories.get(key(tensor)) if has_memory(tensor) else None
    if memory is None or not memory.shows(tensor):
        return torch.full(tuple(tensor.shape), NOWHERE)
    return memory.read(tensor)


def _sorted(call: Call, indices: Tensor, memories: Mapping[int, Memory]) -> Tensor:
    """Return where the cells went that a call picked by its own indices along an axis."""
    cells = _cells_of(call.tensors[0], memories)
    place = SORTS[call.name]
    axis = call.kwargs.get("dim", call.args[place] if len(call.args) > place else -1)
    if not cells.dim():
        return cells  # a single number: torch counts an axis 0 that is not there
    whole = indices if indices.dim() == cells.dim() else indices.unsqueeze(axis)
    return torch.take_along_dim(cells, whole, axis).reshape(indices.shape)


def _tried(call: Call, outputs: list[Tensor], memories: Mapping[int, Memory]) -> list[Tensor] | None:
    """Do the call to the shadows; where its name does not settle it, twice with other numbers."""
    most = max((int(memory.ids.max()) for memory in memories.values() if len(memory.ids)), default=-1) + 1
    names = torch.arange(most + 1.0, dtype=torch.float64)
    try:
        if call.only_moves:
            return _run(call, memories, names)
        order = torch.randperm(most, generator=torch.Generator().manual_seed(0)) + 1.0
        order = torch.cat([torch.zeros(1), order]).double()
        with torch.random.fork_rng(devices=[]):
            cells, again = (_run(call, memories, each) for each in (names, order))
    except _FAILS:
        return None
    known = all(bool(((each >= 0) & (each < most)).all()) for each in cells)
    if not known or len(cells) != len(outputs):
        return None  # arithmetic, or a result with cells from elsewhere
    renamed = [order[each + 1].long() - 1 for each in cells]
    return cells if all(a.equal(b) for a, b in zip(renamed, again, strict=True)) else None


def _run(call: Call, memories: Mapping[int, Memory], names: Tensor) -> list[Tensor]:
    """Do the call to shadows in which cell i is called names[i + 1]; return the result's cells."""

    def shadow(tensor: Tensor) -> Tensor:
        memory = memories.get(key(tensor)) if has_memory(tensor) else None
        if memory is None or not memory.shows(tensor):
            return torch.zeros(tuple(tensor.shape), dtype=torch.float64)
        return names[memory.ids + 1].as_strided(tensor.shape, tensor.stride(), int(tensor.storage_offset()))

    args, kwargs = call.with_data(shadow)
    kwargs.pop("dtype", None)
    if call.name in ("pad", "constant_pad_nd"):  # what is added comes from nowhere, whatever its value
        kwargs.pop("value", None)
        args = args[:3] if call.name == "pad" else (*args[:2], 0)
    if call.name == "pad_sequence":
        kwargs.pop("padding_value", None)
        args = (*args[:2], 0.0, *args[3:])
    if call.name == "scatter" and not isinstance(args[-1], Tensor):
        args = (*args[:-1], 0.0)
    result = tensors_of(call.func(*args, **kwargs))
    return [(each.nan_to_num(-1e9).round().long() - 1).reshape(each.shape) for each in result]


def written(call: Call, target: Tensor, memories: Mapping[int, Memory], numbers: Numbers) -> Traced | None:
    """Return what a movement into `target` left in its memory; None if that could not be followed."""
    flats: dict[int, Tensor] = {}

    def shadow(tensor: Tensor) -> Tensor:
        memory = memories.get(key(tensor)) if has_memory(tensor) else None
        if memory is None or not memory.shows(tensor):
            return torch.full(tuple(tensor.shape), FOREIGN, dtype=torch.float64)
        flat = flats.setdefault(key(tensor), (memory.ids + 1).double())
        return flat.as_strided(tensor.shape, tensor.stride(), int(tensor.storage_offset()))

    args, kwargs = call.with_data(shadow)
    kwargs = {
        name: FOREIGN if name in ("value", "src") and not isinstance(value, Tensor) else value
        for name, value in kwargs.items()
    }
    if len(args) > 1 and not isinstance(args[-1], Tensor) and call.name != "index_put_":
        args = (*args[:-1], FOREIGN)  # a number, or a list of them
    try:
        call.func(*args, **kwargs)
    except _FAILS:
        return None
    flat = flats[key(target)]
    foreign = flat == FOREIGN
    cells = torch.where(foreign, NOWHERE, flat.long() - 1)
    now = memories[key(target)].contents
    return Traced(cells, foreign) if numbers.agree(cells, now) else None


def spread(tensor: Tensor, length: int, numbers: Tensor) -> Tensor:
    """Spread new numbers of a tensor's cells over a memory of this length; nowhere elsewhere."""
    cells = torch.full((length,), NOWHERE)
    cells[addresses(tensor, length)] = numbers.reshape(-1)
    return cells
