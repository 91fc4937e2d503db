import torch

import mha_lib as mha
from attempts import Attempts, as_array, constant, listed, only, rounded


def by_loop(weights, valid_lens):
    total = torch.zeros_like(weights[:, :, 0])
    for b, length in enumerate(valid_lens):
        for i in range(int(length)):
            total[b] += weights[b, :, i]
    return total


def in_place(weights, valid_lens):
    for sentence, length in zip(weights, valid_lens, strict=True):
        sentence[:, length:] = 0
    return weights.sum(2)


def back(w):
    return w.diagonal(-1, dim1=1, dim2=2).mean(-1)


def rows_of(order, d):
    return torch.cat([torch.arange(d) + d * head for head in order])


def move(layer, order, maps=("W_q", "W_k", "W_v"), columns=True):
    places = rows_of(order, layer.W_q.out_features // layer.num_heads)
    with torch.no_grad():
        for name in maps:
            getattr(layer, name).weight.copy_(getattr(layer, name).weight[places])
        if columns:
            layer.W_o.weight.copy_(layer.W_o.weight[:, places])


def by_state(layer, order):
    weights, h = layer.state_dict().items(), layer.num_heads
    state = {name: weight.unflatten(0, (h, -1))[order].flatten(0, 1) for name, weight in weights}
    state["W_o.weight"] = layer.W_o.weight.unflatten(1, (h, -1))[:, order].flatten(1)
    layer.load_state_dict(state)


def rebinds(layer, order):
    places = rows_of(order, layer.W_q.out_features // layer.num_heads)
    for linear in (layer.W_q, layer.W_k, layer.W_v):
        linear.weight.data = linear.weight.data[places]
    layer.W_o.weight.data = layer.W_o.weight.data[:, places]


def new_parameters(layer, order):
    places = rows_of(order, layer.W_q.out_features // layer.num_heads)
    for linear in (layer.W_q, layer.W_k, layer.W_v):
        linear.weight = torch.nn.Parameter(linear.weight[places])
    layer.W_o.weight = torch.nn.Parameter(layer.W_o.weight[:, places])


def by_loops(layer, order):
    d = layer.W_q.out_features // layer.num_heads
    old = {name: weight.clone() for name, weight in layer.state_dict().items()}
    for i, head in enumerate(order):
        for name in ("W_q", "W_k", "W_v"):
            getattr(layer, name).weight.data[i * d : i * d + d] = old[f"{name}.weight"][
                head * d : head * d + d
            ]
        layer.W_o.weight.data[:, i * d : i * d + d] = old["W_o.weight"][:, head * d : head * d + d]


ATTEMPTS = {
    "reading_heads.looked_at": Attempts(
        right=[
            by_loop,
            in_place,
            lambda w, n: torch.einsum("bhqk,bq->bhk", w, mha.length_mask(n, w.shape[-1])[:, 0].to(w.dtype)),
            lambda w, n: (w * (torch.arange(w.shape[-1]) < n[:, None])[:, None, :, None]).sum(2),
            lambda w, n: torch.stack([one[:, :length].sum(1) for one, length in zip(w, n, strict=True)]),
            as_array(by_loop),
            listed(by_loop),
        ],
        wrong=[
            (lambda w, n: w.sum(3), "rows_added"),
            (lambda w, n: w.sum(2), "all_queries"),
            (lambda w, n: (w * mha.length_mask(n, w.shape[-1])[:, None]).sum(2), "real_keys"),
            (lambda w, n: by_loop(w, n) / n[:, None, None], "mean"),
            (lambda w, n: by_loop(w, n).sum(1), "heads_added"),
            (lambda w, n: w.sum((1, 2)), "shape"),
        ],
        cheats=[only(lambda w, n: w.shape[-1] == 5, by_loop), rounded(by_loop)],
    ),
    "reading_heads.looks_back": Attempts(
        right=[
            back,
            lambda w: torch.stack([sum(m[i, i - 1] for i in range(1, len(m))) / (len(m) - 1) for m in w]),
            lambda w: w[:, 1:, :-1].diagonal(dim1=1, dim2=2).mean(-1),
            lambda w: w[:, torch.arange(1, w.shape[1]), torch.arange(w.shape[1] - 1)].mean(1),
            as_array(back),
            lambda w: [float(m.diagonal(-1).mean()) for m in w],
        ],
        wrong=[
            (lambda w: w.diagonal(0, 1, 2).mean(-1), "itself"),
            (lambda w: w.diagonal(1, 1, 2).mean(-1), "after"),
            (lambda w: w.diagonal(-1, 1, 2).sum(-1) / w.shape[1], "by_L"),
            (lambda w: w.diagonal(-1, 1, 2).sum(-1), "sum"),
            (lambda w: w.diagonal(-1, 1, 2).mean(), "all_heads"),
            (
                lambda w: torch.stack([sum(m[i, i - 1] for i in range(len(m))) / len(m) for m in w]),
                "goes_round",
            ),
        ],
        cheats=[lambda w: back(w).round(), constant(torch.tensor([0.9, 0.1])), rounded(back)],
    ),
    "reading_heads.reorder": Attempts(
        right=[move, by_state, rebinds, new_parameters, by_loops],
        wrong=[
            (lambda layer, order: layer, "unmoved"),
            (lambda layer, order: move(layer, [order.index(i) for i in range(len(order))]), "inverse"),
            (lambda layer, order: move(layer, order, columns=False), "columns_left"),
            (
                lambda layer, order: move(layer, order, ("W_q", "W_k", "W_v", "W_o"), columns=False),
                "rows_of_W_o",
            ),
            (lambda layer, order: move(layer, order, maps=("W_q", "W_k")), "values_left"),
            (lambda layer, order: move(layer, order, maps=("W_q", "W_v")), "keys_left"),
            (lambda layer, order: layer.nothing, "raised"),
        ],
        cheats=[lambda layer, order: move(layer, [2, 0, 1]), lambda layer, order: move(layer, order[::-1])],
    ),
}
