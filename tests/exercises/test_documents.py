"""Checks of notebook 07: the solution passes, known mistakes get their hint."""

import math

import pytest
import torch
from einops import rearrange

import mha_lib as mha


def judged(name, attempt, hint):
    verdict = mha.check(name, attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message, verdict


@pytest.mark.parametrize("name", ["documents.entry", "documents.mask", "documents.packed", "documents.rung"])
def test_stubs(name):
    def stub(*args): ...

    assert mha.check(name, stub if name != "documents.entry" else ...).status == "not tried yet"


@pytest.mark.parametrize(
    "value, hint",
    [
        ("v_project.weight", None),
        ("v_project", "entry of its own"),
        ("value_layer.weight", "document 003"),
        ("W_v.weight", "000"),
        ("k_project.weight", "keys of the layer's"),
    ],
)
def test_entry(value, hint):
    judged("documents.entry", value, hint)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda keep, h: ~keep.repeat_interleave(h, dim=0), None),
        (lambda keep, h: (~keep).unsqueeze(1).expand(-1, h, -1, -1).flatten(0, 1), None),
        (lambda keep, h: keep.repeat_interleave(h, dim=0), "shuts out"),
        (lambda keep, h: ~keep.repeat(h, 1, 1), "in place"),
        (lambda keep, h: keep.repeat(h, 1, 1), "both"),
        (lambda keep, h: ~keep, "each sentence and head"),
        (lambda keep, h: ~keep.unsqueeze(1), "shape"),
        (lambda keep, h: 1 - keep.float(), "boolean"),
        (lambda keep, h: keep.logical_not_().repeat_interleave(h, dim=0), "changes the mask"),
    ],
)
def test_mask(attempt, hint):
    judged("documents.mask", attempt, hint)


def by_chunks(W, h, i):
    return [part.chunk(h)[i] for part in W.chunk(3)]


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (by_chunks, None),
        (lambda W, h, i: tuple(W.unflatten(0, (3, h, -1))[:, i]), None),
        (lambda W, h, i: tuple(W.unflatten(0, (h, 3, -1))[i]), "head by head"),
        (lambda W, h, i: [by_chunks(W, h, i)[j] for j in (1, 0, 2)], "k, q, v"),
        (lambda W, h, i: [part.chunk(h, 1)[i] for part in W.chunk(3)], "columns"),
        (lambda W, h, i: W.chunk(3)[0], "Three matrices"),
        (lambda W, h, i: [part.chunk(h)[0] for part in W.chunk(3)], "Head 1 of 3"),
    ],
)
def test_packed(attempt, hint):
    judged("documents.packed", attempt, hint)


def by_einsum(layer, x):
    q, k, v = (W(x).unflatten(-1, (layer.num_heads, -1)) for W in (layer.W_q, layer.W_k, layer.W_v))
    weights = (torch.einsum("bnhd,bmhd->bhnm", q, k) / math.sqrt(q.shape[-1])).softmax(-1)
    return layer.W_o(torch.einsum("bhnm,bmhd->bnhd", weights, v).flatten(2))


def by_einops(layer, x, scale=True, merge="b h l d -> b l (h d)"):
    q, k, v = (
        rearrange(W(x), "b l (h d) -> b h l d", h=layer.num_heads) for W in (layer.W_q, layer.W_k, layer.W_v)
    )
    scores = q @ k.mT / (q.shape[-1] ** 0.5 if scale else 1)
    return layer.W_o(rearrange(scores.softmax(-1) @ v, merge))


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (by_einsum, None),
        (by_einops, None),
        (lambda layer, x: by_einops(layer, x, scale=False), "not divided by √d"),
        (lambda layer, x: layer(x, x, x), "calls the layer itself"),
        (lambda layer, x: 2 * by_einops(layer, x), "First number that differs"),
        (lambda layer, x: layer.W_q(x)[:, :2], "shape is"),
    ],
)
def test_rung(attempt, hint):
    judged("documents.rung", attempt, hint)
