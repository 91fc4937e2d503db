"""Inputs that tell mistakes apart."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import torch
from torch import Tensor

from ..errors import value_error
from ..masks import causal_mask, length_mask
from .reading import Reading


class Kind(Enum):
    """What a probe looks at."""

    SELF = "self"
    CROSS = "cross"
    LENGTHS = "lengths"
    COINCIDENCE = "coincidence"
    CROSS_LENGTHS = "cross_lengths"
    ROWS = "rows"
    MASK = "mask"
    EMPTY = "empty"


@dataclass(frozen=True, eq=False)
class Probe:
    """An input: words, and lengths or one mask for all sentences."""

    kind: Kind
    inputs: tuple[Tensor, Tensor, Tensor]
    lengths: Tensor | None = None
    attn_mask: Tensor | None = None  # bool (Lq, Lk) or (B, Lq, Lk), True = may attend

    @property
    def sizes(self) -> tuple[int, int, int]:
        """B, Lq, Lk."""
        return self.inputs[0].shape[0], self.inputs[0].shape[1], self.inputs[1].shape[1]

    @property
    def mask(self) -> Tensor | None:
        """The mask as bool (B or 1, 1 or Lq, Lk)."""
        if self.lengths is not None:
            return length_mask(self.lengths, self.sizes[2])
        if self.attn_mask is None:
            return None
        return self.attn_mask if self.attn_mask.dim() == 3 else self.attn_mask[None]


@dataclass(frozen=True)
class Sizes:
    """How many sentences, queries and keys a probe has."""

    B: int
    Lq: int
    Lk: int


class Words:
    """Random words of the right size for a layer: scores are neither all alike nor saturated."""

    def __init__(self, reading: Reading, dtype: torch.dtype, seed: int):
        self.reading, self.dtype = reading, dtype
        self.generator = torch.Generator().manual_seed(seed)
        W_q, W_k = (linear.weight.detach().to(torch.float64) for linear in reading.projections[:2])
        spread = (W_q.mT @ W_k).norm().item() / len(W_q) ** 0.5
        if not spread > 0:
            raise value_error("weights", "projections that are not all zero", "scores that are all alike")
        self.scale = min(max((1.2 / spread) ** 0.5, 0.05), 20.0)

    def draw(self, B: int, L: int, width: int) -> Tensor:
        """Return (B, L, width)."""
        X = torch.randn(B, L, width, generator=self.generator, dtype=torch.float64)
        return (self.scale * X).to(self.dtype)

    def alike(self, B: int, L: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return one tensor as queries, keys and values."""
        X = self.draw(B, L, self.reading.widths[0])
        return X, X, X

    def apart(self, sizes: Sizes) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values that differ."""
        q, k, v = self.reading.widths
        queries, keys = self.draw(sizes.B, sizes.Lq, q), self.draw(sizes.B, sizes.Lk, k)
        return queries, keys, self.draw(sizes.B, sizes.Lk, v)

    def context(self, sizes: Sizes) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, and one tensor as keys and values."""
        queries, keys, _ = self.apart(sizes)
        return queries, keys, keys


def telling_sizes(reading: Reading) -> Sizes:
    """Choose sizes that no number of heads and no width of a head has."""
    taken = (reading.num_heads, reading.head_dim, reading.num_groups)
    Lq, Lk = [n for n in (4, 5, 6, 7, 8) if n not in taken][:2]
    return Sizes(2 if reading.num_heads == 3 else 3, Lq, Lk)


def lengths_of(B: int, Lk: int) -> Tensor:
    """Return lengths that differ, never 0 and never all keys: what a flipped mask then does varies."""
    return torch.arange(B) % max(Lk - 2, 1) + 1


def plain_probes(
    words: Words, sizes: Sizes, cross: Callable[[Sizes], tuple[Tensor, Tensor, Tensor]] | None
) -> list[Probe]:
    """Return the probes without any mask."""
    probes = []
    if len(set(words.reading.widths)) == 1:
        probes.append(Probe(Kind.SELF, words.alike(sizes.B, sizes.Lk)))
    if cross:
        probes.append(Probe(Kind.CROSS, cross(sizes)))
    return probes


def padding_probes(
    words: Words, sizes: Sizes, cross: Callable[[Sizes], tuple[Tensor, Tensor, Tensor]] | None, fixed: bool
) -> list[Probe]:
    """Return the probes with lengths."""
    B = sizes.B
    Lk = sizes.Lk
    h = words.reading.num_heads
    probes = []
    if len(set(words.reading.widths)) == 1:
        probes.append(Probe(Kind.LENGTHS, words.alike(B, Lk), lengths_of(B, Lk)))
        if h > 1 and not fixed:
            probes.append(Probe(Kind.COINCIDENCE, words.alike(h, Lk), lengths_of(h, Lk)))
    if cross:
        probes.append(Probe(Kind.CROSS_LENGTHS, cross(sizes), lengths_of(B, Lk)))
    return probes


def rows_probe(words: Words, sizes: Sizes) -> Probe:
    """Return a probe with a mask that differs from query to query and from sentence to sentence."""
    L = sizes.Lk
    square = torch.ones(L, L, dtype=torch.bool)
    mask = torch.stack([square.tril(b % 2) for b in range(sizes.B)])
    return Probe(Kind.ROWS, words.alike(sizes.B, L), None, mask)


def square_probe(words: Words, L: int, B: int) -> Probe:
    """Return a probe with a causal mask (L, L)."""
    return Probe(Kind.MASK, words.alike(B, L), None, causal_mask(L, L))
