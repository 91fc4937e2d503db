"""Functions, closures, and layers that are called in a way of their own."""

import math

import torch
from torch import nn
from torch.nn import functional as F

import mha_lib as mha

from .case import Case, D, H


def ours(**options):
    return mha.MultiHeadAttention(D, D, D, D, H, bias=True, **options).double()


def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return F.softmax(scores, dim=-1) @ v


def plain(layer, fault=""):
    """def mha(x): … with the projections of a layer."""

    def mha_forward(x):
        B, L, _ = x.shape
        q, k, v = (W(x).reshape(B, L, H, -1).transpose(1, 2) for W in (layer.W_q, layer.W_k, layer.W_v))
        if fault == "doubled":
            q = 2 * q
        out = attention(q, k, v)
        if fault == "averaged":
            out = out.mean(2, keepdim=True).expand_as(v)
        out = out.transpose(1, 2).reshape(B, L, -1)
        return x + layer.W_o(out) if fault == "residual" else layer.W_o(out)

    return mha_forward


def masked(layer, fault=""):
    """def mha(q, k, v, mask): one mask (Lq, Lk) or (B, Lq, Lk), True = may attend."""

    def mha_forward(q, k, v, mask=None):
        q, k, v = (W(x).unflatten(-1, (H, -1)) for W, x in ((layer.W_q, q), (layer.W_k, k), (layer.W_v, v)))
        heads = []
        for i in range(H):
            one = mask.mT if fault == "transposed mask" and mask is not None else mask
            heads.append(attention(q[:, :, i], k[:, :, i], v[:, :, i], one))
        if fault == "last head":
            heads = [heads[-1]] * H
        return layer.W_o(torch.cat(heads, dim=-1))

    return mha_forward


def lists(layer, fault=""):
    """Sentences and words by hand, with comprehension and stack."""

    def mha_forward(x):
        sentences = []
        for words in x:
            q, k, v = (W(words).chunk(H, dim=-1) for W in (layer.W_q, layer.W_k, layer.W_v))
            heads = []
            for i in range(H):
                rows = [torch.stack([(a * b).sum() for b in k[i]]) / math.sqrt(D // H) for a in q[i]]
                weights = torch.stack(
                    [torch.sigmoid(row) if fault == "sigmoid" else row.softmax(0) for row in rows]
                )
                heads.append(weights @ v[i])
            sentences.append(torch.cat(heads, dim=0 if fault == "dim 0" else 1).reshape(words.shape))
        return layer.W_o(torch.stack(sentences))

    return mha_forward


def function(title, write, fault="", names=(), wants_weights=True):
    layers = []

    def make():
        layers[:] = [ours()]
        return write(layers[0], fault)

    return Case(
        f"{title} {fault or 'right'}", make, names if fault else ("right",), lambda _: {"weights": layers[0]}
    )


class Batched(nn.Module):
    """Called with a dictionary."""

    def __init__(self, fault="", polarity=True):
        super().__init__()
        self.fault, self.polarity, self.inner = fault, polarity, ours()

    def forward(self, batch):
        mask = batch.get("mask")
        if mask is not None and not self.polarity:
            mask = ~mask
        x = batch["x"]
        out = self.inner(x, x, x, attn_mask=None if mask is None or self.fault == "ignored" else mask)
        return {"hidden": out * 2 if self.fault == "doubled" else out}


def dictionary(fault="", names=("right",), polarity=True):
    def call(layer, q, k, v, mask):
        return layer({"x": q, "mask": mask} if mask is not None else {"x": q})["hidden"]

    return Case(
        f"Batched {fault or 'right'} {polarity}",
        lambda: Batched(fault, polarity),
        names,
        lambda _: {"call": call},
    )


def keywords():
    """self-attention by call=, with lengths that become a padding mask."""

    def call(layer, q, k, v, lengths):
        return layer(
            q, k, v, key_padding_mask=None if lengths is None else ~mha.length_mask(lengths, k.shape[1])[:, 0]
        )[0]

    return Case(
        "torch by call",
        lambda: nn.MultiheadAttention(D, H, batch_first=True),
        ("right",),
        lambda _: {"call": call},
    )


def by_hand():
    def call(layer, q, k, v, lengths):
        return layer(q)

    def make():
        layer = nn.ModuleDict({name: nn.Linear(D, D) for name in ("query", "key", "value", "out")})
        layer.forward = lambda x: layer["out"](
            attention(
                *(layer[n](x).unflatten(-1, (H, -1)).transpose(1, 2) for n in ("query", "key", "value"))
            )
            .transpose(1, 2)
            .flatten(2)
        )
        return layer

    return Case("self by call", make, ("right",), lambda _: {"call": call, "num_heads": H})


def remembered():
    """A layer that was called before and keeps its weights."""

    class Remembers(nn.Module):
        def __init__(self):
            super().__init__()
            self.num_heads = H
            self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(D, D) for _ in range(4))

        def forward(self, x):
            q, k, v = (m(x).unflatten(-1, (H, -1)).transpose(1, 2) for m in (self.w_q, self.w_k, self.w_v))
            self.attention = (q @ k.mT / math.sqrt(D // H)).softmax(-1)
            return self.w_o((self.attention @ v).transpose(1, 2).flatten(2))

    layer = Remembers()
    layer(torch.zeros(1, 2, D))
    return layer


CORPUS = [
    function("plain", plain),
    function("plain", plain, "doubled"),
    function("plain", plain, "averaged"),
    function("plain", plain, "residual"),
    function("masked", masked),
    function("masked", masked, "transposed mask"),
    function("masked", masked, "last head"),
    function("lists", lists),
    function("lists", lists, "sigmoid"),
    function("lists", lists, "dim 0"),
    dictionary(),
    dictionary(polarity=False),
    dictionary("ignored", ("lengths_ignored",)),
    dictionary("doubled", ()),
    keywords(),
    by_hand(),
    Case("remembered", remembered),
    Case("torch, batch second", lambda: nn.MultiheadAttention(D, H)),
    Case("torch, packed away", lambda: nn.MultiheadAttention(D, H, kdim=5, vdim=7, batch_first=True)),
    Case("gpt", lambda: mha.documents.gpt.MultiHeadAttention(D, H, dropout=0.1)),
    Case("bert", lambda: mha.documents.bert.SelfAttention(H, D, D)),
    Case("ours", lambda: mha.MultiHeadAttention(7, 8, 9, D, H)),
]
