"""Watch what any function does to every cell of a tensor. torch decides what happened."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from ..errors import type_error, value_error
from ..look.unseen import visible
from ..text import sentences
from .calls import tensors_of
from .following import Recorder
from .meaning import explain
from .memory import copies, hidden_by
from .recording import Recording
from .refusal import not_followed

text = sentences("moves")

Given = Tensor | Sequence[Tensor] | Mapping[str, Tensor]
Words = Sequence[Sequence[str]]


def watch(
    fn: Callable[..., Any],
    X: Given,
    *,
    axes: Sequence[str] | None = None,
    num_heads: int | None = None,
    words: Words | None = None,
) -> Recording:
    """Run `fn` on X and record what each tensor operation does to every cell.

    Shapes: X of any shape; a tuple or dict of tensors is handed on as several arguments
    and kept apart. `axes` names X's axes; three axes are (sentence, word, feature) unless
    told otherwise. `num_heads` cuts the features into heads for names and colours; left
    out, it is read off the first step that cuts them. `words` holds each sentence's words,
    which are then written at its lines. `fn` gets a copy of X, so X stays.
    Raises: InputTypeError if fn is not callable, X is no tensor, or the result is none;
    InputValueError if the result was not made from X by torch, or names do not fit.

    >>> watch(lambda X: X.reshape(2, 3, 2, 2).permute(0, 2, 1, 3), torch.zeros(2, 3, 4))
    X                      (2, 3, 4)     strides (12, 4, 1)     sentence, word, feature
    X.reshape(2, 3, 2, 2)  (2, 3, 2, 2)  strides (12, 4, 2, 1)  sentence, word, head, feature
    .permute(0, 2, 1, 3)   (2, 2, 3, 2)  strides (12, 2, 4, 1)  sentence, head, word, feature
    """
    if not callable(fn):
        raise type_error("fn", "a function of X", type(fn).__name__, "Write lambda X: X.reshape(...).")
    inputs = _inputs(fn, X)
    named = _checked_axes(inputs, axes)
    spoken = _checked_words(words, next(iter(inputs.values())))
    recorder = Recorder()
    copied = dict(zip(inputs, copies(inputs.values()), strict=True))
    recorder.start(copied)
    with _as_written(), recorder:
        result = fn(**copied) if isinstance(X, Mapping) else fn(*copied.values())
    if not tensors_of(result):
        raise type_error("fn", "a function that gives a tensor back", type(result).__name__)
    returned = recorder.finish(result)
    if not returned:
        raise not_followed(recorder.reasons)
    frames, origins, heads = explain(recorder.frames, recorder.numbers.origins, named, num_heads)
    steps = [step for frame in frames for step in frame.steps]
    places = {id(step.ids): number for number, step in enumerate(steps)}
    results = tuple(steps[places[id(step.ids)]] for step in returned)
    return Recording(tuple(frames), tuple(origins), heads, spoken, result, results)


def _as_written() -> AbstractContextManager[object]:
    """Let compiled functions run as they were written, where torch.compile is in use."""
    in_use = hasattr(sys.modules.get("torch._dynamo"), "OptimizedModule")
    return torch.compiler.set_stance("force_eager") if in_use else nullcontext()


def _inputs(fn: Callable[..., Any], X: Given) -> dict[str, Tensor]:
    """Return the tensors that fn gets, each with its name."""
    inputs: dict[str, Any]
    if isinstance(X, Mapping):
        inputs = dict(X)
    else:
        tensors: list[Any] = list(X) if isinstance(X, tuple | list) else [X]
        inputs = dict(zip(_names(fn, len(tensors)), tensors, strict=True))
    expected = "a dense tensor, or a tuple or dict of them"
    if not inputs or not all(isinstance(each, Tensor) for each in inputs.values()):
        got = ", ".join(type(each).__name__ for each in inputs.values()) or "nothing"
        raise type_error("X", expected, got)
    for tensor in inputs.values():
        if reason := hidden_by(tensor):
            raise type_error("X", expected, text.hidden[reason.value], text.refusals[reason.value])
    return inputs


def _names(fn: Callable[..., Any], count: int) -> list[str]:
    """Return fn's own names for its first arguments; X, or q, k and v, where it has none."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (ValueError, TypeError):
        parameters = []
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in parameters[:count] if parameter.kind in named]
    if len(names) == count:
        return names
    return ["X"] if count == 1 else list("qkv") if count == 3 else [f"X{i + 1}" for i in range(count)]


def _checked_axes(inputs: Mapping[str, Tensor], axes: Sequence[str] | None) -> Sequence[str] | None:
    if axes is None:
        return None
    if isinstance(axes, str) or any(len(axes) != t.ndim for t in inputs.values()):
        raise value_error("axes", f"{next(iter(inputs.values())).ndim} names, one an axis", tuple(axes))
    return tuple(map(visible, axes))


def _checked_words(words: Words | None, first: Tensor) -> tuple[tuple[str, ...], ...]:
    if words is None:
        return ()
    lists = [words] if all(isinstance(each, str) for each in words) else words
    sentences = tuple(tuple(map(visible, each)) for each in lists)
    sizes = tuple(first.shape[-3:-1]) if first.ndim > 2 else (1, *first.shape[-2:-1])
    if len(sentences) != sizes[0] or any(len(each) != sizes[-1] for each in sentences):
        got = " and ".join(str(len(each)) for each in sentences) or "none"
        raise value_error(
            "words", f"{sizes[0]} lists of {sizes[-1]} words, one list a sentence", f"lists of {got}"
        )
    return sentences
