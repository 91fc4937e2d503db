"""Which cell stands at each address of a tensor's memory, and which number each cell had.

Cells are followed by memory, not by tensor: views, aliases and whatever else shares a
storage read the same addresses, so that none of them can be forgotten.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from .axes import Origin
from .refusal import Reason

NOWHERE = -1


class Memory:
    """The storage of one tensor: its cells' numbers by address, and its contents when last seen."""

    def __init__(self, tensor: Tensor) -> None:
        self.contents = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        self.contents.set_(tensor.untyped_storage())
        self.ids = torch.full(self.contents.shape, NOWHERE)
        self.step = 0  # the step that showed it last
        self.notice()

    def notice(self) -> None:
        """Remember the contents as they are now."""
        self.seen = self._bytes().clone()

    def changed(self) -> Tensor | None:
        """Return the addresses whose contents are not what they were; None if all are."""
        now = self._bytes()
        if now.shape != self.seen.shape:  # resized
            self.contents.set_(self.contents.untyped_storage())
            longer = torch.full(self.contents.shape, NOWHERE)
            longer[: len(self.ids)] = self.ids[: len(longer)]
            self.ids = longer
            self.notice()
            return None
        if now.equal(self.seen):
            return None
        return (now != self.seen).view(len(self.ids), -1).any(1).cpu()

    def shows(self, tensor: Tensor) -> bool:
        """Whether the tensor's numbers are those of the memory: no other type, no pending sign."""
        return tensor.dtype == self.contents.dtype and not tensor.is_conj() and not tensor.is_neg()

    def read(self, tensor: Tensor) -> Tensor:
        """Return the cells of a tensor in this memory, in its shape; nowhere if it shows other numbers."""
        if not self.shows(tensor):
            return torch.full(tuple(tensor.shape), NOWHERE)
        return self.ids.as_strided(tensor.shape, tensor.stride(), int(tensor.storage_offset()))

    def write(self, tensor: Tensor, ids: Tensor) -> None:
        """Put cells where the tensor has its places."""
        self.ids = self.ids.clone()  # earlier steps keep theirs
        self.ids[addresses(tensor, len(self.ids))] = ids.reshape(-1)

    def _bytes(self) -> Tensor:
        raw = torch.empty(0, dtype=torch.uint8, device=self.contents.device)
        raw.set_(self.contents.untyped_storage())
        return raw[: raw.numel() // self.contents.element_size() * self.contents.element_size()]


class Numbers:
    """All cells there are, numbered through, and the number that each had when it was new."""

    def __init__(self) -> None:
        self.origins: list[Origin] = []
        self._values: list[Tensor] = []
        self._total = 0

    def start(self, tensor: Tensor, name: str, step: int) -> Tensor:
        """Number a tensor's cells anew, in the order of its memory; return the numbers in its shape."""
        length = span(tensor)
        at = torch.arange(length).as_strided(tensor.shape, tensor.stride()).reshape(-1)
        places = torch.zeros(length, tensor.ndim, dtype=torch.int64)
        places[at] = torch.ones(tuple(tensor.shape)).nonzero()
        values = tensor.detach().as_strided((length,), (1,)).cpu().clone().resolve_conj().resolve_neg()
        self.origins.append(Origin(name, self._total, self._total + length, (), places.numpy(), step))
        self._values.append(values)
        self._total += length
        return (at + self.origins[-1].start).reshape(tensor.shape)

    def agree(self, ids: Tensor, tensor: Tensor) -> bool:
        """Whether every cell holds the number that it had when it was new."""
        flat = ids.reshape(-1)
        now = tensor.detach().cpu().reshape(-1)
        if flat.numel() and int(flat.max()) >= self._total:
            return False
        left = int((flat >= 0).sum())
        for origin, values in zip(reversed(self.origins), reversed(self._values), strict=True):
            if not left:
                return True
            inside = (flat >= origin.start) & (flat < origin.stop)
            count = int(inside.sum())
            if count and not _same(values[flat[inside] - origin.start], now[inside]):
                return False
            left -= count
        return not left


def addresses(tensor: Tensor, length: int) -> Tensor:
    """Return where in a memory of this length the tensor's cells stand, in reading order."""
    offset = int(tensor.storage_offset())
    return torch.arange(length).as_strided(tensor.shape, tensor.stride(), offset).reshape(-1)


def span(tensor: Tensor) -> int:
    """How many cells of memory the tensor's strides reach over."""
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return reach + 1 if tensor.numel() else 0


def has_memory(tensor: Tensor) -> bool:
    """Whether torch lets one look at the tensor's memory."""
    return hidden_by(tensor) is None


def hidden_by(tensor: Tensor) -> Reason | None:
    """Return why torch lets nobody look at the tensor's memory; None if it does."""
    if tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized or tensor.is_meta:
        return Reason.NOT_DENSE
    return Reason.TRANSFORM if torch._C._functorch.is_functorch_wrapped_tensor(tensor) else None


def key(tensor: Tensor) -> int:
    """Return what names the tensor's memory."""
    return int(tensor.untyped_storage()._cdata)


def copies(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Copy tensors with their memory's layout; those that share memory share it in the copy."""
    tensors = list(tensors)
    spans: dict[int, tuple[int, int]] = {}
    for tensor in tensors:
        first, end = int(tensor.storage_offset()), int(tensor.storage_offset()) + span(tensor)
        low, high = spans.get(key(tensor), (first, end))
        spans[key(tensor)] = min(low, first), max(high, end)
    made: dict[int, Tensor] = {}
    same: dict[int, Tensor] = {}
    for tensor in tensors:
        low, high = spans[key(tensor)]
        if key(tensor) not in made:
            made[key(tensor)] = tensor.as_strided((high - low,), (1,), low).clone()
        if id(tensor) not in same:
            copy = made[key(tensor)].as_strided(
                tensor.shape, tensor.stride(), int(tensor.storage_offset()) - low
            )
            leaf = tensor.is_leaf or not tensor.requires_grad
            same[id(tensor)] = copy.detach().requires_grad_(tensor.requires_grad) if leaf else copy
    return [same[id(tensor)] for tensor in tensors]


def _same(old: Tensor, new: Tensor) -> bool:
    kind: Any = torch.complex128 if old.is_complex() or new.is_complex() else torch.float64
    if old.dtype == new.dtype and not kind.is_complex and not old.is_floating_point():
        return old.equal(new)  # whole numbers beyond 2 ** 53
    old, new = old.to(kind), new.to(kind)
    return bool(((old == new) | (old.isnan() & new.isnan())).all())
