"""Masks: one from lengths, a softmax with one, a decoder's."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..masks import causal_mask, length_mask, masked_softmax
from .exercise import Exercise, Picture
from .inputs import randoms


def _places(lens: Tensor, num_keys: int) -> tuple[Tensor, Tensor]:
    return torch.arange(num_keys), lens[:, None]


def _without_query_axis(attempt: Callable[..., Any], lens: Tensor, num_keys: int) -> Any:
    mask = attempt(lens, num_keys)
    if isinstance(mask, Tensor) and mask.shape == (len(lens), 1, num_keys):
        return mask[:, 0]  # ready for a query axis: as good
    return mask


def _compared(how: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    return lambda lens, num_keys: how(*_places(lens, num_keys))


lengths = Exercise(
    right=lambda valid_lens, num_keys: torch.arange(num_keys) < valid_lens[:, None],
    cases=lambda: [
        (torch.tensor(n), Lk) for n, Lk in (([3, 2], 4), ([0, 5, 1], 5), ([1], 1), ([2, 3, 1, 0], 6))
    ],
    ask=_without_query_axis,
    mistakes={
        "flipped": _compared(lambda place, n: place >= n),
        "one_more": _compared(lambda place, n: place <= n),
        "one_less": _compared(lambda place, n: place < n - 1),
        "only_the_end": _compared(lambda place, n: place == n),
        "last_real_only": _compared(lambda place, n: place == n - 1),
        "no_axis": lambda lens, num_keys: torch.arange(num_keys) < lens,
        "swapped": lambda lens, num_keys: torch.arange(num_keys)[:, None] < lens,
        "from_the_end": _compared(lambda place, n: place.flip(0) < n),
        "as_wide_as_the_longest": lambda lens, num_keys: torch.arange(int(lens.max())) < lens[:, None],
        "causal": lambda lens, num_keys: torch.ones(len(lens), num_keys).tril().bool(),
    },
    picture=Picture.HEATMAPS,
)


def _softmax_cases() -> list[tuple[Tensor, Tensor]]:
    scores = torch.tensor([[0.5, 2.0, -1.0, 3.0], [1.0, 0.0, 4.0, 2.0], [2.0, 2.0, 1.0, 0.0]])
    high = torch.tensor([[300.0, 1.0, 2.0], [1.0, 300.0, 150.0]])
    low = torch.tensor([[-3e9, -2e9, 0.0]])
    masks = (
        [[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]],
        [[0, 1, 1], [1, 0, 1]],
        [[1, 1, 0]],
        [[1, 0, 1, 1, 0], [0, 1, 1, 1, 1]],
    )
    return [
        (s, torch.tensor(m).bool()) for s, m in zip((scores, high, low, *randoms((2, 5))), masks, strict=True)
    ]


def _weights_and_care(attempt: Callable[..., Any], scores: Tensor, mask: Tensor) -> dict[str, Any]:
    """Return the weights, whether the scores stayed as they were, whether the gradient is a number."""
    before, leaf = scores.clone(), scores.clone().requires_grad_()
    weights = attempt(scores, mask)
    again = attempt(leaf * 1, mask)
    finite = True
    if isinstance(again, Tensor) and again.requires_grad and again.ndim == 2:
        again[0, 1].backward()
        finite = leaf.grad is None or not bool(leaf.grad.isnan().any())
    return {"weights": weights, "kept": torch.equal(scores, before), "gradient": finite}


def _filled(value: float) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda scores, mask: scores.masked_fill(~mask, value).softmax(-1)


def _powers(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores - scores.amax(-1, keepdim=True)).exp() * mask


softmax = Exercise(
    right=lambda scores, mask: masked_softmax(scores, mask),
    cases=_softmax_cases,
    ask=_weights_and_care,
    mistakes={
        "nan_row": _filled(-math.inf),
        "zero_fill": _filled(0.0),
        "zero_fill_then_mask": lambda s, m: _filled(0.0)(s, m) * m,
        "even_row": _filled(-1e9),
        "after": lambda s, m: s.softmax(-1) * m,
        "flipped": lambda s, m: masked_softmax(s, ~m),
        "no_mask": lambda s, m: s.softmax(-1),
        "over_queries": lambda s, m: s.masked_fill(~m, -1e30).softmax(0) * m,
        "fill_too_near": lambda s, m: _filled(-1e9)(s, m) * m,
        "fill_too_near_in_a_living_row": lambda s, m: _filled(-1e9)(s, m).masked_fill(
            ~m.any(-1, keepdim=True), 0.0
        ),
        "added": lambda s, m: (s + m).softmax(-1),
        "large_taken_away": lambda s, m: (s - 1e4 * ~m).softmax(-1),
        "over_queries_with_infinity": lambda s, m: s.masked_fill(~m, -math.inf).softmax(0),
        "no_softmax": lambda s, m: s.masked_fill(~m, -math.inf),
        "underflow": lambda s, m: _powers(s, m) / _powers(s, m).sum(-1, keepdim=True).clamp(min=1e-9),
        "overflow": lambda s, m: s.exp() * m / (s.exp() * m).sum(-1, keepdim=True).clamp(min=1e-9),
    },
    picture=Picture.HEATMAPS,
)


def _last_real(lens: Tensor, Lq: int, Lk: int) -> Tensor:
    return torch.arange(Lk) <= (lens[:, None] - Lq + torch.arange(Lq))[..., None]


def _causal(Lq: int, Lk: int) -> Tensor:
    return causal_mask(Lq, Lk, align="bottom-right")


decode = Exercise(
    right=lambda valid_lens, num_queries, num_keys: (
        length_mask(valid_lens, num_keys) & _causal(num_queries, num_keys)
    ),
    cases=lambda: [
        (torch.tensor(n), Lq, Lk)
        for n, Lq, Lk in (([5, 4], 2, 5), ([3, 6, 0], 3, 6), ([4], 4, 4), ([2, 7, 5, 6], 1, 7))
    ],
    mistakes={
        "last_real": _last_real,
        "flipped": lambda n, Lq, Lk: ~(length_mask(n, Lk) & _causal(Lq, Lk)),
        "top_left": lambda n, Lq, Lk: length_mask(n, Lk) & causal_mask(Lq, Lk),
        "no_lengths": lambda n, Lq, Lk: _causal(Lq, Lk).expand(len(n), Lq, Lk),
        "no_causal": lambda n, Lq, Lk: length_mask(n, Lk).expand(len(n), Lq, Lk),
        "either": lambda n, Lq, Lk: length_mask(n, Lk) | _causal(Lq, Lk),
        "upper": lambda n, Lq, Lk: length_mask(n, Lk) & torch.ones(Lq, Lk).triu(Lk - Lq).bool(),
        "not_itself": lambda n, Lq, Lk: length_mask(n, Lk) & torch.ones(Lq, Lk).tril(Lk - Lq - 1).bool(),
        "offset_turned_round": lambda n, Lq, Lk: length_mask(n, Lk) & torch.ones(Lq, Lk).tril(Lq - Lk).bool(),
        "sees_the_next": lambda n, Lq, Lk: length_mask(n, Lk) & torch.ones(Lq, Lk).tril(Lk - Lq + 1).bool(),
        "one_mask": lambda n, Lq, Lk: _causal(Lq, Lk),
    },
    picture=Picture.HEATMAPS,
)
