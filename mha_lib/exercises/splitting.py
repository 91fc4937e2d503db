"""Checks for splitting heads: the split, the merge, another order of the stack."""

import torch

from ..heads import merge_heads, split_heads
from . import judge


def _inputs():
    for B, L, D, h in ((2, 3, 8, 4), (3, 4, 6, 2), (2, 5, 6, 3)):
        yield torch.arange(B * L * D).reshape(B, L, D), h


def check_split(attempt):
    """A function of X (B, L, D) and num_heads → (B·h, L, D / h)."""
    straight = (
        "The shape is right, but rows hold other words' numbers: you reshaped straight away, or cut (L, D) "
        "into (h, L, d). Cut each word's features, (B, L, h, d), then permute."
    )
    heads_first = "The heads come first, then the sentences. Sentence 1's heads should follow each other."
    striped = "You cut each word into (d, h). A head's features are neighbours: (h, d)."
    wrong_cut = "You permute, but the cut was wrong: the axes after the first reshape are (B, L, h, d)."
    for X, h in _inputs():
        B, L, D = X.shape
        d = D // h
        mistakes = {
            straight: X.reshape(B * h, L, d),
            wrong_cut: X.reshape(B, h, L, d).permute(0, 2, 1, 3).reshape(B * h, L, d),
            heads_first: X.reshape(B, L, h, d).permute(2, 0, 1, 3).flatten(0, 1),
            striped: X.reshape(B, L, d, h).permute(0, 3, 1, 2).flatten(0, 1),
        }
        got = attempt(X, h)
        unfolded = isinstance(got, torch.Tensor) and got.shape == (B, h, L, d)
        yield judge(got.flatten(0, 1) if unfolded else got, split_heads(X, h), mistakes)
        if unfolded:
            yield "That is the step before the last. Now fold sentence and head into one axis: (B·h, L, d)."


def check_merge(attempt):
    """A function of a stack (B·h, L, d) and num_heads → (B, L, h·d)."""
    straight = "You reshaped straight back. Undo the steps in the reverse order: unfold, permute, then join."
    for X, h in _inputs():
        stack = split_heads(X, h)
        yield judge(attempt(stack, h), merge_heads(stack, h), {straight: stack.reshape(X.shape)})


def check_heads_first(attempt):
    """A function of X, valid_lens, num_heads → (stack, lengths) with the heads first."""
    usual = "That is the usual stack, sentence by sentence. Here head A of every sentence comes first."
    interleaved = "repeat_interleave fits the other stack. Heads first, the lengths run through once a head."
    for X, h in _inputs():
        lens = torch.arange(1, len(X) + 1)
        got = attempt(X, lens, h)
        if not isinstance(got, tuple) or len(got) != 2:
            yield "Return two things: the stack and the lengths."
        want = torch.cat(X.chunk(h, dim=-1))
        yield judge(got[0], want, {usual: split_heads(X, h)})
        yield judge(got[1], lens.repeat(h), {interleaved: lens.repeat_interleave(h)})
