"""Checks of notebook 03: the solution passes, known mistakes get their hint."""

import einops
import pytest
import torch

import mha_lib as mha


def cut(X, h):
    B, L, D = X.shape
    return X.reshape(B, L, h, D // h)


def fold(X):
    return X.reshape(-1, *X.shape[2:])


def cut_into_h_first(X, h):
    B, L, D = X.shape
    return X.reshape(B, h, L, -1).permute(0, 2, 1, 3).reshape(B * h, L, -1)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda X, h: fold(cut(X, h).permute(0, 2, 1, 3)),
        lambda X, h: cut(X, h).transpose(1, 2).contiguous().view(-1, X.shape[1], X.shape[2] // h),
        lambda X, h: torch.stack(X.chunk(h, dim=-1), dim=1).flatten(0, 1),
        lambda X, h: einops.rearrange(X, "b l (h d) -> (b h) l d", h=h),
    ],
)
def test_any_right_split_passes(attempt):
    assert mha.check("splitting.split", attempt)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda X, h: X.reshape(X.shape[0] * h, X.shape[1], X.shape[2] // h), "reshaped straight away"),
        (lambda X, h: cut(X, h).permute(0, 2, 1, 3), "step before the last"),
        (lambda X, h: X.reshape(X.shape[0], h, X.shape[1], -1), "into (h, L, d)"),
        (lambda X, h: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5), "from the shape"),
        (lambda X, h: fold(cut(X, h).permute(2, 0, 1, 3)), "heads come first"),
        (lambda X, h: fold(X.reshape(*X.shape[:2], X.shape[2] // h, h).permute(0, 3, 1, 2)), "neighbours"),
        (cut_into_h_first, "the cut was wrong"),
        (lambda X, h: cut(X, h).permute(0, 2, 1, 3).view(X.shape[0] * h, X.shape[1], -1), "RuntimeError"),
        (lambda X, h: fold(cut(X, h).permute(0, 2, 1, 3)) + 1, "index"),
    ],
)
def test_mistakes_of_the_split_are_named(attempt, hint):
    verdict = mha.check("splitting.split", attempt)
    assert verdict.status == "not yet" and hint in verdict.message


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda S, h: S.unflatten(0, (-1, h)).permute(0, 2, 1, 3).flatten(2), None),
        (lambda S, h: torch.cat(S.unflatten(0, (-1, h)).unbind(1), -1), None),
        (lambda S, h: S.reshape(S.shape[0] // h, S.shape[1], -1), "straight back"),
        (lambda S, h: S.unflatten(0, (-1, h)).permute(0, 2, 3, 1).flatten(2), "index"),
    ],
)
def test_merge(attempt, hint):
    verdict = mha.check("splitting.merge", attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


def heads_first(X, h):
    return fold(cut(X, h).permute(2, 0, 1, 3))


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda X, n, h: (heads_first(X, h), n.repeat(h)), None),
        (lambda X, n, h: (heads_first(X, h), n.repeat_interleave(h)), "repeat_interleave"),
        (lambda X, n, h: (mha.split_heads(X, h), n.repeat(h)), "usual stack"),
        (lambda X, n, h: heads_first(X, h), "two things"),
    ],
)
def test_heads_first(attempt, hint):
    verdict = mha.check("splitting.heads_first", attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


@pytest.mark.parametrize(
    "place, hint",
    [((2, 2, 3), None), ((1, 2, 3), "which sentence"), ((3, 0, 3), "reshape"), ((0, 0, 0), "Write 63")],
)
def test_place(place, hint):
    verdict = mha.check("splitting.place", place)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


def test_the_place_is_where_the_split_puts_it():
    stack = mha.split_heads(mha.example().numbers, 2)
    assert (stack == 63).nonzero()[0].tolist() == [2, 2, 3]
    assert (mha.example().numbers.reshape(4, 4, 5) == 63).nonzero()[0].tolist() == [3, 0, 3]
