"""The layer: several attentions at once, each in its own learned subspace."""

from collections.abc import Sequence
from typing import Any, Literal, overload

import torch
from torch import Tensor, nn

from .errors import type_error, value_error
from .heads import check_axes, head_dim, heads_apart, heads_together
from .masks import combine_masks
from .scoring import AdditiveAttention, DotProductAttention, hide_padding, hide_unseen, mark


def attend(
    projections: tuple[nn.Module, nn.Module, nn.Module, nn.Module],
    num_heads: int,
    attention: DotProductAttention | AdditiveAttention,
    inputs: tuple[Tensor, Tensor, Tensor],
    valid_lens: Tensor | None,
    attn_mask: Tensor | None,
    need_weights: bool,
    names: Sequence[str] = ("queries", "keys", "values"),
) -> tuple[Tensor, Tensor | None]:
    """Project, split, attend, merge, project: the one route of every multi-head layer in mha_lib.

    Args:
        projections: W_q, W_k, W_v and W_o.
        num_heads: h.
        attention: how a query is scored against a key.
        inputs: queries, keys and values.
        valid_lens, attn_mask, need_weights: as in `MultiHeadAttention.forward`.
        names: what the caller calls the inputs, for errors.

    Returns:
        (B, Lq, D), and the weights (B, h, Lq, Lk) or None where they are not needed.
    """
    W_q, W_k, W_v, W_o = projections
    queries, keys, values = inputs
    _check(names, projections, inputs)
    sizes = (queries.shape[0], num_heads, queries.shape[1], keys.shape[1])
    mask = combine_masks(sizes, valid_lens, attn_mask, queries.device)
    broken = None
    if (
        mask is not None
    ):  # what has no part in any head is kept from the projections, whose gradients it would reach
        queries, keys, values, broken = hide_padding(mask.any(1), queries, keys, values)
    q = heads_apart(W_q(queries), num_heads)
    k = heads_apart(W_k(keys), num_heads)
    v = heads_apart(W_v(values), num_heads)
    if mask is not None and mask.shape[1] > 1:  # one head alone may be shut out
        q, k, v = hide_unseen(mask, q, k, v)
    context, weights = attention.attend(q, k, v, mask, need_weights)
    if weights is not None and broken is not None:
        weights = mark(broken[:, None], weights)
    return mark(broken, W_o(heads_together(context))), weights


def _check(names: Sequence[str], projections: Sequence[Any], inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    for name, tensor, linear in zip(names, inputs, projections, strict=False):
        check_axes(name, tensor, "(B, L, D)")
        shape = tuple(tensor.shape)
        B = inputs[0].shape[0]
        if shape[2] != linear.in_features:
            expected = f"{linear.in_features} features a word, as the constructor was told"
            raise value_error(name, expected, f"shape {shape}")
        dtype = getattr(linear.weight, "dtype", tensor.dtype)  # a quantised layer has none
        if tensor.dtype != dtype and not torch.is_autocast_enabled(tensor.device.type):
            raise type_error(
                name, f"{dtype}, like the layer", tensor.dtype, f"Convert it: {name}.to({dtype})."
            )
        if shape[0] != B:
            raise value_error(name, f"a batch of {B}, as {names[0]}", f"shape {shape}")
    if inputs[1].shape[1] != inputs[2].shape[1]:
        got = f"{inputs[2].shape[1]} values for {inputs[1].shape[1]} keys"
        raise value_error("values", "one value for each key", got)


class MultiHeadAttention(nn.Module):
    """Multi-head attention: W_o · [head_1; …; head_h], head_i = f(W_q q, W_k k, W_v v)_i.

    The four projections W_q, W_k, W_v, W_o are all that it learns with `scoring="dot"`; there are
    4·D² weights for any number of heads (with equal widths and no bias). Parameter order
    and names are those of the documents: the constructor is key-first, the call
    query-first. Source: Vaswani et al. 2017, section 3.2.2.

    Args:
        key_size, query_size, value_size: widths of the inputs.
        num_hiddens: D, the width of the output.
        num_heads: h, a divisor of D.
        dropout: probability in [0, 1), acts on the attention weights.
        bias: whether the four projections have biases.
        scoring: "dot", or "additive", whose small scoring net all heads share.

    Raises:
        ValueError: from the constructor when h does not divide D, naming both.

    Example:
        >>> import torch
        >>> layer = MultiHeadAttention(10, 10, 10, 10, 2)
        >>> X = torch.zeros(2, 4, 10)
        >>> output, weights = layer(X, X, X, torch.tensor([3, 2]), need_weights=True)
        >>> output.shape, weights.shape
        (torch.Size([2, 4, 10]), torch.Size([2, 2, 4, 4]))
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = False,
        scoring: str = "dot",
    ):
        super().__init__()
        d = head_dim(num_hiddens, num_heads)
        if scoring not in ("dot", "additive"):
            raise value_error("scoring", '"dot" or "additive"', repr(scoring))
        self.num_heads = num_heads
        self.W_q = nn.Linear(query_size, num_hiddens, bias=bias)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=bias)
        self.W_v = nn.Linear(value_size, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        additive = scoring == "additive"
        self.attention = AdditiveAttention(d, d, d, dropout) if additive else DotProductAttention(dropout)

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
        """Attend with every head at once.

        Args:
            queries: (B, Lq, query_size).
            keys, values: (B, Lk, key_size), (B, Lk, value_size).
            valid_lens: integers in [0, Lk], shape (B,) or (B, Lq): how many keys count.
            attn_mask: bool, shape (Lq, Lk), (B, Lq, Lk), (B·h, Lq, Lk) or (B, h, Lq, Lk); True =
                may attend. With lengths given too, both apply. One row a sentence, (B, Lk), has
                to come as attn_mask[:, None, :].
            need_weights: whether to return the weights as well.

        Returns:
            (B, Lq, D), or that and the weights (B, h, Lq, Lk), taken before dropout. A query
            that may attend to nothing gets weights 0 and context 0. Padded words reach no
            result and no gradient; in cross-attention a query with NaN in it gives NaN, and
            no gradient.

        Raises:
            ValueError, TypeError: naming the parameter, what was expected and what came.
        """
        projections = (self.W_q, self.W_k, self.W_v, self.W_o)
        inputs = (queries, keys, values)
        output, weights = attend(
            projections, self.num_heads, self.attention, inputs, valid_lens, attn_mask, need_weights
        )
        return output if weights is None else (output, weights)
