"""Layers that take queries, keys and values, and a mask or lengths."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .case import Case, D, H, cases


class Classic(nn.Module):
    """W_q, W_k, W_v, W_o; view and transpose; a boolean mask in many dialects."""

    def __init__(self, fault="", d_model=D, num_heads=H, dropout=0.0, shut=False, axes=3, bias=True):
        super().__init__()
        self.fault, self.shut, self.axes = fault, shut, axes
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def split_heads(self, x):
        batch_size, seq_length, d_model = x.size()
        if "straight split" in self.fault:
            return x.view(batch_size, self.num_heads, seq_length, self.d_k)
        if "no transpose" in self.fault:
            return x.view(batch_size, seq_length, self.num_heads, self.d_k)
        return x.view(batch_size, seq_length, self.num_heads, self.d_k).transpose(1, 2)

    def combine_heads(self, x):
        if "no transpose" in self.fault:
            return x.contiguous().flatten(2)
        batch_size, _, seq_length, d_k = x.size()
        if "straight merge" in self.fault:
            return x.contiguous().view(batch_size, seq_length, self.d_model)
        return x.transpose(1, 2).contiguous().view(batch_size, seq_length, self.d_model)

    def scaled_dot_product_attention(self, Q, K, V, mask=None):
        attn_scores = torch.matmul(Q, K.transpose(-2, -1))
        if "scale D" in self.fault:
            attn_scores = attn_scores / math.sqrt(self.d_model)
        elif "scale h" in self.fault:
            attn_scores = attn_scores / math.sqrt(self.num_heads)
        elif "scale d" in self.fault:
            attn_scores = attn_scores / self.d_k
        elif "times" in self.fault:
            attn_scores = attn_scores * math.sqrt(self.d_k)
        elif "no scale" not in self.fault:
            attn_scores = attn_scores / math.sqrt(self.d_k)
        if mask is not None and "skip in training" in self.fault and self.training:
            mask = None
        if mask is not None and "ignored" in self.fault:
            attn_scores.masked_fill(mask == 0, -math.inf)
        elif mask is not None and "after" not in self.fault:
            fill = 1e-9 if "small fill" in self.fault else -1e9 if "finite" in self.fault else -math.inf
            attn_scores = attn_scores.masked_fill(mask if self.shut else mask == 0, fill)
        if "dropout on scores" in self.fault:
            attn_scores = self.dropout(attn_scores)
        axis = -2 if "softmax queries" in self.fault else 1 if "softmax heads" in self.fault else -1
        attn_probs = torch.softmax(attn_scores, dim=axis)
        if "softmax" in self.fault:
            attn_probs = torch.nan_to_num(attn_probs)
        if mask is not None and "after" in self.fault:
            attn_probs = attn_probs * mask
        if "always dropout" in self.fault:
            attn_probs = F.dropout(attn_probs, 0.3)
        if "dropout" not in self.fault:
            attn_probs = self.dropout(attn_probs)
        if "detached weights" in self.fault:
            attn_probs = attn_probs.detach()
        return torch.matmul(attn_probs, V)

    def forward(self, Q, K, V, mask=None):
        if "in place" in self.fault:
            Q.mul_(2)
        W_k = self.W_q if "keys by q" in self.fault else self.W_k
        W_v = self.W_k if "values by k" in self.fault else self.W_v
        Q, K, V = self.split_heads(self.W_q(Q)), self.split_heads(W_k(K)), self.split_heads(W_v(V))
        if "detached key" in self.fault:
            K = K.detach()
        if "detached value" in self.fault:
            V = V.data
        if mask is not None and self.axes == 3:
            mask = mask.unsqueeze(1)
        if mask is not None and self.axes == 2:
            mask = mask[:, None, None, :]
            if "query axis" in self.fault:
                mask = mask.transpose(-1, -2)
        attn_output = self.scaled_dot_product_attention(Q, K, V, mask)
        if "sum heads" in self.fault:
            return self.W_o(attn_output.sum(1).repeat(1, 1, self.num_heads))
        output = self.combine_heads(attn_output)
        if "no output" in self.fault:
            return output
        output = self.W_o(output)
        return self.dropout(output) if "dropout on output" in self.fault else output


class Annotated(nn.Module):
    """Four clones in a list, and a free function that attends."""

    def __init__(self, fault="", h=H, d_model=D, dropout=0.1):
        super().__init__()
        self.fault, self.d_k, self.h = fault, d_model // h, h
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])
        self.attn, self.dropout = None, nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None and "no unsqueeze" not in self.fault:
            mask = mask.unsqueeze(1)
        nbatches = query.size(0)
        query, key, value = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value), strict=False)
        ]
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        p_attn = scores.softmax(dim=1 if "heads" in self.fault else -1)
        self.attn = p_attn
        x = torch.matmul(self.dropout(p_attn), value)
        if "straight merge" in self.fault:
            return self.linears[-1](x.contiguous().view(nbatches, -1, self.h * self.d_k))
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[0](x) if "wrong last" in self.fault else self.linears[-1](x)


class ByEinsum(nn.Module):
    """values, keys, query, mask in this order; einsum for both products."""

    def __init__(self, fault="", embed_size=D, heads=H, order="v k q"):
        super().__init__()
        self.fault, self.embed_size, self.heads, self.head_dim = fault, embed_size, heads, embed_size // heads
        self.values = nn.Linear(embed_size, embed_size)
        self.keys = nn.Linear(embed_size, embed_size)
        self.queries = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(heads * self.head_dim, embed_size)

    def forward(self, values, keys, query, mask):
        N = query.shape[0]
        value_len, key_len, query_len = values.shape[1], keys.shape[1], query.shape[1]
        values = self.values(values).reshape(N, value_len, self.heads, self.head_dim)
        keys = self.keys(keys).reshape(N, key_len, self.heads, self.head_dim)
        queries = self.queries(query).reshape(N, query_len, self.heads, self.head_dim)
        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        scale = self.embed_size if "scale" in self.fault else self.head_dim
        attention = torch.softmax(energy / (scale ** (1 / 2)), dim=2 if "axis" in self.fault else 3)
        if "transposed" in self.fault and query_len == value_len:
            out = torch.einsum("nhql,nqhd->nlhd", [attention, values])
        else:
            out = torch.einsum("nhql,nlhd->nqhd", [attention, values])
        return self.fc_out(out.reshape(N, query_len, self.heads * self.head_dim))


class SmallMaps(nn.Module):
    """The input is cut into heads first, and one map of width d serves them all."""

    def __init__(self, fault="", embed_size=D, heads=H):
        super().__init__()
        self.heads, self.head_dim = heads, embed_size // heads
        self.values = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.keys = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.queries = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, query, mask=None):
        N, Lk, Lq = len(query), keys.shape[1], query.shape[1]
        v = self.values(values.reshape(N, Lk, self.heads, self.head_dim))
        k = self.keys(keys.reshape(N, Lk, self.heads, self.head_dim))
        q = self.queries(query.reshape(N, Lq, self.heads, self.head_dim))
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k) / self.head_dim**0.5
        if mask is not None:
            energy = energy.masked_fill(mask == 0, -torch.inf)
        return self.fc_out(torch.einsum("nhqk,nkhd->nqhd", energy.softmax(3), v).flatten(2))


class Lengths(nn.Module):
    """Keys first in the constructor; lengths; the heads folded into the batch."""

    def __init__(self, fault="", num_hiddens=D, num_heads=H, dropout=0.0, own_empty=True):
        super().__init__()
        self.fault, self.num_heads, self.own_empty = fault, num_heads, own_empty
        self.W_k, self.W_q, self.W_v, self.W_o = (nn.Linear(num_hiddens, num_hiddens) for _ in range(4))
        self.drop = nn.Dropout(dropout)

    def transpose_qkv(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1)
        if "no permute" in self.fault:
            return X.reshape(-1, X.shape[1], X.shape[3])
        return X.permute(0, 2, 1, 3).reshape(-1, X.shape[1], X.shape[3])

    def transpose_output(self, X):
        if "heads first" in self.fault:
            X = X.reshape(self.num_heads, -1, X.shape[1], X.shape[2]).permute(1, 2, 0, 3)
        else:
            X = X.reshape(-1, self.num_heads, X.shape[1], X.shape[2]).permute(0, 2, 1, 3)
        return X.reshape(X.shape[0], X.shape[1], -1)

    def masked_softmax(self, X, valid_lens):
        if valid_lens is None:
            return X.softmax(-1)
        mask = torch.arange(X.shape[-1])[None, None, :] < valid_lens[:, None, None]
        if "flipped" in self.fault:
            mask = ~mask
        if "rows" in self.fault:
            mask = (torch.arange(X.shape[1])[None, :] < valid_lens[:, None])[:, :, None]
        weights = X.masked_fill(~mask, -1e6).softmax(-1)
        return weights * (valid_lens > 0)[:, None, None] if self.own_empty else weights

    def forward(self, queries, keys, values, valid_lens=None):
        q, k, v = (
            self.transpose_qkv(W(X))
            for W, X in zip((self.W_q, self.W_k, self.W_v), (queries, keys, values), strict=True)
        )
        if valid_lens is not None:
            if "tiled" in self.fault:
                valid_lens = valid_lens.repeat(self.num_heads)
            else:
                valid_lens = torch.repeat_interleave(valid_lens, repeats=self.num_heads, dim=0)
        if "forgotten" in self.fault:
            valid_lens = None
        if "none" in self.fault and valid_lens is None:
            return None
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])
        weights = self.masked_softmax(scores, valid_lens)
        return self.W_o(self.transpose_output(torch.bmm(self.drop(weights), v)))


class Residual(nn.Module):
    """w_qs, w_ks, w_vs, fc and a tuple (output, weights); the query is scaled first."""

    def __init__(self, fault="", n_head=H, d_model=D):
        super().__init__()
        self.fault, self.n_head, self.d_k = fault, n_head, d_model // n_head
        self.w_qs = nn.Linear(d_model, n_head * self.d_k, bias=False)
        self.w_ks = nn.Linear(d_model, n_head * self.d_k, bias=False)
        self.w_vs = nn.Linear(d_model, n_head * self.d_k, bias=False)
        self.fc = nn.Linear(n_head * self.d_k, d_model, bias=False)

    def forward(self, q, k, v, mask=None):
        sz_b, len_q, len_k, len_v = q.size(0), q.size(1), k.size(1), v.size(1)
        q = self.w_qs(q).view(sz_b, len_q, self.n_head, self.d_k).transpose(1, 2)
        k = self.w_ks(k).view(sz_b, len_k, self.n_head, self.d_k).transpose(1, 2)
        v = self.w_vs(v).view(sz_b, len_v, self.n_head, self.d_k).transpose(1, 2)
        temperature = self.d_k if "temperature" in self.fault else self.d_k**0.5
        attn = torch.matmul(q / temperature, k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        attn = F.softmax(attn, dim=-1)
        if mask is not None:
            attn = attn.masked_fill(mask.unsqueeze(1) == 0, 0)
        out = torch.matmul(attn, v)
        if "merge" not in self.fault:
            out = out.transpose(1, 2)
        out = self.fc(out.contiguous().view(sz_b, len_q, -1))
        return (attn, out) if "swapped" in self.fault else (out, attn)


class KeywordMask(nn.Module):
    """A mask by keyword only, the fused call, dropout_p from the mode."""

    def __init__(self, fault="", dim=D, num_heads=H, p=0.1, shut=False):
        super().__init__()
        self.fault, self.num_heads, self.p, self.shut = fault, num_heads, p, shut
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.to_out = nn.Sequential(nn.Linear(dim, dim), nn.Dropout(0.0))

    def forward(self, q, k, v, *, key_padding_mask=None, need_weights=False):
        def heads(t):
            return t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

        q, k, v = heads(self.to_q(q)), heads(self.to_k(k)), heads(self.to_v(v))
        mask = None
        if key_padding_mask is not None:
            mask = key_padding_mask if "polarity" in self.fault else ~key_padding_mask
            mask = mask[:, None, None, :]
        p = self.p if self.training or "p" in self.fault.split() else 0.0
        scale = 1.0 if "no scale" in self.fault else None
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p, scale=scale)
        out = (
            out.reshape(len(q), -1, self.to_q.out_features)
            if "merge" in self.fault
            else out.transpose(1, 2).flatten(2)
        )
        return self.to_out(out)


class Additive(nn.Module):
    """An additive mask (0 and −inf), whatever its axes."""

    def __init__(self, fault="", embed_dim=D, nhead=H):
        super().__init__()
        self.fault, self.nhead = fault, nhead
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(embed_dim, embed_dim) for _ in range(4)
        )

    def forward(self, query, key, value, attention_mask=None):
        B, T, C = query.shape
        S, hd = key.shape[1], C // self.nhead
        q = self.q_proj(query).reshape(B, T, self.nhead, hd).swapaxes(1, 2) * hd**-0.5
        k = self.k_proj(key).reshape(B, S, self.nhead, hd).swapaxes(1, 2)
        v = self.v_proj(value).reshape(B, S, self.nhead, hd).swapaxes(1, 2)
        scores = q @ k.mT
        if attention_mask is not None:
            scores = scores - attention_mask if "minus" in self.fault else scores + attention_mask
        weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        context = weights @ v
        if "merge" in self.fault:
            return self.out_proj(
                context.permute(0, 3, 2, 1).reshape(B, T, C)
                if "late" in self.fault
                else context.reshape(B, T, C)
            ), weights
        return self.out_proj(context.swapaxes(1, 2).reshape(B, T, C)), weights


class SequenceFirst(nn.Module):
    """(L, B, D), heads folded into the batch, a padding mask that is True for padding."""

    def __init__(self, fault="", embed_dim=D, num_heads=H):
        super().__init__()
        self.fault, self.embed_dim, self.num_heads, self.head_dim = (
            fault,
            embed_dim,
            num_heads,
            embed_dim // num_heads,
        )
        self.scaling = self.head_dim**-0.5
        self.k_proj, self.v_proj, self.q_proj, self.out_proj = (
            nn.Linear(embed_dim, embed_dim) for _ in range(4)
        )

    def forward(self, query, key, value, key_padding_mask=None):
        tgt_len, bsz, embed_dim = query.size()
        src_len = key.size(0)
        q = self.q_proj(query) * self.scaling
        k, v = self.k_proj(key), self.v_proj(value)
        q = q.contiguous().view(tgt_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        k = k.contiguous().view(src_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        v = v.contiguous().view(src_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        weights = torch.bmm(q, k.transpose(1, 2))
        if key_padding_mask is not None:
            weights = weights.view(bsz, self.num_heads, tgt_len, src_len)
            weights = weights.masked_fill(key_padding_mask[:, None, None, :].to(torch.bool), float("-inf"))
            weights = weights.view(bsz * self.num_heads, tgt_len, src_len)
        attn = torch.bmm(F.softmax(weights, dim=1 if "axis" in self.fault else -1), v)
        if "merge" in self.fault:
            return self.out_proj(attn.contiguous().view(tgt_len, bsz, embed_dim)), None
        return self.out_proj(attn.transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)), None


class Context(nn.Module):
    """Cross-attention of two inputs, x and context; to_kv packed."""

    def __init__(self, fault="", dim=D, heads=H):
        super().__init__()
        self.fault, self.heads, self.scale = fault, heads, (dim // heads) ** -0.5
        self.to_q, self.to_kv = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim * 2, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        q, (k, v) = self.to_q(x), self.to_kv(context).chunk(2, dim=-1)
        if "swapped" in self.fault:
            k, v = v, k
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        if mask is not None:
            dots.masked_fill_(~mask[:, None, None, :], -torch.finfo(dots.dtype).max)
        attn = dots.softmax(dim=-2 if "axis" in self.fault else -1)
        out = torch.einsum("bhij,bhjd->bhid", attn, v)
        return self.to_out(out.transpose(1, 2).flatten(2))


class StrictSelf(nn.Module):
    """Three inputs, but for self-attention only: it says so with an assert."""

    def __init__(self, fault="", d=D, h=H):
        super().__init__()
        self.fault, self.h = fault, h
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d) for _ in range(4))

    def forward(self, q, k, v):
        assert q.shape == k.shape == v.shape, "self-attention only"
        b, n, d = q.shape
        q, k, v = (
            w(x).view(b, n, self.h, -1).transpose(1, 2) for w, x in ((self.wq, q), (self.wk, k), (self.wv, v))
        )
        s = q @ k.transpose(2, 3)
        s = s if "scale" in self.fault else s / math.sqrt(d // self.h)
        o = s.softmax(-1) @ v
        return self.wo(o.reshape(b, n, d) if "merge" in self.fault else o.transpose(1, 2).reshape(b, n, d))


class TiledGroups(nn.Module):
    """Fewer key and value heads than query heads, for queries, keys and values."""

    def __init__(self, fault="", d=16, n_heads=4, n_kv_heads=2):
        super().__init__()
        self.fault, self.n_heads, self.n_kv_heads, self.hd = fault, n_heads, n_kv_heads, d // n_heads
        self.wq = nn.Linear(d, n_heads * self.hd, bias=False)
        self.wk = nn.Linear(d, n_kv_heads * self.hd, bias=False)
        self.wv = nn.Linear(d, n_kv_heads * self.hd, bias=False)
        self.wo = nn.Linear(n_heads * self.hd, d, bias=False)

    def forward(self, xq, xk, xv, mask=None):
        b, lq, lk, n = len(xq), xq.shape[1], xk.shape[1], self.n_heads // self.n_kv_heads
        q = self.wq(xq).view(b, lq, self.n_heads, self.hd)
        k, v = (
            self.wk(xk).view(b, lk, self.n_kv_heads, self.hd),
            self.wv(xv).view(b, lk, self.n_kv_heads, self.hd),
        )
        if "tiled" in self.fault:
            k, v = k.repeat(1, 1, n, 1), v.repeat(1, 1, n, 1)
        else:
            k, v = k.repeat_interleave(n, dim=2), v.repeat_interleave(n, dim=2)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        scores = q @ k.transpose(2, 3) / math.sqrt(self.hd)
        if mask is not None:
            scores = scores + mask
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, lq, -1))


CLASSIC = {
    "": "right",
    "straight split": (),
    "straight merge": "merge_without_permute",
    "straight split and straight merge": "straight_view_and_merge",
    "no transpose": "attends_over_heads",
    "scale D": "scale_sqrt_width",
    "scale h": "scale_sqrt_heads",
    "scale d": "scale_by_head_dim",
    "times √d": (),
    "no scale": "no_scale",
    "ignored": "lengths_ignored",
    "small fill": "fill_too_small",
    "finite": "fill_minus_1e9",
    "after": "mask_after_softmax",
    "softmax queries": "softmax_over_queries",
    "softmax heads": "softmax_over_heads",
    "keys by q": "keys_through_W_q",
    "values by k": "values_through_W_k",
    "keys by q, values by k": (),
    "detached value": "values_detached",
    "finite, detached value": "values_detached",
    "detached key": (),
    "detached weights": (),
    "in place": (),
    "sum heads": (),
    "no output": "no_output_map",
}
IN_TRAINING = {
    "": "right",
    "dropout on scores": "dropout_on_scores",
    "dropout on output": "dropout_on_output",
    "always dropout": "dropout_in_eval",
    "skip in training": (),
    "dropout is never used": (),
}
PAIRS = [
    (a, b)
    for a in (
        "straight merge",
        "no scale",
        "keys by q",
        "softmax queries",
        "ignored",
        "scale D",
        "detached key",
        "in place",
    )
    for b in (
        "values by k",
        "small fill",
        "after",
        "no output",
        "scale h",
        "straight split",
        "always dropout",
    )
    if not (a.split()[0] in ("no", "scale") and b.startswith("scale"))
    and not (a == "ignored" and b in ("small fill", "after"))
]

CORPUS = [
    *cases(Classic, CLASSIC),
    *cases(Classic, {"": "right", "straight merge": "merge_without_permute"}, "Classic, 4 axes", axes=4),
    *cases(Classic, {"": "right", "no scale": "no_scale"}, "Classic, shut", shut=True),
    *cases(Classic, {"": "right", "query axis": "mask_on_query_axis"}, "Classic, (B, L)", axes=2),
    *cases(Classic, {"": "right", "scale D": "scale_sqrt_width"}, "Classic, (B, L), shut", axes=2, shut=True),
    *cases(Classic, {"": "right"}, "Classic, 4 axes, shut", axes=4, shut=True),
    *cases(
        Classic,
        {"": "right", "after": "mask_after_softmax"},
        "Classic, no bias",
        bias=False,
        d_model=20,
        num_heads=4,
    ),
    *cases(Classic, {"": "right"}, "Classic, one head", num_heads=1),
    *cases(Classic, {"": "right"}, "Classic, d = h", d_model=9, num_heads=3),
    *cases(Classic, {"": "right"}, "Classic, wide", d_model=128, num_heads=8),
    *cases(Classic, IN_TRAINING, "Classic, p", dropout=0.2),
    *cases(
        Annotated,
        {
            "": "right",
            "heads": "softmax_over_heads",
            "straight merge": "merge_without_permute",
            "wrong last": (),
        },
    ),
    *cases(Annotated, {"": "right"}, "Annotated, two heads", h=2),
    *cases(Annotated, {"no unsqueeze": "right"}, "Annotated, 4 axes:"),
    *cases(
        ByEinsum,
        {
            "": ("right", "fill_minus_1e9"),
            "scale": "scale_sqrt_width",
            "axis": "softmax_over_queries",
            "transposed": (),
        },
    ),
    *cases(ByEinsum, {"": ("right", "fill_minus_1e9")}, "ByEinsum, wide", embed_size=40, heads=5),
    *cases(SmallMaps, {"small": "split_before_projecting"}),
    *cases(
        Lengths,
        {
            "": "right",
            "tiled": "lengths_tiled",
            "flipped": "mask_polarity_flipped",
            "rows": "mask_on_query_axis",
            "forgotten": "lengths_ignored",
            "none": "none_without_lengths",
            "no permute": "straight_view_to_heads",
            "heads first": (),
        },
    ),
    *cases(Lengths, {"": "fill_minus_1e9"}, "Lengths, −1e6", own_empty=False),
    *cases(Lengths, {"": "right"}, "Lengths, two heads", num_hiddens=10, num_heads=2),
    *cases(
        Residual,
        {
            "": "right",
            "swapped": "right",
            "temperature": "scale_by_head_dim",
            "merge": "merge_without_permute",
        },
    ),
    *cases(
        KeywordMask,
        {"": "right", "p": "dropout_in_eval", "no scale": "no_scale", "merge": "merge_without_permute"},
    ),
    *cases(KeywordMask, {"polarity": "right"}, "KeywordMask, other"),
    *cases(Additive, {"": "right", "minus": (), "merge": "merge_without_permute", "late merge": ()}),
    *cases(Additive, {"": "right"}, "Additive, wide", embed_dim=30, nhead=5),
    *cases(SequenceFirst, {"": "right", "axis": "softmax_over_queries", "merge": ()}),
    *cases(SequenceFirst, {"": "right"}, "SequenceFirst, two heads", num_heads=2),
    *cases(
        Context,
        {"": ("right", "fill_minus_1e9"), "swapped": "maps_in_wrong_order", "axis": "softmax_over_queries"},
    ),
    *cases(StrictSelf, {"": "right", "scale": "no_scale", "merge": "merge_without_permute"}),
    *cases(TiledGroups, {"": "right", "tiled": ()}),
    *cases(TiledGroups, {"": "right"}, "TiledGroups, one", n_kv_heads=1),
    *cases(TiledGroups, {"": "right", "tiled": ()}, "TiledGroups, 6", d=24, n_heads=6, n_kv_heads=3),
    *(
        Case(f"Classic, two faults: {a}, {b}", lambda a=a, b=b: Classic(fault=f"{a}, {b}"), ())
        for a, b in PAIRS
    ),
]
