"""Checks of notebook 09: the solution passes, known mistakes get their hint."""

import pytest
import torch

import mha_lib as mha


def diagonal(weights, offset):
    return weights.diagonal(-offset, -2, -1)


def by_loop(weights, offset):
    B, h, L, _ = weights.shape
    found = [[weights[b, i, q, q - offset] for b in range(B) for q in range(offset, L)] for i in range(h)]
    return torch.tensor(found).mean(1)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda w, n: diagonal(w, n).mean((0, 2)), None),
        (by_loop, None),
        (lambda w, n: w.diagonal(n, -2, -1).mean((0, 2)), "looks forward"),
        (lambda w, n: diagonal(w, n).mean(), "over the heads"),
        (lambda w, n: diagonal(w, n).sum((0, 2)) / (w.shape[0] * w.shape[2]), "no such word"),
        (lambda w, n: diagonal(w, n).mean(2), "Average over the sentences"),
        (lambda w, n: diagonal(w, n).sum((0, 2)), "the sum"),
        (lambda w, n: diagonal(w, n + 1).mean((0, 2)), "index"),
    ],
)
def test_look_back(attempt, hint):
    judged("specialising.look_back", attempt, hint)


def silenced(W_o, num_heads, head):
    d = W_o.shape[1] // num_heads
    W_o = W_o.clone()
    W_o[:, head * d : (head + 1) * d] = 0
    return W_o


def in_place(W_o, num_heads, head):
    d = W_o.shape[1] // num_heads
    W_o[:, head * d : (head + 1) * d] = 0
    return W_o


def striped(W_o, num_heads, head):
    W_o = W_o.clone()
    W_o[:, head::num_heads] = 0
    return W_o


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (silenced, None),
        (lambda W, h, i: W * (torch.arange(W.shape[1]) // (W.shape[1] // h) != i), None),
        (in_place, "clone"),
        (lambda W, h, i: silenced(W.T, h, i).T, "columns"),
        (lambda W, h, i: W - silenced(W, h, i), "everybody else"),
        (striped, "neighbours"),
        (lambda W, h, i: W, "index"),
    ],
)
def test_silence(attempt, hint):
    judged("specialising.silence", attempt, hint)


def honest(a, b):
    if max(a) < min(b):
        return "a"
    return "b" if max(b) < min(a) else "undecided"


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (honest, None),
        (lambda a, b: {"a": "b", "b": "a"}.get(honest(a, b), "undecided"), "low loss is a good one"),
        (lambda a, b: "a" if sum(a) / len(a) < sum(b) / len(b) else "b", "better mean"),
        (lambda a, b: "a" if max(a) <= min(b) else "b" if max(b) <= min(a) else "undecided", "equals"),
        (lambda a, b: "a" if honest(a, b) == "a" else "undecided", "every run of b"),
    ],
)
def test_verdict(attempt, hint):
    judged("specialising.verdict", attempt, hint)


@pytest.mark.parametrize("name", ["look_back", "silence", "verdict"])
def test_untouched_stub_is_not_tried_yet(name):
    def stub(*given): ...

    assert mha.check(f"specialising.{name}", stub).status == "not tried yet"


def judged(name, attempt, hint):
    verdict = mha.check(name, attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message, verdict
