"""Mistakes that people make in multi-head attention, by name, each of them to be run.

`bugs` maps a name to a `Bug`. All of them are one layer, `FaultyAttention`, whose switches
are the places where listings go wrong; with no switch set it is the right layer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from ..convert import Layer, dot_product_projections
from ..multihead import MultiHeadAttention
from ..text import read
from .faulty import Faults, FaultyAttention


class Shows(Enum):
    """Where a mistake can be seen."""

    OUTPUT = "output"  # in eval mode
    GRADIENT = "gradient"
    TRAINING = "training"  # in the outputs of training mode only
    INPUT = "input"  # in what the caller handed over


@dataclass(frozen=True)
class Bug:
    """A mistake: its name, one sentence, where it was seen, what it looks like, where to look."""

    name: str
    sentence: str
    source: str
    symptom: str
    look: str
    faults: Faults
    also: tuple[Faults, ...] = ()  # other settings that are the same mistake
    shows: Shows = Shows.OUTPUT

    @property
    def settings(self) -> tuple[Faults, ...]:
        """Every setting of the switches that is this mistake."""
        return (self.faults, *self.also)

    def make(self, layer: Layer | None = None) -> FaultyAttention:
        """Return a layer with this mistake that uses the projections of a right one.

        Args:
            layer: one of our layers; without it a fresh MultiHeadAttention(10, 10, 10, 10, 2).
                The two share their weights. A mistake with dropout takes the layer's
                probability, or 0.5 where that is 0.

        Example:
            >>> import torch
            >>> layer, X = MultiHeadAttention(10, 10, 10, 10, 2), torch.ones(2, 4, 10)
            >>> bugs["merge_without_permute"].make(layer)(X, X, X).shape
            torch.Size([2, 4, 10])
        """
        layer = MultiHeadAttention(10, 10, 10, 10, 2) if layer is None else layer
        projections = dot_product_projections(layer)
        dropout = layer.attention.dropout
        if "dropout" in self.faults:
            dropout = dropout or 0.5
        return FaultyAttention(projections, layer.num_heads, dropout, self.faults).train(layer.training)


class Bugs(dict[str, Bug]):
    """Every `Bug` by its name, in the order of `mha_lib/text/en/bugs.toml`."""

    def __missing__(self, name: str) -> Bug:
        raise KeyError(f"no bug has the name {name!r}; the names are {', '.join(self)}")

    def __repr__(self) -> str:
        return f"<{len(self)} bugs: {', '.join(self)}>"


def _bug(name: str, entry: Mapping[str, Any]) -> Bug:
    faults, *also = (MappingProxyType(faults) for faults in (entry["faults"], *entry.get("also", ())))
    words = {field: entry[field] for field in ("sentence", "source", "symptom", "look")}
    return Bug(name, **words, faults=faults, also=tuple(also), shows=Shows(entry.get("shows", "output")))


bugs = Bugs((name, _bug(name, entry)) for name, entry in read("bugs").items())
