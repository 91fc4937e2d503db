"""Checks for the lab on heads that specialise: where a head looks, silence, an honest verdict."""

import torch

from ..labs.training import look_back
from . import compare, exercise


@exercise("specialising.look_back")
def look(attempt):
    """A function of weights (B, h, L, L) and offset → (h,)."""
    weights = torch.rand(3, 4, 6, 6, generator=torch.Generator().manual_seed(0)).softmax(-1)
    for offset in (1, 3):
        got, want = attempt(weights, offset), look_back(weights, offset, first=offset)
        total = weights.diagonal(-offset, -2, -1)
        for wrong, hint in (
            (look_back(weights.mT, offset, first=offset),
             "That looks forward: the key is `offset` before its query, so below the diagonal."),
            (total.mean(), "You averaged over the heads, too. Keep the axis of the heads: shape (h,)."),
            (total.sum((0, 2)) / (3 * 6), "You divided by all queries. The first ones have no such word."),
            (total.mean(2), "You have one number a sentence and head. Average over the sentences, too."),
            (total.sum((0, 2)), "That is the sum. Divide by the number of queries that have such a word."),
        ):  # fmt: skip
            if compare(got, wrong) is None:
                return hint
        if problem := compare(got, want):
            return problem
    return None


@exercise("specialising.silence")
def silence(attempt):
    """A function of W_o (D, D), num_heads, head → W_o (D, D) that does not hear the head."""
    for D, h, head in ((12, 3, 1), (8, 2, 0), (8, 4, 3)):
        W_o = torch.arange(1.0, D * D + 1).reshape(D, D)
        given, part = W_o.clone(), slice(head * D // h, (head + 1) * D // h)
        got = attempt(given, h, head)
        if not torch.equal(given, W_o):
            return "You changed the W_o that you were given. Work on a copy: W_o.clone()."
        want, rows, others = W_o.clone(), W_o.clone(), torch.zeros_like(W_o)
        want[:, part], rows[part], others[:, part] = 0, 0, W_o[:, part]
        striped = W_o.clone()
        striped[:, head::h] = 0
        for wrong, hint in (
            (rows, "You took rows out: output features. A head comes in by columns, W_o[:, …]."),
            (others, "That silences everybody else."),
            (striped, "A head's columns are neighbours: head · d to (head + 1) · d with d = D / h."),
        ):
            if compare(got, wrong) is None:
                return hint
        if problem := compare(got, want):
            return problem
    return None


@exercise("specialising.verdict")
def verdict(attempt):
    """A function of two lists of losses → "a", "b" or "undecided"."""
    cases = (
        ([0.1, 0.2], [0.5, 0.3], "a", "A low loss is a good one: every run of a is below every run of b."),
        ([0.6, 0.7, 0.9], [0.5], "b", "Here every run of b is below every run of a."),
        ([0.1, 0.1, 0.6], [0.5, 0.7], "undecided", "a has the better mean, but the runs overlap."),
        ([0.5, 0.7], [0.1, 0.1, 0.6], "undecided", "b has the better mean, but the runs overlap."),
        ([0.4, 0.2], [0.4, 0.8], "undecided", "A run of a equals a run of b: a is not better in every run."),
        ([0.1, 0.9], [0.2, 0.3], "undecided", "a has the best run and the worst: they overlap."),
    )  # fmt: skip
    for a, b, want, hint in cases:
        if attempt(list(a), list(b)) != want:
            return f"a = {a}, b = {b}: {hint}"
    return None
