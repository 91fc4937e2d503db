import math

import torch
from einops import rearrange

import mha_lib as mha
from attempts import Attempts, as_array, constant, listed, only


def mask(keep, h):
    return ~keep.repeat_interleave(h, dim=0)


def by_chunks(W, h, i):
    return [part.chunk(h)[i] for part in W.chunk(3)]


def by_slices(W, h, i):
    D = W.shape[1]
    d = D // h
    return tuple(W[j * D + i * d : j * D + (i + 1) * d] for j in range(3))


def by_einsum(layer, x):
    q, k, v = (W(x).unflatten(-1, (layer.num_heads, -1)) for W in (layer.W_q, layer.W_k, layer.W_v))
    weights = (torch.einsum("bnhd,bmhd->bhnm", q, k) / math.sqrt(q.shape[-1])).softmax(-1)
    return layer.W_o(torch.einsum("bhnm,bmhd->bnhd", weights, v).flatten(2))


def by_einops(layer, x, scale=True, merge="b h l d -> b l (h d)", dim=-1):
    q, k, v = (
        rearrange(W(x), "b l (h d) -> b h l d", h=layer.num_heads) for W in (layer.W_q, layer.W_k, layer.W_v)
    )
    scores = q @ k.mT / (q.shape[-1] ** 0.5 if scale else 1)
    return layer.W_o(rearrange(scores.softmax(dim) @ v, merge))


def by_loop(layer, x):
    q, k, v = layer.W_q(x), layer.W_k(x), layer.W_v(x)
    heads = zip(*(part.chunk(layer.num_heads, -1) for part in (q, k, v)), strict=True)
    return layer.W_o(torch.cat([(a @ b.mT / a.shape[-1] ** 0.5).softmax(-1) @ c for a, b, c in heads], -1))


def fused(layer, x):
    parts = (
        W(x).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2) for W in (layer.W_q, layer.W_k, layer.W_v)
    )
    return layer.W_o(torch.nn.functional.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2))


def in_place(layer, x):
    q, k, v = (mha.split_heads(W(x), layer.num_heads) for W in (layer.W_q, layer.W_k, layer.W_v))
    q /= q.shape[-1] ** 0.5
    return layer.W_o(mha.merge_heads((q @ k.mT).softmax(-1) @ v, layer.num_heads))


def merged_straight(layer, x):
    q, k, v = (mha.split_heads(W(x), layer.num_heads) for W in (layer.W_q, layer.W_k, layer.W_v))
    return layer.W_o(((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v).reshape(x.shape))


ATTEMPTS = {
    "documents.mask": Attempts(
        right=[
            mask,
            lambda keep, h: (~keep).unsqueeze(1).expand(-1, h, -1, -1).flatten(0, 1),
            lambda keep, h: torch.stack([~one for one in keep for _ in range(h)]),
            lambda keep, h: keep.logical_not_().repeat_interleave(h, dim=0),
            lambda keep, h: [~one for one in keep for _ in range(h)],
            as_array(mask),
            listed(mask),
        ],
        wrong=[
            (lambda keep, h: keep.repeat_interleave(h, dim=0), "polarity"),
            (lambda keep, h: ~keep.repeat(h, 1, 1), "tiled"),
            (lambda keep, h: keep.repeat(h, 1, 1), "both"),
            (lambda keep, h: ~keep, "one_a_sentence"),
            (lambda keep, h: ~keep.unsqueeze(1), "axis_of_one"),
            (lambda keep, h: 1 - keep.repeat_interleave(h, 0).float(), "not_boolean"),
        ],
        cheats=[
            only(lambda keep, h: len(keep) == h == 2, mask),
            constant(torch.zeros(4, 4, 4, dtype=torch.bool)),
        ],
    ),
    "documents.packed": Attempts(
        right=[
            by_chunks,
            by_slices,
            lambda W, h, i: tuple(W.unflatten(0, (3, h, -1))[:, i]),
            lambda W, h, i: W.unflatten(0, (3, h, -1))[:, i],
            lambda W, h, i: [part.numpy() for part in by_slices(W, h, i)],
            lambda W, h, i: [part.tolist() for part in by_slices(W, h, i)],
        ],
        wrong=[
            (lambda W, h, i: tuple(W.unflatten(0, (h, 3, -1))[i]), "by_head"),
            (lambda W, h, i: [by_chunks(W, h, i)[j] for j in (1, 0, 2)], "k_q_v"),
            (lambda W, h, i: [part.chunk(h, 1)[i] for part in W.chunk(3)], "columns"),
            (lambda W, h, i: W.chunk(3), "whole_projections"),
            (lambda W, h, i: W.chunk(3)[0], "several"),
            (lambda W, h, i: [part.chunk(h)[0] for part in W.chunk(3)], "first_head"),
        ],
        cheats=[lambda W, h, i: by_slices(W, 3, 1), constant(tuple(torch.zeros(3, 2, 6)))],
    ),
    "documents.rung": Attempts(
        right=[by_einsum, by_einops, by_loop, fused, in_place],
        wrong=[
            (lambda layer, x: by_einops(layer, x, scale=False), "bug"),
            (lambda layer, x: by_einops(layer, x, dim=-2), "bug"),
            (merged_straight, "bug"),
            (lambda layer, x: layer(x, x, x), "calls_the_layer"),
            (lambda layer, x: 2 * by_einops(layer, x), "unknown"),
            (lambda layer, x: layer.W_q(x)[:, :2], "unknown"),
            (lambda layer, x: layer.W_nothing(x), "raised"),
        ],
        cheats=[lambda layer, x: torch.zeros_like(x), lambda layer, x: layer.forward(x, x, x).abs()],
    ),
}
