import math

import numpy as np
import torch

from attempts import Attempts, as_array, constant, listed, only, rounded, shifted


def head(q, k, v):
    return (q @ k.T / math.sqrt(q.shape[-1])).softmax(-1) @ v


def fused(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]


def in_place(q, k, v):
    q /= q.shape[-1] ** 0.5
    weights = q @ k.T
    weights -= weights.amax(-1, keepdim=True)
    weights.exp_()
    weights /= weights.sum(-1, keepdim=True)
    return weights @ v


def by_loops(q, k, v):
    rows = []
    for query in q:
        powers = [math.exp(float(query @ key) / math.sqrt(len(query))) for key in k]
        rows.append(sum(p * value for p, value in zip(powers, v, strict=True)) / sum(powers))
    return rows


def in_numpy(q, k, v):
    scores = q.numpy() @ k.numpy().T / np.sqrt(q.shape[-1])
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v.numpy()


def in_float64(q, k, v):
    return head(q.double(), k.double(), v.double())


def scores(q, k):
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def scores_in_place(q, k):
    q /= q.shape[-1] ** 0.5
    return q @ k.T


def steady(s):
    powers = (s - s.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


def steady_in_place(s):
    s -= s.max(-1, keepdim=True).values
    s.exp_()
    s /= s.sum(-1, keepdim=True)
    return s


ATTEMPTS = {
    "one_head.attention": Attempts(
        right=[head, fused, in_place, by_loops, in_numpy, in_float64, listed(head)],
        wrong=[
            (lambda q, k, v: (q @ k.T).softmax(-1) @ v, "no_scale"),
            (lambda q, k, v: (q @ k.T / q.shape[-1]).softmax(-1) @ v, "by_d"),
            (lambda q, k, v: (q @ k.T * 2).softmax(-1) @ v, "times_root"),
            (lambda q, k, v: (q @ k.T / q.shape[-1] ** -1).softmax(-1) @ v, "times_d"),
            (lambda q, k, v: (q @ k.T / 2).softmax(0) @ v, "over_queries"),
            (lambda q, k, v: (q @ k.T / math.sqrt(k.shape[0])).softmax(-1) @ v, "root_of_keys"),
            (lambda q, k, v: (q @ k.T).softmax(-1) / math.sqrt(q.shape[-1]) @ v, "scale_after"),
            (lambda q, k, v: (q @ k.T / 2).softmax(-1) @ v, "fixed_4"),
            (lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).softmax(-1), "weights_only"),
            (lambda q, k, v: q @ k / 2, "no_transpose"),
            (lambda q, k, v: (head(q, k, v), 1), "returns_more"),
            (lambda q, k, v: print(end=""), "no_return"),
            (lambda q, k: q, "raised"),
            (shifted(head), "number"),
            (3, "not_a_function"),
        ],
        cheats=[constant(torch.zeros(3, 6)), only(lambda q, k, v: q.shape[-1] == 4, head), rounded(head, 3)],
    ),
    "one_head.mend": Attempts(
        right=[
            scores,
            scores_in_place,
            lambda q, k: torch.einsum("id,jd->ij", q, k) / math.sqrt(k.shape[1]),
            lambda q, k: q @ k.T * len(q[0]) ** -0.5,
            as_array(scores),
            lambda q, k: [[float(a @ b) / len(a) ** 0.5 for b in k] for a in q],
        ],
        wrong=[
            (lambda q, k: q @ k.T / q.shape[-1] ** -1, "times_d"),
            (lambda q, k: q @ k.T / q.shape[-1], "by_d"),
            (lambda q, k: q @ k.T / q.shape[-1] ** -0.5, "times_root"),
            (lambda q, k: q @ k.T / 2, "fixed_2"),
            (lambda q, k: k @ q.T / q.shape[-1] ** 0.5, "swapped"),
            (lambda q, k: q @ k.T, "no_scale"),
        ],
        cheats=[
            lambda q, k: scores(q, k).abs(),
            only(lambda q, k: q.shape[-1] == 4, scores),
            rounded(scores),
        ],
    ),
    "one_head.softmax": Attempts(
        right=[
            steady,
            steady_in_place,
            lambda s: s.softmax(-1),
            lambda s: (s - s.logsumexp(-1, keepdim=True)).exp(),
            lambda s: steady(s.double()),
            as_array(steady),
        ],
        wrong=[
            (lambda s: s.exp() / s.exp().sum(-1, keepdim=True), "overflow"),
            (lambda s: s.exp() / s.exp().sum(0), "over_rows"),
            (lambda s: s.exp() / s.exp().sum(), "sum_of_all"),
            (lambda s: (s - s.max()).exp() / (s - s.max()).exp().sum(-1, keepdim=True), "of_all"),
            (lambda s: s.exp() / s.exp().sum(-1), "no_keepdim"),
            (lambda s: (s - s.max(-1, keepdim=True)).exp(), "largest_with_its_place"),
            (lambda s: print(end=""), "no_return"),
        ],
        cheats=[
            lambda s: s.clamp(max=80).exp() / s.clamp(max=80).exp().sum(-1, keepdim=True),
            lambda s: (s.exp() / s.exp().sum(-1, keepdim=True)).nan_to_num(),
            rounded(steady, 3),
        ],
    ),
}
