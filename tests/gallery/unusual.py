"""Pictures that no lesson shows: large, narrow, empty, many at once."""

import torch

import mha_lib as mha
from mha_lib.clinic.visibility import plot_visibility
from mha_lib.labs.cost import plot_growth
from mha_lib.labs.pictures import plot_runs


def weights(*shape):
    """Rows that sum to 1, made without an exponential: the same digits on every machine."""
    counted = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).reshape(shape) * 7 % 11 + 1
    return counted / counted.sum(-1, keepdim=True)


def numbers(*shape):
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


def words(count, word="word"):
    return [f"{word}{n}" for n in range(count)]


def with_gaps():
    gaps = weights(1, 4, 4)
    gaps[0, 1, 2], gaps[0, 3, 0] = float("nan"), float("nan")
    return gaps


def split(X, h=2):
    B, L, D = X.shape
    return X.reshape(B, L, h, D // h).permute(0, 2, 1, 3).reshape(B * h, L, D // h)


def wrong(X, h=2):
    B, L, D = X.shape
    return X.reshape(B * h, L, D // h)


def three(X):
    Q, K, V = X.chunk(3, -1)
    return Q.flip(1), K.roll(1, 0), V.contiguous()


def three_but_one_wrong(X):
    Q, K, V = three(X)
    return Q, K.flip(0).roll(1, 1), V


def padded(X):
    return torch.nn.functional.pad(X, (1, 2), value=-1.5).transpose(0, 1)


def branchy(X):
    return X.unsqueeze(1).expand(-1, 2, -1, -1).clone()[:, :, 1:].masked_fill(X[:, None, 1:] > 5, 0.25)


def whole_layer(X):
    """Two splits of the same input, scores, a mix, and the way back."""
    Q, K = split(X), split(X * 2)
    return (Q @ K.mT).relu() @ K


RECORDINGS = {
    "one number": lambda: mha.watch(lambda X: X + 1, torch.tensor(3.5)),
    "a row": lambda: mha.watch(lambda X: X.flip(0), numbers(7)),
    "no number": lambda: mha.watch(lambda X: X.mT, torch.zeros(2, 0, 3)),
    "five axes": lambda: mha.watch(lambda X: X.permute(4, 0, 3, 1, 2), numbers(2, 3, 2, 2, 3)),
    "three heads": lambda: mha.watch(lambda X: split(X, 3), numbers(2, 3, 6), num_heads=3),
    "many cells": lambda: mha.watch(split, numbers(3, 20, 12)),
    "three results": lambda: mha.watch(three, numbers(2, 3, 6)),
    "padding": lambda: mha.watch(padded, numbers(2, 2, 3) / 3),
    "copies": lambda: mha.watch(branchy, numbers(1, 3, 4)),
    "half numbers and large ones": lambda: mha.watch(lambda X: X.half().mT, numbers(1, 3, 3) * 1234.5),
    "named axes": lambda: mha.watch(
        lambda X: X.mT, numbers(2, 2, 2), axes=("batch", "rather long a name", "k")
    ),
    "a whole layer": lambda: mha.watch(whole_layer, numbers(1, 2, 4)),
}
HEATMAPS = {
    "one weight": lambda: mha.plot_heads(weights(1, 1)),
    "twelve heads": lambda: mha.plot_heads(weights(12, 3, 3), words(3)),
    "thirteen heads": lambda: mha.plot_heads(weights(13, 5, 5)),
    "twenty-four heads": lambda: mha.plot_heads(weights(24, 8, 8), words(8)),
    "two heads, wide": lambda: mha.plot_heads(weights(2, 2, 9), words(2), words(9)),
    "two heads, high": lambda: mha.plot_heads(weights(2, 9, 2), words(9), words(2)),
    "a little wide": lambda: mha.plot_heads(weights(3, 5, 8), words(5), words(8, "longer word ")),
    "eighteen words": lambda: mha.plot_heads(weights(2, 18, 18), words(18, "a long word ")),
    "a hundred words": lambda: mha.plot_heads(weights(2, 100, 100), words(100)),
    "no keys": lambda: mha.plot_heads(torch.zeros(2, 3, 0), words(3)),
    "no number and masked": lambda: mha.plot_heads(with_gaps(), words(4), attn_mask=mha.causal_mask(4, 4)),
    "lengths and a mask": lambda: mha.plot_heads(
        weights(2, 2, 4, 4), sample=1, valid_lens=torch.tensor([2, 3]), attn_mask=mha.causal_mask(4, 4)
    ),
    "chosen, named, with mean": lambda: mha.plot_heads(
        weights(4, 3, 3), heads=[3, 1], names=["late", "early"], mean=True
    ),
    "a sheet": lambda: mha.plot_heads(weights(3, 1, 4, 5, 5)),
    "a sheet of many": lambda: mha.plot_heads(weights(2, 1, 18, 4, 9), attn_mask=mha.causal_mask(4, 9)),
    "a sheet of one block": lambda: mha.plot_heads(weights(1, 25, 9, 3)),
    "a sheet of large maps": lambda: mha.plot_heads(weights(2, 1, 2, 150, 100)),
    "a sheet of nothing": lambda: mha.plot_heads(torch.zeros(2, 1, 2, 3, 0)),
}
EXPLORERS = {
    "one head": lambda: mha.widgets.HeadExplorer(weights(1, 2, 2)),
    "blocks": lambda: mha.widgets.HeadExplorer(weights(3, 1, 4, 6, 6), words(6)),
    "wide, with lengths": lambda: mha.widgets.HeadExplorer(
        weights(2, 3, 4, 9), words(4), words(9), sample=1, valid_lens=torch.tensor([4, 7])
    ),
    "large": lambda: mha.widgets.HeadExplorer(
        weights(2, 1, 2, 150, 100), attn_mask=mha.causal_mask(150, 100)
    ),
    "no number": lambda: mha.widgets.HeadExplorer(with_gaps(), words(4), attn_mask=mha.causal_mask(4, 4)),
}


def pictures():
    """Every picture by its name."""
    made = {f"plot_heads: {name}": make for name, make in HEATMAPS.items()}
    for name, record in RECORDINGS.items():
        made[f"plot_moves: {name}"] = lambda record=record: mha.plot_moves(record())
        made[f"TensorMoves: {name}"] = lambda record=record: mha.widgets.TensorMoves(record())
    right, other = mha.watch(split, numbers(2, 4, 6)), mha.watch(wrong, numbers(2, 4, 6))
    made["plot_moves: three columns"] = lambda: mha.plot_moves(right, columns=3)
    made["plot_moves: one column"] = lambda: mha.plot_moves(right, columns=1)
    made["plot_moves: beside a wrong one"] = lambda: mha.plot_moves(right, other)
    made["plot_moves: beside a right one"] = lambda: mha.plot_moves(right, right)
    made["plot_moves: three results beside three"] = lambda: mha.plot_moves(
        mha.watch(three, numbers(2, 3, 6)), mha.watch(three_but_one_wrong, numbers(2, 3, 6))
    )
    made["TensorMoves: beside a wrong one"] = lambda: mha.widgets.TensorMoves(right, other)
    made["TensorMoves: beside, with names"] = lambda: mha.widgets.TensorMoves(right, other, names=("a", "b"))
    made["diagram: who sees whom"] = lambda: plot_visibility(
        mha.causal_mask(3, 3), words(3), title="causal", allowed=torch.eye(3) > 0
    )
    made["diagram: runs"] = lambda: plot_runs(
        {"a": [0.5, -0.25, 0.75], "b": [0.125]}, "loss", {"a": 0.25, "b": 0}
    )
    made["diagram: growth"] = lambda: plot_growth(
        [1, 2, 4], {"a": [1, 4, 16], "b": [3, 3, 3]}, "bytes", "words"
    )
    return made | {f"HeadExplorer: {name}": make for name, make in EXPLORERS.items()}
