import math

import numpy as np
import torch

from attempts import Attempts, as_array, constant, only, rounded


def size(L, h, B):
    return 2 * B * h * L**2


def by_search(memory, h):
    low, high = 0, memory + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if 4 * h * middle * middle <= memory else (low, middle)
    return low


def mended_root(memory, h):
    L = int((memory / (4 * h)) ** 0.5) + 2
    while 4 * h * L * L > memory:
        L -= 1
    return L


def longest(memory, h):
    return math.isqrt(memory // (4 * h))


def running(pieces):
    largest, powers, total = torch.tensor(float("-inf")), 0.0, 0.0
    for scores, values in pieces:
        higher = torch.maximum(largest, scores.max())
        shrink, new = (largest - higher).exp(), (scores - higher).exp()
        powers, total, largest = powers * shrink + new.sum(), total * shrink + new @ values, higher
    return total / powers


def in_two_passes(pieces):
    top = max(scores.max() for scores, _ in pieces)
    powers = sum((scores - top).exp().sum() for scores, _ in pieces)
    return sum((scores - top).exp() @ values for scores, values in pieces) / powers


def by_logsumexp(pieces):
    shares = torch.stack([scores.logsumexp(0) for scores, _ in pieces]).softmax(0)
    return sum(share * (s.softmax(0) @ v) for share, (s, v) in zip(shares, pieces, strict=True))


def in_place(pieces):
    top = max(scores.max() for scores, _ in pieces)
    for scores, values in pieces:
        scores.sub_(top).exp_()
        values.mul_(scores[:, None])
    return sum(v.sum(0) for _, v in pieces) / sum(s.sum() for s, _ in pieces)


def no_largest(pieces):
    powers = sum(scores.exp().sum() for scores, _ in pieces)
    return sum(scores.exp() @ values for scores, values in pieces) / powers


def no_shrinking(pieces):
    largest, powers, total = torch.tensor(float("-inf")), 0.0, 0.0
    for scores, values in pieces:
        largest = torch.maximum(largest, scores.max())
        new = (scores - largest).exp()
        powers, total = powers + new.sum(), total + new @ values
    return total / powers


def clamped(pieces):
    return no_largest([(scores.clamp(max=80), values) for scores, values in pieces])


ATTEMPTS = {
    "cost.bytes": Attempts(
        right=[
            size,
            lambda L, h, B: torch.zeros(B, h, L, L, dtype=torch.float16).nbytes,
            lambda L, h, B: torch.tensor(size(L, h, B)),
            lambda L, h, B: np.prod([2, B, h, L, L]),
            lambda L, h, B: float(size(L, h, B)),
            lambda L, h, B: B * h * L * L * 16 / 8,
        ],
        wrong=[
            (lambda L, h, B: 4 * B * h * L**2, "float32"),
            (lambda L, h, B: B * h * L**2, "count"),
            (lambda L, h, B: 2 * B * h * L, "one_L"),
            (lambda L, h, B: 2 * B * L**2, "no_heads"),
            (lambda L, h, B: 2 * h * L**2, "no_batch"),
            (lambda L, h, B: 16 * B * h * L**2, "bits"),
            (lambda L, h, B: size(L, h, B) + 1, "other"),
        ],
        cheats=[constant(420_000), lambda L, h, B: 42 * L * L],
    ),
    "cost.longest": Attempts(
        right=[
            longest,
            by_search,
            mended_root,
            lambda memory, h: torch.tensor(longest(memory, h)),
            lambda memory, h: np.int64(longest(memory, h)),
        ],
        wrong=[
            (lambda memory, h: memory // (4 * h), "pairs"),
            (lambda memory, h: int((memory / 4) ** 0.5), "no_heads"),
            (lambda memory, h: longest(memory, h) + 1, "one_more"),
            (lambda memory, h: (memory / (4 * h)) ** 0.5, "not_whole"),
            (lambda memory, h: int((memory / (4 * h)) ** 0.5), "inexact"),
            (lambda memory, h: math.isqrt(memory // h), "one_byte"),
            (lambda memory, h: longest(memory, h) - 1, "one_less"),
        ],
        cheats=[lambda memory, h: round((memory / (4 * h)) ** 0.5), constant(1000)],
    ),
    "cost.pieces": Attempts(
        right=[
            running,
            in_two_passes,
            by_logsumexp,
            in_place,
            as_array(running),
            lambda p: running(p).tolist(),
        ],
        wrong=[
            (no_largest, "no_largest"),
            (lambda p: torch.stack([s.softmax(0) @ v for s, v in p]).mean(0), "mean_of_means"),
            (lambda p: sum(s.softmax(0) @ v for s, v in p), "sum_of_means"),
            (no_shrinking, "no_shrinking"),
            (lambda p: [s.softmax(0) @ v for s, v in p][-1], "last_piece"),
            (
                lambda p: sum(len(s) * (s.softmax(0) @ v) for s, v in p) / sum(len(s) for s, _ in p),
                "by_length",
            ),
        ],
        cheats=[
            clamped,
            lambda p: no_largest(p).nan_to_num(),
            rounded(running),
            only(lambda p: len(p) == 3, running),
        ],
    ),
}
