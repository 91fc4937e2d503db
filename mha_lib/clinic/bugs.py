"""Mistakes that people make in multi-head attention, by name, each of them to be run.

`bugs` maps a name to a `Bug`. All of them are one layer, `FaultyAttention`, whose switches
are the places where listings go wrong; with no switch set it is the right layer.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..convert import Layer, Maps, dot_product_maps
from ..errors import value_error
from ..heads import check_axes, heads_apart, heads_together
from ..masks import combine_masks, masked_softmax
from ..multihead import MultiHeadAttention
from ..text import read

SWITCHES = {switch for entry in read("bugs").values() for switch in entry["faults"]}
# Wrong ways to cut (B, L, D) into heads, and how their results are joined again.
SPLITS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "straight": lambda X, h: X.reshape(len(X), h, X.shape[1], -1),
    "none": lambda X, h: X.unflatten(-1, (h, -1)),
    "wrong_axes": lambda X, h: X.unflatten(-1, (h, -1)).permute(0, 3, 1, 2),
}
MERGES: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda context: context.flatten(2),
    "wrong_axes": lambda context: context.permute(0, 2, 3, 1).flatten(2),
}


class FaultyAttention(nn.Module):
    """Multi-head attention with mistakes that can be switched on.

    Args:
        maps: W_q, W_k, W_v and W_o (None: there is none); they are used, not copied.
        num_heads: h.
        dropout: probability, acts on the weights if no switch moves it.
        faults: the switches, see `mha_lib/text/en/bugs.toml`; an empty mapping makes it right.

    Called as `MultiHeadAttention` is: layer(queries, keys, values, valid_lens, attn_mask=…).
    """

    def __init__(self, maps: Maps, num_heads: int, dropout: float, faults: Mapping):
        super().__init__()
        if set(faults) - SWITCHES:
            raise value_error("faults", f"switches among {sorted(SWITCHES)}", sorted(faults))
        self.W_q, self.W_k, self.W_v, self.W_o = maps
        self.num_heads, self.dropout, self.faults = num_heads, dropout, dict(faults)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens=None, *, attn_mask=None):
        """Attend, with the mistakes. Shapes and masks as for MultiHeadAttention.forward."""
        faults = self.faults
        for name, X in (("queries", queries), ("keys", keys), ("values", values)):
            check_axes(name, X, "(B, L, D)")
        if faults.get("returns") == "none" and valid_lens is None and attn_mask is None:
            return None
        mixed = faults.get("batch") == "mixed"
        if mixed:
            queries, keys, values = (X.transpose(0, 1) for X in (queries, keys, values))
            valid_lens = attn_mask = None
        keep = self._keep(queries, keys, valid_lens, attn_mask)
        maps = {"q": self.W_q, "k": self.W_k, "v": self.W_v}
        used = faults.get("maps", "qkv")
        split = SPLITS.get(faults.get("split", ""), heads_apart)
        q, k, v = (
            split(self._project(maps[name], X, name), self.num_heads)
            for name, X in zip(used, (queries, keys, values), strict=True)
        )
        weights = self._weights(q, k, keep)
        context = weights @ (v.detach() if faults.get("detach") else v)
        output = self._output(context, *queries.shape[:2])
        if faults.get("dropout") == "output":
            output = F.dropout(output, self.dropout, self.training)
        return output.transpose(0, 1) if mixed else output

    def _project(self, linear: nn.Linear, X: Tensor, name: str) -> Tensor:
        project, h = self.faults.get("project"), self.num_heads
        weight, bias = linear.weight, linear.bias
        if name in self.faults.get("transposed", ""):
            return F.linear(X, weight.T, bias)
        if project == "slices":
            d, n = weight.shape[0] // h, weight.shape[1] // h
            small = (weight[:d, :n], None if bias is None else bias[:d])
            return F.linear(X.unflatten(-1, (h, n)), *small).flatten(-2)
        return linear(X) if project is None else linear(X).chunk(h, -1)[0].repeat(1, 1, h)  # "shared"

    def _keep(self, queries: Tensor, keys: Tensor, valid_lens, attn_mask) -> Tensor | None:
        (B, Lq), Lk, h = queries.shape[:2], keys.shape[1], self.num_heads
        keep = combine_masks((B, h, Lq, Lk), valid_lens, attn_mask, queries.device)
        if "causal" in self.faults:
            causal = torch.ones(Lq, Lk, dtype=torch.bool, device=queries.device).tril(self.faults["causal"])
            keep = causal[None, None] if keep is None else keep & causal
        kind = self.faults.get("mask")
        if keep is None or kind == "ignored" or self.faults.get("split", "") == "none":
            return None
        if kind == "flipped":
            return ~keep
        if kind in ("tiled", "heads_first"):
            one = keep[:, 0].expand(B, -1, -1)
            if kind == "tiled":
                return one.repeat(h, 1, 1).unflatten(0, (B, h))
            return one.repeat_interleave(h, 0).unflatten(0, (h, B)).transpose(0, 1)
        if kind == "query_axis":
            if keep.shape[2] > 1:
                return keep.mT
            return (torch.arange(Lq, device=keep.device) < keep.sum(-1, keepdim=True)).mT
        if kind == "head_axis":
            # What torch's broadcasting does with (B, L, L), and document 002's with (L, L).
            return keep[:, 0].expand(-1, Lq, -1) if keep.shape[0] > 1 else keep[0, 0].unsqueeze(1)
        return keep

    def _weights(self, q: Tensor, k: Tensor, keep: Tensor | None) -> Tensor:
        faults, d = self.faults, q.shape[-1]
        D, h, axis = self.W_q.out_features, self.num_heads, faults.get("softmax", -1)
        scale = {"none": 1.0, "sqrt_D": D**-0.5, "sqrt_h": h**-0.5, "d": 1 / d, "times_d": float(d)}
        scores = (q * scale.get(faults.get("scale", ""), 1 / math.sqrt(d))) @ k.mT
        dropout = faults.get("dropout", "weights")
        if dropout == "scores":
            scores = F.dropout(scores, self.dropout, self.training)
        mask = faults.get("mask")
        if keep is None:
            weights = scores.softmax(axis)
        elif mask == "after":
            weights = scores.softmax(axis) * keep
        elif mask == "added":
            weights = (scores + keep.to(scores.dtype)).softmax(axis)
        elif "fill" in faults:
            weights = scores.masked_fill(~keep, faults["fill"]).softmax(axis)
        else:
            weights = masked_softmax(scores, keep)
            empty = {"even": 1 / scores.shape[-1], "nan": math.nan}.get(faults.get("empty", ""), 0.0)
            weights = weights.masked_fill(~keep.any(-1, keepdim=True), empty)
        if dropout in ("weights", "always"):
            weights = F.dropout(weights, self.dropout, self.training or dropout == "always")
        return weights

    def _output(self, context: Tensor, B: int, Lq: int) -> Tensor:
        merge, d = self.faults.get("merge"), context.shape[-1]
        if merge == "sum":
            if self.W_o is None:
                raise value_error("weights", "an output map", None, "The sum of the heads goes through it.")
            return F.linear(context.sum(1), self.W_o.weight[:, :d], self.W_o.bias)
        if merge == "straight":
            merged = context.reshape(B, Lq, -1)
        else:
            merged = MERGES.get(self.faults.get("split", ""), heads_together)(context)
        if self.W_o is None or self.faults.get("output") == "none":
            return merged
        return self._project(self.W_o, merged, "o") if "transposed" in self.faults else self.W_o(merged)


@dataclass(frozen=True)
class Bug:
    """A mistake: its name, one sentence, where it was seen, what it looks like, where to look."""

    name: str
    sentence: str
    source: str
    symptom: str
    look: str
    faults: Mapping
    also: tuple[Mapping, ...] = ()  # other settings that are the same mistake

    def make(self, layer: Layer | None = None) -> FaultyAttention:
        """Return a layer with this mistake that uses the maps of a right one.

        Args:
            layer: one of our layers; without it a fresh MultiHeadAttention(10, 10, 10, 10, 2).
                The two share their weights. A mistake with dropout takes the layer's
                probability, or 0.5 where that is 0.

        Example:
            >>> layer, X = MultiHeadAttention(10, 10, 10, 10, 2), torch.ones(2, 4, 10)
            >>> bugs["merge_without_permute"].make(layer)(X, X, X).shape
            torch.Size([2, 4, 10])
        """
        layer = MultiHeadAttention(10, 10, 10, 10, 2) if layer is None else layer
        maps, dropout = dot_product_maps(layer), layer.attention.dropout
        if "dropout" in self.faults:
            dropout = dropout or 0.5
        return FaultyAttention(maps, layer.num_heads, dropout, self.faults).train(layer.training)


class Bugs(dict[str, Bug]):
    """Every `Bug` by its name, in the order of `mha_lib/text/en/bugs.toml`."""

    def __missing__(self, name: str) -> Bug:
        raise KeyError(f"no bug has the name {name!r}; the names are {', '.join(self)}")

    def __repr__(self) -> str:
        return f"<{len(self)} bugs: {', '.join(self)}>"


bugs = Bugs(
    (name, Bug(**{**entry, "name": name, "faults": MappingProxyType(entry["faults"])}))
    for name, entry in read("bugs").items()
)
