"""Checks of notebook 01: the solution passes, known mistakes get their hint."""

import math

import pytest
import torch

import mha_lib as mha


def right(q, k, v):
    return (q @ k.T / math.sqrt(q.shape[-1])).softmax(-1) @ v


def fused(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]


def scaled_by_root_of(number):
    return lambda q, k, v: (q @ k.T / math.sqrt(number(q, v))).softmax(-1) @ v


@pytest.mark.parametrize("attempt", [right, fused])
def test_any_right_head_passes(attempt):
    assert mha.check("one_head.attention", attempt)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda q, k, v: (q @ k.T).softmax(-1) @ v, "not scaled"),
        (lambda q, k, v: (q @ k.T / q.shape[-1]).softmax(-1) @ v, "1/d"),
        (lambda q, k, v: (q @ k.T * 2).softmax(-1) @ v, "multiply"),
        (lambda q, k, v: (q @ k.T / q.shape[-1] ** -1).softmax(-1) @ v, "multiply by d"),
        (lambda q, k, v: (q @ k.T / 2).softmax(0) @ v, "dim=-1"),
        (lambda q, k, v: (q @ k.T / math.sqrt(k.shape[0])).softmax(-1) @ v, "number of keys"),
        (scaled_by_root_of(lambda q, v: 2), "root of 2;"),
        (scaled_by_root_of(lambda q, v: 5), "root of 5;"),
        (scaled_by_root_of(lambda q, v: q.shape[0]), "number of queries"),
        (scaled_by_root_of(lambda q, v: v.shape[-1]), "width of v"),
        (scaled_by_root_of(lambda q, v: 4), "for d = 4 only"),
        (lambda q, k, v: q @ k.T / 2 @ v, "softmax is missing"),
        (lambda q, k, v: right(q, k, v) * 1.01, "index (0, 0)"),
    ],
)
def test_mistakes_of_a_head_are_named(attempt, hint):
    verdict = mha.check("one_head.attention", attempt)
    assert verdict.status == "not yet" and hint in verdict.message


@pytest.mark.parametrize(
    "value, hint",
    [(3, None), (6, "divide by √d"), (1.5, "by d = 4"), (24, "multiplied"), (5, "pair by pair")],
)
def test_score(value, hint):
    verdict = mha.check("one_head.score", value)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, None),
        (lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1] ** -1, "multiplies by d"),
        (lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1], "divides by d"),
        (lambda q, k: q @ k.transpose(-2, -1) / q.shape[-1] ** -0.5, "multiplies by √"),
        (lambda q, k: q @ k.transpose(-2, -1) / 2, "fixed 2"),
    ],
)
def test_mend(attempt, hint):
    verdict = mha.check("one_head.mend", attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


def steady(scores):
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


def less_the_largest_of_all(scores):
    powers = (scores - scores.max()).exp()
    return powers / powers.sum(-1, keepdim=True)


def less_each_largest_over_the_sum_of_all(scores):
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum()


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (steady, None),
        (lambda s: s.exp() / s.exp().sum(-1, keepdim=True), "Subtract each row's largest"),
        (lambda s: s.exp() / s.exp().sum(0), "index"),
        (lambda s: s.exp() / s.exp().sum(), "the sum of the whole matrix"),
        (less_each_largest_over_the_sum_of_all, "the sum of the whole matrix"),
        (lambda s: print(end=""), "returned None"),
        (less_the_largest_of_all, "not of the whole matrix"),
    ],
)
def test_softmax(attempt, hint):
    verdict = mha.check("one_head.softmax", attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message
