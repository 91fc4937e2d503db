"""Watch what any function does to every cell of a tensor.

torch decides what happened: beside each tensor runs a shadow of the same memory layout
whose cells hold addresses, and every operation is done to the shadow as well.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from ..errors import type_error, value_error
from .axes import Origin
from .meaning import name_steps
from .recording import Recording, Step
from .source import as_written

# Operations that only move cells: done to the shadow exactly as to the tensor.
MOVES = frozenset(
    """
    reshape view view_as reshape_as permute transpose swapaxes swapdims movedim moveaxis t T mT
    flatten unflatten ravel squeeze unsqueeze expand expand_as broadcast_to broadcast_tensors
    contiguous clone chunk tensor_split split split_with_sizes hsplit vsplit dsplit unbind stack cat
    concat concatenate hstack vstack dstack column_stack row_stack __getitem__ narrow select flip
    fliplr flipud roll rot90 repeat tile repeat_interleave pad constant_pad_nd index_select gather take
    take_along_dim masked_select diagonal unfold as_strided tril triu detach data alias block_diag
    atleast_1d atleast_2d atleast_3d permute_copy transpose_copy t_ transpose_ swapaxes_ swapdims_
    squeeze_ unsqueeze_ detach_ copy_ __setitem__""".split()
)
WRITES = ("copy_", "__setitem__")
BESIDE = (*WRITES, "broadcast_tensors", "block_diag")  # X may be any of their tensors
# Another number type or device, the same numbers in the same places.
CASTS = frozenset("to type float double half bfloat16 int long short cpu type_as requires_grad_".split())
# Arithmetic that may change nothing, as a mask does that takes nothing out: cells are then followed on.
IDLE = frozenset("masked_fill where dropout mul add sub div nan_to_num clamp relu abs round".split())
# Results that look like X but hold nothing of it.
UNRELATED = re.compile(r"(new_\w+|\w+_like)$")
MAX_STEPS = 500


Given = Tensor | Sequence[Tensor] | Mapping[str, Tensor]


def watch(
    fn: Callable, X: Given, *, axes: Sequence[str] | None = None, num_heads: int | None = None
) -> Recording:
    """Run `fn` on X and record what each tensor operation does to every cell.

    Shapes: X of any shape; a tuple or dict of tensors is handed on as several arguments
    and kept apart. `axes` names X's axes; three axes are (sentence, word, feature) unless
    told otherwise. `num_heads` cuts the features into heads for names and colours; left
    out, it is read off the first step that cuts them. `fn` gets a copy of X, so X stays.
    Raises: InputTypeError if fn is not callable, X is no tensor, or the result is none;
    InputValueError if the result was not made from X by torch, or names do not fit.

    >>> watch(lambda X: X.reshape(2, 3, 2, 2).permute(0, 2, 1, 3), torch.zeros(2, 3, 4))
    X                      (2, 3, 4)     strides (12, 4, 1)     sentence, word, feature
    X.reshape(2, 3, 2, 2)  (2, 3, 2, 2)  strides (12, 4, 2, 1)  sentence, word, head, feature
    .permute(0, 2, 1, 3)   (2, 2, 3, 2)  strides (12, 2, 4, 1)  sentence, head, word, feature
    """
    if not callable(fn):
        raise type_error("fn", "a function of X", type(fn).__name__, "Write lambda X: X.reshape(...).")
    inputs: dict[str, Any] = {"X": X}
    if isinstance(X, Mapping):
        inputs = dict(X)
    elif isinstance(X, tuple | list):
        names = "qkv" if len(X) == 3 else [f"X{i + 1}" for i in range(len(X))]
        inputs = dict(zip(names, X, strict=True))
    if not inputs or not all(isinstance(t, Tensor) and t.layout == torch.strided for t in inputs.values()):
        got = ", ".join(type(t).__name__ for t in inputs.values()) or "nothing"
        raise type_error("X", "a dense tensor, or a tuple or dict of them", got)
    if axes is not None and any(len(axes) != t.ndim for t in inputs.values()):
        raise value_error("axes", f"{next(iter(inputs.values())).ndim} names, one an axis", tuple(axes))
    recorder = _Recorder()
    given = {name: recorder.start(name, tensor) for name, tensor in inputs.items()}
    with recorder:
        result = fn(**given) if isinstance(X, Mapping) else fn(*given.values())
    made = _tensors(result)
    if not made:
        raise type_error("fn", "a function that gives a tensor back", type(result).__name__)
    if not any(id(t) in recorder.shadows for t in made):
        raise value_error(
            "fn",
            "a result made from its argument by torch operations",
            "a tensor that is not",
            "numpy, tolist and item leave torch, and a tensor from outside fn is not X: "
            "cells can be followed only from fn's argument on.",
        )
    steps, origins, heads = name_steps(recorder.steps, recorder.origins, axes, num_heads)
    return Recording(tuple(steps), tuple(origins), heads, result)


class _Recorder(TorchFunctionMode):
    """Runs a shadow beside each followed tensor; a shadow's cell holds the cell's number + 1."""

    def __init__(self) -> None:
        super().__init__()
        self.shadows: dict[int, tuple[Tensor, Tensor, int]] = {}  # id → tensor (kept alive), shadow, step
        self.steps: list[Step] = []
        self.origins: list[Origin] = []
        self.total = self.frame = 0

    def start(self, name: str, tensor: Tensor) -> Tensor:
        """Copy an input with its memory layout and follow the copy."""
        flat = tensor.detach().as_strided((_span(tensor),), (1,), tensor.storage_offset())
        copy = flat.clone().as_strided(tensor.shape, tensor.stride(), 0)
        self._note(copy, self._fresh(copy, name), name, name, "input")
        return copy

    def _fresh(self, tensor: Tensor, name: str) -> Tensor:
        """Return a shadow whose memory is numbered anew in address order."""
        span, size, stride = _span(tensor), tuple(tensor.shape), tensor.stride()
        at = torch.arange(span).as_strided(size, stride).flatten()  # every cell's address
        places = torch.zeros(span, len(size), dtype=torch.int64)
        places[at] = torch.ones(size).nonzero()
        self.origins.append(Origin(name, self.total, (), places.numpy(), len(self.steps)))
        flat = torch.zeros(span, dtype=torch.float64)  # memory between the cells holds none
        flat[at] = at.double() + self.total + 1
        self.total += span
        return flat.as_strided(size, stride)

    def _note(
        self,
        tensor: Tensor,
        shadow: Tensor,
        name: str,
        operation: str,
        kind: str,
        parents: tuple[int, ...] = (),
        within: str = "",
        shares: bool = False,
    ) -> None:
        if len(self.steps) >= MAX_STEPS:
            raise value_error("fn", f"at most {MAX_STEPS} operations", "more", "Watch a smaller piece.")
        flat = torch.empty(0, dtype=torch.float64).set_(shadow.untyped_storage())
        self.steps.append(
            Step(
                operation,
                name,
                kind,
                tuple(shadow.shape),
                shadow.stride(),
                int(shadow.storage_offset()),
                shares,
                tensor.is_contiguous(),
                tensor.detach().clone(),
                shadow.long() - 1,
                flat.long() - 1,
                self.frame,
                parents,
                within,
            )
        )
        self.shadows[id(tensor)] = (tensor, shadow, len(self.steps) - 1)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = [t for t in _tensors((args, kwargs)) if id(t) in self.shadows]
        if not given:
            return func(*args, **kwargs)
        name = func.__self__.__name__ if func.__name__ == "__get__" else func.__name__
        out = kwargs.get("out")
        told = out is not None or kwargs.get("inplace", False)
        in_place = told or name == "__setitem__" or re.search(r"[^_]_$", name) is not None
        seen = [self.shadows[id(t)] for t in given]
        memory = {_storage(t) for t in given}
        result = func(*args, **kwargs)
        if in_place:
            outputs = [args[0] if out is None else out]
        else:
            outputs = [t for t in _tensors(result) if t.dtype != torch.bool]
        first = args[0] if args else next(iter(kwargs.values()))
        moves = name in MOVES or name in CASTS
        if not outputs or UNRELATED.match(name):
            return result
        if moves and isinstance(first, Tensor) and id(first) not in self.shadows and name not in BESIDE:
            return result  # another tensor that only took X's shape or type
        self.frame += 1
        operation, ours, within = as_written(sys._getframe(1), name, args, kwargs)
        origin = self.steps[seen[0][2]]
        if operation[0] in ".[" and origin.kind == "input":
            operation = origin.operation + operation
        shadows = self._moved(func, name, args, kwargs, outputs)
        kind = "move" if shadows and name not in WRITES else "in place" if in_place else "new values"
        old, new = given[0], outputs[0]
        if name in IDLE and not in_place and old.shape == new.shape and old.equal(new):
            shadows, kind = [self._cast(old, new)], "no change"
            if ours:  # a guard within mha_lib, or a mask that takes nothing out: no step of the learner's
                self.shadows[id(new)] = (new, shadows[0], seen[0][2])
                return result
        parents = tuple(dict.fromkeys(step for *_, step in seen))
        for number, tensor in enumerate(outputs):
            label = operation if len(outputs) == 1 else f"{operation}[{number}]"
            written = args[1] if name == "__setitem__" else ...
            shadow = shadows[number] if shadows else self._renewed(tensor, label, written)
            self._note(tensor, shadow, name, label, kind, parents, within, _storage(tensor) in memory)
        return result

    def _moved(self, func, name: str, args, kwargs, outputs: list[Tensor]) -> list[Tensor] | None:
        """Do a movement to the shadows; None if this is none, so that values are new."""
        if name in CASTS:
            return [self._cast(args[0], outputs[0])]
        new_type = any(isinstance(a, torch.dtype) for a in args)  # view(torch.int32) is no movement
        writes_new = name in WRITES and id(args[-1]) not in self.shadows
        if name not in MOVES or kwargs.get("out") is not None or new_type or writes_new:
            return None
        blank = name in BESIDE or not isinstance(args[0] if args else None, Tensor)

        def swap(tensor: Tensor) -> Tensor:
            if id(tensor) in self.shadows:
                return self.shadows[id(tensor)][1]
            if not blank:
                return tensor  # an index
            length = tensor.untyped_storage().nbytes() // tensor.element_size()
            nowhere = torch.zeros(length, dtype=torch.float64)  # a tensor from elsewhere
            return nowhere.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

        if name in WRITES:  # an index in between stays what it is
            args = (swap(args[0]), *args[1:-1], swap(args[-1]))
        else:
            args, kwargs = tree_map_only(Tensor, swap, (args, kwargs))
        if name in ("pad", "constant_pad_nd"):  # what is added comes from nowhere, whatever its value
            kwargs.pop("value", None)
            args = args[:3] if name == "pad" else (*args[:2], 0)
        try:
            result = func(*args, **kwargs)
        except (RuntimeError, TypeError, NotImplementedError):
            return None
        shadows = [args[0]] if name in WRITES else _tensors(result)
        agree = [(s.shape, s.stride()) for s in shadows] == [(t.shape, t.stride()) for t in outputs]
        return shadows if agree else None

    def _cast(self, old: Tensor, new: Tensor) -> Tensor:
        """Return the shadow of a tensor that holds the same cells in the same places."""
        shadow = self.shadows[id(old)][1]
        if new.data_ptr() == old.data_ptr() and new.stride() == old.stride():
            return shadow
        return torch.empty_strided(shadow.shape, new.stride(), dtype=shadow.dtype).copy_(shadow)

    def _renewed(self, tensor: Tensor, label: str, written: Any) -> Tensor:
        """Number anew the cells that were written, in the memory that they share with others."""
        fresh = self._fresh(tensor, label)
        if id(tensor) not in self.shadows:
            return fresh
        shadow = self.shadows[id(tensor)][1]
        shadow[written] = fresh[written]
        return shadow


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _span(tensor: Tensor) -> int:
    """How many cells of memory the tensor's strides reach over."""
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return reach + 1 if tensor.numel() else 0


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
