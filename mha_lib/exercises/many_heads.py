"""Several heads: the loop over heads, additive scores."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from ..scoring import additive_scores
from .exercise import Exercise
from .inputs import randoms

Share = Callable[[Tensor, slice], Tensor]


def _heads(
    X: Tensor,
    projections: tuple[Tensor, ...],
    num_heads: int,
    share: Share = lambda W, rows: W[rows].T,
    scale: float | None = None,
    dim: int = -1,
) -> Iterator[Tensor]:
    d = X.shape[-1] // num_heads
    scale = d**-0.5 if scale is None else scale
    for i in range(num_heads):
        q, k, v = (X @ share(W, slice(i * d, (i + 1) * d)) for W in projections)
        yield (q @ k.mT * scale).softmax(dim) @ v


def _loop(X: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, h: int, **how: object) -> Tensor:
    return torch.cat(list(_heads(X, (q, k, v), h, **how)), -1) @ o.T  # type: ignore[arg-type]


def _cut_first(X: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, h: int) -> Tensor:
    def attend(rows: Tensor) -> Tensor:
        Q, K, V = (X[..., rows] @ W[rows][:, rows].T for W in (q, k, v))
        return (Q @ K.mT / len(rows) ** 0.5).softmax(-1) @ V

    return torch.cat([attend(rows) for rows in torch.arange(X.shape[-1]).chunk(h)], -1) @ o.T


def _joined(X: Tensor, q: Tensor, k: Tensor, v: Tensor, h: int) -> Tensor:
    return torch.cat(list(_heads(X, (q, k, v), h)), -1)


loop = Exercise(
    right=lambda X, W_q, W_k, W_v, W_o, num_heads: _loop(X, W_q, W_k, W_v, W_o, num_heads),
    cases=lambda: (
        (*randoms((2, 4, 10), *[(10, 10)] * 4), 2),
        (*randoms((2, 3, 8), *[(8, 8)] * 4), 4),
        (*randoms((1, 5, 6), *[(6, 6)] * 4), 3),
    ),
    mistakes={
        "cut_first": _cut_first,
        "no_W_o": lambda X, q, k, v, o, h: _joined(X, q, k, v, h),
        "W_o_turned": lambda X, q, k, v, o, h: _joined(X, q, k, v, h) @ o,
        "by_root_D": lambda *all: _loop(*all, scale=all[0].shape[-1] ** -0.5),
        "no_scale": lambda *all: _loop(*all, scale=1.0),
        "by_d": lambda *all: _loop(*all, scale=all[-1] / all[0].shape[-1]),
        "keys_by_W_q": lambda X, q, k, v, o, h: _loop(X, q, q, v, o, h),
        "values_by_W_k": lambda X, q, k, v, o, h: _loop(X, q, k, k, o, h),
        "not_cut": lambda X, q, k, v, o, h: _loop(X, q, k, v, o, 1),
        "striped": lambda *all: _loop(*all, share=lambda W, r: W[r.start // (r.stop - r.start) :: all[-1]].T),
        "over_queries": lambda *all: _loop(*all, dim=-2),
        "columns": lambda *all: _loop(*all, share=lambda W, r: W[:, r]),
        "no_transpose": lambda *all: _loop(*all, share=lambda W, r: W[r]),
        "first_head_only": lambda *all: _loop(*all, share=lambda W, r: W[: r.stop - r.start].T),
        "reversed": lambda X, q, k, v, o, h: torch.cat(list(_heads(X, (q, k, v), h))[::-1], -1) @ o.T,
        "added": lambda X, q, k, v, o, h: torch.stack(list(_heads(X, (q, k, v), h))).sum(0),
        "stacked": lambda X, q, k, v, o, h: torch.stack(list(_heads(X, (q, k, v), h))) @ o.T,
        "interleaved": lambda X, q, k, v, o, h: (
            torch.stack(list(_heads(X, (q, k, v), h)), -1).flatten(2) @ o.T
        ),
        "all_axes_turned": lambda X, q, k, v, o, h: (X @ q[: len(q) // h].T) @ (X @ k[: len(q) // h].T).T,
        "d_not_whole": lambda X, q, k, v, o, h: q[0 * len(q) / h : 1 * len(q) / h],
    },
)


def _pairs(q: Tensor, k: Tensor) -> Tensor:
    return q[:, None] + k[None]


additive = Exercise(
    right=additive_scores,
    cases=lambda: (
        randoms((2, 5), (3, 5), (5,)),
        randoms((4, 3), (4, 3), (3,)),
        randoms((1, 2), (6, 2), (2,)),
    ),
    mistakes={
        "no_tanh": lambda q, k, w_v: _pairs(q, k) @ w_v,
        "swapped": lambda q, k, w_v: additive_scores(k, q, w_v),
        "no_w_v": lambda q, k, w_v: _pairs(q, k).tanh(),
        "summed_without_w_v": lambda q, k, w_v: _pairs(q, k).tanh().sum(-1),
        "tanh_outside": lambda q, k, w_v: (_pairs(q, k) @ w_v).tanh(),
        "w_v_inside": lambda q, k, w_v: (_pairs(q, k) * w_v).tanh().sum(-1),
        "tanh_of_each": lambda q, k, w_v: _pairs(q.tanh(), k.tanh()) @ w_v,
        "difference": lambda q, k, w_v: _pairs(q, -k).tanh() @ w_v,
        "mean_for_sum": lambda q, k, w_v: additive_scores(q, k, w_v) / len(w_v),
        "dot": lambda q, k, w_v: q @ k.T,
        "product": lambda q, k, w_v: (q[:, None] * k[None]).tanh() @ w_v,
        "row_by_row": lambda q, k, w_v: (q + k).tanh() @ w_v,
        "softmax_too": lambda q, k, w_v: additive_scores(q, k, w_v).softmax(-1),
    },
)
