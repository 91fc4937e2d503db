"""Who may attend to whom. A boolean mask is True where a query may attend to a key.

This is the polarity of torch.nn.functional.scaled_dot_product_attention, and the
opposite of torch.nn.MultiheadAttention, whose True shuts a key out.
"""

import torch
from torch import Tensor

from .errors import type_error, value_error

Device = torch.device | str | None


def _check_boolean(attn_mask: Tensor) -> None:
    if not isinstance(attn_mask, Tensor) or attn_mask.dtype != torch.bool:
        got = attn_mask.dtype if isinstance(attn_mask, Tensor) else type(attn_mask).__name__
        mend = "Convert it: attn_mask.bool(), with True where a query may attend."
        raise type_error("attn_mask", "a boolean tensor", got, mend)


def holds(condition: Tensor) -> bool:
    """Say whether a condition holds everywhere; True where nobody can look.

    That is on the meta device, in a compiled graph, which a look would break, and under vmap.
    """
    if torch.compiler.is_compiling() or condition.is_meta:
        return True
    try:
        return bool(condition.all())
    except RuntimeError:
        return True


def _check_lengths(valid_lens: Tensor, num_keys: int, num_queries: int | None) -> None:
    expected = f"integers in [0, {num_keys}], shape (B,) or (B, Lq)"
    if not isinstance(valid_lens, Tensor):
        got = f"{type(valid_lens).__name__} {valid_lens}"
        raise type_error("valid_lens", f"a tensor of {expected}", got, "Wrap it: torch.tensor(valid_lens).")
    if valid_lens.dtype.is_floating_point or valid_lens.dtype.is_complex or valid_lens.dtype == torch.bool:
        raise type_error("valid_lens", expected, valid_lens.dtype, "Convert it: valid_lens.long().")
    shape = tuple(valid_lens.shape)
    if len(shape) not in (1, 2) or len(shape) == 2 and num_queries not in (None, shape[1]):
        queries = "" if num_queries is None else f" with Lq = {num_queries}"
        mend = "Give one number a sentence, or one a query."
        raise value_error("valid_lens", expected + queries, f"shape {shape}", mend)
    if shape[1:] == (1,) and num_queries is None:
        mend = "Use valid_lens.squeeze(1), or pass num_queries=1 if there is one query."
        raise value_error("valid_lens", expected, f"shape {shape}, which fits only a single query", mend)
    lengths = valid_lens.long()
    if not holds((lengths >= 0) & (lengths <= num_keys)):
        mend = "A length counts the real words of a sentence."
        raise value_error("valid_lens", expected, valid_lens.tolist(), mend)


def length_mask(valid_lens: Tensor, num_keys: int, num_queries: int | None = None) -> Tensor:
    """Let each query attend to the first `valid_lens` keys only.

    Args:
        valid_lens: integers in [0, Lk]; shape (B,), one length a sentence, or (B, Lq), one
            a query.
        num_keys: Lk, the length of the padded key axis.
        num_queries: Lq; when given, a (B, Lq) shape is held against it.

    Returns:
        bool, shape (B, 1, Lk) or (B, Lq, Lk); True where a query may attend.

    Raises:
        ValueError: a length outside [0, Lk], or another shape. In a compiled graph and under
            vmap only the shape is looked at.
        TypeError: not a tensor of integers.

    Example:
        >>> length_mask(torch.tensor([1, 3]), 4).int().tolist()
        [[[1, 0, 0, 0]], [[1, 1, 1, 0]]]
    """
    _check_lengths(valid_lens, num_keys, num_queries)
    lengths = valid_lens.long()
    lengths = lengths[:, None, None] if lengths.dim() == 1 else lengths[:, :, None]
    return torch.arange(num_keys, device=valid_lens.device) < lengths


def causal_mask(num_queries: int, num_keys: int, align: str = "top-left", device: Device = None) -> Tensor:
    """Let each query attend to no later key.

    With `align="top-left"` query i sees the keys 0 … i, as in
    scaled_dot_product_attention(is_causal=True). With "bottom-right" the last query is
    aligned with the last key, as a decoder with a cache needs it. The two differ only
    when Lq ≠ Lk.

    Returns:
        bool, shape (Lq, Lk); True where a query may attend.

    Raises:
        ValueError: another word for `align`, or a negative size.

    Example:
        >>> causal_mask(2, 3).int().tolist()
        [[1, 0, 0], [1, 1, 0]]
        >>> causal_mask(2, 3, align="bottom-right").int().tolist()
        [[1, 1, 0], [1, 1, 1]]
    """
    if align not in ("top-left", "bottom-right"):
        raise value_error("align", '"top-left" or "bottom-right"', repr(align))
    if num_queries < 0 or num_keys < 0:
        raise value_error("num_queries, num_keys", "sizes of 0 or more", (num_queries, num_keys))
    offset = num_keys - num_queries if align == "bottom-right" else 0
    return torch.ones(num_queries, num_keys, dtype=torch.bool, device=device).tril(offset)


def _four_axes(attn_mask: Tensor, B: int, h: int, Lq: int, Lk: int) -> Tensor:
    """Read an attn_mask of 2, 3 or 4 axes as (B or 1, h or 1, Lq or 1, Lk)."""
    _check_boolean(attn_mask)
    mask = attn_mask[None] if attn_mask.dim() == 2 else attn_mask
    if mask.dim() == 3:
        mask = mask.unflatten(0, (B, h)) if mask.shape[0] == B * h > B else mask[:, None]
    fitting = ((B, 1), (h, 1), (Lq, 1), (Lk,))
    if mask.dim() != 4 or any(size not in fits for size, fits in zip(mask.shape, fitting, strict=True)):
        axes = "(Lq, Lk), (B, Lq, Lk), (B·h, Lq, Lk) or (B, h, Lq, Lk)"
        expected = f"{axes} with B={B}, h={h}, Lq={Lq}, Lk={Lk}"
        mend = "A mask for each head needs four axes: (1, h, Lq, Lk) or (B, h, Lq, Lk)."
        if attn_mask.shape == (B, Lk):
            mend = "That looks like one row a sentence: use valid_lens, or attn_mask[:, None, :]."
        raise value_error("attn_mask", expected, f"shape {tuple(attn_mask.shape)}", mend)
    return mask


def combine_masks(
    sizes: tuple[int, int, int, int],
    valid_lens: Tensor | None,
    attn_mask: Tensor | None,
    device: Device = None,
) -> Tensor | None:
    """Join lengths and attn_mask into one mask; where both are given, both apply.

    Args:
        sizes: (B, h, Lq, Lk).
        valid_lens: as for `length_mask`.
        attn_mask: bool, shape (Lq, Lk), (B, Lq, Lk), (B·h, Lq, Lk) sentence by sentence, or
            (B, h, Lq, Lk); an axis other than the last may have size 1. True = may attend.
            Two axes are always (Lq, Lk): write a mask of one row a sentence, (B, Lk), as
            attn_mask[:, None, :], or use valid_lens; with B = Lq nothing else can tell.
        device: where the scores are; the mask is put there.

    Returns:
        bool, (B or 1, h or 1, Lq or 1, Lk), or None where nothing was given.
    """
    B, h, Lq, Lk = sizes
    mask = None
    if attn_mask is not None:
        mask = _four_axes(attn_mask, B, h, Lq, Lk).to(device)
    if valid_lens is not None:
        lengths = length_mask(valid_lens, Lk, Lq)
        if lengths.shape[0] != B:
            got = f"shape {tuple(valid_lens.shape)}"
            raise value_error("valid_lens", f"one entry for each of B = {B} sentences", got)
        lengths = lengths[:, None].to(device)
        mask = lengths if mask is None else mask & lengths
    return mask


def masked_softmax(scores: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    """Softmax over the last axis, over the keys that a query may attend to.

    Masked weights are exactly 0; a row with nothing to attend to is all 0; a masked
    score, be it NaN, reaches neither the weights nor a gradient.

    Args:
        scores: floating point, shape (…, Lq, Lk). Not changed.
        attn_mask: bool, broadcastable to `scores`; True = may attend.

    Returns:
        Weights, shape and dtype of `scores`; each row sums to 1 or is all 0.

    Raises:
        TypeError: scores that are not floating point, a mask that is not boolean.
        ValueError: a mask that does not broadcast to the scores.

    Example:
        >>> masked_softmax(torch.zeros(1, 3), torch.tensor([True, True, False])).tolist()
        [[0.5, 0.5, 0.0]]
    """
    if not isinstance(scores, Tensor) or not scores.is_floating_point():
        got = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
        raise type_error("scores", "a floating-point tensor", got, "Convert it: scores.float().")
    if attn_mask is None:
        return scores.softmax(-1)
    _check_boolean(attn_mask)
    pairs = zip(reversed(attn_mask.shape), reversed(scores.shape), strict=False)
    if attn_mask.dim() > scores.dim() or any(have not in (1, want) for have, want in pairs):
        expected = f"a shape that broadcasts to the scores' {tuple(scores.shape)}"
        raise value_error("attn_mask", expected, tuple(attn_mask.shape))
    # A row with nothing to see is filled with 0 instead of −inf, so that softmax and its
    # gradient stay finite there; the last line makes its weights 0.
    floor = torch.where(attn_mask.any(-1, keepdim=True), float("-inf"), 0.0).to(scores.dtype)
    weights = torch.where(attn_mask, scores, floor).softmax(-1)
    return weights.masked_fill(~attn_mask, 0.0)
