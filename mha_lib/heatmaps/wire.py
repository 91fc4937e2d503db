"""Weights as they travel to a page: whole numbers, rounded here, so that no page rounds."""

import zlib

import numpy as np
import torch
from torch import Tensor

from .pool import MASKED as POOLED_MASKED

NAN, MASKED = 65535, 65534  # as in head_explorer.js
SMALL_NAN, SMALL_MASKED = 255, 254
MOST = MASKED - 1
SHADES = SMALL_MASKED - 1


def thousandths(values: Tensor, mask: Tensor | None = None) -> Tensor:
    """Round to three decimals, half to even as Python prints: int32, with NAN and MASKED.

    >>> thousandths(torch.tensor([0.25, 0.0625, float("nan")])).tolist()
    [250, 62, 65535]
    """
    rounded = (values.double() * 1000).round().clamp(max=MOST).nan_to_num(NAN).to(torch.int32)
    return rounded if mask is None else rounded.masked_fill(~mask, MASKED)


def hundredths(values: Tensor) -> Tensor:
    """Round to two decimals: int32, with NAN. For sums, which may be large."""
    return (values.double() * 100).round().clamp(max=MOST).nan_to_num(NAN).to(torch.int32)


def shades(small: Tensor) -> Tensor:
    """Return pooled maps as numbers of a shade from 0 to SHADES, with SMALL_NAN and SMALL_MASKED."""
    shade = (small * (SHADES + 1)).floor().clamp(0, SHADES).nan_to_num(SMALL_NAN)
    return shade.masked_fill(small == POOLED_MASKED, SMALL_MASKED).to(torch.uint8)


def packed(values: Tensor) -> bytes:
    """Return whole numbers below 65536 as bytes, two for each, the lower first."""
    return values.numpy().astype("<u2").tobytes()


def packed_size(data: bytes) -> int:
    """Return how many bytes of a page's text `data` takes: packed, and written in base64."""
    return len(zlib.compress(data, 1)) * 4 // 3


def unpacked(data: bytes) -> np.ndarray:
    """Return the numbers that `packed` made bytes of."""
    return np.frombuffer(data, "<u2")
