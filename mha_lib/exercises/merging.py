"""Merging heads: the output as a sum, a test for merges."""

from typing import Any

import torch
from torch import Tensor

from ..heads import heads_together, merge_heads
from .exercise import Exercise, Function, Raised
from .inputs import randoms


def _sum(contexts: Tensor, W_o: Tensor) -> Tensor:
    return heads_together(contexts) @ W_o.T


def _parts(contexts: Tensor) -> list[tuple[Tensor, slice]]:
    d = contexts.shape[-1]
    return [(contexts[:, i], slice(i * d, (i + 1) * d)) for i in range(contexts.shape[1])]


def _added(parts: list[Tensor]) -> Tensor:
    return torch.stack(parts).sum(0)


sum = Exercise(
    right=_sum,
    cases=lambda: (
        randoms((2, 3, 4, 2), (6, 6)),
        randoms((1, 2, 3, 5), (10, 10)),
        randoms((3, 4, 2, 1), (4, 4)),
    ),
    mistakes={
        "rows": lambda c, W: _added([one @ W[part] for one, part in _parts(c)]),
        "columns": lambda c, W: _added([one @ W[:, part] for one, part in _parts(c)]),
        "striped": lambda c, W: _added([c[:, i] @ W[:, i :: c.shape[1]].T for i in range(c.shape[1])]),
        "last_only": lambda c, W: [one @ W[:, part].T for one, part in _parts(c)][-1],
        "first_only": lambda c, W: [one @ W[:, part].T for one, part in _parts(c)][0],
        "first_columns_only": lambda c, W: _added([one @ W[:, : one.shape[-1]].T for one, _ in _parts(c)]),
        "reversed": lambda c, W: _sum(c.flip(1), W),
        "side_by_side": lambda c, W: torch.cat([one @ W[:, part].T for one, part in _parts(c)], -1),
        "reshaped": lambda c, W: c.reshape(len(c), c.shape[2], -1) @ W.T,
        "mean": lambda c, W: _sum(c, W) / c.shape[1],
        "no_W_o": lambda c, W: heads_together(c),
        "contexts_added": lambda c, W: c.sum(1),
        "heads_in_front": lambda c, W: torch.stack([one @ W[:, part].T for one, part in _parts(c)]),
        "heads_apart": lambda c, W: torch.stack([one @ W[:, part].T for one, part in _parts(c)], 1),
    },
)


def _unfold(stack: Tensor, h: int) -> Tensor:
    return stack.unflatten(0, (-1, h))


RIGHT: dict[str, Function] = {
    "library": merge_heads,
    "view": lambda S, h: (
        S.view(-1, h, *S.shape[1:]).transpose(1, 2).contiguous().view(-1, S.shape[1], h * S.shape[2])
    ),
    "cat": lambda S, h: torch.cat(_unfold(S, h).unbind(1), -1),
}
WRONG: dict[str, Function] = {
    "reshape": lambda S, h: S.reshape(-1, S.shape[1], h * S.shape[2]),
    "heads_first": lambda S, h: torch.cat(S.chunk(h), -1),
    "reversed": lambda S, h: torch.cat(_unfold(S, h).unbind(1)[::-1], -1),
    "interleaved": lambda S, h: _unfold(S, h).permute(0, 2, 3, 1).flatten(2),
}


def _verdicts(attempt: Function) -> dict[str, Any]:
    """Return what a test says of each merge: right or not. A failed assertion is a no."""
    verdicts: dict[str, Any] = {}
    for name, merge in (RIGHT | WRONG).items():
        try:
            verdicts[name] = attempt(merge) in (None, True)  # a test of asserts returns nothing
        except Raised as caught:
            if name in RIGHT and not isinstance(caught.error, AssertionError):
                raise
            verdicts[name] = False
    return verdicts


def _knows(merge: Function) -> bool:
    stack = torch.arange(4 * 3 * 2).reshape(4, 3, 2)
    return torch.equal(merge(stack, 2), merge_heads(stack, 2))


test = Exercise(right=_knows, cases=lambda: ((),), ask=_verdicts, mistakes={})
