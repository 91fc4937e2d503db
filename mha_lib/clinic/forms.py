"""The forms in which layers take a mask: which axes it has, and what its numbers mean."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import torch
from torch import Tensor

from .names import Takes


class Axes(Enum):
    """The shape of a mask, or of lengths."""

    LENGTHS = "(B,)"
    KEYS = "(B, Lk)"
    ROWS = "(B, Lq, Lk)"
    ONE_ROW = "(B, 1, Lk)"
    KEYS_OF_HEADS = "(B, 1, 1, Lk)"
    ROWS_OF_HEADS = "(B, 1, Lq, Lk)"
    EACH_HEAD = "(B, h, Lq, Lk)"
    STACK = "(B·h, Lq, Lk)"
    SQUARE = "(Lq, Lk)"


class Code(Enum):
    """What stands in a mask for a key that may be seen, and for one that may not."""

    MAY = "true_may"
    SHUT = "true_shut"
    ONES = "one_may"
    ADDED = "added"
    PADS = "one_shut"
    INTEGERS = "integer_may"
    COUNT = "count"  # no mask but lengths

    @property
    def shuts_out(self) -> bool:
        """Whether it is the other polarity than scaled_dot_product_attention's."""
        return self in (Code.SHUT, Code.PADS)


@dataclass(frozen=True)
class Form:
    """One form of a mask."""

    axes: Axes
    code: Code

    def encode(self, mask: Tensor, sizes: tuple[int, int, int, int], dtype: torch.dtype) -> Tensor | None:
        """Write a boolean mask (B or 1, 1 or Lq, Lk), True = may attend, in this form; None if it cannot."""
        B, h, Lq, Lk = sizes
        mask = mask.expand(B, -1, Lk)
        alike = bool((mask == mask[:, :1]).all())
        if self.axes is Axes.LENGTHS:
            return mask[:, 0].sum(-1) if alike else None
        if self.axes in (Axes.KEYS, Axes.ONE_ROW, Axes.KEYS_OF_HEADS) and not alike:
            return None
        if self.axes is Axes.SQUARE and not (mask == mask[:1]).all():
            return None
        rows = mask.expand(B, Lq, Lk)
        shaped = {
            Axes.KEYS: rows[:, 0],
            Axes.ROWS: rows,
            Axes.ONE_ROW: rows[:, :1],
            Axes.KEYS_OF_HEADS: rows[:, None, :1],
            Axes.ROWS_OF_HEADS: rows[:, None],
            Axes.EACH_HEAD: rows[:, None].expand(B, h, Lq, Lk),
            Axes.STACK: rows.repeat_interleave(h, 0),
            Axes.SQUARE: rows[0],
        }[self.axes].clone()
        if self.code is Code.ADDED:
            return torch.zeros(shaped.shape, dtype=dtype).masked_fill(~shaped, -math.inf)
        written = ~shaped if self.code.shuts_out else shaped
        numbers = {Code.ONES: dtype, Code.PADS: dtype, Code.INTEGERS: torch.int64}
        return written.to(numbers.get(self.code, torch.bool))


@dataclass(frozen=True)
class Route:
    """A parameter of the layer, and the form in which it is handed a mask."""

    parameter: str
    form: Form


LENGTHS = Form(Axes.LENGTHS, Code.COUNT)
_PADDING = (
    Axes.ROWS,
    Axes.KEYS,
    Axes.ROWS_OF_HEADS,
    Axes.KEYS_OF_HEADS,
    Axes.ONE_ROW,
    Axes.EACH_HEAD,
    Axes.STACK,
)
_CODES = (Code.MAY, Code.SHUT, Code.ONES, Code.ADDED, Code.PADS, Code.INTEGERS)


def padding_forms(kind: Takes) -> Iterator[Form]:
    """Return the forms in which a parameter may take what differs from sentence to sentence."""
    if kind in (Takes.LENGTHS, Takes.UNKNOWN):
        yield LENGTHS
    if kind is Takes.LENGTHS:
        return
    codes: tuple[Code, ...] = _CODES
    if kind is Takes.PADDING:
        codes = (Code.SHUT, Code.MAY, Code.PADS, Code.ADDED, Code.ONES, Code.INTEGERS)
    if kind is Takes.VISIBLE:
        codes = tuple(code for code in _CODES if not code.shuts_out)
    axes = (
        _PADDING if kind is not Takes.PADDING else (Axes.KEYS, *(a for a in _PADDING if a is not Axes.KEYS))
    )
    for code in codes:
        for one in axes:
            yield Form(one, code)
    if kind is not Takes.UNKNOWN:
        yield LENGTHS


def square_forms(kind: Takes) -> Iterator[Form]:
    """Return the forms in which a parameter may take one mask for all sentences."""
    if kind is Takes.LENGTHS:
        return
    for form in padding_forms(kind):
        if form.axes in (Axes.ROWS, Axes.KEYS):
            yield Form(Axes.SQUARE, form.code)
