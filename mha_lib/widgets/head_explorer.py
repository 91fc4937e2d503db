"""HeadExplorer: point at a word and see what each head looks at."""

import html
from collections.abc import Sequence

import numpy as np
import torch
import traitlets
from torch import Tensor

from ..errors import value_error
from ..heatmaps.draw import PALETTE
from ..heatmaps.html import weight_table
from ..heatmaps.read import WeightMaps, read_maps
from ..heatmaps.words import Words
from ..look.style import head_colour, head_letter, ink
from ..text import counted, sentences
from .base import STATIC, BrowserPicture, style

text = sentences("heads")
MOST_WEIGHTS, MOST_WORDS = 1_000_000, 512
TABLE_CELLS = 600  # what the static tables may hold
NAN, MASKED = 65535, 65534  # as in head_explorer.js


def _thousandths(values: Tensor) -> Tensor:
    """Round to three decimals, half to even as Python prints: int32, NaN as 65535."""
    exact = (values.double() * 1000).round()
    return exact.clamp(max=MASKED - 1).nan_to_num(NAN).to(torch.int32)


def _bytes(values: Tensor) -> bytes:
    return values.numpy().astype("<u2").tobytes()


class HeadExplorer(BrowserPicture):
    """The weights of every head, as heatmaps, as lines from word to word, and as numbers.

    Point at a query, or arrow to it: its row in each map, its lines to the keys, and what
    each head gives each key. Press a letter to hide or show a head.

    What crosses the wire: weights in thousandths (uint16), words, colours and sentences.
    `query`, `layer` and `shown` (the heads, counted from 0 as given) can be read and set.

    Args:
        weights: (B, h, Lq, Lk), (h, Lq, Lk), (Lq, Lk), or (layers, B, h, Lq, Lk); at most a
            million of one sample.
        queries, keys, sample, heads, valid_lens, attn_mask: as for `plot_heads`.

    Raises:
        TypeError, ValueError: what was wrong with which argument.

    Example:
        >>> HeadExplorer(torch.eye(2)[None], ["the", "cat"])
        [HeadExplorer] 1 head, 2 queries by 2 keys
    """

    module = "head_explorer"
    _esm = STATIC / "head_explorer.js"
    _css = style("head_explorer")

    weights = traitlets.Bytes().tag(sync=True)
    sums = traitlets.Bytes().tag(sync=True)
    shape = traitlets.List(traitlets.Int()).tag(sync=True)
    query_words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    key_words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    heads: traitlets.List = traitlets.List().tag(sync=True)
    palette = traitlets.List(traitlets.Unicode()).tag(sync=True)
    dark_from = traitlets.Int().tag(sync=True)
    text = traitlets.Dict().tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    shown = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(
        self,
        weights: Tensor,
        queries: Words = None,
        keys: Words = None,
        *,
        sample: int | None = None,
        heads: Sequence[int] | None = None,
        valid_lens: Tensor | None = None,
        attn_mask: Tensor | None = None,
    ):
        maps = read_maps(
            weights,
            queries,
            keys,
            sample=sample,
            heads=heads,
            valid_lens=valid_lens,
            attn_mask=attn_mask,
        )
        shape = tuple(maps.weights.shape)
        if maps.weights.numel() > MOST_WEIGHTS or max(shape[2:]) > MOST_WORDS:
            expected = f"at most {MOST_WEIGHTS:,} weights of one sample, and {MOST_WORDS} words"
            mend = "Choose some heads=[…], fewer layers, or a part of the words: weights[..., :64, :64]."
            raise value_error("weights", expected, f"{' × '.join(map(str, shape))}", mend)
        self._maps = maps
        thousandths = _thousandths(maps.weights).masked_fill(~maps.mask, MASKED)
        map_says = text.explorer["map"].format(letter="{letter}", **self._counts(shape))
        super().__init__(
            weights=_bytes(thousandths),
            sums=_bytes(_thousandths(maps.weights.double().masked_fill(~maps.mask, 0).sum(-1))),
            shape=list(shape),
            query_words=list(maps.queries),
            key_words=list(maps.keys),
            heads=[
                {"letter": head_letter(n), "colour": head_colour(n), "ink": ink(head_colour(n))}
                for n in maps.heads
            ],
            palette=list(PALETTE),
            dark_from=next(i for i, colour in enumerate(PALETTE) if ink(colour) == "#ffffff"),
            text=text.explorer | {"map": map_says},
            shown=list(range(shape[1])),
        )

    @traitlets.validate("query", "layer", "shown")
    def _in_range(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        size = self.shape[{"query": 2, "layer": 0, "shown": 1}[name]]
        chosen = value if name == "shown" else [value]
        if any(not 0 <= index < size for index in chosen) and (name, value) != ("query", 0):
            raise value_error(name, f"0 to {size - 1}", value)
        return value

    @staticmethod
    def _counts(shape: Sequence[int]) -> dict[str, str]:
        return counted(heads=shape[1], queries=shape[2], keys=shape[3])

    def __repr__(self) -> str:
        layers = text.layers.format(count=self.shape[0]) if self.shape[0] > 1 else ""
        return text.repr.format(layers=layers, **self._counts(self.shape))

    def fallback(self) -> str:
        """Return the weights of the first layer as HTML tables, rounded to two decimals."""
        maps = self._maps
        parts = [f"<p>{text.fallback_layer.format(count=self.shape[0])}</p>"] * (self.shape[0] > 1)
        if maps.weights[0].numel() <= TABLE_CELLS:
            parts += [_table(maps, i) for i in range(len(maps.heads))]
        else:
            parts.append(f"<p>{text.fallback_big}</p><ul>")
            parts += [f"<li>{_largest(maps, i)}</li>" for i in range(len(maps.heads))] + ["</ul>"]
        return "<div>" + "".join(parts) + f"<p><em>{text.fallback_hint}</em></p></div>"


def _table(maps: WeightMaps, i: int) -> str:
    caption = text.fallback_caption.format(letter=head_letter(maps.heads[i]))
    return weight_table(caption, maps.weights[0, i], maps.mask[0, i], maps.queries, maps.keys)


def _largest(maps: WeightMaps, i: int) -> str:
    flat = int(np.argmax(maps.weights[0, i].masked_fill(~maps.mask[0, i], -1).nan_to_num(-1).numpy()))
    query, key = divmod(flat, len(maps.keys))
    words = {"query": html.escape(maps.queries[query]), "key": html.escape(maps.keys[key])}
    weight = f"{float(maps.weights[0, i, query, key]):.2f}"
    return text.fallback_largest.format(letter=head_letter(maps.heads[i]), weight=weight, **words)
