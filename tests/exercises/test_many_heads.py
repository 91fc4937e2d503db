"""Checks of notebook 02: the solution passes, known mistakes get their hint."""

import pytest
import torch

import mha_lib as mha


def heads(X, W_q, W_k, W_v, num_heads, scale=None, first_only=False):
    d = X.shape[-1] // num_heads
    for i in range(num_heads):
        rows = slice(0, d) if first_only else slice(i * d, (i + 1) * d)
        q, k, v = X @ W_q[rows].T, X @ W_k[rows].T, X @ W_v[rows].T
        yield (q @ k.mT / (scale or d**0.5)).softmax(-1) @ v


def right(X, W_q, W_k, W_v, W_o, h):
    return torch.cat(list(heads(X, W_q, W_k, W_v, h)), -1) @ W_o.T


def by_the_layer(X, W_q, W_k, W_v, W_o, h):
    D = X.shape[-1]
    layer = mha.MultiHeadAttention(D, D, D, D, h).to(X.dtype)
    layer.load_state_dict({"W_q.weight": W_q, "W_k.weight": W_k, "W_v.weight": W_v, "W_o.weight": W_o})
    return layer(X, X, X)


def cut_first(X, W_q, W_k, W_v, W_o, h):
    d = X.shape[-1] // h
    parts = []
    for i in range(h):
        s = slice(i * d, (i + 1) * d)
        q, k, v = (X[..., s] @ W[s, s].T for W in (W_q, W_k, W_v))
        parts.append((q @ k.mT / d**0.5).softmax(-1) @ v)
    return torch.cat(parts, -1) @ W_o.T


def fixed(heads=None, width=None, scale=None):
    """The walk's code, with some of its sizes left in."""

    def attempt(X, W_q, W_k, W_v, W_o, h):
        d = width or X.shape[-1] // h
        contexts = []
        for head in range(heads or h):
            rows = slice(d * head, d * head + d)
            q, k, v = X @ W_q[rows].T, X @ W_k[rows].T, X @ W_v[rows].T
            contexts.append((q @ k.transpose(1, 2) / (scale or d) ** 0.5).softmax(-1) @ v)
        return torch.cat(contexts, dim=-1) @ W_o.T

    return attempt


def by_share(share):
    def attempt(X, W_q, W_k, W_v, W_o, h):
        d = X.shape[-1] // h
        parts = []
        for i in range(h):
            q, k, v = (X @ share(W, slice(i * d, (i + 1) * d)) for W in (W_q, W_k, W_v))
            parts.append((q @ k.mT / d**0.5).softmax(-1) @ v)
        return torch.cat(parts, -1) @ W_o.T

    return attempt


@pytest.mark.parametrize("attempt", [right, by_the_layer, fixed(), by_share(lambda W, r: W.T[:, r])])
def test_any_right_loop_passes(attempt):
    assert mha.check("many_heads.loop", attempt)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda X, q, k, v, o, h: torch.cat(list(heads(X, q, k, v, h)), -1), "W_o is missing"),
        (lambda X, q, k, v, o, h: torch.cat(list(heads(X, q, k, v, h)), -1) @ o, "wrong way round"),
        (lambda X, q, k, v, o, h: torch.cat(list(heads(X, q, k, v, h, scale=8**0.5)), -1) @ o.T, "not by √D"),
        (lambda X, q, k, v, o, h: torch.cat(list(heads(X, q, k, v, h, scale=1)), -1) @ o.T, "not scaled"),
        (lambda X, q, k, v, o, h: torch.cat(list(heads(X, q, k, v, h))[::-1], -1) @ o.T, "reverse"),
        (lambda X, q, k, v, o, h: torch.cat(list(heads(X, q, k, v, h, 0, True)), -1) @ o.T, "the slice"),
        (lambda X, q, k, v, o, h: sum(heads(X, q, k, v, h)), "do not add"),
        (lambda X, q, k, v, o, h: right(X, q.T, k.T, v.T, o, h), "outputs, inputs"),
        (cut_first, "cut X first"),
        (fixed(heads=2, width=5), "take h and d from the arguments"),
        (fixed(heads=2), "take h and d from the arguments"),
        (fixed(width=5), "take h and d from the arguments"),
        (fixed(scale=5), "take h and d from the arguments"),
        (by_share(lambda W, r: W[:, r]), "You took columns"),
        (by_share(lambda W, r: W[:, r].T), "is rows of it, then .T"),
        (by_share(lambda W, r: W[r]), "is rows of it, then .T"),
        (lambda X, q, k, v, o, h: right(X, q, k, v, o[:3], h).reshape(-1, h, 7), "RuntimeError"),
    ],
)
def test_mistakes_of_the_loop_are_named(attempt, hint):
    verdict = mha.check("many_heads.loop", attempt)
    assert verdict.status == "not yet" and hint in verdict.message


@pytest.mark.parametrize(
    "name, value, hint",
    [
        ("shape", (2, 12), None),
        ("shape", torch.Size([2, 12]), None),
        ("shape", (8, 12), "whole W_k"),
        ("shape", (12, 2), "turned round"),
        ("shape", (2, 3), "all 12"),
        ("shape", (8, 3), "not the columns"),
        ("count", 180, None),
        ("count", 144, "W_o belongs"),
        ("count", 360, "share the rows"),
        ("count", 1, "W_q is 6 × 8"),
    ],
)
def test_shape_and_count(name, value, hint):
    verdict = mha.check(f"many_heads.{name}", value)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda q, k, w: torch.tanh(q[:, None] + k[None]) @ w, None),
        (lambda q, k, w: (q[:, None] + k[None]) @ w, "tanh is missing"),
        (lambda q, k, w: torch.tanh(k[:, None] + q[None]) @ w, "swapped"),
        (lambda q, k, w: torch.tanh(q[:, None] + k[None]), "shape"),
    ],
)
def test_additive(attempt, hint):
    verdict = mha.check("many_heads.additive", attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message
