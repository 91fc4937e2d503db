"""HeadExplorer: all heads at a glance, one head in one step, and what each word looks at."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import traitlets
from torch import Tensor

from ..errors import value_error
from ..heatmaps import wire
from ..heatmaps.draw import PALETTE
from ..heatmaps.lengths import Lengths, read_lengths
from ..heatmaps.pool import MASKED as POOLED_MASKED
from ..heatmaps.pool import hides_nothing, pooled, sees_something
from ..heatmaps.read import Weights, read_maps
from ..heatmaps.scores import OWN, Score, given_scores
from ..heatmaps.weighed import Measure, Side, Weighed
from ..heatmaps.words import Words
from ..look.colours import head_colour, head_letter, ink
from ..text import counted, sentences
from .base import STATIC, BrowserPicture, style
from .head_fallback import fallback
from .own_sentence import Sentence, read_sentence

text = sentences("heads")
MOST_HELD = 250_000  # weights: more than that stay in the kernel, and the page asks for what it shows
MOST_SCORED = 2_000_000  # weights: of more, a score is computed when it is asked for
MOST_PAGE = 29_000_000  # bytes of weights in a saved page, packed
SMALL = 32  # rows and columns of a thumbnail, where the page cannot make it
FEW = 4  # heads: as many are seen at once, more are an overview first


class HeadExplorer(BrowserPicture):
    """The weights of every head: thumbnails first, then heatmaps, lines from word to word, numbers.

    Click a thumbnail (or press Enter on it) to see one head; point at a query, or arrow to it:
    its row in each map, its lines to the keys, and what each head gives each key; or the other
    way round, from a key to the queries that look at it. Heads are called 3 J: block 3, head J.

    What crosses the wire: weights in thousandths (uint16), at once where they are few, else the
    heads that the page asks for; words, colours and sentences. To be read and set: `view` ("all"
    or "some"), `layer` (the block), `shown` (heads, counted from 0 through all blocks), `side`
    ("query" or "key"), `query`, `key`, `measure` ("weights" or "moved"), `order` (which score, -1
    for the model's own order).

    Args:
        weights, queries, keys, sample, heads, valid_lens, attn_mask: as for `plot_heads`.
        scores: name → (blocks, heads), or a function of weights (blocks, h, Lq, Lk) and words that
            returns that. Heads can be sorted by each; entropy and distance are always there.
        values: lengths |W_o v| of what each head adds for each key, (layers, B, h, Lk): then
            weights × |W_o v| can be seen, too.
        read: a function of a sentence; gives the page a text box. It returns weights and words as
            a pair, or an object with .weights, .words and, if wanted, .value_lengths. Scores that
            are no functions belong to the first sentence and go with it.

    Raises:
        TypeError, ValueError: what was wrong with which argument.

    Example:
        >>> import torch
        >>> HeadExplorer(torch.eye(2)[None], ["the", "cat"])
        [HeadExplorer] 1 head, 2 queries by 2 keys
    """

    module = "head_explorer"
    _esm = STATIC / "head_explorer.js"
    _css = style("head_explorer")

    # What is shown: set together, and `version` last, when there is another sentence.
    version = traitlets.Int(0).tag(sync=True)
    shape = traitlets.List(traitlets.Int()).tag(sync=True)  # blocks, heads, queries, keys
    weights = traitlets.Bytes().tag(sync=True)  # of the blocks in `held`
    moved = traitlets.Bytes().tag(sync=True)  # as `weights`: weights × |W_o v|
    held = traitlets.List(traitlets.Int()).tag(sync=True)
    row_sums = traitlets.Bytes().tag(sync=True)  # thousandths, MASKED where a query may see nothing
    column_sums = traitlets.Bytes().tag(sync=True)  # hundredths
    small = traitlets.Bytes().tag(sync=True)  # thumbnails in shades, where not all blocks are held
    small_shape = traitlets.List(traitlets.Int()).tag(sync=True)
    marks = traitlets.List(traitlets.Unicode()).tag(sync=True)  # "masked", "nan": which there are
    slack = traitlets.Int().tag(sync=True)  # thousandths that a row's sum may be off
    longest = traitlets.Unicode().tag(sync=True)  # |W_o v| that is the 1 of "moved"; "" without values
    query_words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    key_words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    heads: traitlets.List[Any] = traitlets.List().tag(sync=True)
    scores: traitlets.List[Any] = traitlets.List().tag(sync=True)  # name, low_first, values or None
    text = traitlets.Dict().tag(sync=True)
    palette = traitlets.List(traitlets.Unicode()).tag(sync=True)
    dark_from = traitlets.Int().tag(sync=True)
    # What is chosen, here or on the page.
    view = traitlets.Enum(("all", "some"), "some").tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    shown = traitlets.List(traitlets.Int()).tag(sync=True)
    side = traitlets.Enum([str(side) for side in Side], "query").tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)
    key = traitlets.Int(0).tag(sync=True)
    measure = traitlets.Enum([str(measure) for measure in Measure], "weights").tag(sync=True)
    order = traitlets.Int(-1).tag(sync=True)
    # Questions and answers.
    ask = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)
    can_read = traitlets.Bool(False).tag(sync=True)
    sentence = traitlets.Unicode("").tag(sync=True)
    trouble = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        weights: Weights,
        queries: Words = None,
        keys: Words = None,
        *,
        sample: int | None = None,
        heads: Sequence[int] | None = None,
        valid_lens: Tensor | None = None,
        attn_mask: Tensor | None = None,
        scores: Mapping[str, Score] | None = None,
        values: Lengths | None = None,
        read: Callable[[str], object] | None = None,
    ) -> None:
        maps = read_maps(weights, queries, keys, sample, heads, valid_lens, attn_mask, own=True)
        lengths = None if values is None else read_lengths(values, maps, sample or 0)
        self._weighed = Weighed(maps, lengths)
        self._read = read
        self._functions = {n: s for n, s in (scores or {}).items() if callable(s)}
        super().__init__(
            can_read=read is not None,
            palette=list(PALETTE),
            dark_from=next(i for i, colour in enumerate(PALETTE) if ink(colour) == "#ffffff"),
            **self._picture(given_scores(scores or {}, maps)),
        )

    def _picture(self, scores: Mapping[str, Tensor]) -> dict[str, Any]:
        """Return the traits that a sentence fills."""
        weighed = self._weighed
        maps = self._weighed.maps
        blocks, count, Lq, Lk = shape = tuple(maps.weights.shape)
        held = maps.weights.numel() <= MOST_HELD
        rows, columns = weighed.sums()
        marks = {"masked": not hides_nothing(maps.mask), "nan": bool(rows.isnan().any())}
        longest = "" if weighed.lengths is None else f"{weighed.longest:.3g}"
        return {
            "shape": list(shape),
            "held": list(range(blocks)) if held else [],
            "weights": self._packed(range(blocks), Measure.WEIGHTS) if held else b"",
            "moved": self._packed(range(blocks), Measure.MOVED) if held and longest else b"",
            "row_sums": wire.packed(wire.thousandths(rows, sees_something(maps.mask))),
            "column_sums": wire.packed(wire.hundredths(columns)),
            **({"small": b"", "small_shape": []} if held else self._thumbnails(Measure.WEIGHTS)),
            "marks": [mark for mark, there in marks.items() if there],
            "slack": round(maps.slack * 1000),
            "longest": longest,
            "query_words": list(maps.queries),
            "key_words": list(maps.keys),
            "heads": [
                {"letter": head_letter(n), "colour": head_colour(n), "ink": ink(head_colour(n))}
                for n in maps.heads
            ],
            "scores": self._scores(scores),
            "text": text.explorer | {"size": text.size.format(**counted(queries=Lq, keys=Lk))},
            "view": "some" if blocks * count <= FEW else "all",
            "layer": 0,
            "shown": list(range(count)),
            **{"query": 0, "key": 0, "measure": "weights", "order": -1, "trouble": ""},
        }

    def _packed(self, blocks: Sequence[int], measure: Measure) -> bytes:
        count = self._weighed.maps.weights.shape[1]
        heads = [block * count + i for block in blocks for i in range(count)]
        return wire.packed(wire.thousandths(*self._weighed.heads(heads, measure)))

    def _thumbnails(self, measure: Measure) -> dict[str, Any]:
        small = self._weighed.small(SMALL, measure)
        return {"small": wire.shades(small).numpy().tobytes(), "small_shape": list(small.shape[2:])}

    def _scores(self, values_of: Mapping[str, Tensor]) -> list[dict[str, Any]]:
        maps = self._weighed.maps
        few = maps.weights.numel() <= MOST_SCORED
        scores = [_score(name, False, values) for name, values in values_of.items()]
        for name, compute in OWN.items():
            scores.append(_score(text.scores[name], True, compute(maps) if few else None))
        return scores

    @traitlets.validate("query", "key", "layer", "shown", "order")
    def _in_range(self, proposal: traitlets.Bunch) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        blocks, heads, queries, keys = self.shape
        sizes = {"query": queries, "key": keys, "layer": blocks, "shown": blocks * heads}
        low, size = (-1, len(self.scores)) if name == "order" else (0, sizes[name])
        chosen = value if name == "shown" else [value]
        if any(not low <= index < size for index in chosen) and value != 0:
            raise value_error(name, f"{low} to {size - 1}", value)
        return value

    @traitlets.observe("layer")
    def _show_block(self, change: traitlets.Bunch) -> None:
        count = self.shape[1]
        if any(head // count != change["new"] for head in self.shown):
            self.shown = list(range(change["new"] * count, (change["new"] + 1) * count))

    @traitlets.observe("order")
    def _score_late(self, change: traitlets.Bunch) -> None:
        if change["new"] >= 0 and self.scores[change["new"]]["values"] is None:
            late = [*self.scores]
            own = list(OWN.values())[change["new"] - len(late)]
            late[change["new"]] = late[change["new"]] | {"values": _rounded(own(self._weighed.maps))}
            self.scores = late

    @traitlets.observe("measure")
    def _draw_thumbnails(self, change: traitlets.Bunch) -> None:
        if self.small:
            self.set_trait("small", self._thumbnails(Measure(change["new"]))["small"])

    @traitlets.observe("ask")
    def _answer_page(self, change: traitlets.Bunch) -> None:
        """Send what the page asks for: maps, as small as it shows them, and a word's line in every head."""
        asked = change["new"]
        total = self.shape[0] * self.shape[1]
        if not asked:
            return
        measure = Measure(asked["measure"])
        heads = [head for head in asked["heads"] if 0 <= head < total]
        maps = self._weighed.heads(heads, measure)
        if asked["most"]:
            small = pooled(*maps, asked["most"])
            maps = (small, small != POOLED_MASKED)
        answer = asked | {"heads": heads, "maps": wire.packed(wire.thousandths(*maps))}
        if asked["index"] >= 0:
            line = self._weighed.line(Side(asked["side"]), asked["index"], measure)
            answer |= {"line": wire.packed(wire.thousandths(*line))}
        self.answer = answer

    @traitlets.observe("sentence")
    def _read_sentence(self, change: traitlets.Bunch) -> None:
        if self._read is None or not change["new"]:
            return
        read = read_sentence(self._read, change["new"], self._functions)
        with self.hold_sync():
            if isinstance(read, Sentence):
                self._weighed = read.weighed
                with self.hold_trait_notifications():
                    for name, value in self._picture(read.scores).items():
                        self.set_trait(name, value)
                self.version += 1
                self.trouble = read.note
            else:
                self.trouble = read
            self.sentence = ""  # so that the same sentence can be asked for again

    def page_traits(self) -> dict[str, Any]:
        """Return the state of a page without a kernel, with the blocks that fit and a word on the others."""
        state = super().page_traits() | {"ask": {}, "answer": {}, "can_read": False}
        # A score that was not asked for has no values, and nobody to ask.
        there = [i for i, score in enumerate(self.scores) if score["values"] is not None]
        state["scores"] = [self.scores[i] for i in there]
        state["order"] = there.index(self.order) if self.order in there else -1
        blocks = self.shape[0]
        if self.held:
            return state
        held = []
        size = 0
        for block in sorted(range(blocks), key=lambda block: block != self.layer):
            size += wire.packed_size(self._packed([block], Measure.WEIGHTS))
            if size > MOST_PAGE:
                break
            held.append(block)
        left = [str(block + 1) for block in range(blocks) if block not in held]
        notes = [text.left_out.format(blocks=", ".join(left))] if left else []
        notes += [text.left_out_moved] if self.longest else []
        weights = self._packed(held, Measure.WEIGHTS)
        return state | {
            "held": held,
            "weights": weights,
            "longest": "",
            "measure": "weights",
            "trouble": " ".join(notes),
        }

    def __repr__(self) -> str:
        blocks, heads, queries, keys = self.shape
        counts = counted(heads=heads, queries=queries, keys=keys)
        return text.repr.format(blocks=text.blocks.format(count=blocks) if blocks > 1 else "", **counts)

    def fallback(self) -> str:
        """Return what the page is sent, as tables of weights or as one of heads."""
        return fallback(self.get_state(), self._weighed)


def _score(name: str, low_first: bool, values: Tensor | None) -> dict[str, Any]:
    return {"name": name, "low_first": low_first, "values": None if values is None else _rounded(values)}


def _rounded(values: Tensor) -> list[float | None]:
    """Return scores as the page shows them, to two decimals; None for no number."""
    return [None if value != value else round(value, 4) for value in values.flatten().tolist()]
