"""Multi-head attention with mistakes that can be switched on; with none of them it is right."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import value_error
from ..heads import check_axes, heads_apart, heads_together
from ..masks import combine_masks, masked_softmax
from ..text import read


class Projection(Protocol):
    """What is needed of a projection: nn.Linear has it."""

    @property
    def weight(self) -> Tensor: ...  # (out, in)

    @property
    def bias(self) -> Tensor | None: ...


class TensorProjection:
    """A linear projection made of tensors, weight (out, in) and bias (out,): what parameters amount to."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None):
        self.weight, self.bias = weight, bias


Projections = tuple[Projection, Projection, Projection, Projection | None]
Faults = Mapping[str, Any]

SWITCHES = {
    switch
    for entry in read("bugs").values()
    for faults in (entry["faults"], *entry.get("also", ()))
    for switch in faults
}
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
        projections: W_q, W_k, W_v and W_o (None: there is none); they are used, not copied.
        num_heads: h.
        dropout: probability, acts on the weights if no switch moves it.
        faults: the switches, see `mha_lib/text/en/bugs.toml`; an empty mapping makes it right.
        num_groups: how many different key and value heads the projections hold, each h / num_groups
            times in a row; h where there are no groups.

    Called as `MultiHeadAttention` is: layer(queries, keys, values, valid_lens, attn_mask=…).
    """

    def __init__(
        self,
        projections: Projections,
        num_heads: int,
        dropout: float,
        faults: Faults,
        num_groups: int | None = None,
    ):
        super().__init__()
        if set(faults) - SWITCHES:
            raise value_error("faults", f"switches among {sorted(SWITCHES)}", sorted(faults))
        self.W_q, self.W_k, self.W_v, self.W_o = projections
        self.num_heads = num_heads
        self.dropout = dropout
        self.faults = dict(faults)
        self.num_groups = num_groups or num_heads

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        attn_mask: Tensor | None = None,
    ) -> Tensor | None:
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
        mask = self._mask(queries, keys, valid_lens, attn_mask)
        q, k, v = self._heads(queries, keys, values)
        weights = self._weights(q, k, mask)
        detached = faults.get("detach")
        weights = weights.detach() if detached == "weights" else weights
        context = weights @ (v.detach() if detached == "v" else v)
        output = self._output(context, *queries.shape[:2])
        if faults.get("dropout") == "output":
            output = F.dropout(output, self.dropout, self.training)
        if faults.get("inputs") == "changed" and attn_mask is not None:
            attn_mask.logical_not_()
        return output.transpose(0, 1) if mixed else output

    def _heads(self, queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.num_heads
        split = SPLITS.get(self.faults.get("split", ""), heads_apart)
        projections = self._projections()
        used = self.faults.get("projections", "qkv")
        used = used if set(used) <= set("qkv") else "qkv"
        q, k, v = (
            split(self._project(projections[name], X, name), h)
            for name, X in zip(used, (queries, keys, values), strict=True)
        )
        detached = self.faults.get("detach")
        q = q.detach() if detached == "q" else q
        k = k.detach() if detached == "k" else k
        if pairs := self.faults.get("pairs"):
            order = torch.arange(h).roll(1)
            if pairs == "tiled":
                order = torch.arange(h).view(self.num_groups, -1).T.flatten()
            k, v = k[:, order], v[:, order]
        return q, k, v

    def _projections(self) -> dict[str, Projection]:
        """Return the projections by name; of a packed matrix, as the layer reads it."""
        projections: dict[str, Projection] = {"q": self.W_q, "k": self.W_k, "v": self.W_v}
        order = self.faults.get("projections")
        shapes = {linear.weight.shape for linear in projections.values()}
        if order not in ("by_head", "by_feature") or len(shapes) > 1:
            return projections
        cut = (self.num_heads, 3, -1) if order == "by_head" else (-1, 3)
        weights = torch.cat([linear.weight for linear in projections.values()]).unflatten(0, cut)
        biases = [linear.bias for linear in projections.values() if linear.bias is not None]
        bias = torch.cat(biases).unflatten(0, cut) if len(biases) == 3 else None
        as_read: dict[str, Projection] = {}
        for i, name in enumerate(projections):
            part = weights[:, i].flatten(0, weights.dim() - 3)
            as_read[name] = TensorProjection(part, None if bias is None else bias[:, i].flatten())
        return as_read

    def _weight(self, linear: Projection, name: str) -> Tensor:
        return linear.weight.T if name in self.faults.get("transposed", "") else linear.weight

    def _project(self, linear: Projection, X: Tensor, name: str) -> Tensor:
        project = self.faults.get("project")
        h = self.num_heads
        weight, bias = self._weight(linear, name), linear.bias
        if project == "slices":
            d, n = weight.shape[0] // h, weight.shape[1] // h
            small = (weight[:d, :n], None if bias is None else bias[:d])
            return F.linear(X.unflatten(-1, (h, n)), *small).flatten(-2)
        mapped = F.linear(X, weight, bias)
        return mapped.chunk(h, -1)[0].repeat(1, 1, h) if project == "shared" else mapped

    def _mask(
        self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None, attn_mask: Tensor | None
    ) -> Tensor | None:
        B, Lq = queries.shape[:2]
        Lk = keys.shape[1]
        h = self.num_heads
        mask = combine_masks((B, h, Lq, Lk), valid_lens, attn_mask, queries.device)
        if "causal" in self.faults:
            causal = torch.ones(Lq, Lk, dtype=torch.bool, device=queries.device).tril(self.faults["causal"])
            mask = causal[None, None] if mask is None else mask & causal
        kind = self.faults.get("mask")
        skipped = kind == "ignored" or (kind == "not_in_training" and self.training)
        if mask is None or skipped or self.faults.get("split", "") == "none":
            return None
        return self._misread(mask, kind, (B, h, Lq)) if kind else mask

    def _misread(self, mask: Tensor, kind: str, sizes: tuple[int, int, int]) -> Tensor:
        """Return the mask as a layer reads it that flips, tiles or turns it."""
        B, h, Lq = sizes
        if kind == "flipped":
            return ~mask
        if kind in ("tiled", "heads_first"):
            one = mask[:, 0].expand(B, -1, -1)
            if kind == "tiled":
                return one.repeat(h, 1, 1).unflatten(0, (B, h))
            return one.repeat_interleave(h, 0).unflatten(0, (h, B)).transpose(0, 1)
        if kind == "query_axis":
            if mask.shape[2] > 1:
                return mask.mT
            return (torch.arange(Lq, device=mask.device) < mask.sum(-1, keepdim=True)).mT
        if kind == "head_axis":
            # What torch's broadcasting does with (B, L, L), and document 002's with (L, L).
            return mask[:, 0].expand(-1, Lq, -1) if mask.shape[0] > 1 else mask[0, 0].unsqueeze(1)
        return mask

    def _weights(self, q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
        faults = self.faults
        axis = self.faults.get("softmax", -1)
        scores = (q * self._scale(q.shape[-1])) @ k.mT
        dropout = faults.get("dropout", "weights")
        if dropout == "scores":
            scores = F.dropout(scores, self.dropout, self.training)
        if mask is None:
            weights = scores.softmax(axis)
        elif faults.get("mask") == "after":
            weights = scores.softmax(axis) * mask
        elif faults.get("mask") == "added":
            weights = (scores + mask.to(scores.dtype)).softmax(axis)
        elif "fill" in faults:
            weights = scores.masked_fill(~mask, faults["fill"]).softmax(axis)
            weights = weights.nan_to_num(nan=0.0) if faults.get("nan") == "zero" else weights
        else:
            weights = masked_softmax(scores, mask)
            empty = {"even": 1 / scores.shape[-1], "nan": math.nan}.get(faults.get("empty", ""), 0.0)
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), empty)
        if dropout in ("weights", "always"):
            weights = F.dropout(weights, self.dropout, self.training or dropout == "always")
        return weights

    def _scale(self, d: int) -> float:
        D = self.W_q.weight.shape[0]
        h = self.num_heads
        scales = {"none": 1.0, "sqrt_D": D**-0.5, "sqrt_h": h**-0.5, "d": 1 / d}
        scales |= {"times_d": float(d), "times_sqrt_d": d**0.5}
        return scales.get(self.faults.get("scale", ""), 1 / math.sqrt(d))

    def _output(self, context: Tensor, B: int, Lq: int) -> Tensor:
        merge = self.faults.get("merge")
        d = context.shape[-1]
        h = self.num_heads
        if merge == "sum":
            if self.W_o is None:
                raise value_error(
                    "weights", "an output projection", None, "The sum of the heads goes through it."
                )
            return F.linear(context.sum(1), self.W_o.weight[:, :d], self.W_o.bias)
        if merge == "straight":
            merged = context.reshape(B, Lq, -1)
        elif merge == "heads_first":
            merged = context.flatten(0, 1).unflatten(0, (h, B)).permute(1, 2, 0, 3).flatten(2)
        else:
            merged = MERGES.get(self.faults.get("split", ""), heads_together)(context)
        if self.W_o is None or self.faults.get("output") == "none":
            return merged
        return F.linear(merged, self._weight(self.W_o, "o"), self.W_o.bias)
