import math

import numpy as np
import torch

import mha_lib as mha
from attempts import Attempts, as_array, constant, listed, only, rounded


def mask(n, k):
    return torch.arange(k) < n[:, None]


def solution(scores, may):
    nothing = ~may.any(-1, keepdim=True)
    weights = scores.masked_fill(~(may | nothing), -math.inf).softmax(-1)
    return weights.masked_fill(~may, 0.0)


def row_by_row(scores, may):
    weights = torch.zeros_like(scores)
    for i, seen in enumerate(may):
        if seen.any():
            weights[i, seen] = scores[i, seen].softmax(-1)
    return weights


def in_numpy(scores, may):
    s, m = scores.detach().numpy(), may.numpy()
    highest = np.where(m, s, -np.inf).max(-1, keepdims=True)
    powers = np.where(m, np.exp(np.where(m, s - np.where(np.isfinite(highest), highest, 0), 0)), 0)
    return powers / np.maximum(powers.sum(-1, keepdims=True), 1e-30)


def filled(value):
    return lambda scores, may: scores.masked_fill(~may, value).softmax(-1)


def after_and_again(scores, may):
    weights = scores.softmax(-1) * may
    return weights / weights.sum(-1, keepdim=True)


def after_and_again_with_a_floor(scores, may):
    weights = scores.softmax(-1) * may
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)


def in_place(scores, may):
    scores.masked_fill_(~may, -math.inf)
    return torch.where(may, scores.softmax(-1), 0.0).nan_to_num(0.0)


def bottom_right(q, k):
    return torch.ones(q, k).tril(k - q).bool()


def writing(n, q, k):
    return mask(n, k)[:, None] & bottom_right(q, k)


def by_loops(n, q, k):
    return [
        [[key < length and key <= k - q + i for key in range(k)] for i in range(q)] for length in n.tolist()
    ]


ATTEMPTS = {
    "masks.lengths": Attempts(
        right=[
            mask,
            lambda n, k: torch.arange(k)[None, None] < n[:, None, None],
            lambda n, k: torch.stack([torch.arange(k) < i for i in n]),
            lambda n, k: [[place < length for place in range(k)] for length in n.tolist()],
            as_array(mask),
            listed(mask),
        ],
        wrong=[
            (lambda n, k: torch.arange(k) >= n[:, None], "flipped"),
            (lambda n, k: torch.arange(k) <= n[:, None], "one_more"),
            (lambda n, k: torch.arange(1, k + 1) < n[:, None], "one_less"),
            (lambda n, k: (torch.arange(k) < n[:, None]).float(), "not_boolean"),
            (lambda n, k: torch.ones(len(n), k, dtype=torch.bool), "number"),
            (lambda n, k: torch.arange(k) < n, "no_axis"),
            (lambda n, k: torch.arange(k)[:, None] < n, "swapped"),
            (lambda n, k: print(end=""), "no_return"),
        ],
        cheats=[
            constant(torch.tensor([[True, True, True, False], [True, True, False, False]])),
            only(lambda n, k: k == 4, mask),
        ],
    ),
    "masks.softmax": Attempts(
        right=[
            solution,
            row_by_row,
            in_numpy,
            lambda s, m: mha.masked_softmax(s, m),
            lambda s, m: filled(-math.inf)(s, m).nan_to_num(0.0),
            lambda s, m: filled(-math.inf)(s, m | ~m.any(-1, True)) * m,
        ],
        wrong=[
            (filled(-math.inf), "nan_row"),
            (after_and_again, "nan_row"),
            (filled(0.0), "zero_fill"),
            (lambda s, m: (s * m).softmax(-1), "zero_fill"),
            (lambda s, m: filled(0.0)(s, m) * m, "zero_fill_then_mask"),
            (filled(-1e9), "even_row"),
            (lambda s, m: filled(-1e9)(s, m) * m, "fill_too_near"),
            (lambda s, m: s.softmax(-1) * m, "after"),
            (lambda s, m: mha.masked_softmax(s, ~m), "flipped"),
            (lambda s, m: mha.masked_softmax(s, m) + 0.1, "number"),
            (in_place, "kept"),
            (
                lambda s, m: (
                    (s + torch.zeros(m.shape).masked_fill(~m, -math.inf)).softmax(-1).nan_to_num(0.0)
                ),
                "gradient",
            ),
            (after_and_again_with_a_floor, "underflow"),
        ],
        cheats=[
            lambda s, m: (
                (s.clamp(max=80).exp() * m) / (s.clamp(max=80).exp() * m).sum(-1, True).clamp(min=1e-30)
            ),
            rounded(solution),
            constant(torch.zeros(3, 4)),
        ],
    ),
    "masks.decode": Attempts(
        right=[
            writing,
            by_loops,
            lambda n, q, k: mha.length_mask(n, k) & mha.causal_mask(q, k, align="bottom-right"),
            lambda n, q, k: mask(n, k)[:, None].logical_and(
                torch.arange(k) <= torch.arange(k - q, k)[:, None]
            ),
            as_array(writing),
        ],
        wrong=[
            (lambda n, q, k: mha.length_mask(n, k) & mha.causal_mask(q, k), "top_left"),
            (lambda n, q, k: bottom_right(q, k).expand(len(n), q, k), "no_lengths"),
            (lambda n, q, k: mha.length_mask(n, k).expand(len(n), q, k), "no_causal"),
            (lambda n, q, k: mha.length_mask(n, k) | bottom_right(q, k), "either"),
            (lambda n, q, k: torch.arange(k) <= ((n - q)[:, None] + torch.arange(q))[..., None], "last_real"),
            (lambda n, q, k: ~writing(n, q, k), "flipped"),
            (lambda n, q, k: bottom_right(q, k), "one_mask"),
            (lambda n, q, k: writing(n, q, k).int(), "not_boolean"),
        ],
        cheats=[only(lambda n, q, k: k == 5, writing), constant(torch.ones(2, 2, 5, dtype=torch.bool))],
    ),
}
