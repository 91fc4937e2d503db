"""The right layer's own tensors, recognised among those that another layer makes.

A tensor is recognised by its numbers, in whatever order of axes and shape it holds them: whole,
or the part of one head, one sentence, one query, as loops make them.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import torch
from torch import Tensor
from torch.nn import functional as F

from ..masks import causal_mask, masked_softmax
from .faulty import Projection
from .findings import Milestone
from .probes import Probe
from .reading import Reading
from .recorder import Made

_FLOOR = -1000.0  # a score below is a masked one, whatever number was filled in


class Axis(Enum):
    """What an axis of a right tensor counts."""

    SENTENCE = "sentence"
    GROUP = "group"  # of heads that share keys and values
    HEAD = "head"
    QUERY = "query"
    KEY = "key"
    FEATURE = "feature"


_HEADS = (Axis.GROUP, Axis.HEAD)


@dataclass(frozen=True, eq=False)
class Right:
    """A tensor of the right layer with its axes."""

    milestone: Milestone | None  # None: an input
    values: Tensor
    axes: tuple[Axis, ...]


def _inputs(probe: Probe) -> list[Right]:
    words = (Axis.QUERY, Axis.KEY, Axis.KEY)
    return [
        Right(None, X.detach().to(torch.float64), (Axis.SENTENCE, word, Axis.FEATURE))
        for X, word in zip(probe.inputs, words, strict=True)
    ]


def _heads(X: Tensor, linear: Projection, h: int) -> Tensor:
    """(B, L, D) → (B, h, L, d)."""
    mapped = F.linear(X, linear.weight, linear.bias)
    return mapped.unflatten(-1, (h, -1)).transpose(1, 2).to(torch.float64)


def _visible(probe: Probe, causal: bool) -> Tensor | None:
    """Return which keys a query may see, (B or 1, Lq or 1, Lk), or None where it may see all."""
    if not causal:
        return probe.mask
    _, Lq, Lk = probe.sizes
    below = causal_mask(Lq, Lk)
    return below[None] if probe.mask is None else probe.mask & below


def right_tensors(reading: Reading, probe: Probe, causal: bool) -> list[Right]:
    """Compute every tensor that the right layer makes of a probe, in their order."""
    W_q, W_k, W_v, W_o = reading.projections
    h, g = reading.num_heads, reading.num_groups
    queries, keys, values = probe.inputs
    q, k, v = _heads(queries, W_q, h), _heads(keys, W_k, h), _heads(values, W_v, h)
    products = q @ k.mT
    scores = products / q.shape[-1] ** 0.5
    mask = _visible(probe, causal)
    weights = masked_softmax(scores, None if mask is None else mask.unsqueeze(1))
    context = weights @ v
    merged = context.transpose(1, 2).flatten(2)
    output = merged if W_o is None else F.linear(merged.to(W_o.weight.dtype), W_o.weight, W_o.bias)
    S, Q, K, D = Axis.SENTENCE, Axis.QUERY, Axis.KEY, Axis.FEATURE

    def apart(milestone: Milestone, X: Tensor, last: tuple[Axis, Axis]) -> Right:
        X = X.detach()
        if g in (1, h):
            return Right(milestone, X, (S, Axis.HEAD, *last))
        return Right(milestone, X.unflatten(1, (g, -1)), (S, Axis.GROUP, Axis.HEAD, *last))

    made = [*_inputs(probe), apart(Milestone.QUERIES, q, (Q, D))]
    for milestone, X in ((Milestone.KEYS, k), (Milestone.VALUES, v)):
        if g < h:  # as they are before they are spread over the heads
            made.append(Right(milestone, X[:, :: h // g].detach(), (S, Axis.GROUP, K, D)))
        made.append(apart(milestone, X, (K, D)))
    made += [apart(Milestone.PRODUCTS, products, (Q, K)), apart(Milestone.SCORES, scores, (Q, K))]
    if mask is not None:
        hidden = scores.masked_fill(~mask.unsqueeze(1), _FLOOR)
        made.append(apart(Milestone.MASKED, hidden, (Q, K)))
    made += [apart(Milestone.WEIGHTS, weights, (Q, K)), apart(Milestone.CONTEXT, context, (Q, D))]
    if W_o is not None:
        made.append(Right(Milestone.OUTPUT, output.detach().to(torch.float64), (S, Q, D)))
    return made


class Recogniser:
    """Tells which right tensor another one is."""

    def __init__(self, rights: Sequence[Right], tolerance: float):
        self.rights = rights
        self.tolerance = max(20 * tolerance, 1e-9)
        self._prints = [list(self._parts(right)) for right in rights]

    def _parts(self, right: Right) -> Iterator[tuple[tuple[int, ...], int, Tensor, Tensor]]:
        """Yield kinds of parts: the axes that an index is taken of, their size, their sums and squares."""
        choices: list[tuple[Axis, ...]] = [(), (Axis.SENTENCE,), _HEADS, (Axis.SENTENCE, *_HEADS)]
        if right.axes[-1] in (Axis.KEY, Axis.FEATURE):
            choices.append((Axis.SENTENCE, *_HEADS, right.axes[-2]))
        seen = set()
        for choice in choices:
            fixed = tuple(i for i, axis in enumerate(right.axes) if axis in choice)
            if fixed in seen:
                continue
            seen.add(fixed)
            ordered = right.values.movedim(fixed, tuple(range(len(fixed))))
            parts = ordered.flatten(len(fixed)) if len(fixed) < ordered.dim() else ordered.unsqueeze(-1)
            yield fixed, parts.shape[-1], parts.sum(-1), parts.square().sum(-1)

    def find(self, made: Made) -> Right | None:
        """Return the right tensor that this is, or a part of which it is; None if it is none."""
        values = made.values
        if not values.numel() or values.isnan().any():
            return None
        values = values.where(values > _FLOOR, _FLOOR)
        total, squares = values.sum(), values.square().sum()
        for right, kinds in zip(self.rights, self._prints, strict=True):
            for fixed, size, sums, sums_of_squares in kinds:
                if size != values.numel():
                    continue
                limit = self.tolerance * size * (1 + float(values.abs().max()))
                near = (sums - total).abs() < limit
                near &= (sums_of_squares - squares).abs() < limit * (1 + float(values.abs().max()))
                for index in near.nonzero().tolist():
                    part = right.values
                    for axis, at in sorted(zip(fixed, index, strict=True), reverse=True):
                        part = part.select(axis, at)
                    axes = tuple(axis for i, axis in enumerate(right.axes) if i not in fixed)
                    if self._is(values, part, axes):
                        return right
        return None

    def _is(self, values: Tensor, part: Tensor, axes: tuple[Axis, ...]) -> bool:
        """Whether values are the part with its axes in some order, neighbours joined, ones put in."""
        axes = tuple(axis for axis, size in zip(axes, part.shape, strict=True) if size != 1)
        part = part.squeeze()
        shape = [size for size in values.shape if size != 1]
        flat = values.flatten()
        limit = self.tolerance * (1 + float(part.abs().max()))
        for order in itertools.permutations(range(len(axes))):
            joined = _joined([part.shape[i] for i in order], shape)
            if joined is None or not all(_harmless([axes[order[i]] for i in group]) for group in joined):
                continue
            if torch.allclose(part.permute(order).flatten(), flat, rtol=0, atol=limit):
                return True
        return False


def _joined(sizes: Sequence[int], shape: Sequence[int]) -> list[list[int]] | None:
    """Say which neighbouring axes of `sizes` each axis of `shape` is made of; None if it is not."""
    groups = []
    at = 0
    for size in shape:
        group = []
        product = 1
        while at < len(sizes) and product < size:
            product *= sizes[at]
            group.append(at)
            at += 1
        if product != size:
            return None
        groups.append(group)
    return groups if at == len(sizes) else None


def _harmless(group: Sequence[Axis]) -> bool:
    """Whether axes may be one: a head's features have to stay together, head before feature."""
    heads = [i for i, axis in enumerate(group) if axis in _HEADS]
    if [group[i] for i in heads] != [axis for axis in _HEADS if axis in group]:
        return False
    if Axis.FEATURE not in group or not heads:
        return True
    feature = group.index(Axis.FEATURE)
    return heads == list(range(feature - len(heads), feature))
