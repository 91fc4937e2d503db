"""ScalePlayground: choose a width d, and see what ÷√d keeps from going wrong."""

import html
from functools import lru_cache

import traitlets

from ..errors import value_error
from ..labs.scaling import WIDTHS, Scaling, measure_scaling, weights_of_one
from ..look.style import head_colour
from ..text import sentences
from .base import STATIC, BrowserPicture, style

text = sentences("playground")
KEYS = 10
SHOWN_DRAW = 1438  # the seed of the one query whose bars are drawn: at every width near the mean over many
SCALINGS = {text.unscaled: 1.0, text.scaled: None}  # name → what q·k is multiplied by
MEASURES: dict[str, str] = text.titles


@lru_cache
def _measured(d: int, scaling: str) -> Scaling:
    return measure_scaling(d, SCALINGS[scaling], keys=KEYS)


@lru_cache
def _one(d: int, scaling: str) -> tuple[float, ...]:
    weights = weights_of_one(d, SCALINGS[scaling], keys=KEYS, seed=SHOWN_DRAW)
    return tuple(round(weight, 4) for weight in weights.tolist())  # more digits differ between processors


def report_of(d: int) -> str:
    """Return what was measured at width `d`, in two sentences."""
    raw, scaled = (_measured(d, scaling) for scaling in SCALINGS)
    return str(
        text.report.format(
            d=d,
            keys=KEYS,
            raw=raw.variance,
            scaled=scaled.variance,
            largest_raw=raw.largest,
            largest_scaled=scaled.largest,
        )
    )


class ScalePlayground(BrowserPicture):
    """Slide the width d: the ten weights of one query, with and without ÷√d, and the means over many.

    Queries and keys are drawn from N(0, 1) with a seed of their own; the numbers are those of
    `mha_lib.labs.scaling`. The width can be read and set as `d`.

    Args:
        d: a power of two from 1 to 1024.

    Raises:
        ValueError: another width.

    Example:
        >>> ScalePlayground(4).d
        4
    """

    module = "scale_playground"
    _esm = STATIC / "scale_playground.js"
    _css = style("scale_playground")

    d = traitlets.Int().tag(sync=True)
    widths = traitlets.List(traitlets.Int()).tag(sync=True)
    bars: traitlets.List[list[list[float]]] = traitlets.List().tag(sync=True)
    reports = traitlets.List(traitlets.Unicode()).tag(sync=True)
    means: traitlets.List[list[list[str]]] = traitlets.List().tag(sync=True)
    text = traitlets.Dict().tag(sync=True)

    def __init__(self, d: int = 64) -> None:
        if d not in WIDTHS:
            raise value_error("d", f"one of {list(WIDTHS)}", d)
        super().__init__(
            d=d,
            widths=list(WIDTHS),
            bars=[[list(_one(width, scaling)) for scaling in SCALINGS] for width in WIDTHS],
            reports=[report_of(width) for width in WIDTHS],
            means=[_means(width) for width in WIDTHS],
            text={
                "width": text.width,
                "means": text.means,
                "bars": [text.bars.format(scaling=scaling, weights="{weights}") for scaling in SCALINGS],
                "bars_title": [text.bars_title.format(scaling=scaling) for scaling in SCALINGS],
                "scalings": list(SCALINGS),
                "titles": list(MEASURES.values()),
                "colours": [head_colour(1), head_colour(0)],
            },
        )

    @traitlets.validate("d")
    def _offered(self, proposal: dict[str, int]) -> int:
        if proposal["value"] not in WIDTHS:
            raise value_error("d", f"one of {list(WIDTHS)}", proposal["value"])
        return proposal["value"]

    @property
    def report(self) -> str:
        """What the text says."""
        return report_of(self.d)

    def __repr__(self) -> str:
        return text.repr.format(report=self.report)

    def fallback(self) -> str:
        """Return the measured numbers as an HTML table, rounded, and the bars of the width shown."""
        columns = [text.column.format(name=name, scaling=s) for name in MEASURES.values() for s in SCALINGS]
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in ("d", *columns))
        rows = [head]
        for d in WIDTHS:
            cells = "".join(f"<td>{mean}</td>" for pair in _means(d) for mean in pair)
            rows.append(f'<th scope="row">{d}</th>{cells}')
        ones = [
            f'<th scope="row">{html.escape(text.one.format(d=self.d, scaling=scaling))}</th>'
            + "".join(f"<td>{weight:.2f}</td>" for weight in _one(self.d, scaling))
            for scaling in SCALINGS
        ]
        tables = ("".join(f"<tr>{row}</tr>" for row in part) for part in (ones, rows))
        return (
            f"<div>{''.join(f'<table>{table}</table>' for table in tables)}<p><em>{text.hint}</em></p></div>"
        )


def _means(d: int) -> list[list[str]]:
    """Return a row a measure, without and with ÷√d, as they are shown."""
    return [[f"{getattr(_measured(d, scaling), name):.2f}" for scaling in SCALINGS] for name in MEASURES]
