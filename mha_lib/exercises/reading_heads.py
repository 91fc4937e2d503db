"""Checks for reading heads: who is looked at, a detector, another order."""

import copy

import torch

from . import compare, judge, known, random_layer, randoms


def check_looked_at(attempt):
    """A function of weights (B, h, L, L) and valid_lens (B,) → what each key gets from real queries."""
    weights, lengths = randoms((2, 3, 5, 5))[0].softmax(-1), torch.tensor([4, 2])
    real = (torch.arange(5) < lengths[:, None]).to(weights.dtype)
    total = torch.einsum("bhqk,bq->bhk", weights, real)
    keys = torch.einsum("bhqk,bk->bhk", weights, real)
    mistakes = {
        "You added up the rows: that is what a query gives, and it is 1.": weights.sum(3),
        "Padded words ask, too, but do not count here: leave out the queries from valid_lens on.": weights.sum(
            2
        ),
        "You left out padded keys. Leave out padded queries, which are the rows.": keys,
        "The sum is asked for, not the mean.": total / lengths[:, None, None],
    }
    yield judge(attempt(weights, lengths), total, mistakes)


def check_looks_back(attempt):
    """A function of weights (h, L, L) → for each head the mean weight on the word before, (h,)."""
    weights = randoms((3, 5, 5))[0].softmax(-1)
    back, same, after = (weights.diagonal(offset, 1, 2) for offset in (-1, 0, 1))
    mistakes = {
        "That is the diagonal itself: how much words look at themselves.": same.mean(-1),
        "That is the word after. Rows are queries: query i looks at key i − 1.": after.mean(-1),
        "The first word has no word before it: take the mean of L − 1 weights, not of L.": back.sum(-1) / 5,
        "A sum of weights; the mean is asked for.": back.sum(-1),
        "One number for all heads. Keep the heads apart.": back.mean(),
    }
    yield judge(attempt(weights), back.mean(-1), mistakes)


def check_reorder(attempt):
    """A function of a layer and an order that moves its heads in place and keeps its output."""
    before, (X,) = random_layer(6, 3).double().requires_grad_(False), randoms((2, 4, 6))
    output, weights = before(X, X, X, need_weights=True)
    layer, order, rows = copy.deepcopy(before), [2, 0, 1], [4, 5, 0, 1, 2, 3]
    attempt(layer, order)
    after, moved = layer(X, X, X, need_weights=True)
    mistakes = {
        "The maps are where they were. Change the layer's weights in place, with copy_ or .data.": weights,
        "The other way round: head i is to become what head order[i] was.": weights[:, [1, 2, 0]],
    }
    yield known(moved, mistakes)
    if wrong := compare(moved, weights[:, order]):
        yield f"The maps are not those of the heads in the new order. {wrong} Each head has d rows of W_q and W_k."
    if compare(after, output):
        values_moved = compare(layer.W_v.weight, before.W_v.weight[rows]) is None
        columns_left = compare(layer.W_o.weight, before.W_o.weight) is None
        if values_moved and columns_left:
            yield "The maps have moved, but the output has changed. A head meets W_o in columns: move those, too."
        yield "The maps have moved, but the output has changed. Look at W_v's rows and at W_o's columns."
