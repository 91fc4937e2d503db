"""Checks for one attention head by hand: scores, scale, softmax, context."""

import torch

from . import compare, judge, randoms


def _attend(q, k, v, scale=0.5, axis=-1):
    return (q @ k.T * scale).softmax(axis) @ v


def check_attention(attempt):
    """A function of q (3, 4), k (7, 4), v (7, 6) → (3, 6); then with d = 9."""
    q, k, v = randoms((3, 4), (7, 4), (7, 6))
    mistakes = {
        "The scores are not scaled: divide by √d before the softmax.": _attend(q, k, v, 1.0),
        "Your scale is 1/d. Divide by the square root of d.": _attend(q, k, v, 0.25),
        "You multiply by d or √d where you should divide by √d.": _attend(q, k, v, 2.0),
        "You multiply by d; divide by √d instead.": _attend(q, k, v, 4.0),
        "The softmax runs over the queries. Each row has to sum to 1: dim=-1.": _attend(q, k, v, axis=0),
        "The softmax is missing: these are scores times values.": q @ k.T / 2 @ v,
    }
    others = {2: "2", 5: "5", 3: "the number of queries", 7: "the number of keys", 6: "the width of v"}
    root = "You took the root of {}; d is the width of a query here: q.shape[-1]."
    mistakes |= {root.format(what): _attend(q, k, v, n**-0.5) for n, what in others.items()}
    yield judge(attempt(q, k, v), _attend(q, k, v), mistakes)
    wide = randoms((3, 9), (7, 9), (7, 6))
    yield (
        compare(attempt(*wide), _attend(*wide, 1 / 3))
        and "That is right for d = 4 only. Take d from the query: q.shape[-1]."
    )


def check_mend(attempt):
    """A function of q and k (…, L, d) that gives scaled scores, also for the example's width 5."""
    for d in (4, 5, 9):
        q = torch.eye(d, dtype=torch.float64)[:2] * 2
        raw = q @ q.T
        mistakes = {
            f"d ** -1 is 1/d, so dividing by it multiplies by d: the score 4 became {4 * d}.": raw * d,
            f"d ** -0.5 is 1/√d, so dividing by it multiplies by √{d}.": raw * d**0.5,
            f"That divides by d = {d}. The variance grows like d, the size like √d.": raw / d,
            "A fixed 2 is right for d = 4 only. Take d from the query's shape.": raw / 2,
        }
        yield judge(attempt(q, q), raw / d**0.5, mistakes)


def check_softmax(attempt):
    """A softmax over the last axis that survives scores of 1000."""
    calm = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    got, want = attempt(calm), calm.softmax(-1)
    if problem := compare(got, want):
        if isinstance(got, torch.Tensor) and not compare(got / got.sum(-1, True) * got.sum(), want):
            yield "You divided by the sum of the whole matrix: sum(-1, keepdim=True)."
        yield f"On {calm.tolist()}: {problem}"
    high = torch.tensor([[1000.0, 1000.0, 0.0], [0.0, 1.0, 2.0]])
    if compare(attempt(high[:1]), high[:1].softmax(-1)):
        yield "exp(1000) is inf, and inf / inf is NaN. Subtract each row's largest score first: nothing else changes."
    if compare(attempt(high), high.softmax(-1)):
        yield "Subtract the largest of each row, not of the whole matrix, and keep the axis: keepdim=True."
