"""Reading heads: who is looked at, a detector, another order."""

import torch
from torch import Tensor

from ..multihead import MultiHeadAttention
from .exercise import Exercise, Function, guarded
from .inputs import random_layer, randoms


def _real(weights: Tensor, lens: Tensor) -> Tensor:
    return (torch.arange(weights.shape[-1]) < lens[:, None]).to(weights.dtype)


def _from_real_queries(weights: Tensor, lens: Tensor) -> Tensor:
    return torch.einsum("bhqk,bq->bhk", weights, _real(weights, lens))


def _at_real_keys(weights: Tensor, lens: Tensor) -> Tensor:
    return weights * _real(weights, lens)[:, None, None]


looked_at = Exercise(
    right=lambda weights, valid_lens: _from_real_queries(weights, valid_lens),
    cases=lambda: (
        (randoms((2, 3, 5, 5))[0].softmax(-1), torch.tensor([4, 2])),
        (randoms((3, 2, 4, 4))[0].softmax(-1), torch.tensor([1, 4, 3])),
    ),
    mistakes={
        "rows_added": lambda w, n: w.sum(3),
        "all_queries": lambda w, n: w.sum(2),
        "real_keys": lambda w, n: _at_real_keys(w, n).sum(2),
        "real_keys_of_rows": lambda w, n: _at_real_keys(w, n).sum(3),
        "both": lambda w, n: _at_real_keys(_from_real_queries(w, n)[:, :, None], n)[:, :, 0],
        "mean": lambda w, n: _from_real_queries(w, n) / n[:, None, None],
        "mean_of_all": lambda w, n: w.mean(2),
        "padded_queries": lambda w, n: w.sum(2) - _from_real_queries(w, n),
        "one_more": lambda w, n: _from_real_queries(w, n + 1),
        "rows_of_real_queries": lambda w, n: (w * _real(w, n)[:, None, :, None]).sum(3),
        "heads_added": lambda w, n: _from_real_queries(w, n).sum(1),
        "not_added": lambda w, n: w * _real(w, n)[:, None, :, None],
    },
)


def _diagonal(weights: Tensor, offset: int) -> Tensor:
    return weights.diagonal(offset, 1, 2)


looks_back = Exercise(
    right=lambda weights: _diagonal(weights, -1).mean(-1),
    cases=lambda: [(one.softmax(-1),) for one in randoms((2, 3, 3), (3, 5, 5), (5, 2, 2))],
    mistakes={
        "itself": lambda w: _diagonal(w, 0).mean(-1),
        "after": lambda w: _diagonal(w, 1).mean(-1),
        "by_L": lambda w: _diagonal(w, -1).sum(-1) / w.shape[-1],
        "sum": lambda w: _diagonal(w, -1).sum(-1),
        "all_heads": lambda w: _diagonal(w, -1).mean(),
        "goes_round": lambda w: w.roll(1, 2).diagonal(0, 1, 2).mean(-1),
        "not_averaged": lambda w: _diagonal(w, -1),
        "largest": lambda w: _diagonal(w, -1).amax(-1),
        "counted": lambda w: (w.argmax(-1)[:, 1:] == torch.arange(w.shape[-1] - 1)).float().mean(-1),
        "first_key": lambda w: w[:, 1:, 0].mean(1),
        "whole_block": lambda w: w[:, 1:, :-1].mean((1, 2)),
        "two_back": lambda w: _diagonal(w, -2).mean(-1),
        "wrong_axes": lambda w: w.diagonal(-1).mean(-1),
        "all_before": lambda w: w.tril(-1).sum((1, 2)) / (w.shape[-1] - 1),
    },
)

PROJECTIONS = ("W_q", "W_k", "W_v")


def _places(layer: MultiHeadAttention, order: list[int]) -> Tensor:
    d = len(layer.W_q.weight) // layer.num_heads
    return torch.cat([torch.arange(d) + d * head for head in order])


def _move(
    layer: MultiHeadAttention, order: list[int], rows: tuple[str, ...] = PROJECTIONS, columns: bool = True
) -> None:
    places = _places(layer, order)
    for name in rows:
        linear = getattr(layer, name)
        linear.weight.data = linear.weight.data[places]
    if columns:
        layer.W_o.weight.data = layer.W_o.weight.data[:, places]


def _weights_and_output(attempt: Function, layer: MultiHeadAttention, order: list[int]) -> dict[str, Tensor]:
    (X,) = randoms((2, 4, layer.W_q.in_features))
    with torch.no_grad():
        attempt(layer, order)
        output, weights = guarded(lambda: layer(X, X, X, need_weights=True))()
    return {"weights": weights, "output": output}


def _overwrite(layer: MultiHeadAttention, order: list[int]) -> None:
    """Move head by head in place: what is overwritten early is missing later."""
    d = len(layer.W_q.weight) // layer.num_heads
    for new, old in enumerate(order):
        to, of = slice(new * d, new * d + d), slice(old * d, old * d + d)
        for name in PROJECTIONS:
            rows = getattr(layer, name).weight.data
            rows[to] = rows[of]
        columns = layer.W_o.weight.data
        columns[:, to] = columns[:, of]


def _one_row_a_head(layer: MultiHeadAttention, order: list[int]) -> None:
    for name in PROJECTIONS:
        linear = getattr(layer, name)
        linear.weight.data = linear.weight.data[order]


def _inverse(order: list[int]) -> list[int]:
    return [order.index(head) for head in range(len(order))]


reorder = Exercise(
    right=_move,
    cases=lambda: ((random_layer(6, 3).requires_grad_(False), [2, 0, 1]), (random_layer(8, 4), [1, 3, 0, 2])),
    ask=_weights_and_output,
    mistakes={
        "unmoved": lambda layer, order: layer,
        "inverse": lambda layer, order: _move(layer, _inverse(order)),
        "overwritten": _overwrite,
        "one_row_a_head": _one_row_a_head,
        "rows_of_W_o_too": lambda layer, order: _move(layer, order, (*PROJECTIONS, "W_o")),
        "keys_left": lambda layer, order: _move(layer, order, ("W_q", "W_v")),
        "queries_left": lambda layer, order: _move(layer, order, ("W_k", "W_v")),
        "columns_left": lambda layer, order: _move(layer, order, columns=False),
        "values_left": lambda layer, order: _move(layer, order, ("W_q", "W_k")),
        "rows_of_W_o": lambda layer, order: _move(layer, order, (*PROJECTIONS, "W_o"), columns=False),
    },
)
