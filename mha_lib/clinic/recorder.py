"""Every tensor that a layer's torch calls make from its inputs, with the line that makes it."""

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..moves.calls import Call, tensors_of
from ..moves.source import lines_of, outwards

_TORCH = os.path.dirname(torch.__file__)
_EINOPS = os.path.join("site-packages", "einops") + os.sep
_CALLER = os.path.join(os.path.dirname(__file__), "calling.py")
_DROPOUTS = ("dropout", "alpha_dropout", "feature_dropout", "dropout_")
_MOST = 4000  # steps; a loop over words of a loop over heads stays below


@dataclass(frozen=True)
class Place:
    """Where a torch call stands in somebody's source."""

    file: str
    number: int
    source: str


@dataclass(frozen=True, eq=False)
class Made:
    """A tensor that a torch call made, or wrote into."""

    name: str
    values: Tensor  # float64, a copy
    dtype: torch.dtype
    parents: tuple[int, ...]  # the steps it was made from, in the order of the arguments
    place: Place
    cut_off: bool  # no gradient passes on, though one would reach what it was made from


@dataclass(frozen=True)
class Dropped:
    """A call of dropout: on which step's tensor, how much, and whether it was switched on."""

    step: int | None
    on_weights: bool  # inside a fused call, where it acts on the weights
    p: float
    active: bool
    place: Place


class Recorder(TorchFunctionMode):
    """Records what is made from the inputs; with `still`, no dropout acts, and each call of it is noted."""

    def __init__(self, *, still: bool = False):
        super().__init__()
        self.still = still
        self.steps: list[Made] = []
        self.dropped: list[Dropped] = []
        self.written_inputs: list[Place] = []
        self.overwritten: list[Place] = []  # where what it made itself was written over
        self.left_torch: Place | None = None
        self._alive: list[Tensor] = []
        self._latest: dict[int, int] = {}  # id of a tensor → step
        self._stores: dict[int, int] = {}  # its memory → step
        self._inputs: set[int] = set()
        self._masks: set[int] = set()

    def of(self, inputs: Iterable[Tensor], masks: Iterable[Tensor]) -> "Recorder":
        """Follow the inputs from here on; masks are only looked at for being written into."""
        self._inputs = {_store(X) for X in inputs}
        self._masks = {_store(mask) for mask in masks}
        return self

    def step_of(self, tensor: Tensor) -> int | None:
        """Return the step that made a tensor, or wrote into its memory last."""
        return self._latest.get(id(tensor), self._stores.get(_store(tensor)))

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        call = Call(func, args, kwargs)
        name = call.name
        if name in ("shape", "dtype", "device", "size", "dim", "requires_grad", "ndim", "is_floating_point"):
            return func(*args, **kwargs)
        if name in _DROPOUTS or name == "scaled_dot_product_attention":
            args, kwargs = self._dropout(name, args, kwargs)
        tensors = call.tensors
        parents = self._parents(tensors)
        grows = any(t.requires_grad for t in tensors)
        result = func(*args, **kwargs)
        if (call.leaves_torch or name == "__float__") and (parents or self._from_input(tensors)):
            self.left_torch = self.left_torch or _place(sys._getframe(1))
        if call.says_in_place and any(_store(t) in self._masks for t in tensors_of(call.args[:1])):
            self.written_inputs.append(_place(sys._getframe(1)))
        derived = bool(parents) or self._from_input(tensors) or self.left_torch is not None
        if derived and len(self.steps) < _MOST:
            self._note(call, result, parents, grows)
        return result

    def _from_input(self, tensors: list[Tensor]) -> bool:
        return any(_store(t) in self._inputs for t in tensors)

    def _parents(self, tensors: list[Tensor]) -> tuple[int, ...]:
        steps = [max(self._latest.get(id(t), -1), self._stores.get(_store(t), -1)) for t in tensors]
        own = [self._latest.get(id(t), step) for t, step in zip(tensors, steps, strict=True)]
        return tuple(step for step in own if step >= 0)

    def _note(self, call: Call, result: Any, parents: tuple[int, ...], grows: bool) -> None:
        wrote = call.says_in_place
        made = [call.args[0]] if call.name == "__setitem__" else call.out or tensors_of(result)
        place = None
        for tensor in made:
            if not tensor.is_floating_point():
                continue
            place = place or _place(sys._getframe(2))
            known = _store(tensor) in self._inputs
            before = self._latest.get(id(tensor), self._stores.get(_store(tensor), -1))
            wrote_here = wrote and (known or before >= 0)
            if wrote and known:
                self.written_inputs.append(place)
            elif wrote_here:
                self.overwritten.append(place)
            parents = (*parents, before) if wrote_here and before >= 0 and before not in parents else parents
            values = tensor.detach().to(torch.float64)
            step = Made(
                call.name,
                values.clone(),
                tensor.dtype,
                parents,
                place,
                grows and not tensor.requires_grad,
            )
            self._latest[id(tensor)] = len(self.steps)
            if wrote or _store(tensor) not in self._stores:
                self._stores[_store(tensor)] = len(self.steps)
            self._alive.append(tensor)  # so that no other tensor gets its id
            self.steps.append(step)

    def _dropout(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Note a call of dropout; where the recorder is still, let it drop nothing."""
        fused = name == "scaled_dot_product_attention"
        p_at = 4 if fused else 1
        p = kwargs.get(
            "dropout_p" if fused else "p", args[p_at] if len(args) > p_at else 0.0 if fused else 0.5
        )
        active = True if fused else kwargs.get("training", args[2] if len(args) > 2 else True)
        if not isinstance(p, int | float) or (fused and not p):
            return args, kwargs
        first = args[0] if args else kwargs.get("input", kwargs.get("query"))
        step = self._latest.get(id(first)) if isinstance(first, Tensor) else None
        self.dropped.append(Dropped(step, fused, float(p), bool(active), _place(sys._getframe(2))))
        if self.still and len(args) > p_at:
            args = (*args[:p_at], 0.0, *args[p_at + 1 :])
        elif self.still:
            kwargs = {**kwargs, ("dropout_p" if fused else "p"): 0.0}
        return args, kwargs


def _store(tensor: Tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # a tensor without memory of its own
        return -id(tensor)


def _place(frame: FrameType) -> Place:
    """Find the learner's line: the innermost one outside of torch and of what einops does for it."""
    writer = outwards(frame, lambda file: file.startswith(_TORCH) or _EINOPS in file)
    if writer.f_code.co_filename == _CALLER:  # torch's own layer: there is no other line
        writer = frame
    lines, number = lines_of(writer), writer.f_lineno
    source = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return Place(writer.f_code.co_filename, number, source)
