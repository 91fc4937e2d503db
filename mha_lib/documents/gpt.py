"""The attention block of a GPT, as one of the documents describes it."""

from typing import Literal, overload

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import value_error
from ..heads import head_dim
from ..masks import holds
from ..multihead import attend
from ..scoring import DotProductAttention


class MultiHeadAttention(nn.Module):
    """Self-attention with four projections that have biases: o_project · [head_1; …; head_h].

    Where it departs from the document's listing:

    * queries, keys and values each go through a projection of their own;
    * the heads are checked against the width when the layer is made;
    * dropout acts on the output, as in the listing, and on the attention weights, too, as in
      the paper and in GPT-2, which does both;
    * attn_mask may have two, three or four axes. As in the listing 0 means may not attend;
      0/1 may come in any dtype, and numbers other than these are refused;
    * what is masked weighs exactly 0 in every dtype.

    Args:
        d_model: D, the width of the input and of the output.
        num_heads: h, a divisor of D.
        dropout: probability in [0, 1), acts on the output and on the attention weights.
        attention_dropout: the probability for the weights alone, if it is another one.

    Raises:
        ValueError: from the constructor when h does not divide D, naming both.

    Example:
        >>> import torch
        >>> from mha_lib.masks import causal_mask
        >>> layer = MultiHeadAttention(10, 2)
        >>> x = torch.zeros(2, 4, 10)
        >>> output, weights = layer(x, causal_mask(4, 4), need_weights=True)
        >>> output.shape, weights[0, 0, 0].tolist()
        (torch.Size([2, 4, 10]), [1.0, 0.0, 0.0, 0.0])
    """

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, *, attention_dropout: float | None = None
    ):
        super().__init__()
        head_dim(d_model, num_heads)
        self.num_heads = num_heads
        self.q_project = nn.Linear(d_model, d_model)
        self.k_project = nn.Linear(d_model, d_model)
        self.v_project = nn.Linear(d_model, d_model)
        self.o_project = nn.Linear(d_model, d_model)
        if not 0 <= dropout < 1:
            raise value_error("dropout", "a probability in [0, 1)", dropout)
        self.dropout = dropout
        self.attention = DotProductAttention(dropout if attention_dropout is None else attention_dropout)

    @overload
    def forward(
        self, x: Tensor, attn_mask: Tensor | None = ..., *, need_weights: Literal[False] = ...
    ) -> Tensor: ...
    @overload
    def forward(
        self, x: Tensor, attn_mask: Tensor | None = ..., *, need_weights: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, *, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend with every head at once.

        Args:
            x: (B, L, D).
            attn_mask: (L, L), (B, L, L) or (B, h, L, L), boolean or 0/1 of any dtype, such as
                torch.tril(torch.ones(L, L)); True or 1 = may attend.
            need_weights: whether to return the weights as well.

        Returns:
            (B, L, D), or that and the weights (B, h, L, L), taken before dropout.

        Raises:
            ValueError, TypeError: naming the parameter, what was expected and what came.
        """
        projections = (self.q_project, self.k_project, self.v_project, self.o_project)
        inputs, names = (x,) * 3, ("x",) * 3
        mask = _as_boolean(attn_mask)
        output, weights = attend(
            projections, self.num_heads, self.attention, inputs, None, mask, need_weights, names
        )
        output = F.dropout(output, self.dropout, self.training)
        return output if weights is None else (output, weights)


def _as_boolean(attn_mask: Tensor | None) -> Tensor | None:
    """Read the document's 0/1 mask; what is no tensor is left to the check of all masks."""
    if not isinstance(attn_mask, Tensor) or attn_mask.dtype == torch.bool:
        return attn_mask
    zero_or_one = (attn_mask == 0) | (attn_mask == 1)
    if not holds(zero_or_one):
        other = attn_mask[~zero_or_one][0].item()
        mend = "Of a mask to be added, 0 and −inf, make one of these: attn_mask == 0."
        raise value_error("attn_mask", "booleans, or 0 and 1, where 0 = may not attend", other, mend)
    return attn_mask == 1
