"""Which output word depends on which input word: read off the gradients, whatever the code."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from matplotlib.patches import Rectangle
from torch import Tensor, nn

from ..errors import type_error, value_error
from ..look.fonts import drawable, families_for
from ..look.style import HALO, HEAD_COLOURS, Drawing
from ..masks import length_mask
from .calling import Caller
from .names import Takes
from .projections import input_width

SEEN, LEAK, UNSEEN = HEAD_COLOURS[0], HEAD_COLOURS[1], "#eeeeee"


def who_can_see_whom(
    layer: nn.Module | Callable[..., Any],
    x: Tensor | None = None,
    valid_lens: Tensor | None = None,
    *,
    attn_mask: Tensor | None = None,
    num_words: int = 4,
) -> Tensor:
    """Return where ∂ output_i / ∂ input_j is not zero: does word i see word j?

    Args:
        layer: a module or function for self-attention, called with x as queries, keys and
            values, or with x alone. A module is copied, taken to float64 and eval mode.
        x: (B, L, D); the first sentence is looked at. Without it random words are made, for
            a module whose projections are found.
        valid_lens, attn_mask: handed to the layer; True = may attend.
        num_words: L, where no x is given.

    Returns:
        bool, (L, L); [i, j] is True where output word i depends on input word j.

    Raises:
        ValueError: no gradient reaches x, or x has not three axes.
        TypeError: not something to call.

    Example:
        >>> from mha_lib import MultiHeadAttention, causal_mask
        >>> layer = MultiHeadAttention(10, 10, 10, 10, 2)
        >>> who_can_see_whom(layer, attn_mask=causal_mask(4, 4)).int().tolist()
        [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    """
    if not callable(layer):
        raise type_error("layer", "a module or a function", type(layer).__name__)
    if isinstance(layer, nn.Module):
        layer = copy.deepcopy(layer).double().eval()
    generator = torch.Generator().manual_seed(0)
    if x is None:
        width = input_width(layer)
        x = torch.randn(2, num_words, width, generator=generator)
    if not isinstance(x, Tensor) or x.dim() != 3:
        raise value_error("x", "a tensor (B, L, D)", tuple(getattr(x, "shape", ())))
    x = (x.double() if isinstance(layer, nn.Module) else x).detach().requires_grad_()
    with torch.enable_grad():
        caller = Caller(layer, None, x.shape[-1])
        outcome = caller((x, x, x), _handed(caller, layer, x, valid_lens, attn_mask))
        if outcome.error is not None:
            raise outcome.error
        if outcome.result is None:
            raise type_error("layer", "a layer that returns a tensor", "None")
        output = outcome.result[0]
        # A random sum of a word's features: that its gradient cancels has probability 0.
        numbers = output @ (torch.rand(output.shape[-1], generator=generator).to(output) + 0.5)
        if not numbers.requires_grad:
            raise value_error("layer", "a layer that a gradient passes through", "none reaches x")
        rows = [torch.autograd.grad(n, x, retain_graph=True, allow_unused=True)[0] for n in numbers]
    if any(row is None for row in rows):  # cut off; a gradient of 0 is an answer
        raise value_error("layer", "a layer that a gradient passes through", "none reaches x")
    reach = torch.stack([row[0].abs().amax(-1) for row in rows])
    return reach > 1e-12 * reach.max()


def _handed(
    caller: Caller, layer: object, x: Tensor, valid_lens: Tensor | None, attn_mask: Tensor | None
) -> dict[str, Tensor]:
    """Write lengths and mask in the forms that the layer's parameters take by their names."""
    L = x.shape[1]
    masks: dict[str, Tensor] = {}
    by_kind = {kind: name for name, kind in reversed(caller.options.items())}
    shuts_out = isinstance(layer, nn.MultiheadAttention)
    takes_mask = by_kind.get(Takes.MASK, by_kind.get(Takes.VISIBLE))
    if valid_lens is not None:
        visible = length_mask(valid_lens, L)
        counting = by_kind.get(Takes.LENGTHS, by_kind.get(Takes.UNKNOWN))
        if counting:
            masks[counting] = valid_lens
        elif padding := by_kind.get(Takes.PADDING):
            masks[padding] = ~visible[:, 0]
        elif takes_mask:
            attn_mask = visible.expand(-1, L, -1) if attn_mask is None else visible & attn_mask
    if attn_mask is not None and takes_mask:
        masks[takes_mask] = ~attn_mask if shuts_out else attn_mask
    return masks


def plot_visibility(
    seen: Tensor, words: Sequence[str] | None = None, *, allowed: Tensor | None = None, title: str = ""
) -> Drawing:
    """Draw who sees whom: rows are output words, columns input words.

    Args:
        seen: bool, (L, L), from `who_can_see_whom`.
        words: L words for both axes; without them 1, 2, …
        allowed: bool, (L, L); what is seen though it is not allowed gets a cross.
        title: a line above.

    Raises:
        ValueError: not square or not boolean, or another number of words.

    Example:
        >>> plot_visibility(torch.eye(2).bool(), ["the", "cat"])
        [picture] who sees whom, row by row: 10; 01
    """
    if seen.dim() != 2 or seen.dtype != torch.bool or (allowed is not None and allowed.shape != seen.shape):
        raise value_error("seen", "a boolean tensor (L, L), and allowed like it", tuple(seen.shape))
    names = [str(i + 1) for i in range(seen.shape[1])] if words is None else [str(word) for word in words]
    if len(names) != seen.shape[1] or seen.shape[0] != seen.shape[1]:
        raise value_error("words", f"{seen.shape[1]} words", f"{len(names)} words")
    leaks = seen & ~allowed if allowed is not None else torch.zeros_like(seen)
    L = len(names)
    rows = ["".join(str(int(cell)) for cell in row) for row in seen]
    alt = f"who sees whom, row by row: {'; '.join(rows)}"
    alt = f"{title}: {alt}" if title else alt
    alt += f"; {int(leaks.sum())} leaks" if allowed is not None else ""
    figure = Drawing(figsize=(1.6 + 0.5 * L, 1.3 + 0.5 * L), alt=alt, layout="constrained")
    families = families_for("".join(names) + title)
    ax = figure.add_subplot(facecolor="none")
    ax.set_xlabel("input word (is seen)", path_effects=HALO)
    ax.set_ylabel("output word (sees)", path_effects=HALO)
    written: dict[str, Any] = {"family": families, "parse_math": False, "path_effects": HALO}
    ax.set_title(drawable(title, families), **written)
    labels = [drawable(name, families) for name in names]
    for i, j in torch.cartesian_prod(torch.arange(L), torch.arange(L)).tolist():
        sees, leak = bool(seen[i, j]), bool(leaks[i, j])
        colour = LEAK if leak else SEEN if sees else UNSEEN
        ax.add_patch(Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, facecolor=colour, edgecolor="none"))
        mark, ink = ("×", "white") if leak else ("●", "white") if sees else ("·", "#666666")
        ax.text(j, i, mark, ha="center", va="center", color=ink, size=18 if leak else 12)
    ax.set(xlim=(-0.5, L - 0.5), ylim=(L - 0.5, -0.5), aspect="equal")
    ax.set_xticks(range(L), labels, **written)
    ax.set_yticks(range(L), labels, **written)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return figure
