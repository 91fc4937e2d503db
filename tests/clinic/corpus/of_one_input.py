"""Layers for self-attention: one input, causal by construction or told by a mask, or neither."""

import math

import torch
from einops import rearrange
from torch import nn
from torch.nn import functional as F

from .case import D, H, cases


class Gpt(nn.Module):
    """c_attn packed in one Linear, a triangle in a buffer, two dropouts."""

    def __init__(self, fault="", n_embd=D, n_head=H, block_size=16, dropout=0.1, flash=False):
        super().__init__()
        self.fault, self.n_head, self.n_embd, self.flash = fault, n_head, n_embd, flash
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.attn_dropout, self.resid_dropout = nn.Dropout(dropout), nn.Dropout(dropout)
        one_off = 1 if "next" in fault else -1 if "itself" in fault else 0
        triangle = torch.tril(torch.ones(block_size, block_size), one_off)
        self.register_buffer("bias", triangle.view(1, 1, block_size, block_size))

    def forward(self, x):
        B, T, C = x.size()
        if "order" in self.fault:
            k, q, v = self.c_attn(x).split(self.n_embd, dim=2)
        elif "by head" in self.fault:
            q, k, v = self.c_attn(x).view(B, T, self.n_head, -1).chunk(3, dim=-1)
        else:
            q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.reshape(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.reshape(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.reshape(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if self.flash:
            p = self.attn_dropout.p if self.training else 0
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal="open" not in self.fault)
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(C if "scale" in self.fault else k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            att = F.softmax(att, dim=-2 if "softmax" in self.fault else -1)
            att = self.attn_dropout(torch.nan_to_num(att))
            y = att @ v
        y = (
            y.contiguous().view(B, T, C)
            if "merge" in self.fault
            else y.transpose(1, 2).contiguous().view(B, T, C)
        )
        return self.resid_dropout(self.c_proj(y))


class Head(nn.Module):
    """One head of a loop: key, query, value; a triangle."""

    def __init__(self, n_embd, head_size, fault):
        super().__init__()
        self.fault = fault
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(12, 12)))

    def forward(self, x):
        B, T, C = x.shape
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * (C if "scale" in self.fault else k.shape[-1]) ** -0.5
        if "open" not in self.fault:
            wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = F.softmax(wei, dim=1 if "axis" in self.fault else -1)
        v = self.key(x) if "value" in self.fault else self.value(x)
        return wei @ v


class HeadByHead(nn.Module):
    """A list of heads, side by side, and a projection."""

    def __init__(self, fault="", n_embd=D, num_heads=H):
        super().__init__()
        self.fault = fault
        self.heads = nn.ModuleList([Head(n_embd, n_embd // num_heads, fault) for _ in range(num_heads)])
        self.proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        heads = [h(x) for h in self.heads]
        if "one head" in self.fault:
            heads = [heads[0] for _ in heads]
        if "summed" in self.fault:
            return self.proj(torch.stack(heads).sum(0).repeat(1, 1, len(heads)))
        if "stack" in self.fault:
            return self.proj(torch.stack(heads, dim=1).reshape(x.shape))
        out = torch.cat(heads[::-1] if "order" in self.fault else heads, dim=-1)
        return out if "unmixed" in self.fault else self.proj(out)


class Vision(nn.Module):
    """qkv in one reshape (B, N, 3, h, d) and permute(2, 0, 3, 1, 4)."""

    def __init__(self, fault="", dim=D, num_heads=H, qkv_bias=True):
        super().__init__()
        self.fault, self.num_heads = fault, num_heads
        head_dim = dim // num_heads
        self.scale = 1.0 if "scale" in fault else head_dim**-0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.attn_drop, self.proj, self.proj_drop = nn.Dropout(0.0), nn.Linear(dim, dim), nn.Dropout(0.0)

    def forward(self, x):
        B, N, C = x.shape
        if "by head" in self.fault:
            qkv = self.qkv(x).reshape(B, N, self.num_heads, 3, C // self.num_heads).permute(3, 0, 2, 1, 4)
        else:
            qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        if "twice" in self.fault:
            v = k
        q = q * self.scale
        attn = q @ k.transpose(-2, -1)
        attn = attn.softmax(dim=1 if "heads" in self.fault else -1)
        x = self.attn_drop(attn) @ v
        x = x.reshape(B, N, C) if "merge" in self.fault else x.transpose(1, 2).reshape(B, N, C)
        return x if "forgotten" in self.fault else self.proj_drop(self.proj(x))


class ByEinops(nn.Module):
    """to_qkv and rearrange; a mask (B, L), True = keep."""

    def __init__(self, fault="", dim=D, heads=H, mask_axes="b j -> b 1 1 j"):
        super().__init__()
        self.fault, self.heads, self.mask_axes = fault, heads, mask_axes
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        h = self.heads
        split = "b (h n) d -> b h n d" if "rows" in self.fault else "b n (h d) -> b h n d"
        if "wide" in self.fault:
            split = "b n (d h) -> b h n d"
        parts = self.to_qkv(x).chunk(3, dim=-1)
        if "rows" in self.fault:
            parts = [part.reshape(len(x), -1, part.shape[-1] // h) for part in parts]
        q, k, v = (rearrange(part, split, h=h) for part in parts)
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            dots = dots.masked_fill(~rearrange(mask, self.mask_axes), -torch.inf)
        attn = dots.softmax(dim=-1)
        out = torch.einsum("bhij,bhjd->bhid", attn, v)
        out = rearrange(out, "b h n d -> b n (d h)" if "merge" in self.fault else "b h n d -> b n (h d)")
        return self.to_out(out)


class Weighted(nn.Module):
    """Matrices as parameters, x @ W; one batch axis; float32 inside."""

    def __init__(self, fault="", d_model=D, num_heads=H):
        super().__init__()
        self.fault, self.num_heads = fault, num_heads
        self.Wq = nn.Parameter(torch.randn(d_model, d_model) * 0.3)
        self.Wk = nn.Parameter(torch.randn(d_model, d_model) * 0.3)
        self.Wv = nn.Parameter(torch.randn(d_model, d_model) * 0.3)
        self.Wo = nn.Parameter(torch.randn(d_model, d_model) * 0.3)

    def forward(self, x):
        B, T, C = x.shape
        d = C // self.num_heads
        q, k, v = x @ self.Wq, x @ self.Wk, x @ (self.Wk if "wrong" in self.fault else self.Wv)
        q = q.reshape(B, T, self.num_heads, d).permute(0, 2, 1, 3)
        k = k.reshape(B, T, self.num_heads, d).permute(0, 2, 3, 1)
        v = v.reshape(B, T, self.num_heads, d).permute(0, 2, 1, 3)
        scores = (q @ k).float() / (d if "scale" in self.fault else math.sqrt(d))
        weights = torch.exp(scores - scores.max(-1, keepdim=True).values)
        weights = (weights / weights.sum(-2 if "axis" in self.fault else -1, keepdim=True)).to(x.dtype)
        out = (weights @ v).permute(0, 2, 1, 3).flatten(2)
        return out @ (self.Wo.T if "other" in self.fault else self.Wo)


class PerHead(nn.Module):
    """Parameters (h, D, d) and einsum alone, no reshape anywhere."""

    def __init__(self, fault="", dim=D, n_heads=H):
        super().__init__()
        self.fault, d = fault, dim // n_heads
        self.w_q = nn.Parameter(torch.randn(n_heads, dim, d) * 0.3)
        self.w_k = nn.Parameter(torch.randn(n_heads, dim, d) * 0.3)
        self.w_v = nn.Parameter(torch.randn(n_heads, dim, d) * 0.3)
        self.w_o = nn.Parameter(torch.randn(n_heads, d, dim) * 0.3)
        self.n_heads, self.head_dim = n_heads, d

    def forward(self, x):
        q = torch.einsum("bld,hdk->bhlk", x, self.w_q)
        k = torch.einsum("bld,hdk->bhlk", x, self.w_q if "keys" in self.fault else self.w_k)
        v = torch.einsum("bld,hdk->bhlk", x, self.w_v)
        scores = torch.einsum("bhik,bhjk->bhij", q, k)
        scores = scores if "scale" in self.fault else scores / self.head_dim**0.5
        attn = scores.softmax(-2 if "axis" in self.fault else -1)
        return torch.einsum("bhij,bhjk,hkd->bid", attn, v, self.w_o)


class Groups(nn.Module):
    """num_kv_heads below num_heads; the fused call, causal without a mask."""

    def __init__(self, fault="", dim=16, num_heads=4, num_kv_heads=2):
        super().__init__()
        self.fault, self.num_heads, self.num_kv_heads, self.head_dim = (
            fault,
            num_heads,
            num_kv_heads,
            dim // num_heads,
        )
        self.q_proj = nn.Linear(dim, num_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(dim, num_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(dim, num_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * self.head_dim, dim, bias=False)

    def forward(self, hidden_states, attention_mask=None):
        shape = (*hidden_states.shape[:-1], -1, self.head_dim)
        q = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        k = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        v = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        n = self.num_heads // self.num_kv_heads
        if "tiled" in self.fault:
            k, v = torch.cat([k] * n, dim=1), torch.cat([v] * n, dim=1)
        else:
            k, v = (t[:, :, None].expand(-1, -1, n, -1, -1).flatten(1, 2) for t in (k, v))
        scale = self.num_heads**-0.5 if "scale" in self.fault else None
        out = F.scaled_dot_product_attention(
            q, k, v, attention_mask, is_causal=attention_mask is None, scale=scale
        )
        if "merge" not in self.fault:
            out = out.transpose(1, 2)
        return self.o_proj(out.reshape(*hidden_states.shape[:-1], -1)), None


class FixedSize(nn.Module):
    """Batch and length are told in the constructor; the causal triangle is of that size."""

    def __init__(self, fault="", batch=2, length=5, dim=D, h=H):
        super().__init__()
        self.fault, self.B, self.T, self.h = fault, batch, length, h
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))
        self.mask = torch.triu(
            torch.ones(length, length, dtype=torch.bool), diagonal=2 if "next" in fault else 1
        )

    def forward(self, x):
        shape = (self.B, self.T, self.h, x.shape[-1] // self.h)
        q, k, v = (m(x).view(shape).transpose(1, 2) for m in (self.q, self.k, self.v))
        scores = q @ k.transpose(2, 3) / math.sqrt(shape[-1])
        scores.masked_fill_(self.mask, -math.inf)
        out = scores.softmax(-1) @ v
        return self.o(out.reshape(x.shape) if "merge" in self.fault else out.transpose(1, 2).reshape(x.shape))


class MaskDialects(nn.Module):
    """One input, and a mask in one of many forms."""

    def __init__(self, fault="", form="may (B, L)", D=D, H=H):
        super().__init__()
        self.fault, self.form, self.n_head = fault, form, H
        self.query, self.key, self.value, self.dense = (nn.Linear(D, D) for _ in range(4))

    def bias(self, mask, scores):
        axes = self.form.split(" ", 1)[1]
        mask = {"(B, L)": lambda m: m[:, None, None, :], "(B, L, L)": lambda m: m[:, None]}.get(
            axes, lambda m: m
        )(mask)
        if "query axis" in self.fault:
            mask = mask.transpose(-1, -2)
        if "ones" in self.form:
            return scores + (1.0 - mask.to(scores.dtype)) * -10000.0
        if "pads" in self.form:
            return scores + mask.to(scores.dtype) * -1e9
        if "may" in self.form:
            return torch.where(mask.bool(), scores, torch.tensor(-torch.inf, dtype=scores.dtype))
        return scores.masked_fill(mask.bool(), -torch.inf)

    def forward(self, x, mask=None):
        q, k, v = (
            f(x).unflatten(2, (self.n_head, -1)).movedim(2, 1) for f in (self.query, self.key, self.value)
        )
        scores = q @ k.mT / q.size(-1) ** 0.5
        if mask is not None and "thrown" in self.fault:
            self.bias(mask, scores)
        elif mask is not None:
            scores = self.bias(mask, scores)
        return self.dense((scores.softmax(-1) @ v).movedim(1, 2).flatten(2))


class Wrapped(nn.Module):
    """nn.MultiheadAttention in a module of one's own."""

    def __init__(self, fault="", embed_dim=D, num_heads=H, causal=False):
        super().__init__()
        self.causal = causal
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first="batch" not in fault)

    def forward(self, x):
        L = x.shape[1]
        mask = torch.ones(L, L, dtype=torch.bool).triu(1) if self.causal else None
        out, _ = self.attention(x, x, x, attn_mask=mask, need_weights=False)
        return out


class ByLoops(nn.Module):
    """Sentence by sentence and head by head, into a result that was made before."""

    def __init__(self, fault="", d=D, n_heads=H):
        super().__init__()
        self.fault, self.n_heads = fault, n_heads
        self.to_queries, self.to_keys, self.to_values, self.unify_heads = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        b, t, e = x.shape
        s = e // self.n_heads
        Q, K, V = self.to_queries(x), self.to_keys(x), self.to_values(x)
        result = torch.zeros(b, t, e, dtype=x.dtype)
        for i in range(b):
            for h in range(self.n_heads):
                part = slice(h * s, (h + 1) * s)
                dot = Q[i, :, part] @ K[i, :, part].T
                dot = dot / (s if "scale" in self.fault else s**0.5)
                w = torch.softmax(dot, dim=0 if "axis" in self.fault else 1)
                other = 0 if "first" in self.fault else i
                result[i, :, part] = w @ V[other, :, part]
        return self.unify_heads(result)


class InPlace(nn.Module):
    """Works on its own tensors in place, or, if faulty, on the caller's."""

    def __init__(self, fault="", width=D, heads=H):
        super().__init__()
        self.fault, self.num_heads = fault, heads
        self.Q, self.K, self.V, self.O = (nn.Linear(width, width) for _ in range(4))
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        if "clamp" in self.fault:
            x.data.clamp_(-1, 1)
        if "relu" in self.fault:
            x = self.act(x)
        if "centred" in self.fault:
            x -= x.mean(-1, keepdim=True)
        B, L, W = x.shape
        q, k, v = (m(x).view(B, L, self.num_heads, -1).transpose(1, 2) for m in (self.Q, self.K, self.V))
        s = q @ k.transpose(2, 3)
        s /= math.sqrt(W // self.num_heads)
        s = s.exp_().div_(s.sum(-1, keepdim=True)) if "exp_" in self.fault else s.softmax(-1)
        return self.O((s @ v).transpose(1, 2).reshape(B, L, W))


class Conv1D(nn.Module):
    """A Linear that keeps (in, out)."""

    def __init__(self, nf, nx):
        super().__init__()
        self.nf, self.nx = nf, nx
        self.weight = nn.Parameter(torch.randn(nx, nf) * 0.2)
        self.bias = nn.Parameter(torch.randn(nf) * 0.2)

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.shape[:-1], self.nf)


class OldGpt(nn.Module):
    """c_attn and c_proj as Conv1D; causal."""

    def __init__(self, fault="", nx=D, n_head=H):
        super().__init__()
        self.fault, self.n_head, self.split_size = fault, n_head, nx
        self.c_attn, self.c_proj = Conv1D(3 * nx, nx), Conv1D(nx, nx)

    def forward(self, x):
        q, k, v = self.c_attn(x).split(self.split_size, dim=2)
        if "view" in self.fault:  # of more than one word torch refuses it
            q, k, v = (t.view(len(t), self.n_head, t.shape[1], -1) for t in (q, k, v))
        else:
            q, k, v = (t.view(*t.shape[:2], self.n_head, -1).permute(0, 2, 1, 3) for t in (q, k, v))
        w = torch.matmul(q, k.transpose(-1, -2))
        w = w / (v.size(-1) if "scale" in self.fault else v.size(-1) ** 0.5)
        n = w.size(-1)
        keep = torch.tril(torch.ones(n, n, dtype=w.dtype), 1 if "next" in self.fault else 0)
        w = w * keep - 1e10 * (1 - keep)
        a = torch.matmul(nn.Softmax(dim=-1)(w), v)
        a = a if "merge" in self.fault else a.permute(0, 2, 1, 3)
        return self.c_proj(a.reshape(x.shape)), None


MASKS = (
    "may (B, L)",
    "shut (B, L)",
    "ones (B, L)",
    "pads (B, L)",
    "may (B, L, L)",
    "shut (B, 1, 1, L)",
    "ones 4-D",
)
CORPUS = [
    *cases(
        Gpt,
        {
            "": "right",
            "order": "maps_in_wrong_order",
            "by head": (),
            "next": "causal_sees_next_word",
            "itself": "causal_hides_the_word_itself",
            "scale": "scale_sqrt_width",
            "softmax": "softmax_over_queries",
            "merge": "merge_without_permute",
        },
    ),
    *cases(Gpt, {"": "right", "open": "right", "merge": "merge_without_permute"}, "Gpt, fused", flash=True),
    *cases(Gpt, {"": "right"}, "Gpt, short", block_size=4),
    *cases(Gpt, {"": "right", "by head": ()}, "Gpt, wide", n_embd=32, n_head=4),
    *cases(
        HeadByHead,
        {
            "": "right",
            "open": "right",
            "unmixed": "no_output_map",
            "scale": "scale_sqrt_width",
            "axis": "softmax_over_queries",
            "value": "values_through_W_k",
            "order": (),
            "stack": "merge_without_permute",
            "summed": (),
            "one head": "heads_share_one_map",
        },
    ),
    *cases(
        HeadByHead, {"": "right", "stack, open": "merge_without_permute"}, "HeadByHead, four", num_heads=4
    ),
    *cases(
        Vision,
        {
            "": "right",
            "by head": (),
            "twice": "values_through_W_k",
            "heads": "softmax_over_heads",
            "merge": "merge_without_permute",
            "scale": "no_scale",
            "forgotten": "no_output_map",
        },
    ),
    *cases(
        Vision,
        {"": "right", "merge": "merge_without_permute"},
        "Vision, no bias",
        dim=24,
        num_heads=6,
        qkv_bias=False,
    ),
    *cases(ByEinops, {"": "right", "rows": "straight_view_to_heads", "merge": (), "wide": ()}),
    *cases(ByEinops, {"": "right"}, "ByEinops, (B, L, L)", mask_axes="b i j -> b 1 i j"),
    *cases(ByEinops, {"": "right"}, "ByEinops, 2 heads", heads=2),
    *cases(
        Weighted,
        {
            "": "right",
            "wrong": "values_through_W_k",
            "scale": "scale_by_head_dim",
            "axis": "softmax_over_queries",
            "other": (),
        },
    ),
    *cases(Weighted, {"": "right"}, "Weighted, 10", d_model=10, num_heads=5),
    *cases(
        PerHead,
        {"": "right", "keys": "keys_through_W_q", "scale": "no_scale", "axis": "softmax_over_queries"},
    ),
    *cases(PerHead, {"": "right"}, "PerHead, four", dim=20, n_heads=4),
    *cases(Groups, {"": "right", "tiled": (), "merge": "merge_without_permute"}),
    *cases(
        Groups, {"": "right", "scale": "scale_sqrt_heads"}, "Groups, one", dim=24, num_heads=3, num_kv_heads=1
    ),
    *cases(Groups, {"": "right"}, "Groups, none", num_kv_heads=4),
    *cases(FixedSize, {"": "right", "next": "causal_sees_next_word", "merge": "merge_without_permute"}),
    *cases(FixedSize, {"": "right"}, "FixedSize, one sentence", batch=1, length=8),
    *cases(FixedSize, {"": "right"}, "FixedSize, 4 × 10", batch=4, length=10),
    *(
        case
        for form in MASKS
        for case in cases(MaskDialects, {"": "right"}, f"MaskDialects, {form}", form=form)
    ),
    *(
        case
        for form in ("may (B, L)", "shut (B, L)", "ones (B, L)")
        for case in cases(
            MaskDialects,
            {"thrown": "lengths_ignored", "query axis": "mask_on_query_axis"},
            f"MaskDialects, {form}",
            form=form,
        )
    ),
    *cases(Wrapped, {"": "right", "batch": "batch_mixed"}),
    *cases(Wrapped, {"": "right"}, "Wrapped, causal", causal=True),
    *cases(ByLoops, {"": "right", "scale": "scale_by_head_dim", "axis": "softmax_over_queries", "first": ()}),
    *cases(ByLoops, {"": "right"}, "ByLoops, two heads", n_heads=2),
    *cases(InPlace, {"": "right", "clamp": (), "relu": (), "centred": (), "exp_": ()}),
    *cases(InPlace, {"": "right"}, "InPlace, four", width=8, heads=4),
    *cases(
        OldGpt,
        {
            "": "right",
            "scale": "scale_by_head_dim",
            "next": "causal_sees_next_word",
            "merge": "merge_without_permute",
        },
    ),
    *cases(OldGpt, {"view": "straight_view_to_heads", "": "right"}, "OldGpt, two heads", n_head=2),
]
