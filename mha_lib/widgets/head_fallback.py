"""What stands in for HeadExplorer without a page: its state, as tables or as a line a block."""

import html
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..heatmaps import wire
from ..heatmaps.html import head_badge, weight_table
from ..heatmaps.weighed import Weighed
from ..text import sentences

text = sentences("heads")
TABLE_CELLS = 600  # what the tables may hold


def fallback(state: Mapping[str, Any], weighed: Weighed) -> str:
    """Return the weights that the state holds as HTML: what a page would show, or where it is largest."""
    blocks, heads, queries, keys = state["shape"]
    if state["held"] and blocks * heads * queries * keys <= TABLE_CELLS:
        thousandths = wire.unpacked(state["weights"]).astype("int32").reshape(blocks * heads, queries, keys)
        parts = [_table(state, i, torch.from_numpy(each)) for i, each in enumerate(thousandths)]
        parts += [f"<p>{text.legend}</p>"] * ("masked" in state["marks"])
    else:
        places = weighed.largest()
        lines = [
            ", ".join(_largest(state, weighed, i, places) for i in _heads(state, b)) for b in range(blocks)
        ]
        parts = [
            f"<p>{text.fallback_big}</p><ul>",
            *(f"<li>{line}</li>" for line in lines if places),
            "</ul>",
        ]
    return "<div>" + "".join(parts) + f"<p><em>{text.fallback_hint}</em></p></div>"


def _heads(state: Mapping[str, Any], block: int) -> range:
    count = state["shape"][1]
    return range(block * count, (block + 1) * count)


def _name(state: Mapping[str, Any], i: int) -> str:
    blocks, count = state["shape"][:2]
    letter = state["heads"][i % count]["letter"]
    return f"{i // count + 1} {letter}" if blocks > 1 else str(letter)


def _table(state: Mapping[str, Any], i: int, thousandths: Tensor) -> str:
    colour = state["heads"][i % state["shape"][1]]["colour"]
    mask = thousandths != wire.MASKED
    weights = (thousandths.double() / 1000).masked_fill(thousandths == wire.NAN, float("nan"))
    badge = head_badge(text.fallback_caption.format(name=_name(state, i)), colour)
    return weight_table(badge, weights, mask, state["query_words"], state["key_words"], digits=3)


def _largest(state: Mapping[str, Any], weighed: Weighed, i: int, places: list[int]) -> str:
    if not places:
        return ""
    block, head = divmod(i, state["shape"][1])
    query, key = divmod(places[i], state["shape"][3])
    weight = f"{float(weighed.maps.weights[block, head, query, key]):.2f}"
    words = {"query": html.escape(state["query_words"][query]), "key": html.escape(state["key_words"][key])}
    return text.fallback_largest.format(name=_name(state, i), weight=weight, **words)
