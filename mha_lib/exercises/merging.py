"""Checks for merging heads: the output as a sum, a test for merges."""

import torch

from ..heads import heads_together, merge_heads
from . import judge, randoms


def check_sum(attempt):
    """A function of contexts (B, h, L, d) and W_o (D, D) → the output (B, L, D), as a sum over heads."""
    contexts, W_o = randoms((2, 3, 4, 2), (6, 6))
    rows = "You took rows of W_o. nn.Linear keeps (outputs, inputs), so what a head feeds in are columns."
    mistakes = {
        rows: sum(contexts[:, i] @ W_o[2 * i : 2 * i + 2] for i in range(3)),
        "W_o is applied the wrong way round: multiply by its transpose.": heads_together(contexts) @ W_o,
        "Only the last head is left: add to the sum, do not replace it.": contexts[:, 2] @ W_o[:, 4:].T,
    }
    yield judge(attempt(contexts, W_o), heads_together(contexts) @ W_o.T, mistakes)


def check_test(attempt):
    """A function that takes a merge(stack, num_heads) and returns True, or nothing, when it is right."""

    def with_view(S, h):
        return S.view(-1, h, *S.shape[1:]).transpose(1, 2).contiguous().view(-1, S.shape[1], h * S.shape[2])

    right = {
        "the library's merge": merge_heads,
        "one with view and transpose": with_view,
        "one that joins with cat": lambda S, h: torch.cat(S.unflatten(0, (-1, h)).unbind(1), -1),
    }
    wrong = {
        "a plain reshape": lambda S, h: S.reshape(-1, S.shape[1], h * S.shape[2]),
        "one for a stack with the heads first": lambda S, h: torch.cat(S.chunk(h), -1),
        "one that joins the heads in reverse": lambda S, h: torch.cat(
            S.unflatten(0, (-1, h)).unbind(1)[::-1], -1
        ),
        "one that interleaves the heads": lambda S, h: S.unflatten(0, (-1, h)).permute(0, 2, 3, 1).flatten(2),
    }
    for name, merge in (right | wrong).items():
        error = None
        try:
            passes = attempt(merge) in (None, True)  # a test of asserts returns nothing
        except Exception as raised:  # a failed assertion is how a test says no
            passes, error = False, f"raised {type(raised).__name__}: {raised}"
        if name in right and not passes:
            yield f"Your test refuses {name}, which is right" + (f"; it {error}" if error else ".")
        if name in wrong and passes:
            yield (
                f"Your test lets {name} pass. Use sizes that are all different and none of them 1, numbers that "
                "are all different, and compare with a result that you worked out, not with another round trip."
            )
