"""Checks for the lab on heads that specialise: where a head looks, silence, an honest verdict."""

import torch

from ..labs.training import look_back
from . import judge, randoms


def check_look_back(attempt):
    """A function of weights (B, h, L, L) and offset → (h,)."""
    weights = randoms((3, 4, 6, 6), dtype=torch.float32)[0].softmax(-1)
    for offset in (1, 3):
        back = weights.diagonal(-offset, -2, -1)
        forward = "That looks forward: the key is `offset` before its query, so below the diagonal."
        mistakes = {
            forward: weights.diagonal(offset, -2, -1).mean((0, 2)),
            "You averaged over the heads, too. Keep the axis of the heads: shape (h,).": back.mean(),
            "You divided by all queries. The first ones have no such word.": back.sum((0, 2)) / (3 * 6),
            "You have one number a sentence and head. Average over the sentences, too.": back.mean(2),
            "That is the sum. Divide by the number of queries that have such a word.": back.sum((0, 2)),
        }
        yield judge(attempt(weights, offset), look_back(weights, offset, first=offset), mistakes)


def check_silence(attempt):
    """A function of W_o (D, D), num_heads, head → W_o (D, D) that does not hear the head."""
    for D, h, head in ((12, 3, 1), (8, 2, 0), (8, 4, 3)):
        W_o = torch.arange(1.0, D * D + 1).reshape(D, D)
        given = W_o.clone()
        got = attempt(given, h, head)
        if not torch.equal(given, W_o):
            yield "You changed the W_o that you were given. Work on a copy: W_o.clone()."
        features = torch.arange(D)
        own, striped = features // (D // h) == head, features % h == head
        columns = "A head's columns are neighbours: head · d to (head + 1) · d with d = D / h."
        mistakes = {
            "You took rows out: output features. A head comes in by columns, W_o[:, …].": W_o * ~own[:, None],
            "That silences everybody else.": W_o * own,
            columns: W_o * ~striped,
        }
        yield judge(got, W_o * ~own, mistakes)


def check_verdict(attempt):
    """A function of two lists of losses → "a", "b" or "undecided"."""
    cases = (
        ([0.1, 0.2], [0.5, 0.3], "a", "A low loss is a good one: every run of a is below every run of b."),
        ([0.6, 0.7, 0.9], [0.5], "b", "Here every run of b is below every run of a."),
        ([0.1, 0.1, 0.6], [0.5, 0.7], "undecided", "a has the better mean, but the runs overlap."),
        ([0.5, 0.7], [0.1, 0.1, 0.6], "undecided", "b has the better mean, but the runs overlap."),
        ([0.4, 0.2], [0.4, 0.8], "undecided", "A run of a equals a run of b: a is not better in every run."),
        ([0.1, 0.9], [0.2, 0.3], "undecided", "a has the best run and the worst: they overlap."),
    )
    for a, b, want, hint in cases:
        if attempt(list(a), list(b)) != want:
            yield f"a = {a}, b = {b}: {hint}"
