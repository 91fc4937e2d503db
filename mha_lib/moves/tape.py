"""What a step does to memory: how many cells change their address."""

import numpy as np

from ..text import sentences
from .recording import Frame, Kind

text = sentences("moves")


def moved(before: Frame, frame: Frame) -> int:
    """Return how many cells stand at another address than in the frame before; new ones do not count."""
    if len(before.memory) == len(frame.memory):
        old, new = before.memory, frame.memory
        return int(((old != new) & np.isin(new, old) & (new >= 0)).sum())
    first = {cell: address for address, cell in reversed(list(enumerate(before.memory.tolist())))}
    return sum(
        first.get(cell, address) != address for address, cell in enumerate(frame.memory.tolist()) if cell >= 0
    )


def tape_words(before: Frame, frame: Frame) -> str:
    """Say what the step did to the memory, and to how many numbers of it."""
    if frame.kind in (Kind.INPUT, Kind.RESULT):
        return ""
    if frame.kind is not Kind.MOVE:
        return str(text.labels["tape_new"])
    if frame.steps[0].shares_memory:
        return str(text.labels["tape_same"])
    return str(text.labels["tape_moved"].format(moved=moved(before, frame)))
