"""What stands in for HeadExplorer without a page: its state, as tables of weights or as one of heads."""

import html
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..heatmaps import wire
from ..heatmaps.draw import BAD, MASKED, weight_colour
from ..heatmaps.html import head_badge, weight_table
from ..heatmaps.weighed import Weighed
from ..look.style import ink
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
        parts = [_overview(state, weighed)]
    return "<div>" + "".join(parts) + f"<p><em>{text.fallback_hint}</em></p></div>"


def _overview(state: Mapping[str, Any], weighed: Weighed) -> str:
    """Return all heads as one table, a row a block: each cell has its head's largest weight on its colour."""
    blocks, count = state["shape"][:2]
    places = weighed.largest()
    rows = ["<td></td>" + "".join(f'<th scope="col">{head["letter"]}</th>' for head in state["heads"])]
    for block in range(blocks if places else 0):
        heads = range(block * count, (block + 1) * count)
        name = text.fallback_block.format(block=block + 1) if blocks > 1 else ""
        cells = "".join(_largest(state, weighed, i, places[i]) for i in heads)
        rows.append(f'<th scope="row">{name}</th>{cells}')
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<table cellpadding="4"><caption>{text.fallback_big}</caption>{body}</table>'


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


def _largest(state: Mapping[str, Any], weighed: Weighed, i: int, place: int) -> str:
    block, head = divmod(i, state["shape"][1])
    query, key = divmod(place, state["shape"][3])
    weight = float(weighed.maps.weights[block, head, query, key])
    if not weighed.maps.mask[block, head, query, key]:  # the head may see nothing at all
        return f'<td style="background:{MASKED};color:#000000">{text.explorer["none"]}</td>'
    if weight != weight:
        return f'<td style="background:{BAD};color:#000000">{text.explorer["nan"]}</td>'
    paper = weight_colour(weight)
    words = html.escape(f"{state['query_words'][query]} → {state['key_words'][key]}")
    return f'<td style="background:{paper};color:{ink(paper)}">{words}<br>{weight:.2f}</td>'
