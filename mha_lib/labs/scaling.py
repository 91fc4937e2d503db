"""Why q·k is divided by √d: what the width of a head does to softmax, measured."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import value_error
from ..masks import masked_softmax
from ..scoring import dot_product_scores

WIDTHS = tuple(2**n for n in range(11))


@dataclass(frozen=True)
class Scaling:
    """What one scale does at one width d; means over all queries drawn.

    Attributes:
        d: the width of query and key.
        variance: of q·k, scaled.
        expected: what theory says of the variance, d · scale²: d without a scale, 1 with 1/√d.
        largest: the largest weight of a row.
        entropy: of a row, in nats; at most ln(number of keys).
        gradient: the length of the largest weight's gradient with respect to the scores.
    """

    d: int
    variance: float
    expected: float
    largest: float
    entropy: float
    gradient: float


def measure_scaling(
    d: int, scale: float | None = None, *, keys: int = 10, queries: int | None = None, seed: int = 0
) -> Scaling:
    """Draw queries and keys from N(0, 1) and measure scores, weights and gradient.

    Every query has its own `keys`, so that the rows are independent. The same seed draws
    the same queries and keys for every scale.

    Args:
        d: their width, 1 or more.
        scale: what q·k is multiplied by; None for 1/√d, 1.0 for nothing.
        keys: how many keys each query has.
        queries: how many queries to draw; None for some two million numbers, at most 20,000.

    Example:
        >>> without, scaled = measure_scaling(64, 1.0), measure_scaling(64)
        >>> round(without.variance), round(scaled.variance)
        (64, 1)
        >>> round(without.largest, 1), round(scaled.largest, 1)
        (0.9, 0.3)
    """
    if queries is None and d >= 1 and keys >= 1:
        queries = max(1, min(20_000, 2_000_000 // (d * keys)))
    if d < 1 or keys < 2 or not queries or queries < 1:
        raise value_error("d, keys, queries", "at least 1, 2 and 1", (d, keys, queries))
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(queries, 1, d, generator=generator)
    k = torch.randn(queries, keys, d, generator=generator)
    scores = dot_product_scores(q, k, scale).squeeze(1)
    leaf = scores.clone().requires_grad_()
    weights = masked_softmax(leaf)
    (gradient,) = torch.autograd.grad(weights.amax(-1).sum(), leaf)
    weights = weights.detach()
    return Scaling(
        d=d,
        variance=float(scores.var()),
        expected=1.0 if scale is None else d * scale**2,
        largest=float(weights.amax(-1).mean()),
        entropy=float(torch.special.entr(weights).sum(-1).mean()),
        gradient=float(gradient.norm(dim=-1).mean()),
    )


def weights_of_one(d: int, scale: float | None = None, *, keys: int = 10, seed: int = 0) -> Tensor:
    """Return the weights of one query drawn from N(0, 1), with the first `d` numbers of it and of its keys.

    Widths have the same numbers where they have them in common, so that the bars of a picture grow
    and shrink when d does, and are not drawn anew.

    Shapes: returns (keys,).

    Args:
        d: how many of the 1024 numbers count.
        scale: what q·k is multiplied by; None for 1/√d, 1.0 for nothing.
        keys, seed: how many keys, and which draw.

    Raises:
        ValueError: d below 1 or above 1024, fewer than two keys.

    Example:
        >>> raw, scaled = weights_of_one(512, 1.0), weights_of_one(512)
        >>> bool(raw.max() > 0.9), bool(scaled.max() < 0.5)
        (True, True)
    """
    if not 1 <= d <= WIDTHS[-1] or keys < 2:
        raise value_error("d, keys", f"1 to {WIDTHS[-1]}, and at least 2", (d, keys))
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(1 + keys, WIDTHS[-1], generator=generator)[:, :d]
    return masked_softmax(dot_product_scores(drawn[:1], drawn[1:], scale))[0]
