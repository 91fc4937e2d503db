"""The attention block of a GPT, as one of the documents describes it."""

from torch import Tensor, nn

from ..heads import head_dim
from ..multihead import attend
from ..scoring import DotProductAttention


class MultiHeadAttention(nn.Module):
    """Self-attention with four maps that have biases: o_project · [head_1; …; head_h].

    Where it departs from the document's listing:

    * queries, keys and values each go through a map of their own;
    * the heads are checked against the width when the layer is made;
    * dropout acts on the attention weights, as in the paper, nn.MultiheadAttention and
      every layer here. The listing drops entries of the output. That is the paper's other
      dropout, on the way to the residual sum; it belongs to the block around this layer:
      `x + nn.Dropout(p)(layer(x))`;
    * attn_mask may have two, three or four axes and is boolean. A 0/1 mask is refused,
      since adding it would be wrong without a word: convert it with `attn_mask.bool()`;
    * what is masked weighs exactly 0 in every dtype.

    Args:
        d_model: D, the width of the input and of the output.
        num_heads: h, a divisor of D.
        dropout: probability in [0, 1), acts on the attention weights.

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

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        head_dim(d_model, num_heads)
        self.num_heads = num_heads
        self.q_project = nn.Linear(d_model, d_model)
        self.k_project = nn.Linear(d_model, d_model)
        self.v_project = nn.Linear(d_model, d_model)
        self.o_project = nn.Linear(d_model, d_model)
        self.attention = DotProductAttention(dropout)

    def forward(self, x: Tensor, attn_mask: Tensor | None = None, *, need_weights: bool = False):
        """Attend with every head at once.

        Args:
            x: (B, L, D).
            attn_mask: bool, (L, L), (B, L, L) or (B, h, L, L); True = may attend.
            need_weights: whether to return the weights as well.

        Returns:
            (B, L, D), or that and the weights (B, h, L, L), taken before dropout.

        Raises:
            ValueError, TypeError: naming the parameter, what was expected and what came.
        """
        maps = (self.q_project, self.k_project, self.v_project, self.o_project)
        inputs, names = (x,) * 3, ("x",) * 3
        return attend(maps, self.num_heads, self.attention, inputs, None, attn_mask, need_weights, names)
