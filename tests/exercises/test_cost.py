"""Checks of notebook 11: the solution passes, known mistakes get their hint."""

import math

import pytest
import torch

import mha_lib as mha


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda L, h, B: 2 * B * h * L**2, None),
        (lambda L, h, B: torch.zeros(B, h, L, L, dtype=torch.float16).nbytes, None),
        (lambda L, h, B: 4 * B * h * L**2, "float32"),
        (lambda L, h, B: B * h * L**2, "number of scores"),
        (lambda L, h, B: 2 * B * h * L, "looks at L words"),
        (lambda L, h, B: 2 * B * L**2, "Each head"),
        (lambda L, h, B: 2 * h * L**2, "Each sentence"),
        (lambda L, h, B: 16 * B * h * L**2, "bits"),
        (lambda L, h, B: 5, "should give 420,000"),
    ],
)
def test_bytes(attempt, hint):
    judged("cost.bytes", attempt, hint)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda memory, h: math.isqrt(memory // (4 * h)), None),
        (lambda memory, h: memory // (4 * h), "square root"),
        (lambda memory, h: int((memory / 4) ** 0.5), "left out the heads"),
        (lambda memory, h: math.isqrt(memory // (4 * h)) + 1, "Round down"),
        (lambda memory, h: (memory / (4 * h)) ** 0.5, "integer"),
        (lambda memory, h: math.isqrt(memory // (4 * h)) - 1, "root was not exact"),
        (lambda memory, h: math.isqrt(memory // h), "fits and"),
    ],
)
def test_longest(attempt, hint):
    judged("cost.longest", attempt, hint)


def running(pieces):
    largest, powers, total = torch.tensor(float("-inf")), 0.0, 0.0
    for scores, values in pieces:
        higher = torch.maximum(largest, scores.max())
        shrink, new = (largest - higher).exp(), (scores - higher).exp()
        powers, total, largest = powers * shrink + new.sum(), total * shrink + new @ values, higher
    return total / powers


def in_two_passes(pieces):
    top = max(scores.max() for scores, _ in pieces)
    powers = sum((scores - top).exp().sum() for scores, _ in pieces)
    return sum((scores - top).exp() @ values for scores, values in pieces) / powers


def by_logsumexp(pieces):
    shares = torch.stack([scores.logsumexp(0) for scores, _ in pieces]).softmax(0)
    return sum(share * (s.softmax(0) @ v) for share, (s, v) in zip(shares, pieces, strict=True))


def no_largest(pieces):
    powers = sum(scores.exp().sum() for scores, _ in pieces)
    return sum(scores.exp() @ values for scores, values in pieces) / powers


def no_shrinking(pieces):
    largest, powers, total = torch.tensor(float("-inf")), 0.0, 0.0
    for scores, values in pieces:
        largest = torch.maximum(largest, scores.max())
        new = (scores - largest).exp()
        powers, total = powers + new.sum(), total + new @ values
    return total / powers


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (running, None),
        (in_two_passes, None),
        (by_logsumexp, None),
        (no_largest, "infinite"),
        (lambda pieces: torch.stack([s.softmax(0) @ v for s, v in pieces]).mean(0), "same say"),
        (lambda pieces: sum(s.softmax(0) @ v for s, v in pieces), "sum to 1"),
        (no_shrinking, "shrink"),
    ],
)
def test_pieces(attempt, hint):
    judged("cost.pieces", attempt, hint)


@pytest.mark.parametrize("name", ["bytes", "longest", "pieces"])
def test_untouched_stub_is_not_tried_yet(name):
    def stub(*given): ...

    assert mha.check(f"cost.{name}", stub).status == "not tried yet"


def judged(name, attempt, hint):
    verdict = mha.check(name, attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message, verdict
