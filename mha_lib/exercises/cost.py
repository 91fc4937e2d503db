"""The lab on cost: bytes, the longest text, a softmax in pieces."""

import math

import torch
from torch import Tensor

from .exercise import Exercise
from .inputs import randoms

bytes = Exercise(
    right=lambda L, num_heads, batch: 2 * batch * num_heads * L * L,
    cases=lambda: ((100, 3, 7), (1000, 2, 5), (17, 11, 13)),
    mistakes={
        "float32": lambda L, h, B: 4 * B * h * L * L,
        "count": lambda L, h, B: B * h * L * L,
        "one_L": lambda L, h, B: 2 * B * h * L,
        "no_heads": lambda L, h, B: 2 * B * L * L,
        "no_batch": lambda L, h, B: 2 * h * L * L,
        "bits": lambda L, h, B: 16 * B * h * L * L,
        "square_alone": lambda L, h, B: 2 * L * L,
        "L_doubled": lambda L, h, B: 2 * B * h * 2 * L,
        "float64": lambda L, h, B: 8 * B * h * L * L,
        "heads_divide": lambda L, h, B: 2 * B * L * L // h,
        "half_the_pairs": lambda L, h, B: B * h * L * (L + 1),
    },
)


def _longest_cases() -> list[tuple[int, int]]:
    exact = ((1000, 1, 0), (999, 3, 5), (10**9, 7, 1), (1000, 3, -1), (10**9, 12, -1), (77, 6, 100))
    return [(4 * h * L * L + more, h) for L, h, more in exact]


longest = Exercise(
    right=lambda memory, num_heads: math.isqrt(memory // (4 * num_heads)),
    cases=_longest_cases,
    mistakes={
        "pairs": lambda memory, h: memory // (4 * h),
        "no_heads": lambda memory, h: math.isqrt(memory // 4),
        "one_byte": lambda memory, h: math.isqrt(memory // h),
        "float16": lambda memory, h: math.isqrt(memory // (2 * h)),
        "heads_outside_the_root": lambda memory, h: math.isqrt(memory // 4) // h,
        "root_before_dividing": lambda memory, h: math.isqrt(memory) // (4 * h),
        "float64": lambda memory, h: math.isqrt(memory // (8 * h)),
        "one_less": lambda memory, h: math.isqrt(memory // (4 * h)) - 1,
        "one_more": lambda memory, h: math.isqrt(memory // (4 * h)) + 1,
        "ceil": lambda memory, h: math.ceil((memory / (4 * h)) ** 0.5),
        "round": lambda memory, h: round((memory / (4 * h)) ** 0.5),
        "not_whole": lambda memory, h: (memory / (4 * h)) ** 0.5,
        "inexact": lambda memory, h: int((memory / (4 * h)) ** 0.5),
    },
)

Pieces = list[tuple[Tensor, Tensor]]


def _pieces_cases() -> list[tuple[Pieces]]:
    cases = []
    for sizes, height, all_by in (
        ((3, 5, 2), 1.0, 0.0),
        ((4, 1), 1.0, 0.0),
        ((2, 3, 4), 1000.0, 0.0),
        ((3, 2), 1.0, -1000.0),
    ):
        scores = randoms(*[(n,) for n in sizes])
        values = randoms(*[(n, 3) for n in sizes], seed=2)
        cases.append(
            (
                [
                    (s + height * (i == 1) + all_by, v)
                    for i, (s, v) in enumerate(zip(scores, values, strict=True))
                ],
            )
        )
    return cases


def _whole(pieces: Pieces) -> Tensor:
    return torch.cat([s for s, _ in pieces]).softmax(0) @ torch.cat([v for _, v in pieces])


def _apart(pieces: Pieces) -> Tensor:
    return torch.stack([s.softmax(0) @ v for s, v in pieces])


def _running(
    pieces: Pieces, start: float = -math.inf, shrink: bool = True, fixed: float | None = None
) -> Tensor:
    largest, powers, total = torch.tensor(start), torch.tensor(0.0), torch.tensor(0.0)
    for scores, values in pieces:
        higher = torch.maximum(largest, scores.max()) if fixed is None else torch.tensor(fixed)
        factor = (largest - higher).exp() if shrink else torch.tensor(1.0)
        new = (scores - higher).exp()
        powers, total, largest = powers * factor + new.sum(), total * factor + new @ values, higher
    return total / powers


def _total_shrunk_only(pieces: Pieces) -> Tensor:
    largest, powers, total = torch.tensor(-math.inf), torch.tensor(0.0), torch.tensor(0.0)
    for scores, values in pieces:
        higher = torch.maximum(largest, scores.max())
        new = (scores - higher).exp()
        total, powers, largest = total * (largest - higher).exp() + new @ values, powers + new.sum(), higher
    return total / powers


pieces = Exercise(
    right=lambda pieces: _whole(pieces),
    cases=_pieces_cases,
    mistakes={
        "no_largest": lambda p: _running(p, 0.0, shrink=False, fixed=0.0),
        "starts_at_0": lambda p: _running(p, 0.0),
        "mean_of_means": lambda p: _apart(p).mean(0),
        "sum_of_means": lambda p: _apart(p).sum(0),
        "by_length": lambda p: (
            torch.stack([len(s) * (s.softmax(0) @ v) for s, v in p]).sum(0) / sum(len(s) for s, _ in p)
        ),
        "no_shrinking": lambda p: _running(p, shrink=False),
        "only_the_values_shrink": _total_shrunk_only,
        "own_largest": lambda p: (
            torch.stack([(s - s.max()).exp() @ v for s, v in p]).sum(0)
            / torch.stack([(s - s.max()).exp().sum() for s, _ in p]).sum()
        ),
        "pieces_by_their_largest": lambda p: torch.stack([s.max() for s, _ in p]).softmax(0) @ _apart(p),
        "even": lambda p: torch.cat([v for _, v in p]).mean(0),
        "not_divided": lambda p: torch.stack([s.exp() @ v for s, v in p]).sum(0),
        "first_piece": lambda p: _apart(p)[0],
        "last_piece": lambda p: _apart(p)[-1],
        "largest_piece": lambda p: _apart(p)[int(torch.stack([s.max() for s, _ in p]).argmax())],
        "scores_for_weights": lambda p: (
            torch.stack([s @ v for s, v in p]).sum(0) / torch.stack([s.sum() for s, _ in p]).sum()
        ),
    },
)
