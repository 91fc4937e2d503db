"""More of what people answer: right in yet another style, wrong in yet another way."""

import functools
import math

import einops
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import mha_lib as mha
from attempts import Attempts

EINOPS_CUT = "b l (h d) -> b h l d"


class Head:
    """An answer may be an object that can be called."""

    def __call__(self, q, k, v):
        scores = torch.einsum("id,jd->ij", q, k) * q.size(1) ** -0.5
        return torch.einsum("ij,jd->id", scores.softmax(1), v)


def scaled_by(scale, q, k, v):
    return (q @ k.T * scale(q)).softmax(-1) @ v


def side_by_side(heads, dim=-1):
    return torch.cat(heads, dim)


def one_between_the_other(heads):
    return torch.stack(heads, -1).flatten(2)


def by_parts(X, W_q, W_k, W_v, W_o, h, join=side_by_side):
    d = len(W_q) // h
    heads = []
    for q, k, v in zip(W_q.chunk(h), W_k.chunk(h), W_v.chunk(h), strict=True):
        heads.append(((X @ q.T) @ (X @ k.T).mT / d**0.5).softmax(-1) @ (X @ v.T))
    return join(heads) @ W_o.T


def by_einops(X, W_q, W_k, W_v, W_o, h):
    q, k, v = (einops.rearrange(F.linear(X, W), EINOPS_CUT, h=h) for W in (W_q, W_k, W_v))
    return F.linear(einops.rearrange(F.scaled_dot_product_attention(q, k, v), "b h l d -> b l (h d)"), W_o)


def every_hth_row(X, W_q, W_k, W_v, W_o, h):
    mixed = torch.arange(len(W_q)).view(-1, h).T.flatten()
    return by_parts(X, W_q[mixed], W_k[mixed], W_v[mixed], W_o, h)


def slow_mask(lens, Lq, Lk):
    return [[[key < n and key <= Lk - Lq + query for key in range(Lk)] for query in range(Lq)] for n in lens]


def real_queries(weights, lens):
    return (torch.arange(weights.shape[2]) < lens[:, None])[:, None, :, None]


def reordered(layer, order):
    """By load_state_dict, and the layer is returned."""
    rows = torch.arange(len(layer.W_q.weight)).view(layer.num_heads, -1)[order].flatten()
    state = layer.state_dict()
    layer.load_state_dict(
        {name: w[:, rows] if name == "W_o.weight" else w[rows] for name, w in state.items()}
    )
    return layer


def new_parameters(layer, order):
    d = len(layer.W_q.weight) // layer.num_heads
    rows = [head * d + i for head in order for i in range(d)]
    for linear in (layer.W_q, layer.W_k, layer.W_v):
        linear.weight = nn.Parameter(linear.weight.detach()[rows])
    layer.W_o.weight = nn.Parameter(layer.W_o.weight.detach()[:, rows])


def overwriting(layer, order):
    d = len(layer.W_q.weight) // layer.num_heads
    for new, old in enumerate(order):
        for linear in (layer.W_q, layer.W_k, layer.W_v):
            linear.weight.data[new * d : new * d + d] = linear.weight.data[old * d : old * d + d]
        layer.W_o.weight.data[:, new * d : new * d + d] = layer.W_o.weight.data[:, old * d : old * d + d]


def whole_heads_only(layer, order):
    for linear in (layer.W_q, layer.W_k, layer.W_v):
        linear.weight.data = linear.weight.data[order]


def asserting(merge):
    stack = torch.arange(48.0).reshape(6, 4, 2)
    merged = merge(stack, 3)
    assert merged.shape == (2, 4, 6)
    assert merged[1, 2].tolist() == [*stack[3, 2].tolist(), *stack[4, 2].tolist(), *stack[5, 2].tolist()]


def by_numpy_testing(merge):
    X = torch.randn(2, 3, 8)
    np.testing.assert_allclose(merge(mha.split_heads(X, 4), 4), X)


def rung(layer, x, o=True, root=None):
    q, k, v = (
        einops.rearrange(W(x), EINOPS_CUT, h=layer.num_heads) for W in (layer.W_q, layer.W_k, layer.W_v)
    )
    weights = (q @ k.mT / (root or q.shape[-1]) ** 0.5).softmax(-1)
    merged = einops.rearrange(weights @ v, "b h l d -> b l (h d)")
    return layer.W_o(merged) if o else merged


def head_by_head(layer, x):
    d, heads = x.shape[-1] // layer.num_heads, []
    for i in range(layer.num_heads):
        q, k, v = (W(x)[..., i * d : (i + 1) * d] for W in (layer.W_q, layer.W_k, layer.W_v))
        heads.append((q @ k.transpose(1, 2) / d**0.5).softmax(2) @ v)
    return layer.W_o(torch.cat(heads, 2))


def word_by_word(pieces):
    largest, powers, total = -math.inf, 0.0, 0.0
    for score, value in ((s, v) for scores, values in pieces for s, v in zip(scores, values, strict=True)):
        higher = max(largest, float(score))
        shrink, new = math.exp(largest - higher), math.exp(float(score) - higher)
        largest, powers, total = higher, powers * shrink + new, total * shrink + new * value
    return total / powers


def by_halving(memory, h):
    low, high = 0, 1
    while 4 * h * high * high <= memory:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if 4 * h * middle * middle <= memory else (low, middle)
    return low


FURTHER = {
    "one_head.attention": Attempts(
        right=[Head(), functools.partial(scaled_by, lambda q: 1 / math.sqrt(q.shape[1]))],
        wrong=[
            (lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).exp() @ v, "powers_only"),
            (lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).softmax(-1).T @ v, "keys_ask"),
            (lambda q, k, v: (q @ k.T / q.shape[0] ** 0.5).softmax(-1) @ v, "root_of_queries"),
        ],
        cheats=[],
    ),
    "one_head.mend": Attempts(
        right=[
            lambda q, k: np.asarray(q) @ np.asarray(k).T / np.sqrt(q.shape[1]),
            lambda q, k: (q * q.shape[-1] ** -0.25) @ (k * k.shape[-1] ** -0.25).T,
        ],
        wrong=[
            (lambda q, k: q @ k.T / q.shape[-1] ** 2, "by_d_squared"),
            (lambda q, k: q @ k.T // q.shape[-1] ** 0.5, "whole_numbers"),
            (lambda q, k: q @ k.T / k.shape[0] ** 0.5, "root_of_keys"),
            (lambda q, k: q @ k / 2, "no_transpose"),
        ],
        cheats=[],
    ),
    "one_head.softmax": Attempts(
        right=[
            lambda s: 1 / (s.unsqueeze(-2) - s.unsqueeze(-1)).exp().sum(-1),
            lambda s: torch.exp(s - torch.logsumexp(s, -1)[..., None]),
            lambda s: F.softmax(s, dim=s.ndim - 1),
        ],
        wrong=[
            (lambda s: (s - 1000).exp() / (s - 1000).exp().sum(-1, keepdim=True), "fixed_less"),
            (lambda s: (s - s.max(-1, keepdim=True)[0]).exp(), "not_divided"),
            (lambda s: (s - s.amax(-1, True)).exp() / s.exp().sum(-1, True), "largest_above_only"),
            (
                lambda s: (s / s.amax(-1, True)).exp() / (s / s.amax(-1, True)).exp().sum(-1, True),
                "largest_divided",
            ),
            (lambda s: s.double().exp() / s.double().exp().sum(-1, keepdim=True), "overflow"),
        ],
        cheats=[],
    ),
    "many_heads.loop": Attempts(
        right=[by_parts, by_einops, lambda X, *rest: [by_parts(x[None], *rest)[0] for x in X]],
        wrong=[
            (functools.partial(by_parts, join=one_between_the_other), "interleaved"),
            (lambda X, q, k, v, o, h: by_parts(X, q, q, v, o, h), "keys_by_W_q"),
            (lambda X, q, k, v, o, h: by_parts(X, q, k, k, o, h), "values_by_W_k"),
            (lambda X, q, k, v, o, h: by_parts(X, q, k, v, o, 1), "not_cut"),
            (functools.partial(by_parts, join=functools.partial(side_by_side, dim=1)), "stacked"),
            (every_hth_row, "striped"),
        ],
        cheats=[],
    ),
    "many_heads.additive": Attempts(
        right=[
            lambda q, k, w: torch.vmap(lambda query: torch.tanh(query + k) @ w)(q),
            lambda q, k, w: torch.stack([torch.tanh(one + k) @ w for one in q]),
            lambda q, k, w: np.tanh(q.numpy()[:, None] + k.numpy()[None]) @ w.numpy(),
        ],
        wrong=[
            (lambda q, k, w: (q.tanh()[:, None] + k.tanh()[None]) @ w, "tanh_of_each"),
            (lambda q, k, w: (q[:, None] - k[None]).tanh() @ w, "difference"),
            (lambda q, k, w: (torch.tanh(q[:, None] + k[None]) * w).mean(-1), "mean_for_sum"),
            (lambda q, k, w: torch.tanh(q[:, None] + k[None]) @ w[:, None], "shape"),
        ],
        cheats=[],
    ),
    "splitting.split": Attempts(
        right=[
            lambda X, h: X.mT.reshape(len(X) * h, -1, X.shape[1]).mT,
            lambda X, h: einops.rearrange(X, "b l (h d) -> (b h) l d", h=h),
            lambda X, h: [part for x in X for part in x.chunk(h, 1)],
            lambda X, h: X.unflatten(2, (h, -1)).movedim(2, 1).flatten(0, 1),
        ],
        wrong=[
            (lambda X, h: torch.stack(X.split(h, -1)), "split_by_h_only"),
            (lambda X, h: torch.cat(X.split(h, -1)), "split_by_h"),
            (lambda X, h: X.unflatten(2, (h, -1)).permute(0, 2, 1, 3).flatten(1, 2), "head_and_word_folded"),
            (
                lambda X, h: X.view(*X.shape[:2], h, -1).transpose(1, 3).reshape(h * len(X), X.shape[1], -1),
                "word_and_feature_exchanged",
            ),
        ],
        cheats=[],
    ),
    "splitting.merge": Attempts(
        right=[
            lambda S, h: einops.rearrange(S, "(b h) l d -> b l (h d)", h=h),
            lambda S, h: torch.cat([S[i::h] for i in range(h)], -1),
        ],
        wrong=[
            (lambda S, h: S.permute(1, 0, 2).reshape(len(S) // h, S.shape[1], -1), "words_in_front"),
            (lambda S, h: torch.cat([S[i :: len(S) // h] for i in range(h)], -1), "every_Bth"),
            (
                lambda S, h: S.unflatten(0, (-1, h)).permute(0, 3, 1, 2).reshape(len(S) // h, S.shape[1], -1),
                "features_in_front",
            ),
            (lambda S, h: S.reshape(len(S) // h, h * S.shape[1], -1), "joined_along_words"),
            (lambda S, h: torch.cat(S.split(len(S) // h), -1), "heads_unfolded_first"),
        ],
        cheats=[],
    ),
    "splitting.heads_first": Attempts(
        right=[
            lambda X, n, h: (X.unflatten(-1, (h, -1)).movedim(2, 0).flatten(0, 1), n.tile(h)),
            lambda X, n, h: [einops.rearrange(X, "b l (h d) -> (h b) l d", h=h), list(n) * h],
            lambda X, n, h: (X.unflatten(-1, (h, -1)).movedim(2, 0).flatten(0, 1), n.tile(h)),
        ],
        wrong=[
            (lambda X, n, h: (torch.cat(X.chunk(h, -1)), n.repeat(h, 1)), "lengths_in_rows"),
            (lambda X, n, h: torch.cat(X.chunk(h, 2)), "several"),
            (lambda X, n, h: torch.cat(X.chunk(h, 2)).sum(), "several"),
        ],
        cheats=[],
    ),
    "masks.lengths": Attempts(
        right=[
            lambda n, Lk: [[place < length for place in range(Lk)] for length in n],
            lambda n, Lk: torch.arange(1, Lk + 1) <= n.view(-1, 1),
        ],
        wrong=[
            (lambda n, Lk: torch.arange(Lk, 0, -1) <= n[:, None], "from_the_end"),
            (lambda n, Lk: torch.arange(n.max()) < n[:, None], "as_wide_as_the_longest"),
            (lambda n, Lk: torch.where(torch.arange(Lk) < n[:, None], 0.0, -math.inf), "not_boolean"),
        ],
        cheats=[],
    ),
    "masks.softmax": Attempts(
        right=[
            lambda s, m: s.masked_fill(~m, -math.inf).softmax(-1).nan_to_num(),
            lambda s, m: s.masked_fill(~m, torch.finfo(s.dtype).min).softmax(-1).masked_fill(~m, 0),
        ],
        wrong=[
            (lambda s, m: torch.where(m, s, -math.inf).softmax(0), "over_queries_with_infinity"),
            (lambda s, m: (s - 1e4 * ~m).softmax(-1), "large_taken_away"),
            (
                lambda s, m: s.masked_fill(~m, -1e9).softmax(-1).masked_fill(~m.any(-1, keepdim=True), 0),
                "fill_too_near_in_a_living_row",
            ),
            (lambda s, m: (s + m).softmax(-1), "added"),
            (lambda s, m: torch.where(m, s, -torch.inf), "no_softmax"),
            (lambda s, m: (s * m).softmax(-1), "zero_fill"),
        ],
        cheats=[],
    ),
    "masks.decode": Attempts(
        right=[
            slow_mask,
            lambda n, Lq, Lk: (
                np.tril(np.ones((Lq, Lk), bool), Lk - Lq)[None]
                & (np.arange(Lk) < n.numpy()[:, None])[:, None]
            ),
        ],
        wrong=[
            (lambda n, Lq, Lk: mha.length_mask(n, Lk) & torch.ones(Lq, Lk).triu(Lk - Lq).bool(), "upper"),
            (
                lambda n, Lq, Lk: mha.length_mask(n, Lk) & torch.ones(Lq, Lk).tril(Lk - Lq - 1).bool(),
                "not_itself",
            ),
            (
                lambda n, Lq, Lk: mha.length_mask(n, Lk) & torch.ones(Lq, Lk).tril(Lq - Lk).bool(),
                "offset_turned_round",
            ),
        ],
        cheats=[],
    ),
    "reading_heads.looked_at": Attempts(
        right=[
            lambda w, n: torch.stack([w[b, :, : int(n[b])].sum(1) for b in range(len(w))]),
            lambda w, n: (real_queries(w, n).mT.to(w.dtype) @ w).squeeze(2).tolist(),
        ],
        wrong=[
            (lambda w, n: (w * ~real_queries(w, n)).sum(2), "padded_queries"),
            (lambda w, n: (w * real_queries(w, n + 1)).sum(2), "one_more"),
            (lambda w, n: (w * real_queries(w, n)).sum(3), "rows_of_real_queries"),
        ],
        cheats=[],
    ),
    "reading_heads.looks_back": Attempts(
        right=[
            lambda w: [float(np.diag(one, -1).mean()) for one in w.numpy()],
            lambda w: w[:, torch.arange(1, w.shape[1]), torch.arange(w.shape[1] - 1)].mean(1),
        ],
        wrong=[
            (lambda w: (w.argmax(-1)[:, 1:] == torch.arange(w.shape[1] - 1)).float().mean(-1), "counted"),
            (lambda w: w.diagonal(-1, 1, 2).amax(-1), "largest"),
            (lambda w: w[:, 1:, 0].mean(1), "first_key"),
            (lambda w: w[:, 1:, :-1].mean((1, 2)), "whole_block"),
        ],
        cheats=[],
    ),
    "reading_heads.reorder": Attempts(
        right=[reordered, new_parameters],
        wrong=[
            (overwriting, "overwritten"),
            (whole_heads_only, "one_row_a_head"),
            (lambda layer, order: mha.MultiHeadAttention(6, 6, 6, 6, 3), "unmoved"),
        ],
        cheats=[],
    ),
    "merging.sum": Attempts(
        right=[
            lambda c, W: (c @ W.T.unflatten(0, (c.shape[1], -1))).sum(1),
            lambda c, W: torch.einsum("bhld,ohd->blo", c, W.unflatten(1, (c.shape[1], -1))),
            lambda c, W: functools.reduce(torch.add, map(F.linear, c.unbind(1), W.chunk(c.shape[1], 1))),
        ],
        wrong=[
            (
                lambda c, W: torch.stack(
                    [a @ b.T for a, b in zip(c.unbind(1), W.chunk(c.shape[1], 1), strict=True)]
                ),
                "heads_in_front",
            ),
            (lambda c, W: c.sum(1) @ W[:, : c.shape[-1]].T, "first_columns_only"),
            (lambda c, W: F.linear(c.flip(1).transpose(1, 2).flatten(2), W), "reversed"),
            (
                lambda c, W: torch.cat(
                    [F.linear(*pair) for pair in zip(c.unbind(1), W.chunk(c.shape[1], 1), strict=True)], -1
                ),
                "side_by_side",
            ),
        ],
        cheats=[],
    ),
    "merging.test": Attempts(
        right=[asserting, by_numpy_testing],
        wrong=[
            (lambda merge: torch.equal(merge(torch.ones(4, 3, 2), 2), torch.ones(2, 3, 4)), "reshape"),
            (lambda merge: merge(torch.randn(4, 3, 2), 2).sum() != 0, "reshape"),
            (lambda merge: False, "library"),
        ],
        cheats=[],
    ),
    "documents.mask": Attempts(
        right=[
            lambda keep, h: ~einops.repeat(keep, "b q k -> (b h) q k", h=h),
            lambda keep, h: torch.stack([~one for one in keep for _ in range(h)]),
            lambda keep, h: torch.where(keep, 0.0, -math.inf).repeat_interleave(
                h, 0
            ),  # torch takes this, too
        ],
        wrong=[
            (lambda keep, h: torch.where(keep, -math.inf, 0.0).repeat_interleave(h, 0), "polarity"),
            (lambda keep, h: (~keep.repeat_interleave(h, 0)).float(), "not_boolean"),
            (lambda keep, h: torch.cat([~keep] * h), "tiled"),
        ],
        cheats=[],
    ),
    "documents.packed": Attempts(
        right=[
            lambda W, h, i: W.reshape(3, h, -1, W.shape[1])[:, i],
            lambda W, h, i: einops.rearrange(W, "(t h d) D -> t h d D", t=3, h=h)[:, i].unbind(0),
        ],
        wrong=[
            (lambda W, h, i: W.reshape(3, h, -1, W.shape[1])[:, (i + 1) % h], "next_head"),
            (lambda W, h, i: W.chunk(h)[i].chunk(3), "by_head"),
            (lambda W, h, i: W.sum(), "several"),
        ],
        cheats=[],
    ),
    "documents.rung": Attempts(
        right=[rung, head_by_head, functools.partial(rung, root=None)],
        wrong=[
            (lambda layer, x: rung(layer, x, o=False), "bug"),
            (lambda layer, x: rung(layer, x, root=layer.num_heads), "bug"),
            (lambda layer, x: x + rung(layer, x), "unknown"),
        ],
        cheats=[],
    ),
    "specialising.look_back": Attempts(
        right=[
            lambda w, n: np.diagonal(w.numpy(), -n, 2, 3).mean((0, 2)),
            lambda w, n: torch.einsum("bhii->h", w[:, :, n:, :-n]) / (len(w) * (w.shape[-1] - n)),
        ],
        wrong=[
            (lambda w, n: w[:, :, n:, :-n].mean((0, 2, 3)), "whole_block"),
            (lambda w, n: w[0].diagonal(-n, -2, -1).mean(1), "first_sentence"),
            (lambda w, n: w.diagonal(-n, -2, -1).amax((0, 2)), "largest"),
        ],
        cheats=[],
    ),
    "specialising.silence": Attempts(
        right=[
            lambda W, h, i: torch.cat([part * (j != i) for j, part in enumerate(W.chunk(h, 1))], 1),
            lambda W, h, i: np.where(np.arange(len(W)) // (len(W) // h) == i, 0, W.numpy()),
        ],
        wrong=[
            (lambda W, h, i: W.index_fill(1, torch.arange(i * h, i * h + h), 0), "width_is_h"),
            (lambda W, h, i: torch.zeros_like(W), "all_silent"),
            (lambda W, h, i: W.chunk(h, 1)[i], "shape"),
        ],
        cheats=[],
    ),
    "specialising.verdict": Attempts(
        right=[
            lambda a, b: {(True, False): "a", (False, True): "b"}.get(
                (max(a) < min(b), max(b) < min(a)), "undecided"
            ),
            lambda a, b: np.array(["undecided", "a", "b"])[int(max(a) < min(b)) + 2 * int(max(b) < min(a))],
        ],
        wrong=[
            (lambda a, b: "A" if max(a) < min(b) else "B" if max(b) < min(a) else "undecided", "other"),
            (lambda a, b: "a" if max(a) < min(b) else "b" if max(b) < min(a) else None, "no_return"),
            (lambda a, b: "a" if np.median(a) < np.median(b) else "b", "means"),
        ],
        cheats=[],
    ),
    "real_model.next": Attempts(
        right=[
            lambda words: [
                [one != "[CLS]" and other != "[SEP]" and j == i + 1 for j, other in enumerate(words)]
                for i, one in enumerate(words)
            ],
            lambda words: (
                np.eye(len(words), k=1, dtype=bool)
                & ~np.isin(words, ["[CLS]"])[:, None]
                & ~np.isin(words, ["[SEP]"])
            ),
        ],
        wrong=[
            (lambda words: [[a == b for a in words] for b in words], "same_word"),
            (
                lambda words: torch.tensor(
                    [
                        [0 < i < len(words) - 3 and j == i + 1 for j in range(len(words))]
                        for i in range(len(words))
                    ]
                ),
                "one_pair_short",
            ),
            (lambda words: torch.ones(len(words), len(words)).tril(1).triu(1), "not_boolean"),
        ],
        cheats=[],
    ),
    "real_model.score": Attempts(
        right=[
            lambda w, r: torch.einsum("...ij,ij->...", w, r.float()) / r.any(1).sum(),
            lambda w, r: np.mean((w.numpy() * r.numpy()).sum(-1)[..., r.numpy().any(-1)], -1),
        ],
        wrong=[
            (lambda w, r: (w * ~r).sum(-1)[..., r.any(-1)].mean(-1), "the_others"),
            (lambda w, r: ((w * r).sum(-1) / r.sum(-1))[..., r.any(-1)].mean(-1), "pairs_by_keys_they_have"),
            (lambda w, r: w[..., r].sum(-1), "sum"),
        ],
        cheats=[],
    ),
    "real_model.find": Attempts(
        right=[
            lambda s: [int(s.max(1).values.argmax()) + 1, chr(65 + int(s.max(0).values.argmax()))],
            lambda s: next(
                (i + 1, chr(65 + j)) for i, row in enumerate(s) for j, x in enumerate(row) if x == s.max()
            ),
        ],
        wrong=[
            (lambda s: s.max(), "several"),
            (lambda s: (int(s.argmax()) // s.shape[1] + 1, chr(97 + int(s.argmax()) % s.shape[1])), "other"),
            (lambda s: torch.where(s == s.max()), "block_from_0"),
        ],
        cheats=[],
    ),
    "cost.bytes": Attempts(
        right=[lambda L, h, B: np.prod([B, h, L, L]) * 2, lambda L, h, B: float(2 * L * L * h * B)],
        wrong=[
            (lambda L, h, B: 8 * B * h * L * L, "float64"),
            (lambda L, h, B: 2 * B * L * L // h, "heads_divide"),
            (lambda L, h, B: f"{2 * B * h * L * L} bytes", "other"),
        ],
        cheats=[],
    ),
    "cost.longest": Attempts(
        right=[by_halving, lambda memory, h: np.int64(math.isqrt(memory // 4 // h))],
        wrong=[
            (lambda memory, h: math.isqrt(memory // (8 * h)), "float64"),
            (lambda memory, h: math.isqrt(memory) // (4 * h), "root_before_dividing"),
            (lambda memory, h: math.floor(math.sqrt(memory / (4 * h))), "inexact"),
        ],
        cheats=[],
    ),
    "cost.pieces": Attempts(
        right=[
            word_by_word,
            lambda pieces: (
                torch.stack([s.logsumexp(0) for s, _ in pieces]).softmax(0)
                @ torch.stack([s.softmax(0) @ v for s, v in pieces])
            ),
        ],
        wrong=[
            (
                lambda pieces: (
                    sum((s - s.max()).exp() @ v for s, v in pieces)
                    / sum((s - s.max()).exp().sum() for s, _ in pieces)
                ),
                "own_largest",
            ),
            (
                lambda pieces: (
                    torch.stack([s.max() for s, _ in pieces]).softmax(0)
                    @ torch.stack([s.softmax(0) @ v for s, v in pieces])
                ),
                "pieces_by_their_largest",
            ),
            (lambda pieces: torch.cat([v for _, v in pieces]).mean(0), "even"),
        ],
        cheats=[],
    ),
}
