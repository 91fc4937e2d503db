"""What the tests hold mha_lib against: loops anyone can read, and torch's own layer with copied weights."""

import math

import torch
from torch import nn

import mha_lib as mha

ROUTES = (False, True)  # need_weights: torch's fused kernel, and the same by steps
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def run(layer, *inputs, need_weights, **options):
    """Call a layer by one of its two routes; return (output, weights or None)."""
    result = layer(*inputs, need_weights=need_weights, **options)
    return result if need_weights else (result, None)


def randn(*shape, seed=0, dtype=torch.float32):
    """Normal numbers from a generator of their own."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def make_layer(*sizes, seed=0, dtype=torch.float32, **options):
    """A MultiHeadAttention whose parameters come from a generator of their own, biases included."""
    layer = mha.MultiHeadAttention(*sizes, **options).to(dtype)
    with torch.no_grad():
        for i, parameter in enumerate(layer.parameters()):
            parameter.copy_(randn(*parameter.shape, seed=seed + i) * 0.5)
    return layer


def slow_attention(queries, keys, values, keep):
    """Scaled dot-product attention of one head of one sentence, number by number."""
    d = max(queries.shape[-1], 1)
    context, weights = [], []
    for q, allowed in zip(queries.tolist(), keep.tolist(), strict=True):
        scores = [sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(d) for k in keys.tolist()]
        top = max((s for s, ok in zip(scores, allowed, strict=True) if ok), default=0.0)
        parts = [math.exp(s - top) if ok else 0.0 for s, ok in zip(scores, allowed, strict=True)]
        row = [p / (sum(parts) or 1.0) for p in parts]
        weights.append(row)
        columns = zip(*values.tolist(), strict=True)
        context.append([sum(w * v for w, v in zip(row, column, strict=True)) for column in columns])
    return torch.tensor(context, dtype=torch.float64), torch.tensor(weights, dtype=torch.float64)


def torch_layer(layer):
    """nn.MultiheadAttention with the weights of a MultiHeadAttention (query_size must be D)."""
    W_q, W_k, W_v, W_o = layer.W_q, layer.W_k, layer.W_v, layer.W_o
    theirs = nn.MultiheadAttention(
        W_q.out_features,
        layer.num_heads,
        dropout=layer.attention.dropout,
        bias=W_q.bias is not None,
        kdim=W_k.in_features,
        vdim=W_v.in_features,
        batch_first=True,
        dtype=W_q.weight.dtype,
    )
    with torch.no_grad():
        if theirs.in_proj_weight is None:
            theirs.q_proj_weight.copy_(W_q.weight)
            theirs.k_proj_weight.copy_(W_k.weight)
            theirs.v_proj_weight.copy_(W_v.weight)
        else:
            theirs.in_proj_weight.copy_(torch.cat([W_q.weight, W_k.weight, W_v.weight]))
        if W_q.bias is not None:
            theirs.in_proj_bias.copy_(torch.cat([W_q.bias, W_k.bias, W_v.bias]))
            theirs.out_proj.bias.copy_(W_o.bias)
        theirs.out_proj.weight.copy_(W_o.weight)
    return theirs.train(layer.training)
