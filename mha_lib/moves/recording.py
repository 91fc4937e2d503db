"""What `watch` hands on: the steps that were made, and where each cell came from."""

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from torch import Tensor

from .axes import Axis, Origin, axis_name


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
            found[origin.holds(self.ids)] -= origin.start
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
        """The steps grouped by operation: one list a picture."""
        return [list(frame) for _, frame in groupby(self.steps, lambda step: step.frame)]

    def __repr__(self) -> str:
        rows = [
            (s.operation, str(s.shape), f"strides {s.stride}", ", ".join(s.axis_names)) for s in self.steps
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ("  ".join([*map(str.ljust, row, widths), row[3]]) for row in rows)
        return "\n".join(line.rstrip() for line in lines)
