"""Checks for splitting heads: addresses, the split, the merge, another order of the stack."""

import torch

from ..heads import merge_heads, split_heads
from . import exercise, judge

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
    default = "Write 63 as 40 · sentence + 10 · word + feature, from 0. Which head has that feature?"
    return None if tuple(attempt) == (2, 2, 3) else hints.get(tuple(attempt), default)


@exercise("splitting.split")
def split(attempt):
    """A function of X (B, L, D) and num_heads → (B·h, L, D / h)."""
    for X, h in _inputs():
        B, L, D = X.shape
        d = D // h
        mistakes = {
            "The shape is right, but rows hold other words' numbers: you reshaped straight away, or cut (L, D) "
            "into (h, L, d). Cut each word's features, (B, L, h, d), then permute.": X,
            "The heads come first, then the sentences. Sentence 1's heads should follow each other.": (
                X.reshape(B, L, h, d).permute(2, 0, 1, 3)
            ),
            "You cut each word into (d, h). A head's features are neighbours: (h, d).": (
                X.reshape(B, L, d, h).permute(0, 3, 1, 2)
            ),
        }
        got = attempt(X, h)
        if isinstance(got, torch.Tensor) and got.shape == (B, h, L, d):
            got, unfolded = got.flatten(0, 1), True
        else:
            unfolded = False
        stacked = {hint: wrong.reshape(B * h, L, d) for hint, wrong in mistakes.items()}
        if problem := judge(got, split_heads(X, h), stacked):
            return problem
        if unfolded:
            return "That is the step before the last. Now fold sentence and head into one axis: (B·h, L, d)."
    return None


@exercise("splitting.merge")
def merge(attempt):
    """A function of a stack (B·h, L, d) and num_heads → (B, L, h·d)."""
    for X, h in _inputs():
        B, L, D = X.shape
        stack = split_heads(X, h)
        straight = "You reshaped straight back. Undo the steps in the reverse order: unfold, permute, then join."
        if problem := judge(attempt(stack, h), merge_heads(stack, h), {straight: stack.reshape(B, L, D)}):
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
        usual = "That is the usual stack, sentence by sentence. Here head A of every sentence comes first."
        want = X.reshape(B, L, h, D // h).permute(2, 0, 1, 3).flatten(0, 1)
        interleaved = "repeat_interleave fits the other stack. Heads first, the lengths run through once a head."
        problem = judge(got[0], want, {usual: split_heads(X, h)}) or judge(
            got[1], lens.repeat(h), {interleaved: lens.repeat_interleave(h)}
        )
        if problem:
            return problem
    return None
