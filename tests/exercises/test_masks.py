"""Checks of notebook 04: the solution passes, known mistakes get their hint."""

import math

import pytest
import torch

import mha_lib as mha


def holds(name, attempt, hint):
    verdict = mha.check(name, attempt)
    assert bool(verdict) == (hint is None), verdict
    assert (hint or "Right") in verdict.message


@pytest.mark.parametrize("name", ["stack", "lengths", "softmax", "decode"])
def test_stubs_are_not_tried_yet(name):
    def stub(a, b, c=None): ...

    for attempt in (..., None, stub):
        assert mha.check(f"masks.{name}", attempt).status == "not tried yet"


@pytest.mark.parametrize(
    "attempt, hint",
    [
        ([4, 4, 4, 1, 1, 1, 2, 2, 2], None),
        (torch.tensor([4, 1, 2]).repeat_interleave(3), None),
        (torch.tensor([4, 1, 2]).repeat(3), "That is repeat"),
        ([4, 4, 1, 1, 2, 2], "two heads"),
        ((4, 1, 2), "each matrix"),
        ([12, 3, 6], "counts words"),
        ([1, 2, 3], "write a length under each"),
    ],
)
def test_stack(attempt, hint):
    holds("masks.stack", attempt, hint)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda n, k: torch.arange(k) < n[:, None], None),
        (lambda n, k: torch.arange(k)[None, None] < n[:, None, None], None),
        (lambda n, k: torch.stack([torch.arange(k) < i for i in n]), None),
        (lambda n, k: torch.arange(k) >= n[:, None], "wrong way round"),
        (lambda n, k: torch.arange(k) <= n[:, None], "too many"),
        (lambda n, k: torch.arange(1, k + 1) < n[:, None], "too few"),
        (lambda n, k: (torch.arange(k) < n[:, None]).float(), "boolean tensor"),
        (lambda n, k: torch.ones(len(n), k, dtype=torch.bool), "index"),
        (lambda n, k: torch.arange(k) < n, "RuntimeError"),
        (lambda n, k: print(end=""), "return"),
    ],
)
def test_lengths(attempt, hint):
    holds("masks.lengths", attempt, hint)


def filled(value):
    return lambda scores, may: scores.masked_fill(~may, value).softmax(-1)


def after_and_again(scores, may):
    weights = scores.softmax(-1) * may
    return weights / weights.sum(-1, keepdim=True)


def in_place(scores, may):
    scores.masked_fill_(~may, -math.inf)
    return torch.where(may, scores.softmax(-1), 0.0).nan_to_num(0.0)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda s, m: mha.masked_softmax(s, m), None),
        (lambda s, m: filled(-math.inf)(s, m).nan_to_num(0.0), None),
        (lambda s, m: filled(-math.inf)(s, m | ~m.any(-1, True)) * m, None),
        (
            lambda s, m: (s + torch.zeros(m.shape).masked_fill(~m, -math.inf)).softmax(-1).nan_to_num(0.0),
            "gradient is NaN",
        ),
        (filled(-math.inf), "0/0"),
        (after_and_again, "a sum of 0"),
        (filled(0.0), "exp(0) = 1"),
        (lambda s, m: (s * m).softmax(-1), "exp(0) = 1"),
        (lambda s, m: filled(0.0)(s, m) * m, "rows do not sum to 1"),
        (filled(-1e9), "attends evenly"),
        (lambda s, m: filled(-1e9)(s, m) * m, "lower than every number"),
        (lambda s, m: s.softmax(-1) * m, "do not sum to 1"),
        (lambda s, m: mha.masked_softmax(s, ~m), "wrong way round"),
        (lambda s, m: mha.masked_softmax(s.detach(), m) + 0.1, "index"),
        (in_place, "changed the scores"),
    ],
)
def test_softmax(attempt, hint):
    holds("masks.softmax", attempt, hint)


def bottom_right(q, k):
    return torch.ones(q, k).tril(k - q).bool()


def last_real(n, q, k):
    places = (n - q)[:, None] + torch.arange(q)
    return torch.arange(k) <= places[:, :, None]


def from_the_last_real(n, q, k):
    places = (n - q).clamp(min=0)[:, None] + torch.arange(q)
    return (torch.arange(k) <= places[:, :, None]) & mha.length_mask(n, k)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda n, q, k: mha.length_mask(n, k) & mha.causal_mask(q, k, align="bottom-right"), None),
        (lambda n, q, k: (torch.arange(k) < n[:, None])[:, None] & bottom_right(q, k), None),
        (lambda n, q, k: mha.length_mask(n, k) & mha.causal_mask(q, k), "bottom-right"),
        (lambda n, q, k: bottom_right(q, k).expand(len(n), q, k), "lengths are missing"),
        (lambda n, q, k: mha.length_mask(n, k).expand(len(n), q, k), "causal part is missing"),
        (lambda n, q, k: mha.length_mask(n, k) | bottom_right(q, k), "not with |"),
        (last_real, "last num_queries places of the box"),
        (from_the_last_real, "last num_queries places of the box"),
        (lambda n, q, k: ~(mha.length_mask(n, k) & bottom_right(q, k)), "wrong way round"),
        (lambda n, q, k: bottom_right(q, k), "shape"),
        (lambda n, q, k: (mha.length_mask(n, k) & bottom_right(q, k)).int(), "boolean tensor"),
    ],
)
def test_decode(attempt, hint):
    holds("masks.decode", attempt, hint)
