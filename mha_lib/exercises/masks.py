"""Checks for masks: lengths for a stack, a mask from lengths, a softmax with one, a decoder's."""

import torch
from torch import Tensor

from ..masks import causal_mask, length_mask, masked_softmax
from . import compare, exercise, judge

NOT_BOOLEAN = "Return a boolean tensor, True where a query may attend; yours is {dtype}."


def _mask_problem(got, want: Tensor, mistakes: dict[str, Tensor]) -> str | None:
    """Judge a mask, once it is a boolean tensor."""
    if isinstance(got, Tensor) and got.dtype != torch.bool:
        return NOT_BOOLEAN.format(dtype=got.dtype)
    known = {hint: wrong.int() for hint, wrong in mistakes.items() if not torch.equal(wrong, want)}
    return judge(got.int() if isinstance(got, Tensor) else got, want.int(), known)


@exercise("masks.stack")
def stack(attempt):
    """The lengths of a stack of three heads for sentences of 4, 1 and 2 words."""
    got = attempt.tolist() if isinstance(attempt, Tensor) else list(attempt)
    hints = {
        (4, 1, 2, 4, 1, 2, 4, 1, 2): "That is repeat: sentence 1's head B would get the length of sentence 2.",
        (4, 4, 1, 1, 2, 2): "That is for two heads; here there are three.",
        (4, 1, 2): "One length for each matrix of the stack, please: three sentences with three heads each.",
        (12, 3, 6): "A length counts words. Each head sees the same words as its sentence.",
    }
    default = "The stack reads sentence 1 head A, B, C, sentence 2 head A, …; write a length under each."
    return None if got == [4, 4, 4, 1, 1, 1, 2, 2, 2] else hints.get(tuple(got), default)


@exercise("masks.lengths")
def lengths(attempt):
    """A function of valid_lens (B,) and num_keys → bool (B, num_keys)."""
    for lens, Lk in (([3, 2], 4), ([0, 5, 1], 5), ([1], 1)):
        lens = torch.tensor(lens)
        want = length_mask(lens, Lk)[:, 0]
        places = torch.arange(Lk)
        mistakes = {
            "It is the wrong way round: True should mean “may attend”.": ~want,
            "One key too many: places count from 0, so place i is real when i < length.": places <= lens[:, None],
            "One key too few: places count from 0.": places < lens[:, None] - 1,
        }
        got = attempt(lens, Lk)
        if isinstance(got, Tensor) and got.shape == (len(lens), 1, Lk):
            got = got[:, 0]  # ready for a query axis: as good
        if problem := _mask_problem(got, want, mistakes):
            return problem
    return None


@exercise("masks.softmax")
def softmax(attempt):
    """A function of scores and a boolean mask, both (Lq, Lk) → weights; 0 where a row sees nothing."""
    scores = torch.tensor([[0.5, 2.0, -1.0, 3.0], [1.0, 0.0, 4.0, 2.0], [2.0, 2.0, 1.0, 0.0]])
    may = torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]).bool()
    given, before = scores.clone().requires_grad_(), scores.clone()
    got = attempt(given * 1, may.clone())
    if isinstance(got, Tensor) and got.isnan().any():
        return "The last row may see nothing, and yours is NaN: 0/0, from −inf in every place or a sum of 0."
    by_zero, after = scores.masked_fill(~may, 0).softmax(-1), scores.softmax(-1) * may
    mistakes = {
        "A score of 0 is a score like any other: exp(0) = 1, so what is masked still gets a share.": by_zero,
        "A score of 0 still has its share, exp(0) = 1, when softmax divides; so your rows do not sum to 1.": (
            by_zero * may
        ),
        "The last row may see nothing, and yours attends evenly to what it may not see.": (
            scores.masked_fill(~may, -1e9).softmax(-1)
        ),
        "Your rows do not sum to 1: the masked keys had their share before you took it away.": after,
        "You read the mask the wrong way round: True means “may attend”.": masked_softmax(scores, ~may),
    }
    if problem := judge(got, masked_softmax(scores, may), mistakes):
        return problem
    attempt(scores, may)
    if not torch.equal(scores, before):
        return "The numbers are right, but your function changed the scores that it was given."
    low = torch.tensor([[-3e9, -2e9, 0.0]])
    if compare(attempt(low, torch.tensor([[True, True, False]])), torch.tensor([[0.0, 1.0, 0.0]])):
        return "With scores of −2e9 a masked key gets a say. Only −inf is lower than every number."
    if got.requires_grad:
        got[0, 1].backward()
        if given.grad.isnan().any():
            return "The numbers are right, but the gradient is NaN: a row of nothing but −inf went into softmax."
    return None


@exercise("masks.decode")
def decode(attempt):
    """A function of valid_lens (B,), num_queries, num_keys → bool (B, Lq, Lk): lengths and bottom-right."""
    for lens, Lq, Lk in (([5, 4], 2, 5), ([3, 6, 0], 3, 6), ([4], 4, 4)):
        lens = torch.tensor(lens)
        B, real = len(lens), length_mask(lens, Lk)
        causal = causal_mask(Lq, Lk, align="bottom-right")
        mistakes = {
            "The queries are the last words, but yours start at key 0: align bottom-right.": (
                real & causal_mask(Lq, Lk)
            ),
            "The lengths are missing: padding may not be seen either.": causal.expand(B, Lq, Lk),
            "The causal part is missing: a query may not see later keys.": real.expand(B, Lq, Lk),
            "Both must allow it: join them with &, not with |.": real | causal,
        }
        if problem := _mask_problem(attempt(lens, Lq, Lk), real & causal, mistakes):
            return problem
    return None
