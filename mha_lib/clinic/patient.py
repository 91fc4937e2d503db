"""A learner's layer, copied so that nothing of theirs is changed, with its projections and how to call it."""

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import value_error
from .calling import Caller
from .projections import find_heads, find_readings
from .reading import Reading


@dataclass(eq=False)
class Patient:
    """A layer ready to be examined.

    Attributes:
        layer: the copy of a module in eval mode, or the function itself.
        readings: the ways in which its parameters may be the four projections, the likeliest first.
        heads_known: whether the number of heads was said or found.
        parameters: what should learn, by name.
        dropout: the first probability of dropout above 0 that it has, or 0.
    """

    layer: Callable[..., Any]
    readings: list[Reading]
    heads_known: bool
    caller: Caller
    parameters: dict[str, Tensor]
    dropout: float
    dtype: torch.dtype

    @property
    def module(self) -> nn.Module | None:
        """The layer, if it is a module."""
        return self.layer if isinstance(self.layer, nn.Module) else None


def admit(
    layer: Callable[..., Any],
    weights: object,
    num_heads: int | None,
    call: Callable[..., Any] | None,
    dtype: torch.dtype | None,
) -> Patient:
    """Copy a layer and find its way around.

    Args:
        layer, weights, num_heads, call: as in `diagnose`.
        dtype: what a module is taken to; a function keeps the dtype of its projections.
    """
    layer = getattr(layer, "_orig_mod", layer)  # a compiled layer: what it was compiled from
    source: object = layer if weights is None else weights
    if isinstance(layer, nn.Module):
        layer, source = _copied(layer, source)
        for part in (layer, *(source if isinstance(source, tuple | list) else (source,))):
            if isinstance(part, nn.Module) and dtype:
                part.to(dtype)
        if isinstance(source, tuple | list) and dtype:
            source = [one.to(dtype) if isinstance(one, Tensor) else one for one in source]
        layer.eval()
    heads = find_heads(layer, source) if num_heads is None else num_heads
    with torch.enable_grad():
        readings = _readings(source, heads)
    first = readings[0].projections
    width = len((first[2] if first[3] is None else first[3]).weight)
    return Patient(
        layer,
        readings,
        heads is not None,
        Caller(layer, call, width),
        _parameters(layer, source),
        find_dropout(layer),
        first[0].weight.dtype,
    )


def _readings(source: object, heads: int | None) -> list[Reading]:
    try:
        return find_readings(source, heads)
    except ValueError:
        if heads is None:
            raise heads_missing() from None
        raise


def heads_missing() -> Exception:
    """Return the error for a number of heads that cannot be found."""
    return value_error("num_heads", "to find it at the layer", None, "Say it: diagnose(…, num_heads=2).")


def _copied(layer: nn.Module, source: object) -> tuple[nn.Module, object]:
    """Copy both at once, so that what they share stays shared; a tensor of an earlier call is let go."""
    memo: dict[int, Any] = {}
    for tensor in _results_kept(layer, source):
        memo[id(tensor)] = tensor.detach().clone()
    try:
        copied: tuple[nn.Module, object] = copy.deepcopy((layer, source), memo)
    except Exception as error:
        mend = "Make a fresh one of its class, and hand that over."
        raise value_error(
            "layer", "a layer that can be copied", f"{type(error).__name__}: {error}", mend
        ) from error
    return copied


def _results_kept(layer: nn.Module, source: object) -> Iterator[Tensor]:
    kept: list[object] = [value for module in layer.modules() for value in vars(module).values()]
    kept += list(source) if isinstance(source, tuple | list) else []
    for value in kept:
        parts = (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, tuple | list)
            else (value,)
        )
        for part in parts:
            if isinstance(part, Tensor) and not part.is_leaf:
                yield part


def _parameters(layer: object, source: object) -> dict[str, Tensor]:
    if isinstance(layer, nn.Module):
        parameters = dict(layer.named_parameters())
    elif isinstance(source, nn.Module):
        parameters = dict(source.named_parameters())
    else:
        parameters = {}
        for name, one in zip(
            ("W_q", "W_k", "W_v", "W_o"), source if isinstance(source, tuple | list) else (), strict=False
        ):
            if isinstance(one, nn.Module):
                parameters |= {f"{name}.{key}": parameter for key, parameter in one.named_parameters()}
    return {name: parameter for name, parameter in parameters.items() if parameter.requires_grad}


def find_dropout(layer: object) -> float:
    """Return the first dropout probability above 0 that a module has, or 0."""
    for module in layer.modules() if isinstance(layer, nn.Module) else ():
        names = ("p",) if isinstance(module, nn.Dropout) else ("dropout", "dropout_p", "attn_dropout", "p")
        for name in names:
            value = getattr(module, name, None)
            if isinstance(value, float) and 0 < value < 1:
                return value
    return 0.0


_WORDS_FIRST = frozenset("l t n s lq tq seq len length time words tgt src qlen klen target source".split())


def words_come_first(layer: object) -> bool:
    """Whether a layer's own source takes its input for (L, B, D): it unpacks the sizes in that order."""
    for module in layer.modules() if isinstance(layer, nn.Module) else (layer,):
        if type(module).__module__.startswith("torch."):
            continue
        function: Any = getattr(module, "forward", module)
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        except (OSError, TypeError, SyntaxError, IndentationError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _is_sizes(node.value) and _in_that_order(node.targets[0]):
                return True
        if getattr(module, "batch_first", None) is False:
            return True
    return False


def _is_sizes(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):  # x.shape[:2]
        node = node.value
    if isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Attribute) and node.attr in ("shape", "size")


def _in_that_order(target: ast.expr) -> bool:
    if not isinstance(target, ast.Tuple) or len(target.elts) < 2:
        return False
    first, second = (
        element.id.lower() if isinstance(element, ast.Name) else "" for element in target.elts[:2]
    )
    counts_sentences = second in ("b", "n", "bs", "bsz", "nb") or "batch" in second
    words = first.strip("_") in _WORDS_FIRST or any(word in first for word in ("len", "seq", "time"))
    return counts_sentences and words and second != first
