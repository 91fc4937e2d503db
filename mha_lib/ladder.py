"""One layer, written ten ways: from a loop in plain Python to one fused call.

Every rung takes (layer, queries, keys, values, mask) and returns the same (B, Lq, D).
`layer` is an `mha_lib.MultiHeadAttention` with the dot product, whose four projections are used;
`mask` is None or bool (B, 1 or Lq, Lk), as `length_mask` makes it: True = may attend.
Each is written to be read, so what the core has for it is not used.
"""

import functools
import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .convert import Layer, projections_of, to_torch
from .errors import type_error, value_error
from .heads import merge_heads, split_heads
from .masks import masked_softmax
from .multihead import MultiHeadAttention, attend
from .scoring import DotProductAttention

Ours = MultiHeadAttention
Mask = Tensor | None
Rung = Callable[..., Tensor]
RUNGS: dict[str, Rung] = {}  # name → function, in the order of the ladder; `one_head` is a step within


def _rung(name: str) -> Callable[[Rung], Rung]:
    """Enter a function into RUNGS, and check what it is given, so that its body need not."""

    def enter(function: Rung) -> Rung:
        @functools.wraps(function)
        def checked(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
            ours = isinstance(layer, MultiHeadAttention)
            if not ours or not isinstance(layer.attention, DotProductAttention):
                mend = "Try from_torch(to_torch(layer))."
                expected = "an mha.MultiHeadAttention with the dot product"
                raise type_error("layer", expected, type(layer).__name__, mend)
            if mask is not None and (mask.dtype, mask.dim(), len(mask)) != (torch.bool, 3, len(queries)):
                got = f"{mask.dtype} {tuple(mask.shape)}"
                raise value_error("mask", "a boolean mask (B, 1 or Lq, Lk)", got, "Use length_mask.")
            return function(layer, queries, keys, values, mask)

        RUNGS[name] = checked
        return checked

    return enter


@_rung("plain loop")
def plain_loop(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """For each head and query walk over the keys, number by number."""
    Q, K, V = layer.W_q(queries).tolist(), layer.W_k(keys).tolist(), layer.W_v(values).tolist()
    B, Lq, _ = queries.shape
    Lk = keys.shape[1]
    d = layer.W_q.out_features // layer.num_heads
    context = queries.new_zeros(B, Lq, layer.num_heads * d)
    for b, head, i in itertools.product(range(B), range(layer.num_heads), range(Lq)):
        features = range(head * d, head * d + d)
        seen = [j for j in range(Lk) if mask is None or mask.expand(B, Lq, Lk)[b, i, j]]
        scores = [sum(Q[b][i][f] * K[b][j][f] for f in features) / math.sqrt(d) for j in seen]
        weights = [math.exp(score - max(scores)) for score in scores]
        for f in features:
            total = sum(weight * V[b][j][f] for weight, j in zip(weights, seen, strict=True))
            context[b, i, f] = total / sum(weights) if seen else 0.0
    return layer.W_o(context)


def one_head(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """Attend with one head, whose queries, keys and values are projected: three lines."""
    scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.shape[-1])
    weights = masked_softmax(scores, mask)
    return weights @ values


def own(linear: nn.Linear, head: int, num_heads: int, X: Tensor) -> Tensor:
    """Project X by one head's own W: rows of the big matrix, all columns of the input."""
    bias = None if linear.bias is None else linear.bias.chunk(num_heads)[head]
    return F.linear(X, linear.weight.chunk(num_heads)[head], bias)


@_rung("loop over heads")
def loop_over_heads(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """Give each head its own W_q, W_k, W_v; every head reads all features of the input."""
    contexts = []
    for head in range(layer.num_heads):
        q = own(layer.W_q, head, layer.num_heads, queries)
        k = own(layer.W_k, head, layer.num_heads, keys)
        v = own(layer.W_v, head, layer.num_heads, values)
        contexts.append(one_head(q, k, v, mask))
    return layer.W_o(torch.cat(contexts, dim=-1))


@_rung("block matrix")
def block_matrix(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """Stack the heads' W into one matrix, project once, then slice: the projection, not the input."""
    Q = layer.W_q(queries).chunk(layer.num_heads, dim=-1)
    K = layer.W_k(keys).chunk(layer.num_heads, dim=-1)
    V = layer.W_v(values).chunk(layer.num_heads, dim=-1)
    contexts = [one_head(q, k, v, mask) for q, k, v in zip(Q, K, V, strict=True)]
    return layer.W_o(torch.cat(contexts, dim=-1))


@_rung("folded")
def folded(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """Fold the heads into the batch, (B·h, L, d): one head's three lines serve them all."""
    q = split_heads(layer.W_q(queries), layer.num_heads)
    k = split_heads(layer.W_k(keys), layer.num_heads)
    v = split_heads(layer.W_v(values), layer.num_heads)
    mask = None if mask is None else mask.repeat_interleave(layer.num_heads, dim=0)
    return layer.W_o(merge_heads(one_head(q, k, v, mask), layer.num_heads))


@_rung("four axes")
def four_axes(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """Leave the heads on an axis of their own: (B, h, L, d)."""
    q = layer.W_q(queries).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2)
    k = layer.W_k(keys).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2)
    v = layer.W_v(values).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2)
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    weights = masked_softmax(scores, None if mask is None else mask.unsqueeze(1))
    return layer.W_o((weights @ v).transpose(1, 2).flatten(2))


@_rung("einsum")
def by_einsum(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """Name the axes in the products, and move none: n query, m key, h head, d feature."""
    q = layer.W_q(queries).unflatten(-1, (layer.num_heads, -1))
    k = layer.W_k(keys).unflatten(-1, (layer.num_heads, -1))
    v = layer.W_v(values).unflatten(-1, (layer.num_heads, -1))
    scores = torch.einsum("bnhd,bmhd->bhnm", q, k) / math.sqrt(q.shape[-1])
    weights = masked_softmax(scores, None if mask is None else mask.unsqueeze(1))
    return layer.W_o(torch.einsum("bhnm,bmhd->bnhd", weights, v).flatten(2))


@_rung("einops")
def by_einops(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """Say the split and the merge as einops patterns."""
    from einops import rearrange

    split = "b n (h d) -> b h n d"
    h = layer.num_heads
    q = rearrange(layer.W_q(queries), split, h=h)
    k = rearrange(layer.W_k(keys), split, h=h)
    v = rearrange(layer.W_v(values), split, h=h)
    scores = q @ rearrange(k, "b h m d -> b h d m") / math.sqrt(q.shape[-1])
    weights = masked_softmax(scores, None if mask is None else mask.unsqueeze(1))
    return layer.W_o(rearrange(weights @ v, "b h n d -> b n (h d)"))


@_rung("fused")
def fused(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """Let scaled_dot_product_attention score, scale, mask, softmax and sum in one call."""
    q = layer.W_q(queries).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2)
    k = layer.W_k(keys).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2)
    v = layer.W_v(values).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2)
    mask = None if mask is None else mask.unsqueeze(1)  # here, too, True = may attend
    return layer.W_o(F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))


@_rung("nn.MultiheadAttention")
def torch_layer(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """Put the weights into nn.MultiheadAttention, whose True means "shut out"."""
    if mask is not None:
        mask = mask.expand(-1, queries.shape[1], -1).repeat_interleave(layer.num_heads, dim=0)
    shut_out = None if mask is None else ~mask
    return to_torch(layer)(queries, keys, values, attn_mask=shut_out, need_weights=False)[0]


@_rung("our layer")
def our_layer(layer: Ours, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask = None) -> Tensor:
    """Call the layer itself."""
    return layer(queries, keys, values, attn_mask=mask)


def output_as_sum(
    layer: Layer,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    valid_lens: Tensor | None = None,
    *,
    attn_mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Take the output apart: output = Σ_i context_i · W_o[:, slice i]ᵀ + bias.

    Args:
        layer: one of our layers that has a W_o.
        queries, keys, values, valid_lens, attn_mask: as in the layer's call.

    Returns:
        parts (h, B, Lq, D), one for each head, and the bias (D,), 0 where there is none.

    Raises:
        TypeError: a layer of another kind, or without a W_o.

    Example:
        >>> from mha_lib import MultiHeadAttention
        >>> layer, X = MultiHeadAttention(10, 10, 10, 10, 2), torch.ones(2, 4, 10)
        >>> parts, bias = output_as_sum(layer, X, X, X)
        >>> torch.testing.assert_close(parts.sum(0) + bias, layer(X, X, X))
    """
    W_q, W_k, W_v, W_o = projections_of(layer)
    if W_o is None:
        raise type_error("layer", "a layer with an output projection", type(layer).__name__)
    projections = (W_q, W_k, W_v, nn.Identity())
    inputs = (queries, keys, values)
    merged, _ = attend(projections, layer.num_heads, layer.attention, inputs, valid_lens, attn_mask, False)
    contexts = merged.unflatten(-1, (layer.num_heads, -1))
    slices = W_o.weight.unflatten(-1, (layer.num_heads, -1))
    bias = W_o.bias if W_o.bias is not None else W_o.weight.new_zeros(W_o.out_features)
    return torch.einsum("bnhd,ehd->hbne", contexts, slices), bias
