"""ScalePlayground: choose a width d, and see what ÷√d keeps from going wrong."""

import html
import math
from collections.abc import Sequence
from functools import lru_cache

import ipywidgets

from ..errors import value_error
from ..labs.scaling import WIDTHS, Scaling, measure_scaling
from ..look.style import Drawing, head_colour
from ..text import sentences
from .picture_console import PictureConsole, image

text = sentences("playground")
KEYS = 10
_COLUMNS = [
    text.column.format(name=name, scaling=scaling)
    for name in text.titles.values()
    for scaling in (text.unscaled, text.scaled)
]
MEASURES = tuple(text.titles)


@lru_cache
def _measured(d: int, scaled: bool) -> Scaling:
    return measure_scaling(d, None if scaled else 1.0, keys=KEYS)


def draw_scaling(d: int, measures: Sequence[str], alt: str) -> Drawing:
    """Draw some of the measures over all widths, with and without ÷√d; d is marked."""
    figure = Drawing((4.35, 2.75), alt=alt, layout="constrained")
    axes = figure.subplots(1, len(measures))
    for ax, name in zip(axes, measures, strict=True):
        for scaled, mark, label in ((False, "o--", text.unscaled), (True, "s-", text.scaled)):
            measured = [_measured(width, scaled) for width in WIDTHS]
            colour = head_colour(0 if scaled else 1)
            pen = {"color": colour, "markersize": 4, "label": label}
            ax.plot(WIDTHS, [getattr(m, name) for m in measured], mark, **pen)
            if name == "variance":
                pen = {"color": "#888888", "linewidth": 6, "alpha": 0.35, "zorder": 0}
                said = text.theory if scaled else None
                ax.plot(WIDTHS, [m.expected for m in measured], label=said, **pen)
            here = getattr(_measured(d, scaled), name)
            ax.plot([d], [here], mark[0], color=colour, markersize=10)
        ax.axvline(d, color="black", linewidth=1)
        ax.set_xscale("log", base=2)
        ax.set_xticks([1, 32, 1024], ["1", "32", "1024"])
        ax.set_title(text.titles[name], size=11)
        ax.tick_params(labelsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        if name == "variance":
            ax.set_yscale("log", base=2)
            ax.set_yticks([1, 32, 1024], ["1", "32", "1024"])
        elif name == "entropy":
            ax.axhline(math.log(KEYS), color="#666666", linestyle=":")
            paper = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # over the line at d
            ax.text(1, math.log(KEYS) + 0.1, text.even, va="bottom", size=10, bbox=paper)
        if name != "variance":
            ax.set_ylim(0, {"largest": 1.02, "entropy": 2.8, "gradient": None}[name])
    figure.supxlabel(text.width, size=10.5)
    names = axes[0].get_legend_handles_labels()
    figure.legend(*names, loc="outside upper center", ncols=3, frameon=False, fontsize=10, columnspacing=1)
    return figure


class ScalePlayground(PictureConsole):
    """Choose the width d: variance, largest weight, entropy and gradient, with and without ÷√d.

    Queries and keys are drawn from N(0, 1) with a seed of their own; the numbers are those
    of `mha_lib.scaling.measure_scaling`. The width is `controls["d"].value`.

    Args:
        d: a power of two from 1 to 1024.

    Raises:
        ValueError: another width.
    """

    def __init__(self, d: int = 64):
        if d not in WIDTHS:
            raise value_error("d", f"one of {list(WIDTHS)}", d)
        width = ipywidgets.Dropdown(options=WIDTHS, value=d, description=text.width)
        super().__init__({"d": width}, height=268)

    def __repr__(self) -> str:
        return text.repr.format(report=self.report)

    def _draw(self) -> tuple[str, list[tuple[str, str]]]:
        d = self.controls["d"].value
        raw, scaled = _measured(d, False), _measured(d, True)
        said = text.report.format(
            d=d,
            keys=KEYS,
            raw=raw.variance,
            scaled=scaled.variance,
            largest_raw=raw.largest,
            largest_scaled=scaled.largest,
        )
        pictures = "".join(image(draw_scaling(d, pair, said)) for pair in (MEASURES[:2], MEASURES[2:]))
        return f'<div style="display:flex;flex-wrap:wrap;gap:4px">{pictures}</div>', [("•", said)]

    def fallback(self) -> str:
        """Return the measured numbers as an HTML table, rounded to one decimal."""
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in ("d", *_COLUMNS))
        rows = []
        for d in WIDTHS:
            pair = (_measured(d, False), _measured(d, True))
            cells = [f"<td>{getattr(m, name):.1f}</td>" for name in MEASURES for m in pair]
            rows.append(f'<th scope="row">{d}</th>' + "".join(cells))
        body = "".join(f"<tr>{row}</tr>" for row in (head, *rows))
        return f"<div><table>{body}</table><p><em>{text.hint}</em></p></div>"
