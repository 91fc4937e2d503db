"""One attention head by hand: the head, a listing to mend, a softmax that survives."""

import torch
from torch import Tensor

from .exercise import Exercise, Picture
from .inputs import randoms


def _attend(q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, dim: int = -1) -> Tensor:
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return (q @ k.T * scale).softmax(dim) @ v


attention = Exercise(
    right=lambda q, k, v: _attend(q, k, v),
    cases=lambda: (
        randoms((3, 4), (7, 4), (7, 6)),
        randoms((2, 9), (5, 9), (5, 3)),
        randoms((4, 5), (6, 5), (6, 8), seed=2),
    ),
    mistakes={
        "no_scale": lambda q, k, v: _attend(q, k, v, 1.0),
        "by_d": lambda q, k, v: _attend(q, k, v, 1 / q.shape[-1]),
        "times_root": lambda q, k, v: _attend(q, k, v, q.shape[-1] ** 0.5),
        "times_d": lambda q, k, v: _attend(q, k, v, q.shape[-1]),
        "root_of_queries": lambda q, k, v: _attend(q, k, v, len(q) ** -0.5),
        "root_of_keys": lambda q, k, v: _attend(q, k, v, len(k) ** -0.5),
        "root_of_width_of_v": lambda q, k, v: _attend(q, k, v, v.shape[-1] ** -0.5),
        "fixed_2": lambda q, k, v: _attend(q, k, v, 2**-0.5),
        "fixed_5": lambda q, k, v: _attend(q, k, v, 5**-0.5),
        "fixed_4": lambda q, k, v: _attend(q, k, v, 0.5),
        "over_queries": lambda q, k, v: _attend(q, k, v, dim=0),
        "over_all": lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).flatten().softmax(0).view(-1, len(k)) @ v,
        "no_softmax": lambda q, k, v: q @ k.T / q.shape[-1] ** 0.5 @ v,
        "powers_only": lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).exp() @ v,
        "scale_after": lambda q, k, v: _attend(q, k, v, 1.0) / q.shape[-1] ** 0.5,
        "weights_only": lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).softmax(-1),
        "no_transpose": lambda q, k, v: q @ k,
        "keys_ask": lambda q, k, v: (k @ q.T / q.shape[-1] ** 0.5).softmax(-1) @ v,
        "keys_for_values": lambda q, k, v: _attend(q, k, k),
    },
)

mend = Exercise(
    right=lambda q, k: q @ k.mT / q.shape[-1] ** 0.5,
    cases=lambda: (randoms((3, 4), (6, 4)), randoms((2, 5), (3, 5)), randoms((4, 9), (2, 9), seed=2)),
    mistakes={
        "times_d": lambda q, k: q @ k.T / q.shape[-1] ** -1,
        "times_root": lambda q, k: q @ k.T / q.shape[-1] ** -0.5,
        "by_d": lambda q, k: q @ k.T / q.shape[-1],
        "fixed_2": lambda q, k: q @ k.T / 2,
        "no_scale": lambda q, k: q @ k.T,
        "root_of_queries": lambda q, k: q @ k.T / len(q) ** 0.5,
        "root_of_keys": lambda q, k: q @ k.T / len(k) ** 0.5,
        "by_d_squared": lambda q, k: q @ k.T / q.shape[-1] ** 2,
        "whole_numbers": lambda q, k: q @ k.T // q.shape[-1] ** 0.5,
        "swapped": lambda q, k: k @ q.T / q.shape[-1] ** 0.5,
        "no_transpose": lambda q, k: q @ k,
        "softmax_too": lambda q, k: (q @ k.T / q.shape[-1] ** 0.5).softmax(-1),
    },
)


def _softmax_cases() -> list[tuple[Tensor]]:
    high = torch.tensor([[1000.0, 998.0, 0.0], [0.0, 1.0, 2.0]])
    low = torch.tensor([[-1000.0, -1001.0, -3000.0], [0.5, -0.5, 0.0]])
    return [(t,) for t in (*randoms((4, 4), (2, 3)), high, low, *randoms((2, 3, 4)))]


def _share(scores: Tensor, less: Tensor | float) -> Tensor:
    powers = (scores - less).exp()
    return powers / powers.sum(-1, keepdim=True)


softmax = Exercise(
    right=lambda scores: scores.softmax(-1),
    cases=_softmax_cases,
    mistakes={
        "overflow": lambda s: _share(s, 0.0),
        "of_all": lambda s: _share(s, s.max()),
        "sum_of_all": lambda s: s.exp() / s.exp().sum(),
        "sum_of_all_after_largest": lambda s: (
            (s - s.amax(-1, True)).exp() / (s - s.amax(-1, True)).exp().sum()
        ),
        "no_keepdim": lambda s: s.exp() / s.exp().sum(-1),
        "no_keepdim_of_largest": lambda s: _share(s, s.amax(-1)),
        "largest_with_its_place": lambda s: s - s.max(-1, keepdim=True),
        "over_rows": lambda s: s.softmax(0),
        "axis_1": lambda s: s.softmax(1),
        "clamped": lambda s: _share(s.clamp(max=80), 0.0),
        "nan_made_0": lambda s: _share(s, 0.0).nan_to_num(0.0),
        "powers_only": lambda s: s.exp(),
        "not_divided": lambda s: _share(s, s.amax(-1, True)) * (s - s.amax(-1, True)).exp().sum(-1, True),
        "largest_above_only": lambda s: (s - s.amax(-1, True)).exp() / s.exp().sum(-1, True),
        "fixed_less": lambda s: _share(s, 1000.0),
        "largest_divided": lambda s: (s / s.amax(-1, True)).softmax(-1),
        "logarithm": lambda s: s.log_softmax(-1),
    },
    picture=Picture.HEATMAPS,
)
