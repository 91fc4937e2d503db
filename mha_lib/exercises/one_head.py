"""Checks for one attention head by hand: scores, scale, softmax, context."""

import torch

from ..scoring import DotProductAttention
from . import compare, exercise, judge


def _inputs():
    generator = torch.Generator().manual_seed(1)
    sizes = ((3, 4), (5, 4), (5, 6))
    return [torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes]


def _attend(q, k, v, scale=0.5, axis=-1):
    return (q @ k.T * scale).softmax(axis) @ v


@exercise("one_head.score")
def score(attempt):
    """The score of q = [1, 2, 0, 1] for k = [3, 1, 5, 1], scaled: (3 + 2 + 0 + 1) / √4."""
    known = {6: "That is q · k. Now divide by √d; how long is q?", 1.5: "You divided by d = 4, not by √d = 2."}
    known[24] = "You multiplied by d. Divide by its square root."
    if abs(float(attempt) - 3) < 1e-6:
        return None
    return known.get(round(float(attempt), 6), "Multiply pair by pair, add up, then divide by √4 = 2.")


@exercise("one_head.attention")
def attention(attempt):
    """A function of q (3, 4), k (5, 4), v (5, 6) → (3, 6)."""
    q, k, v = _inputs()
    want = DotProductAttention()(q[None], k[None], v[None])[0]
    mistakes = {
        "The scores are not scaled: divide by √d before the softmax.": _attend(q, k, v, 1.0),
        "Your scale is 1/d. Divide by the square root of d.": _attend(q, k, v, 0.25),
        "You multiply by d or √d where you should divide by √d.": _attend(q, k, v, 2.0),
        "You multiply by d; divide by √d instead.": _attend(q, k, v, 4.0),
        "The softmax runs over the queries. Each row has to sum to 1: dim=-1.": _attend(q, k, v, axis=0),
        "√d is taken of the number of keys. d is the width of a query: q.shape[-1].": _attend(q, k, v, 5**-0.5),
        "The softmax is missing: these are scores times values.": q @ k.T / 2 @ v,
    }
    return judge(attempt(q, k, v), want, mistakes)


@exercise("one_head.mend")
def mend(attempt):
    """A function of q and k (…, L, d) that gives scaled scores, also for the example's width 5."""
    for d in (4, 5, 9):
        q = torch.eye(d, dtype=torch.float64)[:2] * 2
        raw = q @ q.T
        mistakes = {
            f"d ** -1 is 1/d, so dividing by it multiplies by d: the score 4 became {4 * d}.": raw * d,
            f"d ** -0.5 is 1/√d, so dividing by it multiplies by √{d}.": raw * d**0.5,
            f"That divides by d = {d}. The variance grows like d, the size like √d.": raw / d,
            **({"A fixed 2 is right for d = 4 only. Take d from the query's shape.": raw / 2} if d != 4 else {}),
        }
        if problem := judge(attempt(q, q), raw / d**0.5, mistakes):
            return problem
    return None


@exercise("one_head.softmax")
def softmax(attempt):
    """A softmax over the last axis that survives scores of 1000."""
    calm = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    if problem := compare(attempt(calm), calm.softmax(-1)):
        return f"On {calm.tolist()}: {problem}"
    high = torch.tensor([[1000.0, 1000.0, 0.0], [0.0, 1.0, 2.0]])
    if compare(attempt(high[:1]), high[:1].softmax(-1)):
        return "exp(1000) is inf, and inf / inf is NaN. Subtract each row's largest score first: nothing else changes."
    if compare(attempt(high), high.softmax(-1)):
        return "Subtract the largest of each row, not of the whole matrix, and keep the axis: keepdim=True."
    return None
