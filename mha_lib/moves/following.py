"""Follows cells through the torch operations that a function makes, one frame an operation.

`shadow` does every movement a second time, to tensors whose cells hold their own numbers;
the numbers that stand in the cells have the last word.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..errors import value_error
from ..text import sentences
from . import shadow
from .calls import BESIDE, CASTS, MOVES, WRITES, Call, tensors_of
from .composite import opened
from .memory import NOWHERE, Memory, Numbers, has_memory, hidden_by, key
from .recording import Frame, Kind, Step
from .refusal import Reason
from .source import Written, as_written

text = sentences("moves")
MAX_STEPS = 500


@dataclass
class _Done:
    """A call that was run: what it read, what it gave, and how it was written."""

    call: Call
    followed: list[Tensor]
    outputs: list[Tensor]
    parents: tuple[int, ...]
    written: Written
    shared: set[int]  # the memories that were there before


class Recorder(TorchFunctionMode):
    """Notes each torch operation on a followed tensor: what it made, and where its cells were."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[Frame] = []
        self.numbers = Numbers()
        self.memories: dict[int, Memory] = {}
        self.reasons: list[Reason] = []  # why a result may have been lost sight of
        self._shown: dict[int, tuple[Tensor, int]] = {}  # each tensor (kept alive) and its last step
        self._within = ""  # the call whose inside is being watched
        self._count = 0  # steps so far

    def start(self, inputs: dict[str, Tensor]) -> None:
        """Follow the inputs from here on."""
        for number, (name, tensor) in enumerate(inputs.items()):
            memory = self._follow(tensor)
            cells = memory.read(tensor)
            if not cells.numel() or (cells < 0).any():  # tensors that share memory share its cells
                memory.write(tensor, cells.where(cells >= 0, self.numbers.start(tensor, name, number)))
        frame = Frame(", ".join(inputs), "input", Kind.INPUT, ())
        self._note(frame, zip(inputs, inputs.values(), [False] * len(inputs), strict=True))

    def finish(self, result: Any) -> tuple[Step, ...]:
        """Return the steps that hold what fn returned; note them once more if no frame ends so."""
        returned = [tensor for tensor in tensors_of(result) if has_memory(tensor)]
        if not any(map(self.follows, returned)):
            return ()
        self._look([tensor for tensor in returned if self.follows(tensor)])
        last = self.frames[-1].steps
        present = [step for tensor in returned for step in last if self._is_now(step, tensor)]
        if len(present) >= len(returned) and all(any(self._is_now(s, t) for s in present) for t in returned):
            return tuple(next(s for s in last if self._is_now(s, t)) for t in returned)
        for tensor in returned:
            self._follow(tensor)
        parents = tuple(dict.fromkeys(map(self._last_step, returned)))
        self._note(
            Frame(text.returned, "return", Kind.RESULT, (), parents),
            ((text.returned, tensor, True) for tensor in returned),
        )
        return self.frames[-1].steps

    def follows(self, tensor: Tensor) -> bool:
        """Whether cells of the input have been seen in the tensor's memory."""
        return has_memory(tensor) and key(tensor) in self.memories

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        call = Call(func, args, kwargs or {})
        if (
            torch._C._get_tracing_state() is not None
        ):  # what is done here would become a part of the traced function
            return func(*call.args, **call.kwargs)
        followed = [tensor for tensor in call.tensors if self.follows(tensor)]
        if not followed:
            self.reasons += filter(None, map(hidden_by, call.tensors))
            return func(*call.args, **call.kwargs)
        owner = self._owner(followed[0]) if call.tensors[0] is followed[0] else ""
        written = as_written(sys._getframe(1), call, owner)
        if (inside := opened(call)) is not None:
            return self._watch_inside(inside, call, written)
        self._look(followed)
        shared = {key(tensor) for tensor in call.tensors if has_memory(tensor)}
        parents = tuple(dict.fromkeys(map(self._last_step, followed)))
        result = func(*call.args, **call.kwargs)
        outputs = [tensor for tensor in call.out or tensors_of(result) if has_memory(tensor)]
        if call.name == "__setitem__":
            outputs = [call.args[0]]
        if call.leaves_torch:
            self.reasons.append(Reason.LEFT_TORCH)
        if outputs and not call.is_unrelated:
            self._record(_Done(call, followed, outputs, parents, written, shared))
        return result

    def _watch_inside(self, inside: Callable[..., Any], call: Call, written: Written) -> Any:
        """Run a function that is made of many operations so that each of these is seen."""
        before = self._within
        self._within = before or written.operation
        try:
            with self:
                return inside(*call.args, **call.kwargs)
        finally:
            self._within = before

    def _record(self, done: _Done) -> None:
        """Find out where the cells of a call's outputs were before, and note them."""
        call = done.call
        first = done.call.tensors[0]
        changed = any(self.memories[key(tensor)].changed() is not None for tensor in done.followed)
        if call.says_in_place or (changed and all(key(tensor) in done.shared for tensor in done.outputs)):
            kind = self._write(done)
        elif all(key(tensor) in done.shared and self.follows(tensor) for tensor in done.outputs):
            kind = self._see(done)
        elif call.name in MOVES | CASTS and call.name not in BESIDE and not self.follows(first):
            return  # another tensor that only took X's shape or type
        else:
            kind = self._place(done)
        no_step = kind is Kind.NO_CHANGE or (
            kind is Kind.NEW_VALUES and all(str(tensor.dtype) == "torch.bool" for tensor in done.outputs)
        )
        if done.written.ours and no_step:  # a guard within mha_lib, such as a mask that takes nothing out
            for tensor in done.outputs:
                self._shown[id(tensor)] = (tensor, done.parents[0])
            return
        operation = done.written.operation
        within = self._within or done.written.within
        self._note(
            Frame(operation, call.name, kind, (), done.parents, within),
            ((operation, tensor, key(tensor) in done.shared) for tensor in done.outputs),
        )

    def _see(self, done: _Done) -> Kind:
        """The outputs are other views of memory that is followed: it tells their cells."""
        if not all(self.memories[key(tensor)].shows(tensor) for tensor in done.outputs):
            return Kind.NEW_VALUES
        one, other = (
            [(t.shape, t.stride(), t.storage_offset()) for t in tensors]
            for tensors in (done.outputs, done.followed[:1])
        )
        return Kind.MOVE if done.call.name in MOVES | CASTS or one != other else Kind.NO_CHANGE

    def _place(self, done: _Done) -> Kind:
        """The outputs have memory of their own: put cells there, moved or new."""
        cells = self._moved(done)
        for tensor, moved in zip(done.outputs, cells, strict=True):
            if not self.follows(tensor):
                self._follow(tensor).write(tensor, self._fresh(tensor, done) if moved is None else moved)
        if cells[0] is None:
            return Kind.NEW_VALUES
        source = done.followed[0]
        still = len(cells) == 1 and self.memories[key(source)].read(source).equal(cells[0])
        return Kind.NO_CHANGE if still and done.call.name not in MOVES | CASTS else Kind.MOVE

    def _moved(self, done: _Done) -> Sequence[Tensor | None]:
        """Return for each output the cells that moved into it, or None if its numbers are new."""
        cells = shadow.moved(done.call.without_out, done.outputs, self.memories, self.numbers)
        known = [each for each in cells or () if each is not None]
        if not cells or all(each.numel() and int(each.max()) == NOWHERE for each in known):
            return [None] * len(done.outputs)
        return cells

    def _write(self, done: _Done) -> Kind:
        """Cells were written into memory that was there before."""
        made = self._moved(done) if done.call.out else [None] * len(done.outputs)
        for target, moved in zip(done.outputs, made, strict=True):
            memory = self._follow(target)
            traced = None
            if done.call.name in WRITES and done.call.only_moves:
                traced = shadow.written(done.call, target, self.memories, self.numbers)
            if traced is None:
                memory.write(target, self._fresh(target, done) if moved is None else moved)
            elif traced.foreign.any():
                new = shadow.spread(target, len(traced.cells), self._fresh(target, done))
                memory.ids = traced.cells.where(~traced.foreign, new)
            else:
                memory.ids = traced.cells
            memory.notice()
        return Kind.IN_PLACE

    def _look(self, tensors: list[Tensor]) -> None:
        """Start new cells where a memory was written and torch did not say so."""
        for tensor in {key(tensor): tensor for tensor in tensors}.values():
            memory = self.memories[key(tensor)]
            changed = memory.changed()
            if changed is None:
                continue
            memory.notice()
            new = shadow.spread(
                tensor, len(memory.ids), self.numbers.start(tensor, text.outside, self._count)
            )
            beyond = changed & (new == NOWHERE)  # written where this tensor does not reach
            memory.ids = new.where(changed, memory.ids).masked_fill(beyond, NOWHERE)
            frame = Frame(text.outside, "outside", Kind.OUTSIDE, (), (self._last_step(tensor),))
            self._note(frame, [(text.outside, tensor, True)])

    def _fresh(self, tensor: Tensor, done: _Done) -> Tensor:
        position = next(k for k, each in enumerate(done.outputs) if each is tensor)
        return self.numbers.start(tensor, done.written.operation, self._count + position)

    def _follow(self, tensor: Tensor) -> Memory:
        if key(tensor) not in self.memories:
            self.memories[key(tensor)] = Memory(tensor)
        return self.memories[key(tensor)]

    def _note(self, frame: Frame, made: Iterable[tuple[str, Tensor, bool]]) -> None:
        """Add a frame with a step for each tensor: (operation, tensor, whether it shares memory)."""
        if len(self.frames) > MAX_STEPS:
            raise value_error("fn", f"at most {MAX_STEPS} operations", "more", "Watch a smaller piece.")
        steps = []
        for operation, tensor, shares in made:
            steps.append(self._step(tensor, operation, shares))
            self.memories[key(tensor)].step = self._count
            self._shown[id(tensor)] = (tensor, self._count)
            self._count += 1
        self.frames.append(replace(frame, steps=tuple(steps)))

    def _step(self, tensor: Tensor, operation: str, shares: bool) -> Step:
        memory = self.memories[key(tensor)]
        if memory.shows(tensor):
            ids = memory.read(tensor).clone()
            whole = memory.ids
        else:  # another type, or a sign that is still to come: not the numbers in the memory
            ids = self.numbers.start(tensor, operation, self._count)
            length = tensor.untyped_storage().nbytes() // tensor.element_size()
            whole = shadow.spread(tensor, length, ids)
        return Step(
            operation,
            tuple(tensor.shape),
            tensor.stride(),
            int(tensor.storage_offset()),
            shares,
            tensor.is_contiguous(),
            tensor.detach().clone().resolve_conj().resolve_neg(),
            ids,
            whole,
        )

    def _last_step(self, tensor: Tensor) -> int:
        """Return the step that showed this tensor, or else one that showed its memory."""
        return self._shown[id(tensor)][1] if id(tensor) in self._shown else self.memories[key(tensor)].step

    def _owner(self, tensor: Tensor) -> str:
        """Return the input's name if the tensor is one; nothing stands before ".mT" otherwise."""
        step = self._last_step(tensor)
        inputs = self.frames[0].steps
        return inputs[step].operation if step < len(inputs) and id(tensor) in self._shown else ""

    def _is_now(self, step: Step, tensor: Tensor) -> bool:
        if not self.follows(tensor) or step.shape != tuple(tensor.shape):
            return False
        same = (step.stride, step.offset) == (tensor.stride(), int(tensor.storage_offset()))
        memory = self.memories[key(tensor)]
        if not memory.shows(tensor):  # its cells were numbered for that step alone
            last = self.frames[-1].steps
            return id(tensor) in self._shown and last[self._last_step(tensor) - self._count] is step
        return same and step.values.dtype == tensor.dtype and memory.read(tensor).equal(step.ids)
