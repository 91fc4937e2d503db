"""A layer's parameters, read as the four projections of multi-head attention."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from .faulty import Projection, Projections, TensorProjection


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to read a layer's parameters as multi-head attention."""

    projections: Projections
    num_heads: int
    num_groups: int  # different key and value heads; num_heads where each head has its own

    @property
    def widths(self) -> tuple[int, int, int]:
        """How many features queries, keys and values have."""
        q, k, v, _ = self.projections
        return q.weight.shape[1], k.weight.shape[1], v.weight.shape[1]

    @property
    def head_dim(self) -> int:
        """d, the width of a head's queries."""
        return self.projections[0].weight.shape[0] // self.num_heads


def fitted(projections: Sequence[Projection | None], h: int) -> Reading | None:
    """Return a reading of the projections, small ones filled up, grouped heads spread; None if none fits."""
    W_q, W_k, W_v, W_o = projections
    if W_q is None or W_k is None or W_v is None:
        return None
    # A layer that splits before it projects, or sums its heads, has projections h times too small.
    if (
        W_o is not None
        and h > 1
        and len(W_q.weight) * h == W_o.weight.shape[1]
        and W_q.weight.shape[1] * h == W_o.weight.shape[1]
    ):
        W_q, W_k, W_v = (_grown(w, h, h) for w in (W_q, W_k, W_v))
    elif W_o is not None and h > 1 and W_o.weight.shape[1] * h == len(W_v.weight) == len(W_q.weight):
        W_o = _grown(W_o, 1, h)
    width = len(W_q.weight)
    d = width // h
    if width % h or d < 1 or len(W_k.weight) % d:
        return None
    groups = len(W_k.weight) // d
    if groups < 1 or h % groups or len(W_v.weight) % groups:
        return None
    if groups < h:
        W_k, W_v = _spread(W_k, groups, h), _spread(W_v, groups, h)
    if W_o is not None and W_o.weight.shape[1] != len(W_v.weight):
        return None
    return Reading((W_q, W_k, W_v, W_o), h, groups)


def _grown(linear: Projection, rows: int, columns: int) -> TensorProjection:
    """Put the projection into the corner of one that is `rows` and `columns` times as large."""
    out, width = linear.weight.shape
    n, m = (rows - 1) * out, (columns - 1) * width
    return TensorProjection(
        F.pad(linear.weight, (0, m, 0, n)), None if linear.bias is None else F.pad(linear.bias, (0, n))
    )


def _spread(linear: Projection, groups: int, h: int) -> TensorProjection:
    """Give each query head the key or value head of its group: 0 0 1 1."""

    def spread(tensor: Tensor) -> Tensor:
        return tensor.unflatten(0, (groups, -1)).repeat_interleave(h // groups, 0).flatten(0, 1)

    return TensorProjection(spread(linear.weight), None if linear.bias is None else spread(linear.bias))
