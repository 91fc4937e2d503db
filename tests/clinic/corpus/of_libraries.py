"""Layers in the ways of libraries: other shapes of weights, other orders of axes, other returns."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from .case import Case, D, H, cases


class DenseGeneral(nn.Module):
    """Weights (D, h, d) and (h, d, D), one einsum each."""

    def __init__(self, fault="", features=D, num_heads=H):
        super().__init__()
        self.fault, self.num_heads, width = fault, num_heads, features // num_heads
        self.query, self.key, self.value = (
            nn.Parameter(torch.randn(features, num_heads, width) / features**0.5) for _ in range(3)
        )
        self.out = nn.Parameter(torch.randn(num_heads, width, features) / features**0.5)

    def forward(self, x):
        q, k, v = (torch.einsum("bld,dhk->blhk", x, W) for W in (self.query, self.key, self.value))
        width = q.shape[1] if "scale" in self.fault else q.shape[-1]
        scores = torch.einsum("bqhk,bvhk->bhqv", q, k) / math.sqrt(width)
        weights = scores.softmax(1 if "heads" in self.fault else -1)
        heads = torch.einsum("bhqv,bvhk->bqhk", weights, v)
        return torch.einsum("bqhk,hkd->bqd", heads, self.out)


class QuarterRoot(nn.Module):
    """Queries and keys share the scale; the context may be another sentence; keys and values packed."""

    def __init__(self, fault="", query_dim=D, heads=H):
        super().__init__()
        self.fault, self.heads = fault, heads
        self.to_q = nn.Linear(query_dim, query_dim, bias=False)
        self.to_kv = nn.Linear(query_dim, query_dim * 2, bias=False)
        self.to_out = nn.Sequential(nn.Linear(query_dim, query_dim), nn.Dropout(0.0))

    def forward(self, x, context=None):
        context = x if context is None else context
        q, (k, v) = self.to_q(x), self.to_kv(context).chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        scale = q.shape[-1] ** (-0.5 if "twice" in self.fault else -0.25)
        sim = (q * scale) @ (k * scale).transpose(-1, -2)
        out = sim.softmax(dim=-1) @ v
        return self.to_out(out.transpose(1, 2).flatten(2))


class TimeFirst(nn.Module):
    """(L, B, D) in and out, heads beside sentences in one axis, bmm, padding = True."""

    def __init__(self, fault="", embed_dim=D, num_heads=H):
        super().__init__()
        self.fault, self.num_heads, self.head_dim = fault, num_heads, embed_dim // num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(embed_dim, embed_dim) for _ in range(4)
        )

    def forward(self, query, key, value, key_padding_mask=None):
        target, batch, width = query.shape
        source = key.shape[0]
        q = self.q_proj(query) * self.head_dim**-0.5
        q, k, v = (
            t.contiguous().view(-1, batch * self.num_heads, self.head_dim).transpose(0, 1)
            for t in (q, self.k_proj(key), self.v_proj(value))
        )
        scores = torch.bmm(q, k.transpose(1, 2))
        if key_padding_mask is not None:
            scores = scores.view(batch, self.num_heads, target, source)
            mask = key_padding_mask[:, None, None, :].to(torch.bool)
            scores = scores.masked_fill(~mask if "turned" in self.fault else mask, float("-inf"))
            scores = scores.view(batch * self.num_heads, target, source)
        context = torch.bmm(F.softmax(scores, dim=-1), v)
        if "merge" in self.fault:
            return self.out_proj(context.contiguous().view(target, batch, width))
        return self.out_proj(context.transpose(0, 1).contiguous().view(target, batch, width))


class Output(NamedTuple):
    hidden: torch.Tensor
    weights: torch.Tensor | None = None


@dataclass
class Record:
    output: torch.Tensor
    weights: torch.Tensor | None = None


class NamedOutput(nn.Module):
    """Returns a named tuple or a record; an additive mask of four axes, as a model hands it to its layers."""

    def __init__(self, fault="", hidden_size=D, num_heads=H, made=Output):
        super().__init__()
        self.fault, self.num_heads, self.made = fault, num_heads, made
        self.query, self.key, self.value, self.dense = (nn.Linear(hidden_size, hidden_size) for _ in range(4))

    def transpose_for_scores(self, x):
        return x.view(*x.shape[:-1], self.num_heads, -1).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask=None, output_attentions=False):
        q, k, v = (self.transpose_for_scores(W(hidden_states)) for W in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
        if attention_mask is not None and "ignored" not in self.fault:
            scores = scores + attention_mask
        weights = nn.functional.softmax(scores, dim=-1)
        context = torch.matmul(weights, k if "keys" in self.fault else v).permute(0, 2, 1, 3).flatten(2)
        return self.made(self.dense(context), weights if output_attentions else None)


class ByHand(nn.Module):
    """A softmax of one's own: exp and sum, or logsumexp."""

    def __init__(self, fault="", dim=D, n_heads=H, log=False):
        super().__init__()
        self.fault, self.n_heads, self.log = fault, n_heads, log
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (
            W(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for W in (self.wq, self.wk, self.wv)
        )
        scores = q @ k.mT * q.shape[-1] ** -0.5
        axis = -2 if "axis" in self.fault else -1
        if self.log:
            weights = (scores - scores.logsumexp(axis, keepdim=True)).exp()
        else:
            e = (scores - scores.amax(axis, keepdim=True)).exp()
            weights = e if "no sum" in self.fault else e / e.sum(axis, keepdim=True)
        return self.wo((weights @ v).transpose(1, 2).flatten(2))


class Blockwise(nn.Module):
    """Never holds all weights: keys in blocks, with a running maximum and a running sum."""

    def __init__(self, fault="", dim=D, heads=H, block=2):
        super().__init__()
        self.fault, self.heads, self.block = fault, heads, block
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        q = q / math.sqrt(q.shape[-1])
        highest = torch.full_like(q[..., :1], -math.inf)
        total, out = torch.zeros_like(highest), torch.zeros_like(q)
        for keys, values in zip(k.split(self.block, 2), v.split(self.block, 2), strict=True):
            scores = q @ keys.mT
            new = torch.maximum(highest, scores.amax(-1, keepdim=True))
            weights, fade = (scores - new).exp(), (highest - new).exp()
            if "no fade" in self.fault:
                fade = torch.ones_like(fade)
            total, out = total * fade + weights.sum(-1, keepdim=True), out * fade + weights @ values
            highest = new
        return self.proj((out / total).transpose(1, 2).flatten(2))


class PackedParameter(nn.Module):
    """in_proj_weight and out_proj, as torch keeps them, with a forward of one's own."""

    def __init__(self, fault="", embed_dim=D, num_heads=H):
        super().__init__()
        self.fault, self.num_heads = fault, num_heads
        self.in_proj_weight = nn.Parameter(torch.randn(3 * embed_dim, embed_dim) / embed_dim**0.5)
        self.in_proj_bias = nn.Parameter(torch.randn(3 * embed_dim))
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):
        q, k, v = F.linear(x, self.in_proj_weight, self.in_proj_bias).tensor_split(3, dim=-1)
        heads = [t.tensor_split(self.num_heads, dim=-1) for t in (q, k, v)]
        outputs = [F.scaled_dot_product_attention(*one) for one in zip(*heads, strict=True)]
        return self.out_proj(torch.cat(outputs[1:] + outputs[:1] if "rolled" in self.fault else outputs, -1))


class ByVmap(nn.Module):
    """One head as a function, over all heads by vmap."""

    def __init__(self, fault="", d_model=D, n_heads=H):
        super().__init__()
        self.fault, self.n_heads = fault, n_heads
        self.q_lin, self.k_lin, self.v_lin, self.out_lin = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        def head(q, k, v):
            return (q @ k.mT / (1 if "scale" in self.fault else math.sqrt(q.shape[-1]))).softmax(-1) @ v

        q, k, v = (W(x).unflatten(-1, (self.n_heads, -1)) for W in (self.q_lin, self.k_lin, self.v_lin))
        return self.out_lin(torch.vmap(head, in_dims=2, out_dims=2)(q, k, v).flatten(2))


class SharedOut(nn.Module):
    """An output projection of its own for each head, and their sum."""

    def __init__(self, fault="", dim=D, num_heads=H):
        super().__init__()
        self.fault, self.num_heads = fault, num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (W(x).chunk(self.num_heads, -1) for W in (self.W_q, self.W_k, self.W_v))
        parts = self.W_o.weight.chunk(self.num_heads, dim=1)
        out = self.W_o.bias if "bias a head" not in self.fault else 0
        for q_i, k_i, v_i, W_i in zip(q, k, v, parts, strict=True):
            weights = torch.softmax(q_i @ k_i.mT / math.sqrt(q_i.shape[-1]), dim=-1)
            out = out + weights @ v_i @ W_i.T
            if "bias a head" in self.fault:
                out = out + self.W_o.bias
        return out


class Keyed(nn.Module):
    """A mask by keyword only, True = padding; weights come back unless one says no."""

    def __init__(self, fault="", d=D, h=H):
        super().__init__()
        self.fault, self.h = fault, h
        self.query_proj, self.key_proj, self.value_proj = (weight_norm(nn.Linear(d, d)) for _ in range(3))
        self.out_proj = nn.Linear(d, d)

    def forward(self, query, key, value, *, key_padding_mask=None, need_weights=True):
        q = self.query_proj(query).unflatten(-1, (self.h, -1)).transpose(1, 2)
        k = self.key_proj(key).unflatten(-1, (self.h, -1)).permute(0, 2, 3, 1)
        v = self.value_proj(value).unflatten(-1, (self.h, -1)).transpose(1, 2)
        scores = q @ k / math.sqrt(q.shape[-1])
        if key_padding_mask is not None:
            shut = key_padding_mask[:, None, None]
            scores = scores.masked_fill(shut.mT if "queries" in self.fault else shut, -math.inf)
        weights = scores.softmax(-1)
        out = self.out_proj((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights.mean(1)) if need_weights else (out, None)


class Scripted(nn.Module):
    """Written so that torch.jit.script takes it."""

    def __init__(self, dim: int = D, heads: int = H):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, L, C = x.shape
        q = self.q(x).view(B, L, self.heads, C // self.heads).transpose(1, 2)
        k = self.k(x).view(B, L, self.heads, C // self.heads).transpose(1, 2)
        v = self.v(x).view(B, L, self.heads, C // self.heads).transpose(1, 2)
        weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) / math.sqrt(float(q.shape[3])), dim=-1)
        return self.o(torch.matmul(weights, v).transpose(1, 2).reshape(B, L, C))


def hooked(fault=""):
    """A layer whose hook looks at the output, or scales it."""
    layer = PackedParameter()
    seen = []
    layer.register_forward_hook(
        lambda module, inputs, output: output * 2 if fault else seen.append(output.shape)
    )
    return layer


def checkpointed():
    """Computed anew in the backward pass."""
    layer = QuarterRoot()
    inner = layer.forward

    def forward(x):
        return torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=False)

    layer.forward = forward
    return layer


CORPUS = [
    *cases(DenseGeneral, {"": "right", "scale": (), "heads": "softmax_over_heads"}),
    *cases(DenseGeneral, {"": "right"}, "DenseGeneral, two heads", num_heads=2),
    *cases(QuarterRoot, {"": "right", "twice": "scale_by_head_dim"}),
    *cases(QuarterRoot, {"": "right"}, "QuarterRoot, four", query_dim=20, heads=4),
    *cases(TimeFirst, {"": "right", "turned": "right", "merge": ()}),
    *cases(NamedOutput, {"": "right", "ignored": "lengths_ignored", "keys": ()}),
    *cases(NamedOutput, {"": "right", "ignored": "lengths_ignored"}, "NamedOutput, record", made=Record),
    *cases(ByHand, {"": "right", "axis": "softmax_over_queries", "no sum": ()}),
    *cases(ByHand, {"": "right", "axis": "softmax_over_queries"}, "ByHand, log", log=True),
    *cases(Blockwise, {"": "right", "no fade": ()}),
    *cases(Blockwise, {"": "right"}, "Blockwise, three", block=3),
    *cases(PackedParameter, {"": "right", "rolled": ()}),
    *cases(ByVmap, {"": "right", "scale": "no_scale"}),
    *cases(SharedOut, {"": "right", "bias a head": ()}),
    *cases(Keyed, {"": "right", "queries": "mask_on_query_axis"}),
    Case("Scripted", lambda: torch.jit.script(Scripted())),
    Case("hooked", hooked),
    Case("hooked doubled", lambda: hooked("doubled"), ()),
    Case("checkpointed", checkpointed),
    Case("compiled", lambda: torch.compile(DenseGeneral(), backend="eager")),
]
