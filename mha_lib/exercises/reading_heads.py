"""Checks for reading heads: the stack's order, who is looked at, a detector, another order."""

import copy

import torch

from ..multihead import MultiHeadAttention
from . import compare, exercise, judge


def _weights(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(shape, generator=generator, dtype=torch.float64).softmax(-1)


@exercise("reading_heads.stack")
def stack(attempt):
    """The index of sentence 3, head B in the stack of three sentences with four heads: 9."""
    hints = {
        5: "That is a stack with the heads first. In ours all heads of a sentence stand together.",
        10: "Counted from 1. Sentence 3 is number 2 from 0, head B number 1.",
        13: "Sentences and heads are counted from 0: sentence 3 is number 2.",
        14: "Sentences and heads are counted from 0: sentence 3 is number 2, head B number 1.",
    }
    return None if attempt == 9 else hints.get(attempt, "Two whole sentences of four heads come before, then head A.")


@exercise("reading_heads.looked_at")
def looked_at(attempt):
    """A function of weights (B, h, L, L) and valid_lens (B,) → what each key gets from real queries."""
    weights, lengths = _weights(2, 3, 5, 5), torch.tensor([4, 2])
    real = (torch.arange(5) < lengths[:, None]).to(weights.dtype)
    total = (weights * real[:, None, :, None]).sum(2)
    mistakes = {
        "You added up the rows: that is what a query gives, and it is 1.": weights.sum(3),
        "Padded words ask, too, but do not count here: leave out the queries from valid_lens on.": weights.sum(2),
        "You left out padded keys. Leave out padded queries, which are the rows.": (
            weights * real[:, None, None, :]
        ).sum(2),
        "The sum is asked for, not the mean.": total / lengths[:, None, None],
    }
    return judge(attempt(weights, lengths), total, mistakes)


@exercise("reading_heads.looks_back")
def looks_back(attempt):
    """A function of weights (h, L, L) → for each head the mean weight on the word before, (h,)."""
    weights = _weights(3, 5, 5)
    back = weights.diagonal(-1, dim1=1, dim2=2)
    mistakes = {
        "That is the diagonal itself: how much words look at themselves.": weights.diagonal(0, 1, 2).mean(-1),
        "That is the word after. Rows are queries: query i looks at key i − 1.": weights.diagonal(1, 1, 2).mean(-1),
        "The first word has no word before it: take the mean of L − 1 weights, not of L.": back.sum(-1) / 5,
        "A sum of weights; the mean is asked for.": back.sum(-1),
        "One number for all heads. Keep the heads apart.": back.mean(),
    }
    return judge(attempt(weights), back.mean(-1), mistakes)


def _reordered(layer: MultiHeadAttention, order: list[int], columns: bool = True) -> MultiHeadAttention:
    d = layer.W_q.weight.shape[0] // layer.num_heads
    places = torch.cat([torch.arange(d) + d * head for head in order])
    with torch.no_grad():
        for linear in (layer.W_q, layer.W_k, layer.W_v):
            linear.weight.copy_(linear.weight[places])
        if columns:
            layer.W_o.weight.copy_(layer.W_o.weight[:, places])
    return layer


@exercise("reading_heads.reorder")
def reorder(attempt):
    """A function of a layer and an order that moves its heads in place and keeps its output."""
    generator = torch.Generator().manual_seed(4)
    before = MultiHeadAttention(6, 6, 6, 6, 3).double().requires_grad_(False)
    for parameter in before.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator))
    X = torch.randn(2, 4, 6, generator=generator, dtype=torch.float64)
    output, weights = before(X, X, X, need_weights=True)
    layer, order = copy.deepcopy(before), [2, 0, 1]
    attempt(layer, order)
    after, moved = layer(X, X, X, need_weights=True)
    if compare(moved, weights) is None:
        return "The maps are where they were. Change the layer's weights in place, with copy_ or .data."
    if compare(moved, weights[:, [1, 2, 0]]) is None:
        return "The other way round: head i is to become what head order[i] was."
    if wrong := compare(moved, weights[:, order]):
        return f"The maps are not those of the heads in the new order. {wrong} Each head has d rows of W_q and W_k."
    if compare(after, output):
        mistakes = {
            "The maps have moved, but the output has changed. A head meets W_o in columns: move those, too.": (
                _reordered(copy.deepcopy(before), order, columns=False)
            ),
        }
        for hint, other in mistakes.items():
            if compare(after, other(X, X, X)) is None:
                return hint
        return "The maps have moved, but the output has changed. Look at W_v's rows and at W_o's columns."
    return None
