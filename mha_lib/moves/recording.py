"""What `watch` hands on: the steps that were made, and where each cell came from."""

from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from .axes import Axis, Cells, Origin, axis_name


class Kind(Enum):
    """How the tensors of a frame came about."""

    INPUT = auto()  # what fn was given
    MOVE = auto()  # numbers that were there before, in other places or seen another way
    NO_CHANGE = auto()  # arithmetic that changed no number, as a mask that takes nothing out
    NEW_VALUES = auto()  # arithmetic: cells are followed anew from here
    IN_PLACE = auto()  # written into memory that was there before
    OUTSIDE = auto()  # written by something that torch did not announce
    RESULT = auto()  # what fn returned, where no earlier frame ends with it


@dataclass(frozen=True, eq=False)
class Step:
    """One tensor after one operation: its shape and memory, and where each of its cells came from."""

    operation: str  # as the learner wrote it
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    shares_memory: bool
    is_contiguous: bool
    values: Tensor = field(repr=False)
    ids: Tensor = field(repr=False)  # int64, the cell's number over all origins; -1 from nowhere
    memory: Tensor = field(repr=False)  # the same numbers in the order of memory
    axes: tuple[Axis, ...] = ()
    origins: tuple[Origin, ...] = field(default=(), repr=False)  # those its cells come from

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
        addresses = self.ids.clone()
        for origin in self.origins:
            addresses[(self.ids >= origin.start) & (self.ids < origin.stop)] -= origin.start
        return addresses


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture: an operation and the tensors that it made."""

    operation: str  # as the learner wrote it; all inputs together for the first
    name: str  # torch's name of the operation
    kind: Kind
    steps: tuple[Step, ...]
    parents: tuple[int, ...] = ()  # the steps that the operation read, by their number in the recording
    within: str = ""  # the library call that did it, such as rearrange(…)
    sentence: str = ""
    change: Enum | None = None  # what happened, a member of meaning.Change

    @cached_property
    def memory(self) -> Cells:
        """The memory of the frame's tensors, end to end where they have several."""
        return np.concatenate([each.numpy() for each in self._memories])

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the memory of each step begins in the frame's."""
        ends = np.cumsum([0, *map(len, self._memories)]).tolist()
        return tuple(
            next(end for end, each in zip(ends, self._memories, strict=False) if each.equal(step.memory))
            for step in self.steps
        )

    @cached_property
    def _memories(self) -> list[Tensor]:
        memories: list[Tensor] = []
        for step in self.steps:  # views of one tensor share their memory
            if not any(each.equal(step.memory) for each in memories):
                memories.append(step.memory)
        return memories


@dataclass(frozen=True, eq=False)
class Recording:
    """What `watch` saw: the frames in order, the first being the input itself."""

    frames: tuple[Frame, ...]
    origins: tuple[Origin, ...]
    num_heads: int | None
    words: tuple[tuple[str, ...], ...]  # for each sentence its words; () if they were not told
    result: Any
    result_steps: tuple[Step, ...]  # the tensors among what fn returned

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every tensor that was made, in order; steps[0] is the input itself."""
        return tuple(step for frame in self.frames for step in frame.steps)

    @property
    def path(self) -> str:
        """The whole way in one line: X (2, 4, 10) → X.mT (2, 10, 4)."""
        return " → ".join(
            f"{frame.operation} {', '.join(str(step.shape) for step in frame.steps)}" for frame in self.frames
        )

    def __repr__(self) -> str:
        rows = [
            (step.operation, str(step.shape), f"strides {step.stride}", ", ".join(step.axis_names))
            for step in self.steps
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ("  ".join([*map(str.ljust, row, widths), row[3]]) for row in rows)
        return "\n".join(line.rstrip() for line in lines)
