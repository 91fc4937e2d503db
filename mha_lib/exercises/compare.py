"""Whether two results are the same, whatever form they have; and what differs first."""

import math
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor

from ..text import sentences

text = sentences("learning")
# Scores of 1000 have an error of 6e-5 in float32, and so have their shares; numbers that were
# rounded to three digits are further off.
RTOL, ATOL = 1e-4, 2e-6


class Kind(StrEnum):
    """How a result differs; its sentence has the same name."""

    NO_RETURN = "no_return"
    VALUE = "value"
    SEVERAL = "several"
    RETURNS_MORE = "returns_more"
    NOT_A_TENSOR = "not_a_tensor"
    NOT_BOOLEAN = "not_boolean"
    SHAPE = "shape"
    NUMBER = "number"


@dataclass(frozen=True)
class Difference:
    """What differs first: the kind, what to say of it, in which part of a result."""

    kind: Kind
    text: str
    part: str | int | None = None


def _differs(kind: Kind, **facts: Any) -> Difference:
    return Difference(kind, vars(text)[kind.value].format(**facts))


def difference(got: Any, want: Any, nan_is_nan: bool = False) -> Difference | None:
    """Return None where `got` is the same as `want`, else what differs first.

    `want` is a tensor, a number, a text, or several of them in a tuple or, by name, a dict;
    `got` may be that in any other form: lists, arrays, numbers of numpy or torch.
    """
    if got is None:
        return _differs(Kind.NO_RETURN)
    if isinstance(want, Mapping):
        parts = {part: difference(got[part], one, nan_is_nan) for part, one in want.items()}
        return next((replace(differs, part=part) for part, differs in parts.items() if differs), None)
    if isinstance(want, tuple):
        return _sequences(got, want, nan_is_nan)
    if isinstance(want, Tensor):
        return _tensors(got, want, nan_is_nan)
    got = plain(got)
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        same = got == want or (isinstance(want, float) and math.isclose(got, want, rel_tol=RTOL))
    else:
        same = type(got) is type(want) and got == want
    return None if same else _differs(Kind.VALUE, want=want, got=got)


def _sequences(got: Any, want: tuple[Any, ...], nan_is_nan: bool) -> Difference | None:
    if _length(got) != len(want):
        return _differs(Kind.SEVERAL, n=len(want))
    for part, (one, other) in enumerate(zip(got, want, strict=True)):
        if differs := difference(one, other, nan_is_nan):
            return replace(differs, part=part)
    return None


def _length(value: Any) -> int | None:
    """Return how many things stand in a list, a tuple or an array; None for anything else."""
    if isinstance(value, (str, Mapping)):
        return None
    try:
        return len(value)
    except TypeError:  # a number; a tensor or an array that holds one
        return None


def as_tensor(value: Any) -> Tensor | None:
    """Return a tensor, an array, a number or lists of them as a tensor; None for anything else."""
    try:
        if isinstance(value, (list, tuple)):
            parts = [as_tensor(one) for one in value]
            return torch.stack([part for part in parts if part is not None]) if None not in parts else None
        return torch.as_tensor(value).detach()
    except (TypeError, ValueError, RuntimeError):
        return None


def close(got: Tensor, want: Tensor, nan_is_nan: bool = False) -> Tensor:
    """Return where two tensors of one shape have the same numbers, but for rounding."""
    return torch.isclose(got.double(), want.double(), rtol=RTOL, atol=ATOL, equal_nan=nan_is_nan)


def _tensors(got: Any, want: Tensor, nan_is_nan: bool) -> Difference | None:
    tensor = as_tensor(got)
    if isinstance(got, tuple) and len(got) > 1 and difference(got[0], want) is None:
        return _differs(Kind.RETURNS_MORE, n=len(got))
    if tensor is None:
        return _differs(Kind.NOT_A_TENSOR, got=type(got).__name__)
    if want.dtype == torch.bool and tensor.dtype != torch.bool:
        return _differs(Kind.NOT_BOOLEAN, got=tensor.dtype)
    if tensor.shape != want.shape:
        return _differs(Kind.SHAPE, want=tuple(want.shape), got=tuple(tensor.shape))
    differs = ~close(tensor, want, nan_is_nan)
    if not differs.any():
        return None
    index = tuple(differs.nonzero()[0].tolist())
    shown, asked = tensor[index].item(), want[index].item()
    if want.is_floating_point():
        digits = 4 if round(shown, 4) != round(asked, 4) else 8
        shown, asked = round(shown, digits), round(asked, digits)
    return _differs(Kind.NUMBER, index=index, want=asked, got=shown)


def plain(value: Any) -> Any:
    """Return a number, a text or a list of them as Python's own, whatever holds them."""
    if isinstance(value, slice):
        value = [value.start, value.stop]
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str):
        try:
            return plain(literal_eval(value.strip()))
        except (ValueError, SyntaxError):
            return value.strip()
    if isinstance(value, (list, tuple, range)):
        items = [plain(one) for one in value]
        return items[0] if len(items) == 1 else items
    return int(value) if isinstance(value, float) and value.is_integer() else value
