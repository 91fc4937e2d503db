"""How to call a learner's layer: which inputs it has, in which order, and where a mask goes."""

import dis
import inspect
import itertools
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, is_dataclass
from enum import Enum
from typing import Any

import torch
from torch import Tensor, nn

from .forms import Route
from .names import Takes, takes
from .recorder import Recorder


class Inputs(Enum):
    """How many inputs of words a layer has."""

    ONE = 1
    TWO = 2  # x, and the context that keys and values come from
    THREE = 3


@dataclass(frozen=True)
class Outcome:
    """What a call gave: a tensor, None, or an error; and whether it changed what it was given."""

    result: Tensor | None
    error: Exception | None = None
    changed: bool = False

    @property
    def raised(self) -> bool:
        return self.error is not None


_ROLES = (Takes.QUERIES, Takes.KEYS, Takes.VALUES)
_MASKS = (Takes.LENGTHS, Takes.PADDING, Takes.VISIBLE, Takes.MASK)


class Caller:
    """Calls a layer with queries, keys, values, and a mask if it takes one.

    Attributes:
        inputs: how many inputs it has.
        options: the parameters that take lengths or a mask, by name.
        batch_second: whether words come first, (L, B, D).
        blank: how "no mask" is handed over where None is refused.
        only_first: whether a call= with room for three inputs looks at the first alone.
        width: D of the output, to tell it from weights that are returned beside it.
    """

    def __init__(self, layer: Callable[..., Any], call: Callable[..., Any] | None, width: int):
        self.layer, self.call, self.width = layer, call, width
        self.batch_second = isinstance(layer, nn.MultiheadAttention) and not layer.batch_first
        self.blank: Route | None = None
        self.only_first = False
        self.signature = _signature(call if call else getattr(layer, "forward", layer))
        parameters = list(self.signature.parameters.values())[1 if call else 0 :]
        named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        self.required = {p.name for p in named if p.default is p.empty}
        if call:
            words, rest = named[:3], named[3:4]
            self.order = [_ROLES[i] for i in range(min(3, max(len(words), 1)))]
            self.options = {p.name: Takes.UNKNOWN for p in rest if _uses(call, p.name)}
            self.words = [p.name for p in words]
        else:
            self.words, self.order = self._find_words(named, open_ended)
            self.options = self._find_options(named)
        self.inputs = Inputs(len(self.order)) if self.order else Inputs.THREE

    def _find_words(self, named: list[inspect.Parameter], open_ended: bool) -> tuple[list[str], list[Takes]]:
        """Find the inputs: by their names where they tell, else the first three or the first."""
        if open_ended and not named:
            return [], []
        kinds = {p.name: takes(p.name) for p in named}
        positional = [p for p in named if p.kind is not p.KEYWORD_ONLY or p.default is p.empty]
        first = list(itertools.takewhile(lambda p: kinds[p.name] not in (*_MASKS, Takes.OTHER), positional))
        by_name = {kinds[p.name]: p.name for p in reversed(named) if kinds[p.name] in _ROLES}
        if len(by_name) == 3:
            return [by_name[role] for role in _ROLES], list(_ROLES)
        if len(first) >= 3 and all(p.default is p.empty or kinds[p.name] in _ROLES for p in first[:3]):
            return [p.name for p in first[:3]], list(_ROLES)
        words = [p.name for p in first[:1]]
        second = next((p.name for p in named[1:] if kinds[p.name] is Takes.CONTEXT), None)
        if len(by_name) == 2 and Takes.KEYS in by_name:
            second = by_name[Takes.KEYS]
            words = [name for name in (by_name.get(Takes.QUERIES), *words) if name and name != second][:1]
        if second and words:
            return [words[0], second], [Takes.QUERIES, Takes.CONTEXT]
        return words, [Takes.QUERIES]

    def _find_options(self, named: list[inspect.Parameter]) -> dict[str, Takes]:
        rest = [p for p in named if p.name not in self.words]
        options = {p.name: takes(p.name) for p in rest}
        options_of_masks = {name: kind for name, kind in options.items() if kind in _MASKS}
        if not options_of_masks:  # what else has to be given, or may be, whatever its name
            known = (*_ROLES, Takes.OTHER, Takes.CONTEXT)
            options_of_masks = {
                p.name: Takes.UNKNOWN
                for p in rest
                if options[p.name] not in known and (p.name in self.required or p.default is None)
            }
        return dict(sorted(options_of_masks.items(), key=lambda pair: list(Takes).index(pair[1])))

    def __call__(
        self,
        inputs: tuple[Tensor, Tensor, Tensor],
        masks: Mapping[str, Tensor],
        recorder: Recorder | None = None,
    ) -> Outcome:
        """Call the layer with copies of the inputs, and masks by the names of its parameters."""
        copies = {id(X): X.clone() for X in inputs}
        tensors = [copies[id(X)] for X in inputs]
        if self.batch_second:
            turned = {id(X): X.transpose(0, 1) for X in tensors}
            tensors = [turned[id(X)] for X in tensors]
        handed = {name: mask.clone() for name, mask in masks.items()}
        try:
            with recorder.of(tensors, handed.values()) if recorder else nullcontext():
                returned = self._run(tensors, handed)
            result = self._extract(returned, inputs)
        except Exception as error:  # whatever a learner's code raises is a finding
            return Outcome(None, error, self._changed(inputs, copies, masks, handed))
        return Outcome(result, None, self._changed(inputs, copies, masks, handed))

    @staticmethod
    def _changed(
        inputs: tuple[Tensor, ...],
        copies: dict[int, Tensor],
        masks: Mapping[str, Tensor],
        handed: dict[str, Tensor],
    ) -> bool:
        same = all(torch.equal(X, copies[id(X)]) for X in inputs)
        return not (same and all(torch.equal(masks[name], handed[name]) for name in masks))

    def _run(self, tensors: list[Tensor], masks: dict[str, Tensor]) -> Any:
        words: list[Tensor] = tensors if self.only_first else tensors[: self.inputs.value]
        options: dict[str, Any] = {name: masks.get(name) for name in self.options}
        if self.call:
            return self.call(self.layer, *words, *options.values(), *self._filled_up(options))
        options = {n: m for n, m in options.items() if m is not None or n in self.required}
        if not self.words:
            return self.layer(*words, **options)
        bound = self.signature.bind_partial()
        bound.arguments.update(zip(self.words, words, strict=False))
        bound.arguments.update(options)
        ordered = {
            name: bound.arguments[name] for name in self.signature.parameters if name in bound.arguments
        }
        by_position = []
        gap = False
        by_keyword: dict[str, Any] = {}
        for name, parameter in self.signature.parameters.items():
            if name not in ordered:
                gap = True
            elif gap or parameter.kind is parameter.KEYWORD_ONLY:
                by_keyword[name] = ordered[name]
            else:
                by_position.append(ordered[name])
        return self.layer(*by_position, **by_keyword)

    def _filled_up(self, options: dict[str, Any]) -> list[None]:
        """Hand None to a call= that names a mask and does not use it."""
        missing = len(self.required) - len(self.words) - len(options)
        return [None] * max(missing, 0)

    def _extract(self, output: Any, inputs: tuple[Tensor, ...]) -> Tensor | None:
        """Find the output among what a layer returns: the tensor of the output's shape, else the first."""
        if output is None:
            return None
        if is_dataclass(output):
            output = vars(output)
        if isinstance(output, Mapping):
            output = tuple(output.values())
        candidates = list(output) if isinstance(output, tuple | list) else [output]
        tensors = [one for one in candidates if isinstance(one, Tensor)]
        if not tensors:
            raise TypeError(f"the output is a {type(output).__name__}, not a tensor")
        B, Lq = inputs[0].shape[:2]
        wanted = (Lq, B, self.width) if self.batch_second else (B, Lq, self.width)
        chosen = next((one for one in tensors if tuple(one.shape) == wanted), tensors[0])
        return chosen.transpose(0, 1) if self.batch_second and chosen.dim() > 1 else chosen


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """Read a signature, also that of a scripted module's method, which only its schema tells."""
    schema = getattr(function, "schema", None)
    if schema is None:
        return inspect.signature(function)
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(one.name, kind, default=one.default_value if one.has_default_value() else empty)
            for one in schema.arguments[1:]
        ]
    )


def _uses(call: Callable[..., Any], name: str) -> bool:
    """Whether a function does anything with a parameter of its own."""
    code = getattr(call, "__code__", None)
    if code is None:
        return True
    loads = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")
    for one in dis.get_instructions(code):
        names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
        if one.opname.startswith(loads) and name in names:
            return True
    return False
