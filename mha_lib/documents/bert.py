"""Self-attention in the style of BERT, as one of the documents describes it."""

from typing import Literal, overload

from torch import Tensor, nn

from ..heads import head_dim
from ..multihead import attend
from ..scoring import DotProductAttention


class SelfAttention(nn.Module):
    """Three projections with biases and no output projection: [head_1; …; head_h].

    There is no W_o by design: in BERT the projection that mixes the heads lives in the block
    around this one. So the heads stand side by side in the output, unmixed, and the
    layer has 3·D² weights (with input and output of one width) where the others have 4·D².

    The document's listing has neither mask nor dropout. A mask is added here, since padded
    sentences need one.

    Args:
        num_attention_heads: h, a divisor of hidden_size.
        input_size: width of the input.
        hidden_size: D, the width of the output.

    Raises:
        ValueError: from the constructor when h does not divide D, naming both.

    Example:
        >>> import torch
        >>> layer = SelfAttention(2, input_size=10, hidden_size=20)
        >>> layer(torch.zeros(32, 20, 10)).shape
        torch.Size([32, 20, 20])
    """

    def __init__(self, num_attention_heads: int, input_size: int, hidden_size: int):
        super().__init__()
        head_dim(hidden_size, num_attention_heads)
        self.num_heads = num_attention_heads
        self.key_layer = nn.Linear(input_size, hidden_size)
        self.query_layer = nn.Linear(input_size, hidden_size)
        self.value_layer = nn.Linear(input_size, hidden_size)
        self.attention = DotProductAttention()

    @overload
    def forward(
        self, x: Tensor, *, attn_mask: Tensor | None = ..., need_weights: Literal[False] = ...
    ) -> Tensor: ...
    @overload
    def forward(
        self, x: Tensor, *, attn_mask: Tensor | None = ..., need_weights: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...

    def forward(
        self, x: Tensor, *, attn_mask: Tensor | None = None, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend with every head at once.

        Args:
            x: (B, L, input_size).
            attn_mask: bool, (L, L), (B, L, L) or (B, h, L, L); True = may attend.
            need_weights: whether to return the weights as well.

        Returns:
            (B, L, D), or that and the weights (B, h, L, L).

        Raises:
            ValueError, TypeError: naming the parameter, what was expected and what came.
        """
        projections = (self.query_layer, self.key_layer, self.value_layer, nn.Identity())
        inputs, names = (x,) * 3, ("x",) * 3
        output, weights = attend(
            projections, self.num_heads, self.attention, inputs, None, attn_mask, need_weights, names
        )
        return output if weights is None else (output, weights)
