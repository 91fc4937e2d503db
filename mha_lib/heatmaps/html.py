"""Weights as HTML tables: what stands in for a picture on a code host, in print and in nbval."""

import html
from collections.abc import Sequence
from math import isfinite

from torch import Tensor

from ..look.style import ink
from ..text import sentences
from .draw import BAD, MASKED, weight_colour

text = sentences("heads")


def weight_table(
    caption: str,
    weights: Tensor,
    mask: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    sums: bool = False,
    digits: int = 2,
) -> str:
    """Return one head's map as a table: rows are queries, columns keys. `caption` is HTML."""
    names = [*keys, *([text.explorer["sum"]] if sums else [])]
    rows = ["<td></td>" + "".join(f'<th scope="col">{html.escape(name)}</th>' for name in names)]
    for query, row, may in zip(queries, weights.tolist(), mask.tolist(), strict=True):
        cells = [_cell(weight, seen, digits) for weight, seen in zip(row, may, strict=True)]
        cells += [f"<td>{_number(sum(row), digits)}</td>"] * sums
        rows.append(f'<th scope="row">{html.escape(query)}</th>' + "".join(cells))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    # Some hosts strip styles; padding that is an attribute stays.
    return f'<table cellpadding="4"><caption>{caption}</caption>{body}</table>'


def _number(weight: float, digits: int) -> str:
    return f"{weight:.{digits}f}" if weight == weight else str(text.explorer["nan"])


def _cell(weight: float, seen: bool, digits: int) -> str:
    if not seen:
        return f'<td style="background:{MASKED};color:#000000">{text.explorer["none"]}</td>'
    paper = weight_colour(weight) if isfinite(weight) else BAD
    return f'<td style="background:{paper};color:{ink(paper)}">{_number(weight, digits)}</td>'


def head_badge(name: str, colour: str) -> str:
    """Return a head's name on its colour, as HTML."""
    return f'<b style="background:{colour};color:{ink(colour)};padding:1px 8px">{html.escape(name)}</b>'
