"""Inputs for checks: random, and the same at every call."""

import torch
from torch import Tensor, nn

from ..multihead import MultiHeadAttention


def randoms(*shapes: tuple[int, ...], seed: int = 1) -> tuple[Tensor, ...]:
    """Return normal numbers in float32, as in the notebooks, one tensor a shape."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def random_layer(D: int = 10, h: int = 2, seed: int = 0, bias: bool = False) -> MultiHeadAttention:
    """Return a layer whose weights are far from all alike."""
    layer = MultiHeadAttention(D, D, D, D, h, bias=bias)
    generator = torch.Generator().manual_seed(seed)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.4, generator=generator)
    return layer.eval()
