"""Checks of notebook 05: the solution passes, known mistakes get their hint."""

import pytest
import torch

import mha_lib as mha


@pytest.mark.parametrize(
    "value, hint", [(9, None), (5, "heads first"), (10, "Counted from 1"), (13, "from 0"), (7, "Two whole")]
)
def test_stack(value, hint):
    verdict = mha.check("reading_heads.stack", value)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


def by_loop(weights, valid_lens):
    B, h, Lq, Lk = weights.shape
    total = torch.zeros(B, h, Lk, dtype=weights.dtype)
    for b in range(B):
        for i in range(int(valid_lens[b])):
            total[b] += weights[b, :, i]
    return total


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (by_loop, None),
        (lambda w, n: torch.einsum("bhqk,bq->bhk", w, mha.length_mask(n, 5)[:, 0].to(w.dtype)), None),
        (lambda w, n: w.sum(3), "added up the rows"),
        (lambda w, n: w.sum(2), "Padded words ask"),
        (lambda w, n: (w * mha.length_mask(n, 5)[:, None]).sum(2), "padded keys"),
        (lambda w, n: by_loop(w, n) / n[:, None, None], "not the mean"),
        (lambda w, n: w.sum((1, 2)), "shape"),
    ],
)
def test_looked_at(attempt, hint):
    verdict = mha.check("reading_heads.looked_at", attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda w: torch.stack([sum(m[i, i - 1] for i in range(1, len(m))) / (len(m) - 1) for m in w]), None),
        (lambda w: w[:, 1:, :-1].diagonal(dim1=1, dim2=2).mean(-1), None),
        (lambda w: w.diagonal(0, 1, 2).mean(-1), "diagonal itself"),
        (lambda w: w.diagonal(1, 1, 2).mean(-1), "word after"),
        (lambda w: w.diagonal(-1, 1, 2).sum(-1) / w.shape[1], "L − 1"),
        (lambda w: w.diagonal(-1, 1, 2).sum(-1), "mean is asked"),
        (lambda w: w.diagonal(-1, 1, 2).mean(), "Keep the heads apart"),
    ],
)
def test_looks_back(attempt, hint):
    verdict = mha.check("reading_heads.looks_back", attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


def move(layer, order, maps=("W_q", "W_k", "W_v"), columns=True, d=2):
    places = torch.cat([torch.arange(d) + d * head for head in order])
    with torch.no_grad():
        for name in maps:
            getattr(layer, name).weight.copy_(getattr(layer, name).weight[places])
        if columns:
            layer.W_o.weight.copy_(layer.W_o.weight[:, places])


def by_state(layer, order):
    weights = layer.state_dict().items()
    state = {name: weight.unflatten(0, (3, 2))[order].flatten(0, 1) for name, weight in weights}
    state["W_o.weight"] = layer.W_o.weight.unflatten(1, (3, 2))[:, order].flatten(1)
    layer.load_state_dict(state)


def rows_of_W_o(layer, order):
    move(layer, order, maps=("W_q", "W_k", "W_v", "W_o"), columns=False)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (move, None),
        (by_state, None),
        (lambda layer, order: layer, "where they were"),
        (lambda layer, order: move(layer, [1, 2, 0]), "other way round"),
        (lambda layer, order: move(layer, order, columns=False), "in columns"),
        (rows_of_W_o, "W_o's columns"),
        (lambda layer, order: move(layer, order, maps=("W_q", "W_k")), "W_v's rows"),
        (lambda layer, order: move(layer, order, maps=("W_q", "W_v")), "not those of the heads"),
    ],
)
def test_reorder(attempt, hint):
    verdict = mha.check("reading_heads.reorder", attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message


def rebinds(layer, order):
    d = 2
    places = torch.cat([torch.arange(d) + d * head for head in order])
    for linear in (layer.W_q, layer.W_k, layer.W_v):
        linear.weight.data = linear.weight.data[places]
    layer.W_o.weight.data = layer.W_o.weight.data[:, places]


def test_reorder_may_rebind_the_data():
    assert mha.check("reading_heads.reorder", rebinds)


def untouched(*anything): ...


@pytest.mark.parametrize("name", ["stack", "looked_at", "looks_back", "reorder"])
def test_untouched(name):
    for stub in (..., untouched):
        assert mha.check(f"reading_heads.{name}", stub).status == "not tried yet"
