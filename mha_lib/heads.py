"""From one wide vector a word to several narrow ones, one a head, and back."""

from torch import Tensor

from .errors import type_error, value_error


def _divide(name: str, size: int, num_heads: int) -> int:
    if not isinstance(num_heads, int):
        raise type_error("num_heads", "an int", repr(num_heads), "Use // where you divide.")
    if num_heads < 1 or size % num_heads:
        divisors = [n for n in range(1, size + 1) if size % n == 0]
        mend = f"Choose num_heads from {divisors[:12]}, or change {name}."
        raise value_error("num_heads", f"a divisor of {name} = {size}", num_heads, mend)
    return size // num_heads


def head_dim(num_hiddens: int, num_heads: int) -> int:
    """Return d = D / h, the width of one head.

    Raises:
        ValueError: if `num_heads` is below 1 or does not divide `num_hiddens`.
        TypeError: if `num_heads` is no int.
    """
    return _divide("num_hiddens", num_hiddens, num_heads)


def check_axes(name: str, X: Tensor, axes: str) -> None:
    """Raise unless X is a tensor with as many axes as `axes`, e.g. "(B, L, D)", names."""
    if not isinstance(X, Tensor):
        raise type_error(name, f"a tensor {axes}", type(X).__name__, "Wrap it in torch.tensor(...).")
    if X.dim() != axes.count(",") + 1:
        mend = "For one sentence add a batch axis: X.unsqueeze(0)." if X.dim() == 2 else ""
        raise value_error(name, f"a tensor with the axes {axes}", f"shape {tuple(X.shape)}", mend)


def heads_apart(X: Tensor, num_heads: int) -> Tensor:
    """Give the heads an axis of their own, as a view: (B, L, D) → (B, h, L, d).

    `reshape` cuts each word's D features into h pieces of d; `permute` then puts the
    head before the word. No number moves in memory.
    """
    check_axes("X", X, "(B, L, D)")
    B, L, D = X.shape
    return X.reshape(B, L, num_heads, head_dim(D, num_heads)).permute(0, 2, 1, 3)


def heads_together(X: Tensor) -> Tensor:
    """Undo `heads_apart`: (B, h, L, d) → (B, L, D)."""
    B, h, L, d = X.shape
    return X.permute(0, 2, 1, 3).reshape(B, L, h * d)


def split_heads(X: Tensor, num_heads: int) -> Tensor:
    """Stack the heads along the batch: (B, L, D) → (B·h, L, d).

    The stack reads sentence 1 head A, sentence 1 head B, …, sentence 2 head A, …
    Known as `transpose_qkv` in the documents that this collection teaches from.

    Args:
        X: shape (B, L, D); any dtype.
        num_heads: h, a divisor of D.

    Returns:
        Shape (B·h, L, d) with d = D / h.

    Raises:
        ValueError: if X has not three axes, or h does not divide D.

    Example:
        >>> import torch
        >>> split_heads(torch.arange(12).view(1, 3, 4), 2).tolist()
        [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]]
    """
    return heads_apart(X, num_heads).flatten(0, 1)


def merge_heads(X: Tensor, num_heads: int) -> Tensor:
    """Put the heads of a word side by side again: (B·h, L, d) → (B, L, D).

    The exact inverse of `split_heads`; `transpose_output` in the documents.

    Args:
        X: shape (B·h, L, d), stacked as `split_heads` does it; any dtype.
        num_heads: h, a divisor of the first axis.

    Returns:
        Shape (B, L, D) with D = h · d.

    Raises:
        ValueError: if X has not three axes, or h does not divide the first one.

    Example:
        >>> import torch
        >>> X = torch.arange(12).view(1, 3, 4)
        >>> torch.equal(merge_heads(split_heads(X, 2), 2), X)
        True
    """
    check_axes("X", X, "(B·h, L, d)")
    B = _divide("the stacked axis B·h", X.shape[0], num_heads)
    return heads_together(X.unflatten(0, (B, num_heads)))


transpose_qkv = split_heads
transpose_output = merge_heads
