"""Checks for several heads: the loop over heads, additive scores."""

import torch

from ..scoring import additive_scores
from . import compare, judge, randoms


def _heads(X, W_q, W_k, W_v, W_o, num_heads=4, width=2, cut=False):
    """Attend head by head; in a wrong way where each reads only its own features of X."""
    for rows in torch.arange(len(W_q)).chunk(num_heads):
        reads = rows if cut else slice(None)
        q, k, v = (X[..., reads] @ W[rows][:, reads].T for W in (W_q, W_k, W_v))
        yield (q @ k.mT / width**0.5).softmax(-1) @ v


def _output(X, *maps, **how):
    return torch.cat(list(_heads(X, *maps, **how)), -1) @ maps[3].T


def check_loop(attempt):
    """A function of X (B, L, D), the four maps and num_heads → (B, L, D)."""
    X, *maps = randoms((2, 3, 8), *[(8, 8)] * 4)
    *inner, W_o = maps
    heads = list(_heads(X, *maps))
    joined = torch.cat(heads, -1)
    turned = _output(X, *(W.T for W in inner), W_o)
    mistakes = {
        "You cut X first. Each head reads all features: cut the rows of W, not the columns of X.": _output(
            X, *maps, cut=True
        ),
        "W_o is missing: it maps the joined heads to the output.": joined,
        "W_o is applied the wrong way round: use its transpose, as nn.Linear does.": joined @ W_o,
        "Divide by √d of one head (d = D / h = 2), not by √D.": _output(X, *maps, width=8),
        "The scores are not scaled.": _output(X, *maps, width=1),
        "You took columns: nn.Linear keeps (outputs, inputs), so a head's share of W_q is rows of it, then .T.": turned,
        "The heads stand in the reverse order.": torch.cat(heads[::-1], -1) @ W_o.T,
        "All heads use the rows of the first: move the slice on with i.": torch.cat(heads[:1] * 4, -1)
        @ W_o.T,
    }
    example, fixed = randoms((2, 4, 10), *[(10, 10)] * 4), None
    try:
        if compare(attempt(*example, 2), _output(*example, num_heads=2, width=5)) is None:
            fixed = "The check uses other sizes than the example: take h and d from the arguments."
        got = attempt(X, *maps, 4)
    except RuntimeError as error:
        yield fixed
        # X (…, 10) met a share (5, 10)
        yield (
            "10 and 5x10" in str(error)
            and "You took columns of W_q, or forgot .T: a head's share of W_q is rows of it, then .T."
        )
        raise
    yield compare(got, joined @ W_o.T) and fixed
    if isinstance(got, torch.Tensor) and got.shape == heads[0].shape:
        yield "The result is one head wide. Join the heads with torch.cat along the last axis; do not add them."
    yield judge(got, joined @ W_o.T, mistakes)


def check_additive(attempt):
    """A function of q (Lq, n) and k (Lk, n), already mapped, and w_v (n,) → scores (Lq, Lk)."""
    q, k, w_v = randoms((2, 5), (3, 5), (5,), dtype=torch.float32)
    no_tanh = (
        "The tanh is missing. Without it the query's part is the same for every key, and softmax drops it."
    )
    mistakes = {
        no_tanh: (q[:, None] + k[None]) @ w_v,
        "Rows and columns are swapped: rows are queries.": additive_scores(k, q, w_v),
    }
    yield judge(attempt(q, k, w_v), additive_scores(q, k, w_v), mistakes)
