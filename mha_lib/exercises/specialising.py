"""Heads that specialise: where a head looks, silence, an honest verdict."""

from typing import Any

import torch
from torch import Tensor

from .exercise import Exercise, Function
from .inputs import randoms


def _back(weights: Tensor, offset: int) -> Tensor:
    return weights.diagonal(-offset, -2, -1)


look_back = Exercise(
    right=lambda weights, offset: _back(weights, offset).mean((0, 2)),
    cases=lambda: [
        (randoms(shape)[0].softmax(-1), offset)
        for shape, offset in (((3, 4, 6, 6), 1), ((2, 3, 5, 5), 3), ((1, 2, 4, 4), 2))
    ],
    mistakes={
        "forward": lambda w, n: _back(w, -n).mean((0, 2)),
        "itself": lambda w, n: _back(w, 0).mean((0, 2)),
        "one_back": lambda w, n: _back(w, 1).mean((0, 2)),
        "all_heads": lambda w, n: _back(w, n).mean(),
        "all_queries": lambda w, n: _back(w, n).sum((0, 2)) / (w.shape[0] * w.shape[-1]),
        "sentences_apart": lambda w, n: _back(w, n).mean(2),
        "queries_apart": lambda w, n: _back(w, n).mean(0),
        "sum": lambda w, n: _back(w, n).sum((0, 2)),
        "sum_over_sentences": lambda w, n: _back(w, n).mean(2).sum(0),
        "whole_block": lambda w, n: w[:, :, n:, :-n].mean((0, 2, 3)),
        "first_sentence": lambda w, n: _back(w, n)[0].mean(1),
        "largest": lambda w, n: _back(w, n).amax((0, 2)),
        "one_too_near": lambda w, n: _back(w, n - 1).mean((0, 2)),
        "goes_round": lambda w, n: w.roll(n, -1).diagonal(0, -2, -1).mean((0, 2)),
        "wrong_axes": lambda w, n: w.diagonal(-n).mean((0, 2)),
    },
)


def _own(W_o: Tensor, num_heads: int, head: int) -> Tensor:
    """Return which features are the head's, (D,)."""
    return torch.arange(len(W_o)) // (len(W_o) // num_heads) == head


def _new_map(attempt: Function, W_o: Tensor, num_heads: int, head: int) -> dict[str, Any]:
    before = W_o.clone()
    silent = attempt(W_o, num_heads, head)
    return {"W_o": silent, "kept": torch.equal(W_o, before)}


silence = Exercise(
    right=lambda W_o, num_heads, head: W_o * ~_own(W_o, num_heads, head),
    cases=lambda: [
        (torch.arange(1.0, D * D + 1).reshape(D, D), h, head)
        for D, h, head in ((12, 3, 1), (8, 2, 0), (8, 4, 3))
    ],
    ask=_new_map,
    mistakes={
        "rows": lambda W, h, i: W * ~_own(W, h, i)[:, None],
        "others": lambda W, h, i: W * _own(W, h, i),
        "striped": lambda W, h, i: W * (torch.arange(len(W)) % h != i),
        "rows_and_columns": lambda W, h, i: W * ~_own(W, h, i) * ~_own(W, h, i)[:, None],
        "width_is_h": lambda W, h, i: W * (torch.arange(len(W)) // h != i),
        "all_silent": lambda W, h, i: W * 0,
        "one_column": lambda W, h, i: W * (torch.arange(len(W)) != i),
        "next_head": lambda W, h, i: W * ~_own(W, h, i + 1),
        "unchanged": lambda W, h, i: W,
        "cut_out": lambda W, h, i: W[:, ~_own(W, h, i)],
        "not_returned": lambda W, h, i: W.mul_(~_own(W, h, i)),
    },
)


def _verdict(a: list[float], b: list[float]) -> str:
    if max(a) < min(b):
        return "a"
    return "b" if max(b) < min(a) else "undecided"


def _mean(losses: list[float]) -> float:
    return sum(losses) / len(losses)


verdict = Exercise(
    right=_verdict,
    cases=lambda: (
        ([0.1, 0.2], [0.5, 0.3]),
        ([0.6, 0.7, 0.9], [0.5]),
        ([0.1, 0.9], [0.2, 0.3]),
        ([0.1, 0.1, 0.6], [0.5, 0.7]),
        ([0.5, 0.7], [0.1, 0.1, 0.6]),
        ([0.4, 0.2], [0.4, 0.8]),
        ([0.3, 0.8], [0.3, 0.1]),
        ([0.1, 0.1, 0.8], [0.5, 0.6]),
        ([2.5, 3.0], [1.0, 2.0, 2.4]),
    ),
    mistakes={
        "high_is_good": lambda a, b: {"a": "b", "b": "a"}.get(_verdict(a, b), "undecided"),
        "means": lambda a, b: "a" if _mean(a) < _mean(b) else "b",
        "ties": lambda a, b: "a" if max(a) <= min(b) else "b" if max(b) <= min(a) else "undecided",
        "best_runs": lambda a, b: "a" if min(a) < min(b) else "b" if min(b) < min(a) else "undecided",
        "worst_runs": lambda a, b: "a" if max(a) < max(b) else "b" if max(b) < max(a) else "undecided",
        "only_a": lambda a, b: "a" if _verdict(a, b) == "a" else "undecided",
        "first_runs": lambda a, b: "a" if a[0] < b[0] else "b" if b[0] < a[0] else "undecided",
    },
)
