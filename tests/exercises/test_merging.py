"""Checks of notebook 06: the solution passes, known mistakes get their hint."""

import pytest
import torch

import mha_lib as mha


@pytest.mark.parametrize(
    "value, hint",
    [((6, 9), None), ((8, 12), "third"), ((6, 8), "not part"), ((2, 3), "3 columns"), ((9, 12), "head D")],
)
def test_columns(value, hint):
    verdict = mha.check("merging.columns", value)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


def by_loop(contexts, W_o):
    d = contexts.shape[-1]
    return sum(contexts[:, i] @ W_o[:, i * d : (i + 1) * d].T for i in range(contexts.shape[1]))


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (by_loop, None),
        (lambda c, W: torch.einsum("bhld,ohd->blo", c, W.unflatten(1, (c.shape[1], -1))), None),
        (lambda c, W: sum(c[:, i] @ W[2 * i : 2 * i + 2] for i in range(3)), "rows of W_o"),
        (lambda c, W: c[:, 2] @ W[:, 4:].T, "Only the last"),
        (lambda c, W: c.sum(1), "shape"),
    ],
)
def test_output_as_a_sum(attempt, hint):
    verdict = mha.check("merging.sum", attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


def careful(merge):
    stack = torch.arange(24).reshape(4, 3, 2)
    return torch.equal(merge(stack, 2), torch.cat([stack[0::2], stack[1::2]], dim=-1))


def with_one_head(merge):
    stack = torch.arange(6).reshape(1, 3, 2)
    return torch.equal(merge(stack, 1), stack)


def with_assert(merge):
    assert careful(merge)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (careful, None),
        (with_assert, None),
        (lambda merge: merge(torch.zeros(4, 3, 2), 2).shape == (2, 3, 4), "lets a plain reshape pass"),
        (with_one_head, "pass"),
        (lambda merge: merge is mha.merge_heads, "refuses one with view"),
        (lambda merge: merge(1, 2, 3), "raised TypeError"),
    ],
)
def test_a_test_of_merges(attempt, hint):
    verdict = mha.check("merging.test", attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message
