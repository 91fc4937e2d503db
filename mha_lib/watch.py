"""Watch what any function does to every cell of a tensor.

torch decides what happened: beside each tensor runs a shadow of the same memory layout
whose cells hold addresses, and every operation is done to the shadow as well.
"""

import ast
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .errors import type_error, value_error
from .moves_axes import Axis, Origin, axis_name, default_axes, name_axes, new_axes, with_heads
from .text import moves as words

# Operations that only move cells: done to the shadow exactly as to the tensor.
MOVES = frozenset("""
    reshape view view_as reshape_as permute transpose swapaxes swapdims movedim moveaxis t T mT
    flatten unflatten ravel squeeze unsqueeze expand expand_as broadcast_to broadcast_tensors
    contiguous clone chunk tensor_split split split_with_sizes hsplit vsplit dsplit unbind stack cat
    concat concatenate hstack vstack dstack column_stack row_stack __getitem__ narrow select flip
    fliplr flipud roll rot90 repeat tile repeat_interleave pad constant_pad_nd index_select gather take
    take_along_dim masked_select diagonal unfold as_strided tril triu detach data alias block_diag
    atleast_1d atleast_2d atleast_3d permute_copy transpose_copy t_ transpose_ swapaxes_ swapdims_
    squeeze_ unsqueeze_ detach_ copy_ __setitem__""".split())
# Another number type or device, the same numbers in the same places.
WRITES = ("copy_", "__setitem__")
CASTS = frozenset("to type float double half bfloat16 int long short cpu type_as requires_grad_".split())
# Results that look like X but hold nothing of it.
UNRELATED = re.compile(r"(new_\w+|\w+_like)$")
MAX_STEPS = 500
_LIBRARY, _TORCH = os.path.dirname(__file__), os.path.dirname(torch.__file__)


@dataclass(frozen=True, eq=False)
class Step:
    """One tensor after one operation: what was done, and where each of its cells came from."""

    operation: str  # as the learner wrote it
    name: str  # torch's name of the operation
    kind: str  # "input", "move", "new values", "no change" or "in place"
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    shares_memory: bool
    is_contiguous: bool
    values: Tensor = field(repr=False)
    ids: Tensor = field(repr=False)  # int64, the cell's number over all origins; -1 from nowhere
    memory: Tensor = field(repr=False)  # the same numbers in the order of memory
    frame: int = 0  # tensors made by one operation share a frame
    parents: tuple[int, ...] = ()  # the steps it was made from
    ours: bool = False  # done by a line of mha_lib
    within: str = ""  # the library call that did it, such as rearrange(…)
    axes: tuple[Axis, ...] = ()
    origins: tuple[Origin, ...] = field(default=(), repr=False)  # those its cells come from
    sentence: str = ""

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The axes' names: "word", "sentence·head", or "axis 0" where several are mixed."""
        return tuple(axis_name(axis, number) for number, axis in enumerate(self.axes))

    @property
    def origin(self) -> str:
        """The tensor that addresses refer to: "X", "q", or the operation that made new values."""
        return " and ".join(origin.name for origin in self.origins)

    @property
    def addresses(self) -> Tensor:
        """int64 of the step's shape: each cell's address in its origin's memory; -1 for none."""
        found = self.ids.clone()
        for origin in self.origins:
            inside = (self.ids >= origin.start) & (self.ids < origin.start + len(origin.places))
            found[inside] -= origin.start
        return found


@dataclass(frozen=True, eq=False)
class Recording:
    """What `watch` saw: the steps in order, steps[0] being X itself."""

    steps: tuple[Step, ...]
    origins: tuple[Origin, ...]
    num_heads: int | None
    result: Any

    @property
    def frames(self) -> list[list[Step]]:
        """The steps grouped by operation: one list a picture.

        What changed nothing inside mha_lib (a guard, a mask that takes nothing out) gets none.
        """
        grouped: dict[int, list[Step]] = {}
        for step in self.steps:
            if step.kind == "no change" and step.ours:
                continue
            grouped.setdefault(step.frame, []).append(step)
        return list(grouped.values())

    def __repr__(self) -> str:
        rows = [(s.operation, str(s.shape), f"strides {s.stride}", ", ".join(s.axis_names)) for s in self.steps]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]).rstrip()
                         for row in rows)


def watch(fn: Callable, X: Tensor | Sequence[Tensor] | Mapping[str, Tensor], *,
          axes: Sequence[str] | None = None, num_heads: int | None = None) -> Recording:
    """Run `fn` on X and record what each tensor operation does to every cell.

    Shapes: X of any shape; a tuple or dict of tensors is handed on as several arguments
    and kept apart. `axes` names X's axes; three axes are (sentence, word, feature) unless
    told otherwise. `num_heads` cuts the features into heads for names and colours; left
    out, it is read off the first step that cuts them. `fn` gets a copy of X, so X stays.
    Raises: InputTypeError if fn is not callable, X is no tensor, or the result is none;
    InputValueError if the result was not made from X by torch, or names do not fit.

    >>> r = watch(lambda X: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3), torch.arange(80.).reshape(2, 4, 10))
    >>> [s.shape for s in r.steps], r.steps[2].shares_memory
    ([(2, 4, 10), (2, 4, 2, 5), (2, 2, 4, 5)], True)
    """
    if not callable(fn):
        raise type_error("fn", "a function of X", type(fn).__name__, "Write lambda X: X.reshape(...).")
    if isinstance(X, Tensor):
        inputs = {"X": X}
    elif isinstance(X, Mapping):
        inputs = dict(X)
    elif isinstance(X, tuple | list):
        names = "qkv" if len(X) == 3 else [f"X{i + 1}" for i in range(len(X))]
        inputs = dict(zip(names, X, strict=True))
    else:
        raise type_error("X", "a tensor, or a tuple or dict of tensors", type(X).__name__)
    if not inputs or not all(isinstance(t, Tensor) and t.layout == torch.strided for t in inputs.values()):
        raise type_error("X", "dense torch tensors", ", ".join(type(t).__name__ for t in inputs.values()))
    if axes is not None and any(len(axes) != t.ndim for t in inputs.values()):
        raise value_error("axes", f"{next(iter(inputs.values())).ndim} names, one an axis", tuple(axes))
    recorder = _Recorder()
    given = {name: recorder.start(name, tensor) for name, tensor in inputs.items()}
    with recorder:
        result = fn(**given) if isinstance(X, Mapping) else fn(*given.values())
    made = list(_tensors(result))
    if not made:
        raise type_error("fn", "a function that gives a tensor back", type(result).__name__)
    if not any(id(t) in recorder.shadows for t in made):
        raise value_error("fn", "a result made from its argument by torch operations", "a tensor that is not",
                          "numpy, tolist and item leave torch, and a tensor from outside fn is not X: "
                          "cells can be followed only from fn's argument on.")
    return recorder.finish(axes, num_heads, result)


class _Recorder(TorchFunctionMode):
    """Runs a shadow beside each followed tensor; a shadow's cell holds the cell's number + 1."""

    def __init__(self) -> None:
        super().__init__()
        self.shadows: dict[int, tuple[Tensor, Tensor, int]] = {}  # id → tensor (kept alive), shadow, step
        self.steps: list[Step] = []
        self.origins: list[Origin] = []
        self.births: dict[int, int] = {}  # step → the origin whose cells begin there
        self.total = self.frame = 0

    def start(self, name: str, tensor: Tensor) -> Tensor:
        """Copy an input with its memory layout and follow the copy."""
        span = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        flat = tensor.detach().as_strided((span if tensor.numel() else 0,), (1,), tensor.storage_offset())
        copy = flat.clone().as_strided(tensor.shape, tensor.stride(), 0)
        self._note(copy, self._fresh(copy, name), name, name, "input", (), (False, ""), False)
        return copy

    def _fresh(self, tensor: Tensor, name: str) -> Tensor:
        """Return a shadow whose memory is numbered anew in address order."""
        size, stride = tuple(tensor.shape), tensor.stride()
        span = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if tensor.numel() else 0
        index = torch.stack(torch.meshgrid(*map(torch.arange, size), indexing="ij"), -1).reshape(-1, len(size)) \
            if size else torch.zeros(1, 0, dtype=torch.int64)
        places = torch.zeros(span, len(size), dtype=torch.int64)
        at = (index * torch.tensor(stride, dtype=torch.int64)).sum(-1)
        places[at] = index
        self.births[len(self.steps)] = len(self.origins)
        self.origins.append(Origin(name, self.total, size, (), places.numpy()))
        flat = torch.zeros(span, dtype=torch.float64)  # memory between the cells holds none
        flat[at] = (at + self.total + 1).double()
        self.total += span
        return flat.as_strided(size, stride)

    def _note(self, tensor: Tensor, shadow: Tensor, name: str, operation: str, kind: str,
              parents: tuple[int, ...], written: tuple[bool, str], shares: bool) -> None:
        if len(self.steps) >= MAX_STEPS:
            raise value_error("fn", f"at most {MAX_STEPS} operations", "more", "Watch a smaller piece.")
        ours, within = written
        flat = torch.empty(0, dtype=torch.float64).set_(shadow.untyped_storage())
        self.steps.append(Step(
            operation, name, kind, tuple(shadow.shape), shadow.stride(), shadow.storage_offset(), shares,
            tensor.is_contiguous(), tensor.detach().clone(), shadow.long() - 1, flat.long() - 1,
            self.frame, parents, ours, within))
        self.shadows[id(tensor)] = (tensor, shadow, len(self.steps) - 1)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = [t for t in _tensors((args, kwargs)) if id(t) in self.shadows]
        if not given:
            return func(*args, **kwargs)
        name = func.__name__ if func.__name__ != "__get__" else func.__self__.__name__
        in_place = name == "__setitem__" or (name[-1] == "_" and name[-2] != "_") or kwargs.get("out") is not None
        seen = [self.shadows[id(t)] for t in given]
        memory = {_storage(t) for t in given}
        result = func(*args, **kwargs)
        if in_place:
            outputs = [kwargs["out"] if "out" in kwargs else args[0]]
        else:
            outputs = [t for t in _tensors(result) if t.dtype != torch.bool]
        if not outputs or UNRELATED.match(name):
            return result
        self.frame += 1
        operation, *written = _written(sys._getframe(1), name, args, kwargs)
        shadows = self._moved(func, name, args, kwargs, outputs)
        kind = "move" if shadows and name not in WRITES else "in place" if in_place else "new values"
        for number, tensor in enumerate(outputs):
            label = operation if len(outputs) == 1 else f"{operation}[{number}]"
            if not shadows and not in_place and self._idle(tensor, given[0]):
                shadow, kind = self._cast(given[0], tensor), "no change"
            else:
                shadow = shadows[number] if shadows else self._fresh(tensor, label)
            if in_place and not shadows:
                shadow = self._written_over(tensor, shadow, name, args)
            self._note(tensor, shadow, name, label, kind, tuple(dict.fromkeys(s for *_, s in seen)), written,
                       _storage(tensor) in memory)
        return result

    def _moved(self, func, name: str, args, kwargs, outputs: list[Tensor]) -> list[Tensor] | None:
        """Do a movement to the shadows; None if this is none, so that values are new."""
        if name in CASTS:
            return [self._cast(args[0], outputs[0])]
        if name not in MOVES or "out" in kwargs or any(isinstance(a, torch.dtype) for a in args):
            return None
        if name in WRITES and id(args[-1]) not in self.shadows:
            return None
        blank = name in WRITES or isinstance(args[0] if args else None, tuple | list)

        def swap(tensor: Tensor) -> Tensor:  # a tensor from elsewhere that cells are put beside is blank
            if id(tensor) in self.shadows or not blank:
                return self.shadows[id(tensor)][1] if id(tensor) in self.shadows else tensor
            length = tensor.untyped_storage().nbytes() // tensor.element_size()
            nowhere = torch.zeros(length, dtype=torch.float64)
            return nowhere.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        if name in WRITES:  # an index in between stays what it is
            args = (swap(args[0]), *args[1:-1], swap(args[-1]))
        else:
            args, kwargs = _map(args, swap), _map(kwargs, swap)
        if name in ("pad", "constant_pad_nd"):  # what is added comes from nowhere, whatever its value
            kwargs.pop("value", None)
            args = args[:3] if name == "pad" else (*args[:2], 0)
        try:
            result = func(*args, **kwargs)
        except (RuntimeError, TypeError, NotImplementedError):
            return None
        shadows = [args[0]] if name in WRITES else list(_tensors(result))
        agree = [(s.shape, s.stride()) for s in shadows] == [(t.shape, t.stride()) for t in outputs]
        return shadows if agree else None

    def _cast(self, old: Tensor, new: Tensor) -> Tensor:
        """Return the shadow of a tensor that holds the same cells in the same places."""
        shadow = self.shadows[id(old)][1]
        if new.data_ptr() == old.data_ptr() and new.stride() == old.stride():
            return shadow
        return torch.empty_strided(shadow.shape, new.stride(), dtype=shadow.dtype).copy_(shadow)

    def _idle(self, new: Tensor, old: Tensor) -> bool:
        """Tell whether arithmetic changed nothing, as a mask does that takes nothing out."""
        return new.shape == old.shape and new.dtype == old.dtype and new.numel() > 0 and new.equal(old)

    def _written_over(self, tensor: Tensor, fresh: Tensor, name: str, args) -> Tensor:
        """Number the cells that were overwritten anew, in the memory they share with others."""
        if id(tensor) not in self.shadows:
            return fresh
        shadow = self.shadows[id(tensor)][1]
        chosen = torch.ones(shadow.shape, dtype=torch.bool)
        if name == "__setitem__":
            chosen.zero_()[args[1]] = True
        shadow.copy_(torch.where(chosen, fresh, shadow))
        return shadow

    def finish(self, axes: Sequence[str] | None, num_heads: int | None, result: Any) -> Recording:
        """Name every step's axes and say what happened at it."""
        heads = num_heads or self._heads()
        for number, step in enumerate(self.steps):
            if number in self.births:
                born = self.births[number]
                if step.kind == "input":
                    own = default_axes(step.shape, axes)
                elif step.kind == "in place":
                    own = self.steps[step.parents[0]].axes
                else:
                    own = new_axes(step.name, [self.steps[p].axes for p in step.parents], step.shape)
                self.origins[born] = replace(self.origins[born], axes=with_heads(own, heads))
            used = self._used(step.ids.numpy())
            named, mixed = name_axes(step.ids.numpy(), used)
            sentence = words.SENTENCES[self._what(step, number)] if step.kind != "new values" else _meaning(step, named)
            if step.kind == "move" and mixed:
                said = [words.MIXED.format(axis=a, names=words.AND.join(names)) for a, names in mixed.items()]
                sentence += f" {', '.join(said).capitalize()}."
            self.steps[number] = replace(step, axes=named, origins=used, sentence=sentence.format(
                origin=self.origins[0].name))
        return Recording(tuple(self.steps), tuple(self.origins), heads, result)

    def _used(self, ids: np.ndarray) -> tuple[Origin, ...]:
        """Return the origins that these cells come from."""
        if not ids.size:
            return ()
        low, high = ids.min(), ids.max()
        near = [o for o in self.origins if o.start <= high and low < o.start + len(o.places)]
        return tuple(o for o in near if len(near) == 1 or ((ids >= o.start) & (ids < o.start + len(o.places))).any())

    def _heads(self) -> int | None:
        """Read the number of heads off the first step whose last axis is a piece of the features."""
        for step in self.steps:
            width = next((o.shape[-1] for o in self.origins if o.shape and step.ids.numel() and
                          o.start <= step.ids.max() < o.start + len(o.places)), 0)
            piece = step.shape[-1] if step.shape else 0
            if 1 < piece < width and width % piece == 0 and (step.ids[..., -1] - step.ids[..., 0] == piece - 1).all():
                return width // piece
        return None

    def _what(self, step: Step, number: int) -> str:
        """Name what happened, from the addresses and the memory alone."""
        if step.kind != "move":
            return "write" if step.kind == "in place" and number not in self.births else step.kind
        old = self.steps[step.parents[0]]
        order = step.ids.flatten().equal(old.ids.flatten())
        repeats = step.ids.unique().numel() < step.ids.numel()
        if step.shares_memory:
            if order:
                return "same" if (step.shape, step.stride) == (old.shape, old.stride) else "cut"
            return "repeat view" if repeats else "part" if step.ids.numel() < old.ids.numel() else "walk"
        if (step.ids < 0).sum() > (old.ids < 0).sum():
            return "fill"
        if len(step.parents) > 1:
            return "join"
        if order:
            return "copy same" if old.is_contiguous else "copy order"
        return "copy repeat" if repeats else "copy part" if step.ids.numel() < old.ids.numel() else "copy order"


def _meaning(step: Step, axes: tuple[Axis, ...]) -> str:
    key = {"bmm": "matmul", "baddbmm": "matmul", "mm": "matmul", "div": "scale", "mul": "scale",
           "__truediv__": "scale", "masked_fill": "mask", "where": "mask"}.get(step.name, step.name)
    names = [axis_name(axis, number) for number, axis in enumerate(axes)]
    if key == "matmul" and names[-2:] == ["query", "key"]:
        key = "scores"
    elif key == "matmul" and names[-2:] == ["query", "feature"]:
        key = "context"
    return words.MEANINGS.get(key, words.SENTENCES["new values"])


def _tensors(tree: Any) -> Iterator[Tensor]:
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, tuple | list):
        for branch in tree:
            yield from _tensors(branch)
    elif isinstance(tree, Mapping):
        yield from _tensors(list(tree.values()))


def _map(tree: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(tree, Tensor):
        return change(tree)
    if type(tree) in (tuple, list):
        return type(tree)(_map(branch, change) for branch in tree)
    return {key: _map(branch, change) for key, branch in tree.items()} if type(tree) is dict else tree


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _written(frame, name: str, args, kwargs) -> tuple[str, bool, str]:
    """Return the operation as written, whether in mha_lib, and the library call it happened in."""
    inside = False  # a library other than torch made the call, so its source is not the learner's
    while frame.f_back:
        file = frame.f_code.co_filename
        if file.startswith(_TORCH) or file == __file__:
            pass
        elif "site-packages" in file and not file.startswith(_LIBRARY):
            inside = True
        else:
            break
        frame = frame.f_back
    source = _source(frame, statement=name in WRITES)
    rebuilt = _rebuilt(name, args, kwargs)
    ours = frame.f_code.co_filename.startswith(_LIBRARY + os.sep)
    if inside:
        return rebuilt, ours, source or ""
    return (source if source and len(source) <= 72 else rebuilt), ours, ""


def _source(frame, statement: bool) -> str | None:
    """Cut the expression that is being evaluated out of the frame's source."""
    where = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    if not where or None in where or not 0 < where[1] <= len(lines):
        return None
    first, last, start, end = where
    if statement:  # an assignment's own place is only its left side
        return lines[first - 1].encode()[start:].decode().split(";")[0].strip()
    chosen = [line.encode() for line in lines[first - 1:last]]
    chosen[-1] = chosen[-1][:end]
    before, chosen[0] = chosen[0][:start].decode(), chosen[0][start:]
    written = b"".join(chosen).decode()
    try:
        node = ast.parse(f"({written})", mode="eval").body
    except SyntaxError:
        return " ".join(written.split())
    called = node.func if isinstance(node, ast.Call) else node
    if isinstance(called, ast.Attribute | ast.Subscript) and isinstance(called.value, ast.Call | ast.Subscript):
        whole = f"({written})".encode().splitlines(keepends=True)
        rest = whole[called.value.end_lineno - 1:]
        written = b"".join([rest[0][called.value.end_col_offset:], *rest[1:]]).decode().strip()[:-1]
        written = re.sub(r"^[\s)]*", "", written)
    elif before.rstrip().endswith("."):  # a chain over several lines: Python marks it from the name on
        written = "." + written
    return " ".join(written.split())


def _rebuilt(name: str, args, kwargs) -> str:
    """Write an operation down from its call."""
    def show(value: Any) -> str:
        if isinstance(value, Tensor):
            return "…"
        if isinstance(value, slice):
            parts = ["" if part is None else str(part) for part in (value.start, value.stop, value.step)]
            return ":".join(parts[: 2 if value.step is None else 3])
        return "..." if value is Ellipsis else str(value)
    if name == "__getitem__":
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        return f"[{', '.join(map(show, index))}]"
    method = bool(args) and isinstance(args[0], Tensor)
    if method and len(args) == 1 and name in ("T", "mT", "data"):
        return f".{name}"
    shown = [show(a) for a in (args[1:] if method else args)] + [f"{k}={show(v)}" for k, v in kwargs.items()]
    return f"{'.' if method else 'torch.'}{name}({', '.join(shown)})"
