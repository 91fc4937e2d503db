"""What the documents' self-attention layers share."""

from typing import Any

from torch import Tensor

from ..errors import value_error
from ..heads import check_axes
from ..multihead import attend


def attend_to_self(layer: Any, maps: tuple, x: Tensor, attn_mask: Tensor | None, need_weights: bool):
    """Let the words of x attend to each other: `mha_lib.multihead.attend` with x three times."""
    check_axes("x", x, "(B, L, D)")
    width = maps[0].in_features
    if x.shape[2] != width:
        expected = f"{width} features a word, as the constructor was told"
        raise value_error("x", expected, f"shape {tuple(x.shape)}")
    return attend(maps, layer.num_heads, layer.attention, (x, x, x), None, attn_mask, need_weights)
