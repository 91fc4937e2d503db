"""The heads of a picture, ready to be asked for: a map, a word's line, all maps made small."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import torch
from torch import Tensor

from .pool import hides_nothing, pooled
from .read import WeightMaps


class Measure(StrEnum):
    """What a cell shows: the weight, or the weight × |W_o v|, where 1 is the longest |W_o v|."""

    WEIGHTS = "weights"
    MOVED = "moved"


class Side(StrEnum):
    """Whose word is chosen: a query, which looks at keys, or a key, at which queries look."""

    QUERY = "query"
    KEY = "key"


@dataclass(frozen=True)
class Weighed:
    """The maps of a picture with the lengths of the values, if these are known.

    Heads are counted through all blocks: head i of block b is b · h + i.
    """

    maps: WeightMaps
    lengths: Tensor | None = None  # (blocks, h, Lk)

    @property
    def longest(self) -> float:
        """The longest |W_o v|, which is the 1 of Measure.MOVED."""
        return 1.0 if self.lengths is None else float(self.lengths.max().clamp(min=1e-30))

    @cached_property
    def _open(self) -> bool:
        return hides_nothing(self.maps.mask)

    @cached_property
    def _shares(self) -> Tensor:
        assert self.lengths is not None
        return (self.lengths / self.longest).flatten(0, 1)

    def heads(self, heads: list[int], measure: Measure) -> tuple[Tensor, Tensor]:
        """Return some heads' maps and masks, (n, Lq, Lk) each."""
        weights = self._some(self.maps.weights, heads)
        if measure is Measure.MOVED:
            weights = weights * self._shares[heads][:, None]
        return weights, self._some(self.maps.mask, heads)

    def _some(self, maps: Tensor, heads: list[int]) -> Tensor:
        """Return some heads of all blocks' maps; a whole block, which is often asked for, is no copy."""
        block, count = heads[0] // maps.shape[1] if heads else 0, maps.shape[1]
        if heads == list(range(block * count, (block + 1) * count)):
            return maps[block]
        return maps.flatten(0, 1)[heads]

    def line(self, side: Side, index: int, measure: Measure) -> tuple[Tensor, Tensor]:
        """Return a query's row or a key's column in every head, with its mask: (blocks · h, L)."""
        at = (slice(None), slice(None), *((index,) if side is Side.QUERY else (slice(None), index)))
        weights, mask = self.maps.weights[at].flatten(0, 1), self.maps.mask[at].flatten(0, 1)
        if measure is Measure.MOVED:
            shares = self._shares if side is Side.QUERY else self._shares[:, index, None]
            weights = weights * shares
        return weights, mask

    def small(self, most: int, measure: Measure) -> Tensor:
        """Return all maps with at most `most` rows and columns, (blocks, h, q, k)."""
        weights = self.maps.weights
        if measure is Measure.MOVED:
            weights = weights * self._shares.view(*weights.shape[:2], 1, -1)
        return pooled(weights, self.maps.mask, most)

    def sums(self) -> tuple[Tensor, Tensor]:
        """Return what each row and each column sums to, (blocks, h, Lq) and (blocks, h, Lk)."""
        rows, columns = [], []
        for weights, mask in zip(self.maps.weights, self.maps.mask, strict=True):
            seen = weights if self._open else weights.masked_fill(~mask, 0)
            rows.append(seen.sum(-1))
            columns.append(seen.sum(-2))
        return torch.stack(rows), torch.stack(columns)

    def largest(self) -> list[int]:
        """Return where each head's largest weight stands, in its flattened map; NaN is passed over."""
        places: list[int] = []
        for weights, mask in zip(self.maps.weights, self.maps.mask, strict=True):
            seen = weights if self._open else weights.masked_fill(~mask, -1)
            if bool(seen.sum().isnan()):
                seen = seen.nan_to_num(-1)
            # numpy's argmax is five times as fast as torch's.
            places += seen.flatten(1).numpy().argmax(1).tolist() if seen[0].numel() else []
        return places
