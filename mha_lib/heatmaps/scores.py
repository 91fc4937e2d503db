"""One number a head: the caller's scores, and two that need no more than the weights."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from ..errors import type_error, value_error
from .pool import hides_nothing
from .read import WeightMaps

# A score is a tensor (blocks, heads), or a function of the weights (blocks, h, Lq, Lk) and the words.
Score = Tensor | Callable[[Tensor, Sequence[str]], Tensor]


def entropy(maps: WeightMaps) -> Tensor:
    """Return how evenly each head spreads a row, mean over the rows that may see a key.

    − Σ w ln w: 0 where each query looks at one key, ln Lk where it looks at all alike.
    Shapes: (blocks, h).
    """
    weights, sees = _seen(maps)
    return _mean(torch.special.entr(weights).sum(-1), sees)


def distance(maps: WeightMaps) -> Tensor:
    """Return how far each head looks: Σ w · |query − key| in places, mean over the rows. (blocks, h)."""
    weights, sees = _seen(maps)
    Lq, Lk = weights.shape[-2:]
    places = (torch.arange(Lq)[:, None] - torch.arange(Lk)).abs().float()
    return _mean((weights * places).sum(-1), sees)


def _seen(maps: WeightMaps) -> tuple[Tensor, Tensor]:
    sees = maps.mask.any(-1)
    return maps.weights if hides_nothing(maps.mask) else maps.weights.masked_fill(~maps.mask, 0), sees


def _mean(rows: Tensor, sees: Tensor) -> Tensor:
    return rows.masked_fill(~sees, 0).sum(-1) / sees.sum(-1).clamp(min=1)


OWN = {"entropy": entropy, "distance": distance}  # lowest first: the sharpest, the nearest


def given_scores(scores: Mapping[str, Score], maps: WeightMaps) -> dict[str, Tensor]:
    """Return the caller's scores for the heads that are shown, (blocks, h) each.

    Raises:
        TypeError, ValueError: a score of another kind or shape, by name.
    """
    return {name: _given(name, score, maps) for name, score in scores.items()}


def _given(name: str, score: Score, maps: WeightMaps) -> Tensor:
    what = f"scores[{name!r}]"
    if callable(score):
        score = score(maps.weights, maps.keys)
    if not isinstance(score, Tensor):
        expected = "a tensor (blocks, heads) or a function of weights and words"
        raise type_error(what, expected, type(score).__name__)
    score = score.detach().float().cpu()
    if score.dim() == 1 and len(maps.weights) == 1:
        score = score[None]
    blocks, heads = maps.weights.shape[:2]
    if score.dim() == 2 and score.shape[1] > max(maps.heads) and score.shape[1] != heads:
        score = score[:, list(maps.heads)]  # scores of all heads, where some are shown
    if score.shape != (blocks, heads):
        raise value_error(what, f"one number a head, ({blocks}, {heads})", f"shape {tuple(score.shape)}")
    return score
