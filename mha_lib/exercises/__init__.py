"""Checks for the notebooks' exercises: any right way passes, a wrong one gets a hint.

A module of this package holds the checks of one topic; splitting.check_merge is that of
"splitting.merge". A check takes the learner's attempt and yields hints that name the likely
mistake, or None; the first hint is shown, and without one the attempt is right. Where a number
or a word is asked for, text/en/exercises.toml says it all.
"""

import dis
import html
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import torch
from torch import Tensor, nn

from ..errors import value_error
from ..multihead import MultiHeadAttention
from ..text import read, sentences

text = sentences("learning")
_ANSWERS = read("exercises")


@dataclass(frozen=True)
class Verdict:
    """What a check found: `status` is "right", "not yet" or "not tried yet"."""

    name: str
    status: str
    message: str

    def __bool__(self) -> bool:
        return self.status == "right"

    def __repr__(self) -> str:
        sign = {"right": "✓", "not yet": "✗", "not tried yet": "○"}[self.status]
        return f"{sign} {self.name}: {self.message}"

    def _repr_html_(self) -> str:
        colour = {"right": "#009E73", "not yet": "#D55E00", "not tried yet": "#888888"}[self.status]
        style = f"border-left: 4px solid {colour}; padding: 4px 10px; white-space: pre-wrap"
        return f'<div style="{style}">{html.escape(repr(self))}</div>'


def _written(value) -> str:
    """Write a number, a word or several in one way, whatever holds them: "2, 12"."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_written, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _check_value(answer: dict, attempt):
    given = _written(attempt)
    if given != answer["right"]:
        yield answer["wrong"].get(given, answer["hint"])


def _is_stub(function: Callable) -> bool:
    if not hasattr(function, "__code__"):
        return False
    steps = list(dis.get_instructions(function))
    empty = {step.opname for step in steps} <= {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return empty and all(step.argval in (None, ...) for step in steps if "CONST" in step.opname)


def _untouched(attempt) -> bool:
    if attempt is None or attempt is ...:
        return True
    if isinstance(attempt, nn.Module) or inspect.isclass(attempt):
        attempt = getattr(attempt, "forward", attempt)
    return callable(attempt) and _is_stub(getattr(attempt, "__func__", attempt))


def _check_of(name: str) -> Callable:
    if name in _ANSWERS:
        return partial(_check_value, _ANSWERS[name])
    topic, _, what = name.partition(".")
    try:
        return getattr(import_module(f".{topic}", __name__), f"check_{what}")
    except (ImportError, AttributeError):
        raise value_error("name", "the name of an exercise in the notebooks", repr(name)) from None


def check(name: str, attempt) -> Verdict:
    """Hold a learner's attempt against the exercise `name`.

    Nothing that the attempt raises escapes: it becomes the hint.

    Raises:
        ValueError: if there is no such exercise.

    Example:
        >>> check("splitting.split", ...)
        ○ splitting.split: Not tried yet: replace the … and run the cell again.
    """
    hints = _check_of(name)
    if _untouched(attempt):
        return Verdict(name, "not tried yet", text.not_tried)
    try:
        hint = next(filter(None, hints(attempt)), None)
    except Exception as error:
        hint = text.raised.format(error=type(error).__name__, message=error)
        if "is invalid for input of size" in hint:
            hint = f"{hint}. {text.fixed_sizes}"
    if hint:
        return Verdict(name, "not yet", text.not_yet.format(hint=hint))
    return Verdict(name, "right", text.right)


def compare(got, want: Tensor) -> str | None:
    """Return None where `got` equals the tensor `want`, else what differs first."""
    if got is None:
        return text.no_return
    if not isinstance(got, Tensor):
        return text.not_a_tensor.format(got=type(got).__name__)
    if want.dtype == torch.bool and got.dtype != torch.bool:
        return text.not_boolean.format(got=got.dtype)
    if got.shape != want.shape:
        return text.shape.format(want=tuple(want.shape), got=tuple(got.shape))
    close = torch.isclose(got.to(want.dtype), want, rtol=1e-4, atol=1e-5)
    if close.all():
        return None
    index = tuple((~close).nonzero()[0].tolist())
    shown = {"want": round(want[index].item(), 4), "got": round(got[index].item(), 4)}
    return text.number.format(index=index, **shown)


def known(got, mistakes: dict[str, Tensor]) -> str | None:
    """Return the hint whose wrong result `got` is."""
    return next((hint for hint, wrong in mistakes.items() if compare(got, wrong) is None), None)


def judge(got, want: Tensor, mistakes: dict[str, Tensor]) -> str | None:
    """Return None where `got` equals `want`, else the hint of a known mistake or what differs first."""
    problem = compare(got, want)
    return problem and (known(got, mistakes) or problem)


def randoms(*shapes: tuple[int, ...], dtype=torch.float64) -> list[Tensor]:
    """Return normal numbers, the same at every call, one tensor a shape."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


def random_layer(D: int = 10, h: int = 2, seed: int = 0, **kwargs) -> MultiHeadAttention:
    """Return a layer, the same at every call, whose weights are far from all alike."""
    layer, generator = MultiHeadAttention(D, D, D, D, h, **kwargs), torch.Generator().manual_seed(seed)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.4, generator=generator)
    return layer.eval()
