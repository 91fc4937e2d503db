"""Checks for splitting heads: addresses, the split, the merge, another order of the stack."""

import torch

from ..heads import merge_heads, split_heads
from . import compare, exercise

SIZES = ((2, 3, 8, 4), (3, 4, 6, 2), (2, 5, 6, 3))


def _inputs():
    for B, L, D, h in SIZES:
        yield torch.arange(B * L * D).reshape(B, L, D), h


@exercise("splitting.place")
def place(attempt):
    """The index in the stack (4, 4, 5) of number 63 of the (2, 4, 10) example."""
    hints = {
        (3, 0, 3): "That is where reshape alone would leave it. Which word and which head is it?",
        (1, 2, 3): "The word is right; which sentence? 63 is more than 40.",
        (1, 2, 0, 3): "That is its index with four axes; fold sentence and head: 2 · sentence + head.",
        (1, 0, 2, 3): "That is right before the last reshape. Fold sentence and head: 2 · sentence + head.",
    }
    default = "63 = 1 · 40 + 2 · 10 + 3, feature 3 is head A's; the first index is 2 · sentence + head."
    return None if tuple(attempt) == (2, 2, 3) else hints.get(tuple(attempt), default)


@exercise("splitting.split")
def split(attempt):
    """A function of X (B, L, D) and num_heads → (B·h, L, D / h)."""
    for X, h in _inputs():
        B, L, D = X.shape
        d = D // h
        wrong_ways = (
            (X, "You reshaped straight away: the shape is right, but rows hold other words' numbers. "
                "Give the heads an axis of their own first."),
            (X.reshape(B, L, h, d), "The permute is missing between the two reshapes."),
            (X.reshape(B, L, h, d).permute(2, 0, 1, 3),
             "The heads come first, then the sentences. Sentence 1's heads should follow each other."),
            (X.reshape(B, L, d, h).permute(0, 3, 1, 2),
             "You cut each word into (d, h). A head's features are neighbours: (h, d)."),
        )  # fmt: skip
        got, want = attempt(X, h), split_heads(X, h)
        if isinstance(got, torch.Tensor) and got.shape == (B, h, L, d):
            return "That is the step before the last. Now fold sentence and head into one axis: (B·h, L, d)."
        for wrong, hint in wrong_ways:
            if compare(got, wrong.reshape(B * h, L, d)) is None:
                return hint
        if problem := compare(got, want):
            return problem
    return None


@exercise("splitting.merge")
def merge(attempt):
    """A function of a stack (B·h, L, d) and num_heads → (B, L, h·d)."""
    for X, h in _inputs():
        B, L, D = X.shape
        stack = split_heads(X, h)
        got = attempt(stack, h)
        if compare(got, stack.reshape(B, L, D)) is None:
            return "You reshaped straight back. Undo the steps in the reverse order: unfold, permute, then join."
        if problem := compare(got, merge_heads(stack, h)):
            return problem
    return None


@exercise("splitting.heads_first")
def heads_first(attempt):
    """A function of X, valid_lens, num_heads → (stack, lengths) with the heads first."""
    for X, h in _inputs():
        B, L, D = X.shape
        lens = torch.arange(1, B + 1)
        got = attempt(X, lens, h)
        if not isinstance(got, tuple) or len(got) != 2:
            return "Return two things: the stack and the lengths."
        stack, lengths = got
        if compare(stack, split_heads(X, h)) is None:
            return "That is the usual stack, sentence by sentence. Here head A of every sentence comes first."
        want = X.reshape(B, L, h, D // h).permute(2, 0, 1, 3).reshape(h * B, L, D // h)
        if problem := compare(stack, want):
            return problem
        if compare(lengths, lens.repeat_interleave(h)) is None:
            return "repeat_interleave fits the other stack. With the heads first the lengths run through once a head."
        if problem := compare(lengths, lens.repeat(h)):
            return problem
    return None
