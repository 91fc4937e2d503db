"""Checks for masks: a mask from lengths, a softmax with one, a decoder's."""

import torch
from torch import Tensor

from ..masks import causal_mask, length_mask, masked_softmax
from . import compare, judge


def check_lengths(attempt):
    """A function of valid_lens (B,) and num_keys → bool (B, num_keys)."""
    for lens, Lk in (([3, 2], 4), ([0, 5, 1], 5), ([1], 1)):
        lens, places = torch.tensor(lens), torch.arange(Lk)
        want = places < lens[:, None]
        mistakes = {
            "It is the wrong way round: True should mean “may attend”.": ~want,
            "One key too many: places count from 0, so place i is real when i < length.": places
            <= lens[:, None],
            "One key too few: places count from 0.": places < lens[:, None] - 1,
        }
        got = attempt(lens, Lk)
        if isinstance(got, Tensor) and got.shape == (len(lens), 1, Lk):
            got = got[:, 0]  # ready for a query axis: as good
        yield judge(got, want, mistakes)


def check_softmax(attempt):
    """A function of scores and a boolean mask, both (Lq, Lk) → weights; 0 where a row sees nothing."""
    scores = torch.tensor([[0.5, 2.0, -1.0, 3.0], [1.0, 0.0, 4.0, 2.0], [2.0, 2.0, 1.0, 0.0]])
    may = torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]).bool()
    given, before = scores.clone().requires_grad_(), scores.clone()
    got = attempt(given * 1, may.clone())
    if isinstance(got, Tensor) and got.isnan().any():
        yield "The last row may see nothing, and yours is NaN: 0/0, from −inf in every place or a sum of 0."
    by_zero, even = (scores.masked_fill(~may, fill).softmax(-1) for fill in (0, -1e9))
    then_none, after = by_zero * may, scores.softmax(-1) * may
    mistakes = {
        "A score of 0 is a score like any other: exp(0) = 1, so what is masked still gets a share.": by_zero,
        "A score of 0 still has its share, exp(0) = 1, when softmax divides; so your rows do not sum to 1.": then_none,
        "The last row may see nothing, and yours attends evenly to what it may not see.": even,
        "Your rows do not sum to 1: the masked keys had their share before you took it away.": after,
        "You read the mask the wrong way round: True means “may attend”.": masked_softmax(scores, ~may),
    }
    yield judge(got, masked_softmax(scores, may), mistakes)
    attempt(scores, may)
    if not torch.equal(scores, before):
        yield "The numbers are right, but your function changed the scores that it was given."
    low = torch.tensor([[-3e9, -2e9, 0.0]])
    if compare(attempt(low, torch.tensor([[True, True, False]])), torch.tensor([[0.0, 1.0, 0.0]])):
        yield "With scores of −2e9 a masked key gets a say. Only −inf is lower than every number."
    if got.requires_grad:
        got[0, 1].backward()
        if given.grad.isnan().any():
            yield "The numbers are right, but the gradient is NaN: a row of nothing but −inf went into softmax."


def check_decode(attempt):
    """A function of valid_lens (B,), num_queries, num_keys → bool (B, Lq, Lk): lengths and bottom-right."""
    for lens, Lq, Lk in (([5, 4], 2, 5), ([3, 6, 0], 3, 6), ([4], 4, 4)):
        lens = torch.tensor(lens)
        size, real = (len(lens), Lq, Lk), length_mask(lens, Lk)
        last_real = torch.arange(Lk) <= (lens[:, None] - Lq + torch.arange(Lq))[..., None]
        causal, top_left = causal_mask(Lq, Lk, align="bottom-right"), causal_mask(Lq, Lk)
        mistakes = {
            "The queries stand in the last num_queries places of the box, the same for every sentence; padding is hidden as a key.": last_real,
            "It is the wrong way round: True should mean “may attend”.": ~(real & causal),
            "The queries are the last words, but yours start at key 0: align bottom-right.": real & top_left,
            "The lengths are missing: padding may not be seen either.": causal.expand(size),
            "The causal part is missing: a query may not see later keys.": real.expand(size),
            "Both must allow it: join them with &, not with |.": real | causal,
        }
        yield judge(attempt(lens, Lq, Lk), real & causal, mistakes)
