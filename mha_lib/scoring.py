"""The two ways to score a query against a key, each as a function and as a module."""

import math
from typing import Literal, overload

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .errors import type_error, value_error
from .masks import combine_masks, masked_softmax


def dot_product_scores(queries: Tensor, keys: Tensor, scale: float | None = None) -> Tensor:
    """Return q·k / √d for every query and key: (…, Lq, d), (…, Lk, d) → (…, Lq, Lk).

    The query is scaled before the product, which keeps float16 from overflowing.
    `scale` replaces 1/√d. Source: Vaswani et al. 2017, equation 1.

    Example:
        >>> q = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
        >>> dot_product_scores(q, torch.eye(4)).tolist()
        [[1.0, 0.0, 0.0, 0.0]]
    """
    scale = 1 / math.sqrt(max(queries.shape[-1], 1)) if scale is None else scale
    return (queries * scale) @ keys.transpose(-2, -1)


def additive_scores(queries: Tensor, keys: Tensor, w_v: Tensor) -> Tensor:
    """Return w_v · tanh(q + k) for every query and key that are mapped to one width.

    Shapes: (…, Lq, n), (…, Lk, n), (n,) → (…, Lq, Lk). Source: Bahdanau et al. 2015.

    Example:
        >>> additive_scores(torch.zeros(2, 3), torch.zeros(5, 3), torch.ones(3)).shape
        torch.Size([2, 5])
    """
    return torch.tanh(queries.unsqueeze(-2) + keys.unsqueeze(-3)) @ w_v


def _widen(tensor: Tensor) -> Tensor:
    """Return half precision as float32, in which the fused kernel keeps scores and softmax, too."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def hide_unseen(mask: Tensor, queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Set to 0 what can have no part: a key that no query may see, a query that may see no key.

    A weight of 0 is not enough: 0 · NaN is NaN, and so is a gradient that meets it.

    Shapes: mask (…, Lq or 1, Lk), queries (…, Lq, d), keys and values (…, Lk, d) → as the tensors.
    """
    blind = ~mask.any(-1, keepdim=True)
    unseen = ~mask.any(-2).unsqueeze(-1)
    return queries.masked_fill(blind, 0.0), keys.masked_fill(unseen, 0.0), values.masked_fill(unseen, 0.0)


def hide_padding(
    mask: Tensor, queries: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Do what `hide_unseen` does, and keep a query with NaN or inf in it from every gradient.

    A padded word asks, too. In self-attention (`queries is keys`) NaN and inf at a word that
    no query may see are read as 0. Otherwise nobody can tell padding from a fault, so such a
    query is set to 0, and the fourth result says where `mark` has to write NaN.

    Shapes: as `hide_unseen`; the fourth result is None or bool (…, Lq, 1).
    """
    asking, seen_keys, seen_values = hide_unseen(mask, queries, keys, values)
    if queries is keys:
        return asking.where(asking.isfinite(), seen_keys), seen_keys, seen_values, None
    broken = ~asking.isfinite().all(-1, keepdim=True)
    return asking.masked_fill(broken, 0.0), seen_keys, seen_values, broken


def mark(broken: Tensor | None, result: Tensor) -> Tensor:
    """Write NaN where a query was not finite: shown, and yet in no gradient."""
    return result if broken is None else result.masked_fill(broken, float("nan"))


class _Attention(nn.Module):
    """Lengths, masks, dropout and the weighted sum, which both scorings share."""

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        if not 0 <= dropout < 1:
            raise value_error("dropout", "a probability in [0, 1)", dropout)
        self.dropout = dropout

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        raise NotImplementedError

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Do what `forward` does, without its checks; what is unseen has to be hidden already.

        The weights are None where they are not needed; the fused kernel makes none.
        """
        weights = masked_softmax(_widen(self.scores(queries, keys)), mask).to(values.dtype)
        return F.dropout(weights, self.dropout, self.training) @ values, weights if need_weights else None

    @overload
    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = ...,
        *,
        attn_mask: Tensor | None = ...,
        need_weights: Literal[False] = ...,
    ) -> Tensor: ...
    @overload
    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = ...,
        *,
        attn_mask: Tensor | None = ...,
        need_weights: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        attn_mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend: softmax of the scores over the keys, times the values.

        Shapes:
            queries (B, Lq, dq), keys (B, Lk, dk), values (B, Lk, dv), or each with a head
            axis after B; valid_lens (B,) or (B, Lq); attn_mask bool (Lq, Lk), (B, Lq, Lk) or
            (B, h, Lq, Lk), True = may attend.

        Returns:
            (B, Lq, dv), or with `need_weights` also the weights (B, Lq, Lk), taken before
            dropout; with a head axis after B where the inputs have one.
        """
        self._check(queries, keys, values)
        B, *heads, Lq, _ = queries.shape
        sizes = (B, heads[0] if heads else 1, Lq, keys.shape[-2])
        mask = combine_masks(sizes, valid_lens, attn_mask, queries.device)
        broken = None
        if mask is not None:
            mask = mask if heads else mask[:, 0]
            queries, keys, values, broken = hide_padding(mask, queries, keys, values)
        context, weights = self.attend(queries, keys, values, mask, need_weights)
        context = mark(broken, context)
        return context if weights is None else (context, mark(broken, weights))

    def _check(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        for name, tensor in (("queries", queries), ("keys", keys), ("values", values)):
            if not isinstance(tensor, Tensor):
                raise type_error(name, "a tensor (B, L, d)", type(tensor).__name__)
        shapes = f"queries {tuple(queries.shape)}, keys {tuple(keys.shape)}, values {tuple(values.shape)}"
        if queries.dim() not in (3, 4) or not queries.dim() == keys.dim() == values.dim():
            raise value_error("queries, keys, values", "three tensors (B, L, d), or (B, h, L, d)", shapes)
        if queries.shape[:-2] != keys.shape[:-2] or keys.shape[:-1] != values.shape[:-1]:
            raise value_error("queries, keys, values", "one B, and as many values as keys", shapes)
        dtypes = {queries.dtype, keys.dtype, values.dtype}
        if len(dtypes) > 1 or not queries.is_floating_point():
            mend = "Convert them: queries.float()."
            raise type_error("queries, keys, values", "one floating-point dtype", dtypes, mend)


class DotProductAttention(_Attention):
    """Scaled dot-product attention: softmax(Q Kᵀ / √d) V.

    Without weights it runs torch's fused scaled_dot_product_attention; with weights, the
    same by steps, which also has forward-mode and second derivatives. `dropout` acts on
    the weights. Source: Vaswani et al. 2017.

    Example:
        >>> X = torch.eye(3).unsqueeze(0)
        >>> DotProductAttention()(X, X, X, torch.tensor([1]))[0, 2].tolist()
        [1.0, 0.0, 0.0]
    """

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return q·k / √d, shape (…, Lq, Lk); of half precision in float32, where it cannot overflow."""
        return dot_product_scores(_widen(queries), _widen(keys))

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Attend by torch's fused kernel, unless the weights are asked for."""
        if need_weights:
            return super().attend(queries, keys, values, mask, need_weights)
        dropout = self.dropout if self.training else 0.0
        if mask is None:
            return F.scaled_dot_product_attention(queries, keys, values, dropout_p=dropout), None
        # Kernels disagree on rows with nothing to attend to: open them, then set 0.
        empty = ~mask.any(-1, keepdim=True)
        context = F.scaled_dot_product_attention(queries, keys, values, mask | empty, dropout)
        return context.masked_fill(empty, 0.0), None

    def _check(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        super()._check(queries, keys, values)
        if queries.shape[-1] != keys.shape[-1]:
            raise value_error("keys", f"the queries' width {queries.shape[-1]}", keys.shape[-1])


class AdditiveAttention(_Attention):
    """Additive attention: a(q, k) = w_vᵀ tanh(W_q q + W_k k).

    For queries and keys of different widths. Source: Bahdanau et al. 2015.

    Args:
        key_size, query_size: widths of a key and of a query.
        num_hiddens: width in which the two meet.
        dropout: probability, acts on the weights.

    Example:
        >>> attend = AdditiveAttention(key_size=2, query_size=3, num_hiddens=4)
        >>> attend(torch.zeros(1, 5, 3), torch.zeros(1, 6, 2), torch.zeros(1, 6, 7)).shape
        torch.Size([1, 5, 7])
    """

    def __init__(self, key_size: int, query_size: int, num_hiddens: int, dropout: float = 0.0):
        super().__init__(dropout)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)

    def _check(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        super()._check(queries, keys, values)
        for name, tensor, linear in (("queries", queries, self.W_q), ("keys", keys, self.W_k)):
            if tensor.shape[-1] != linear.in_features:
                raise value_error(name, f"a width of {linear.in_features}", f"shape {tuple(tensor.shape)}")
            if tensor.dtype != linear.weight.dtype and not torch.is_autocast_enabled(tensor.device.type):
                raise type_error(name, f"{linear.weight.dtype}, like the layer", tensor.dtype)

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return w_vᵀ tanh(W_q q + W_k k), shape (…, Lq, Lk)."""
        return additive_scores(self.W_q(queries), self.W_k(keys), self.w_v.weight[0])
