"""What a picture of attention weights needs, read from a tensor and checked once."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .errors import type_error, value_error
from .masks import combine_masks

Words = Sequence[str] | Sequence[Sequence[str]] | None


@dataclass(frozen=True)
class WeightMaps:
    """The maps of one sample: a row a query, a column a key.

    Attributes:
        weights: float32, (layers, h, Lq, Lk), on the CPU.
        keep: bool, as `weights`; False where a query may not attend.
        heads: which heads of the layer these are.
        queries, keys: the words as they are shown, one a row and one a column.
        padding: bool, (Lk,); a key that no query may attend to.
        same_words: whether queries and keys are the same words.
    """

    weights: Tensor
    keep: Tensor
    heads: tuple[int, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    padding: Tensor
    same_words: bool


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


def _numbers(weights: Tensor, axes: str, ranks: tuple[int, ...]) -> None:
    if not isinstance(weights, Tensor):
        mend = "Ask the layer for them: need_weights=True."
        raise type_error("weights", f"a tensor {axes}", type(weights).__name__, mend)
    if weights.dim() not in ranks:
        raise value_error("weights", f"a tensor {axes}", f"shape {tuple(weights.shape)}")
    if weights.is_complex() or bool((weights < 0).any()) or bool(torch.isinf(weights).any()):
        mend = "These look like scores: apply mha.masked_softmax first."
        raise value_error("weights", "numbers from 0 to 1", "some that are negative or infinite", mend)


def read_maps(
    weights: Tensor,
    queries: Words = None,
    keys: Words = None,
    *,
    sample: int | None = None,
    heads: Sequence[int] | None = None,
    valid_lens: Tensor | None = None,
    attn_mask: Tensor | None = None,
    layers: bool = False,
) -> WeightMaps:
    """Read the weights of one sample, with the words and the mask that belong to them.

    Args:
        weights: (B, h, Lq, Lk), (h, Lq, Lk) or (Lq, Lk); with `layers` also
            (layers, B, h, Lq, Lk).
        queries, keys: the words, or for each sample its words. Without `keys` a square
            map has the same words on both axes.
        sample: which sentence of the batch; may be left out when there is one.
        heads: which heads, in the order to show; all when left out.
        valid_lens, attn_mask: what the layer was given; True = may attend.
        layers: whether a layer axis is welcome.

    Raises:
        TypeError, ValueError: what was wrong with which of them, in one sentence.
    """
    axes = "(layers, B, h, Lq, Lk), " * layers + "(B, h, Lq, Lk), (h, Lq, Lk) or (Lq, Lk)"
    _numbers(weights, axes, (2, 3, 4, 5) if layers else (2, 3, 4))
    weights = weights.detach()
    while weights.dim() < 5:  # what is missing is, from the left: layers, batch, heads
        weights = weights.unsqueeze(0)
    _, B, h, Lq, Lk = weights.shape
    if sample is None and B != 1:
        mend = "Say which sentence to show: sample=0."
        raise value_error("sample", f"an index for the batch of {B} in weights", "none", mend)
    sample = 0 if sample is None else sample
    if not 0 <= sample < B:
        raise value_error("sample", f"an index from 0 to {B - 1}", sample)
    heads = tuple(range(h)) if heads is None else tuple(int(head) for head in heads)
    if not heads or any(not 0 <= head < h for head in heads) or len(set(heads)) != len(heads):
        raise value_error("heads", f"some of the heads 0 to {h - 1}, each once", list(heads))
    keep = combine_masks((B, h, Lq, Lk), valid_lens, attn_mask)
    keep = torch.ones(1, dtype=torch.bool) if keep is None else keep.cpu()
    chosen = list(heads)
    keep = keep.expand(B, h, Lq, Lk)[sample, chosen]
    weights = weights[:, sample, chosen].float().cpu()
    same_words = keys is None and Lq == Lk
    return WeightMaps(
        weights=weights,
        keep=keep.expand(weights.shape),
        heads=heads,
        queries=_words("queries", queries, Lq, sample, B),
        keys=_words("keys", queries if same_words else keys, Lk, sample, B),
        padding=~keep.flatten(0, 1).any(0),
        same_words=same_words,
    )
