"""Checks for merging heads: W_o's columns, the output as a sum, a test for merges."""

import torch

from ..heads import heads_together, merge_heads
from . import exercise, judge


@exercise("merging.columns")
def columns(attempt):
    """(first, last + 1) of W_o's columns that belong to head C, with D = 12 and h = 4."""
    hints = {
        (8, 12): "With 4 heads of 3 features each, head C is the third of them.",
        (6, 8): "Right about the beginning. The last index of a slice is not part of it.",
        (2, 3): "A head is d = D / h = 3 columns wide.",
        (9, 12): "That is head D; A is 0–3.",
    }
    return None if tuple(attempt) == (6, 9) else hints.get(tuple(attempt), "d = 12 / 4; head C is number 2, from 0.")


@exercise("merging.sum")
def as_sum(attempt):
    """A function of contexts (B, h, L, d) and W_o (D, D) → the output (B, L, D), as a sum over heads."""
    generator = torch.Generator().manual_seed(5)
    contexts = torch.randn(2, 3, 4, 2, generator=generator, dtype=torch.float64)
    W_o = torch.randn(6, 6, generator=generator, dtype=torch.float64)
    mistakes = {
        "You took rows of W_o. nn.Linear keeps (outputs, inputs), so what a head feeds in are columns.": sum(
            contexts[:, i] @ W_o[2 * i : 2 * i + 2] for i in range(3)
        ),
        "W_o is applied the wrong way round: multiply by its transpose.": heads_together(contexts) @ W_o,
        "Only the last head is left: add to the sum, do not replace it.": contexts[:, 2] @ W_o[:, 4:].T,
    }
    return judge(attempt(contexts, W_o), heads_together(contexts) @ W_o.T, mistakes)


@exercise("merging.test")
def merge_test(attempt):
    """A function that takes a merge(stack, num_heads) and returns True, or nothing, when it is right."""
    right = {
        "the library's merge": merge_heads,
        "one with view and transpose": lambda S, h: (
            S.view(-1, h, *S.shape[1:]).transpose(1, 2).contiguous().view(-1, S.shape[1], h * S.shape[2])
        ),
        "one that joins with cat": lambda S, h: torch.cat(S.unflatten(0, (-1, h)).unbind(1), dim=-1),
    }
    wrong = {
        "a plain reshape": lambda S, h: S.reshape(-1, S.shape[1], h * S.shape[2]),
        "one for a stack with the heads first": lambda S, h: torch.cat(S.unflatten(0, (h, -1)).unbind(0), dim=-1),
        "one that joins the heads in reverse": lambda S, h: torch.cat(S.unflatten(0, (-1, h)).unbind(1)[::-1], dim=-1),
        "one that interleaves the heads": lambda S, h: S.unflatten(0, (-1, h)).permute(0, 2, 3, 1).flatten(2),
    }
    for name, merge in right.items():
        try:
            refused = attempt(merge) not in (None, True)  # a test of asserts returns nothing
        except Exception as error:
            return f"On {name}, which is right, your test raised {type(error).__name__}: {error}"
        if refused:
            return f"Your test refuses {name}, which is right."
    for name, merge in wrong.items():
        try:
            passes = attempt(merge) in (None, True)
        except Exception:  # a failed assertion is how a test says no
            passes = False
        if passes:
            return (
                f"Your test lets {name} pass. Use sizes that are all different and none of them 1, numbers that "
                "are all different, and compare with a result that you worked out, not with another round trip."
            )
    return None
