"""The four documents: a mask for torch, a packed matrix, a rung of one's own."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..clinic.bugs import bugs
from ..clinic.examination import diagnose
from ..clinic.findings import Diagnosis
from ..multihead import MultiHeadAttention
from ..text import sentences
from .exercise import Exercise, Picture, Rule, guarded, hint_of
from .inputs import random_layer
from .verdict import Hint

text = sentences("learning")


def _masks() -> list[tuple[Tensor, int]]:
    generator = torch.Generator().manual_seed(1)
    sizes = ((2, 4, 4, 2), (3, 4, 5, 2), (2, 3, 6, 4))
    return [(torch.rand(B, Lq, Lk, generator=generator) < 0.5, h) for B, Lq, Lk, h in sizes]


def _shut_out(attempt: Callable[..., Any], may_attend: Tensor, h: int) -> Any:
    """Return the attempt's mask; a float mask of 0 and −inf says the same to torch's layer."""
    made = attempt(may_attend, h)
    floats = isinstance(made, Tensor) and made.is_floating_point()
    return made == -math.inf if floats and bool(((made == 0) | (made == -math.inf)).all()) else made


mask = Exercise(
    right=lambda may_attend, h: ~may_attend.repeat_interleave(h, 0),
    cases=_masks,
    ask=_shut_out,
    mistakes={
        "polarity": lambda may_attend, h: may_attend.repeat_interleave(h, 0),
        "tiled": lambda may_attend, h: ~may_attend.repeat(h, 1, 1),
        "both": lambda may_attend, h: may_attend.repeat(h, 1, 1),
        "one_a_sentence": lambda may_attend, h: ~may_attend,
        "four_axes": lambda may_attend, h: ~may_attend[:, None].expand(-1, h, -1, -1),
        "axis_of_one": lambda may_attend, h: ~may_attend[:, None],
        "queries_repeated": lambda may_attend, h: ~may_attend.repeat_interleave(h, 1),
        "turned": lambda may_attend, h: ~may_attend.repeat_interleave(h, 0).mT,
    },
    picture=Picture.HEATMAPS,
)


def _parts(W: Tensor, h: int) -> list[tuple[Tensor, ...]]:
    return [part.chunk(h) for part in W.chunk(3)]


packed = Exercise(
    right=lambda W, h, i: tuple(heads[i] for heads in _parts(W, h)),
    cases=lambda: [
        (torch.arange(3.0 * D * D).view(3 * D, D), h, i) for D, h, i in ((6, 3, 1), (8, 2, 1), (8, 4, 3))
    ],
    mistakes={
        "columns": lambda W, h, i: tuple(part.chunk(h, 1)[i] for part in W.chunk(3)),
        "k_q_v": lambda W, h, i: tuple(_parts(W, h)[j][i] for j in (1, 0, 2)),
        "v_k_q": lambda W, h, i: tuple(_parts(W, h)[j][i] for j in (2, 1, 0)),
        "by_head": lambda W, h, i: tuple(W.unflatten(0, (h, 3, -1))[i]),
        "first_head": lambda W, h, i: tuple(heads[0] for heads in _parts(W, h)),
        "counted_from_1": lambda W, h, i: tuple(heads[i - 1] for heads in _parts(W, h)),
        "last_head": lambda W, h, i: tuple(heads[-1] for heads in _parts(W, h)),
        "next_head": lambda W, h, i: tuple(heads[(i + 1) % h] for heads in _parts(W, h)),
        "whole_projections": lambda W, h, i: W.chunk(3),
        "striped": lambda W, h, i: tuple(part[i::h] for part in W.chunk(3)),
        "turned": lambda W, h, i: tuple(heads[i].T for heads in _parts(W, h)),
    },
)


def examine(layer: MultiHeadAttention, function: Callable[..., Any], *lengths: Any) -> tuple[Diagnosis, bool]:
    """Diagnose a function that is to do with the projections what the layer does; say if it called the layer.

    Raises:
        Raised: what the function raises, for a call with each of the lengths.
    """
    calls: list[int] = []
    hook = layer.register_forward_hook(lambda *_: calls.append(1))
    X = torch.ones(2, 4, layer.W_q.in_features, dtype=torch.float64)
    try:
        with torch.no_grad():
            for arguments in lengths:
                guarded(function)(X, *arguments)
        return diagnose(function, weights=layer), bool(calls)
    finally:
        hook.remove()


def _rung(attempt: Callable[..., Any]) -> Iterator[Hint | None]:
    layer = random_layer(12, 3, bias=True).double()
    yield named("documents.rung", *examine(layer, lambda x: attempt(layer, x), ()))


def named(exercise: str, diagnosis: Diagnosis, called: bool) -> Hint | None:
    """Return the hint for what was found: the layer called, a bug by its name, or what differs first.

    Where the diagnosis points at a line of the attempt, that line comes with it.
    """
    if called:
        return hint_of(exercise, "calls_the_layer")
    if diagnosis.name == "right":
        return None
    bug = bugs.get(diagnosis.name)
    if bug is None:
        return hint_of(exercise, "unknown", finding=diagnosis.message)
    hint = hint_of(exercise, "bug", sentence=bug.sentence, look=bug.look)
    line = diagnosis.line
    return (
        replace(hint, text=f"{hint.text}\n{text.line.format(source=line.source.strip())}") if line else hint
    )


rung = Rule(_rung)
