"""Checks for several heads: shapes, counts, the loop over heads, additive scores."""

import torch

from ..scoring import additive_scores
from . import exercise, judge


@exercise("many_heads.shape")
def shape(attempt):
    """The shape of one head's share of W_k: key_size 12, num_hiddens 8, num_heads 4."""
    hints = {
        (8, 12): "That is the whole W_k. One of four heads has a quarter of its rows.",
        (12, 2): "That is the matrix turned round: nn.Linear keeps (outputs, inputs).",
        (2, 3): "A head reads all 12 features of the key, not 12 / 4 of them.",
        (8, 3): "The rows are shared out among the heads, not the columns.",
    }
    attempt = tuple(attempt)
    return None if attempt == (2, 12) else hints.get(attempt, "Rows: 8 / 4 results. Columns: what it reads.")


@exercise("many_heads.count")
def count(attempt):
    """Weights for query_size 8, key_size 7, value_size 9, num_hiddens 6, any heads, no bias."""
    hints = {
        144: "6 · 24 are the three maps in front. W_o belongs to the layer, too.",
        360: "You multiplied by the two heads: they share the rows out instead.",
        180 + 24: "Without bias there are no other numbers than the maps' own.",
    }
    return None if attempt == 180 else hints.get(attempt, "W_q is 6 × 8, W_k 6 × 7, W_v 6 × 9, W_o 6 × 6.")


def _heads(X, W_q, W_k, W_v, num_heads, width=None, cut=False):
    d = W_q.shape[0] // num_heads
    for i in range(num_heads):
        rows = slice(i * d, (i + 1) * d)
        reads = rows if cut else slice(None)
        q, k, v = (X[..., reads] @ W[rows, reads].T for W in (W_q, W_k, W_v))
        yield (q @ k.transpose(1, 2) / (width or d) ** 0.5).softmax(-1) @ v


@exercise("many_heads.loop")
def loop(attempt):
    """A function of X (B, L, D), the four maps and num_heads → (B, L, D)."""
    generator = torch.Generator().manual_seed(3)
    X = torch.randn(2, 3, 8, generator=generator, dtype=torch.float64)
    maps = [torch.randn(8, 8, generator=generator, dtype=torch.float64) for _ in range(4)]
    *qkv, W_o = maps
    heads = list(_heads(X, *qkv, num_heads=4))
    joined = torch.cat(heads, dim=-1)

    turned = torch.cat(list(_heads(X, *(W.T for W in qkv), 4)), dim=-1) @ W_o.T

    def wrong(**how):
        return torch.cat(list(_heads(X, *qkv, 4, **how)), dim=-1) @ W_o.T

    mistakes = {
        "You cut X first. Each head reads all features: cut the rows of W, not the columns of X.": wrong(cut=True),
        "W_o is missing: it maps the joined heads to the output.": joined,
        "W_o is applied the wrong way round: use its transpose, as nn.Linear does.": joined @ W_o,
        "Divide by √d of one head (d = D / h = 2), not by √D.": wrong(width=8),
        "The scores are not scaled.": wrong(width=1),
        "nn.Linear keeps (outputs, inputs), so a map is applied as X @ W.T, with rows of W.": turned,
        "The heads stand in the reverse order.": torch.cat(heads[::-1], -1) @ W_o.T,
        "All heads use the rows of the first: move the slice on with i.": torch.cat(heads[:1] * 4, -1) @ W_o.T,
    }
    got = attempt(X, *maps, 4)
    if isinstance(got, torch.Tensor) and got.shape == heads[0].shape:
        return "The result is one head wide. Join the heads with torch.cat along the last axis; do not add them."
    return judge(got, joined @ W_o.T, mistakes)


@exercise("many_heads.additive")
def additive(attempt):
    """A function of q (Lq, n) and k (Lk, n), already mapped, and w_v (n,) → scores (Lq, Lk)."""
    generator = torch.Generator().manual_seed(4)
    q, k, w_v = (torch.randn(size, generator=generator) for size in ((2, 5), (3, 5), (5,)))
    mistakes = {
        "The tanh is missing. Without it the query's part is the same for every key, and softmax drops it.": (
            (q[:, None] + k[None]) @ w_v
        ),
        "Rows and columns are swapped: rows are queries.": additive_scores(k, q, w_v),
    }
    return judge(attempt(q, k, w_v), additive_scores(q, k, w_v), mistakes)
