import torch

import mha_lib as mha
from attempts import Attempts, as_array, constant, only, rounded, shifted


def loop(X, W_q, W_k, W_v, W_o, h, turn=lambda k: k.transpose(1, 2)):
    d = X.shape[-1] // h
    parts = []
    for i in range(h):
        rows = slice(i * d, (i + 1) * d)
        q, k, v = X @ W_q[rows].T, X @ W_k[rows].T, X @ W_v[rows].T
        parts.append((q @ turn(k) / d**0.5).softmax(-1) @ v)
    return torch.cat(parts, -1) @ W_o.T


def by_the_layer(X, W_q, W_k, W_v, W_o, h):
    D = X.shape[-1]
    layer = mha.MultiHeadAttention(D, D, D, D, h)
    layer.load_state_dict({"W_q.weight": W_q, "W_k.weight": W_k, "W_v.weight": W_v, "W_o.weight": W_o})
    return layer(X, X, X)


def at_once(X, W_q, W_k, W_v, W_o, h):
    q, k, v = ((X @ W.T).unflatten(-1, (h, -1)).transpose(1, 2) for W in (W_q, W_k, W_v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ W_o.T


def in_place(X, W_q, W_k, W_v, W_o, h):
    W_q /= (len(W_q) // h) ** 0.5
    out = torch.zeros_like(X)
    for rows in torch.arange(len(W_q)).chunk(h):
        q, k, v = (X @ W[rows].T for W in (W_q, W_k, W_v))
        out += (q @ k.mT).softmax(-1) @ v @ W_o[:, rows].T
    return out


def by_share(share):
    def attempt(X, W_q, W_k, W_v, W_o, h):
        d = X.shape[-1] // h
        parts = []
        for i in range(h):
            q, k, v = (X @ share(W, slice(i * d, (i + 1) * d)) for W in (W_q, W_k, W_v))
            parts.append((q @ k.mT / d**0.5).softmax(-1) @ v)
        return torch.cat(parts, -1) @ W_o.T

    return attempt


def fixed(heads=None, width=None):
    """The walk's code, with some of its sizes left in."""

    def attempt(X, W_q, W_k, W_v, W_o, h):
        d = width or X.shape[-1] // h
        parts = []
        for i in range(heads or h):
            rows = slice(d * i, d * i + d)
            q, k, v = X @ W_q[rows].T, X @ W_k[rows].T, X @ W_v[rows].T
            parts.append((q @ k.transpose(1, 2) / d**0.5).softmax(-1) @ v)
        return torch.cat(parts, dim=-1) @ W_o.T

    return attempt


def one_head(X, W_q, W_k, W_v, W_o, h):
    q, k, v = X @ W_q.T, X @ W_k.T, X @ W_v.T
    return (q @ k.mT / (X.shape[-1] // h) ** 0.5).softmax(-1) @ v @ W_o.T


def pairs(q, k, w_v):
    return torch.tanh(q[:, None] + k[None]) @ w_v


ATTEMPTS = {
    "many_heads.loop": Attempts(
        right=[loop, by_the_layer, at_once, in_place, by_share(lambda W, r: W.T[:, r]), as_array(loop)],
        wrong=[
            (lambda X, q, k, v, o, h: loop(X, q, k, v, torch.eye(len(o)), h), "no_W_o"),
            (lambda X, q, k, v, o, h: loop(X, q, k, v, o.T, h), "W_o_turned"),
            (lambda X, q, k, v, o, h: loop(X, q * h**-0.5, k, v, o, h), "by_root_D"),
            (lambda X, q, k, v, o, h: loop(X, q * (len(q) // h) ** 0.5, k, v, o, h), "no_scale"),
            (by_share(lambda W, r: W[:, r]), "columns"),
            (by_share(lambda W, r: W[:, r].T), "no_transpose"),
            (by_share(lambda W, r: W[r]), "no_transpose"),
            (by_share(lambda W, r: W[0 : r.stop - r.start].T), "first_head_only"),
            (by_share(lambda W, r: W[r.start / 1 : r.stop].T), "d_not_whole"),
            (lambda *all: loop(*all, turn=lambda k: k.T), "all_axes_turned"),
            (fixed(heads=2, width=5), "number"),
            (fixed(heads=2), "raised"),
            (one_head, "number"),
        ],
        cheats=[only(lambda *all: all[-1] == 2, loop), rounded(loop), constant(torch.zeros(2, 4, 10))],
    ),
    "many_heads.additive": Attempts(
        right=[
            pairs,
            lambda q, k, w: torch.tanh(q.unsqueeze(1) + k.unsqueeze(0)).matmul(w),
            lambda q, k, w: torch.einsum("ijn,n->ij", torch.tanh(q[:, None] + k), w),
            lambda q, k, w: (torch.tanh(q[:, None, :] + k) * w).sum(-1),
            lambda q, k, w: [[float((a + b).tanh() @ w) for b in k] for a in q],
            as_array(pairs),
        ],
        wrong=[
            (lambda q, k, w: (q[:, None] + k[None]) @ w, "no_tanh"),
            (lambda q, k, w: torch.tanh(k[:, None] + q[None]) @ w, "swapped"),
            (lambda q, k, w: torch.tanh(q[:, None] + k[None]), "no_w_v"),
            (lambda q, k, w: torch.tanh((q[:, None] + k[None]) @ w), "tanh_outside"),
            (lambda q, k, w: torch.tanh(q + k) @ w, "row_by_row"),
            (lambda q, k, w: q @ k.mT, "dot"),
            (shifted(pairs), "number"),
        ],
        cheats=[
            only(lambda q, k, w: len(w) == 5, pairs),
            lambda q, k, w: pairs(q, k, w).abs(),
            rounded(pairs, 2),
        ],
    ),
}
