"""What a picture of attention weights needs, read from a tensor and checked once."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import type_error, value_error
from ..masks import combine_masks

Words = Sequence[str] | Sequence[Sequence[str]] | None


@dataclass(frozen=True)
class WeightMaps:
    """The maps of one sample: a row a query, a column a key.

    Attributes:
        weights: float32, (layers, h, Lq, Lk), on the CPU.
        keep: bool, as `weights`; False where a query may not attend.
        heads: which heads of the layer these are.
        queries, keys: the words as they are shown, one a row and one a column.
    """

    weights: Tensor
    keep: Tensor
    heads: tuple[int, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]


def visible(word: object) -> str:
    """Return the word with everything in it that cannot be seen made visible."""
    text = str(word).replace("\n", "⏎").replace("\t", "⇥")
    return (text if text.strip() and text == text.strip() else text.replace(" ", "␣")) or "∅"


def _words(name: str, words: Words, rows: int, sample: int, batch: int) -> tuple[str, ...]:
    if words is None:
        return tuple(str(i) for i in range(rows))
    if isinstance(words, str):
        raise type_error(name, "a list of words", f"the text {words!r}", f"Cut it up: {words!r}.split().")
    words = list(words)
    if words and all(isinstance(word, (list, tuple)) for word in words):
        if len(words) != batch:
            raise value_error(name, f"one list of words for each of {batch} samples", len(words))
        words = list(words[sample])
    if len(words) != rows:
        line = "row" if name == "queries" else "column"
        raise value_error(name, f"{rows} words, one for each {line}", f"{len(words)} words")
    return tuple(visible(word) for word in words)


def _check_numbers(weights: Tensor, axes: str, most: int) -> None:
    if not isinstance(weights, Tensor):
        mend = "Ask the layer for them: need_weights=True."
        raise type_error("weights", f"a tensor {axes}", type(weights).__name__, mend)
    if not 2 <= weights.dim() <= most:
        raise value_error("weights", f"a tensor {axes}", f"shape {tuple(weights.shape)}")
    if weights.is_complex() or bool((weights < 0).any()) or bool(torch.isinf(weights).any()):
        mend = "These look like scores: apply mha.masked_softmax first."
        raise value_error("weights", "numbers from 0 to 1", "some that are negative or infinite", mend)


def read_maps(
    weights: Tensor,
    queries: Words,
    keys: Words,
    sample: int | None,
    heads: Sequence[int] | None,
    valid_lens: Tensor | None,
    attn_mask: Tensor | None,
    layers: bool = False,
) -> WeightMaps:
    """Read the weights of one sample, with the words and the mask that belong to them.

    The arguments are those of `plot_heads`; `layers` tells whether weights with a layer axis,
    (layers, B, h, Lq, Lk), are welcome.

    Raises:
        TypeError, ValueError: what was wrong with which of them, in one sentence.
    """
    axes = "(layers, B, h, Lq, Lk), " * layers + "(B, h, Lq, Lk), (h, Lq, Lk) or (Lq, Lk)"
    _check_numbers(weights, axes, most=5 if layers else 4)
    weights = weights.detach()
    while weights.dim() < 5:  # what is missing is, from the left: layers, batch, heads
        weights = weights.unsqueeze(0)
    _, B, h, Lq, Lk = weights.shape
    if sample is None and B != 1:
        mend = "Say which sentence to show: sample=0."
        raise value_error("sample", f"an index for the batch of {B} in weights", "none", mend)
    sample = sample or 0
    if not 0 <= sample < B:
        raise value_error("sample", f"an index from 0 to {B - 1}", sample)
    chosen = list(range(h)) if heads is None else [int(head) for head in heads]
    if not chosen or any(not 0 <= head < h for head in chosen) or len(set(chosen)) != len(chosen):
        raise value_error("heads", f"some of the heads 0 to {h - 1}, each once", chosen)
    weights = weights[:, sample, chosen].float().cpu()
    keep = combine_masks((B, h, Lq, Lk), valid_lens, attn_mask, "cpu")
    keep = torch.tensor(True) if keep is None else keep
    return WeightMaps(
        weights=weights,
        keep=keep.expand(B, h, Lq, Lk)[sample, chosen].expand(weights.shape),
        heads=tuple(chosen),
        queries=_words("queries", queries, Lq, sample, B),
        keys=_words("keys", queries if keys is None and Lq == Lk else keys, Lk, sample, B),
    )
