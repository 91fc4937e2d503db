"""Weights × |W_o v|: how much of a value a head really adds, where the caller gives the lengths."""

import numpy as np
import torch
from torch import Tensor

from ..errors import type_error, value_error
from .read import WeightMaps

Lengths = Tensor | np.ndarray


def read_lengths(values: Lengths, maps: WeightMaps, sample: int) -> Tensor:
    """Return the length of each head's value at each key as the head adds it, (blocks, h, Lk).

    Args:
        values: |W_o v|, (layers, B, h, Lk), (layers, h, Lk), (B, h, Lk) of one layer or (h, Lk).
        sample: which sentence of the batch.

    Raises:
        TypeError, ValueError: another kind or shape, or lengths below 0.
    """
    if isinstance(values, np.ndarray):
        values = torch.from_numpy(values.copy())
    if not isinstance(values, Tensor):
        raise type_error("values", "lengths (layers, h, Lk), a tensor", type(values).__name__)
    blocks, heads, _, Lk = maps.weights.shape
    lengths = values.detach().float().cpu()
    if lengths.dim() == 4:
        lengths = lengths[:, sample if lengths.shape[1] > 1 else 0]
    elif lengths.dim() == 3 and blocks == 1 != lengths.shape[0]:  # (B, h, Lk)
        lengths = lengths[sample][None]
    elif lengths.dim() == 2:
        lengths = lengths[None]
    if lengths.dim() == 3 and lengths.shape[1] != heads and lengths.shape[1] > max(maps.heads):
        lengths = lengths[:, list(maps.heads)]
    if lengths.shape != (blocks, heads, Lk):
        expected = f"one length for each head and key, ({blocks}, {heads}, {Lk})"
        raise value_error("values", expected, f"shape {tuple(values.shape)}", "Use (W_o v).norm(dim=-1).")
    if bool((lengths < 0).any()) or not bool(lengths.isfinite().all()):
        raise value_error("values", "lengths from 0 up", "some that are negative or no number")
    return lengths
