"""MaskConsole: lengths, masks, fills and scales, and what each of them does to the weights."""

import html
from typing import Any

import ipywidgets
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from ..errors import value_error
from ..example import example
from ..heatmaps.draw import badge, draw_map, inches, name_axis
from ..heatmaps.html import weight_table
from ..labs.mask_faults import CLOSE, Settings, findings, may_attend, remarks, weights_as_set
from ..look.fonts import families_for
from ..look.style import HALO, MONO, WRONG, Drawing, head_colour, head_letter
from ..text import read, sentences
from .picture_console import PictureConsole, image

text = sentences("console")
DTYPES = ("float32", "float16")
CELL, TITLE, SUM = 0.35, 0.42, 0.45  # inches: a cell, above a map, the sums beside it


class MaskConsole(PictureConsole):
    """Change lengths, mask, fill, dtype, scale and dropout: the example's weights follow.

    A line of text says what is wrong with them now, if anything is. Every keyword is also
    a control of that name in `console.controls`, with a `value` to read and to set;
    `console.weights` and `console.report` are what the picture and the text show.

    Args:
        lengths: the valid length of each of the example's two sentences, 0 to 4.
        causal: whether a word sees no later word.
        fill: "zero" (ours), "-inf", "-1e9" or "-1e6".
        dtype: "float32" or "float16".
        scaling: "/sqrt(d)", "none", "/d" or "*d".
        dropout: "eval" or "train", with p = 0.5.

    Raises:
        ValueError: a setting that no control has.

    Example:
        >>> MaskConsole()
        [MaskConsole] Right: each row sums to 1, and what is masked gets exactly 0.
    """

    def __init__(
        self,
        lengths: tuple[int, int] = (3, 2),
        causal: bool = False,
        fill: str = "zero",
        dtype: str = "float32",
        scaling: str = "/sqrt(d)",
        dropout: str = "eval",
    ) -> None:
        self._ex = example()
        most = self._ex.X.shape[1]
        if len(lengths) != len(self._ex.X) or not all(0 <= n <= most for n in lengths):
            raise value_error("lengths", f"{len(self._ex.X)} numbers from 0 to {most}", lengths)
        controls: dict[str, ipywidgets.Widget] = {}
        for b, n in enumerate(lengths, start=1):
            # A menu, since a field for numbers reads a typed 2.7 as 27.
            name = text.length.format(sentence=b)
            controls[f"length_{b}"] = ipywidgets.Dropdown(options=range(most + 1), value=n, description=name)
        controls["causal"] = ipywidgets.Checkbox(bool(causal), description=text.causal, indent=False)
        menus = {
            "fill": (fill, text.fill, text.fills),
            "dtype": (dtype, text.dtype, {name: name for name in DTYPES}),
            "scaling": (scaling, text.scaling, text.scalings),
            "dropout": (dropout, text.dropout, text.dropouts),
        }
        for name, (value, description, labels) in menus.items():
            if value not in labels:
                raise value_error(name, f"one of {list(labels)}", repr(value))
            options = [(label, key) for key, label in labels.items()]
            controls[name] = ipywidgets.Dropdown(options=options, value=value, description=description)
        super().__init__(controls, height=262)

    @property
    def settings(self) -> Settings:
        """What the controls say now."""
        values = {name: control.value for name, control in self.controls.items()}
        lengths = tuple(values.pop(f"length_{b}") for b in range(1, len(self._ex.X) + 1))
        return Settings(lengths, **values)

    @property
    def weights(self) -> Tensor | None:
        """The weights that the picture shows, (B, h, L, L); None where there are none."""
        return weights_as_set(self._ex, self.settings)

    def __repr__(self) -> str:
        return text.repr.format(report=self.report)

    def _draw(self) -> tuple[str, list[tuple[str, str]]]:
        settings, weights = self.settings, self.weights
        mask = may_attend(self._ex, settings)
        right = text.right if bool(mask.any(-1).all()) else text.right_but_empty
        wrong = findings(self._ex, settings, weights)
        lines = [("✗", line) for line in wrong] or [("✓", right)]
        lines += [("•", line) for line in remarks(self._ex, settings)]
        figures = []
        for b, words in enumerate(self._ex.words):
            caption = text.sentence.format(sentence=b + 1, words=" ".join(words))
            report = " ".join(line for _, line in lines)
            alt = text.alt.format(sentence=caption, heads=self._ex.num_heads, report=report)
            drawing = draw_sentence(None if weights is None else weights[b], mask[b], words, alt)
            title = f'<figcaption style="font-size:14px">{html.escape(caption)}</figcaption>'
            figures.append(f'<figure style="margin:0">{title}{image(drawing)}</figure>')
        return f'<div style="display:flex;flex-wrap:wrap;gap:4px">{"".join(figures)}</div>', lines

    def fallback(self) -> str:
        """Return the weights as HTML tables, rounded, with what is wrong."""
        report, weights = self.report, self.weights
        masks = may_attend(self._ex, self.settings)
        parts = [f"<p>{html.escape(report)}</p>"]
        shown = () if weights is None else zip(weights, masks, self._ex.words, strict=True)
        for b, (maps, mask, words) in enumerate(shown):
            for h in range(self._ex.num_heads):
                caption = text.table.format(sentence=b + 1, letter=head_letter(h))
                seen = mask[h] | (maps[h] != 0)
                parts.append(weight_table(html.escape(caption), maps[h], seen, words, words, sums=True))
        return "<div>" + "".join(parts) + f"<p><em>{text.hint}</em></p></div>"


def draw_sentence(weights: Tensor | None, mask: Tensor, words: tuple[str, ...], alt: str) -> Drawing:
    """Draw one sentence's maps side by side, each row with its sum; faults are framed and crossed."""
    h, L, _ = mask.shape
    families = families_for("".join(words))
    left, side = inches(words) + 0.06, CELL * L
    size = (left + h * (side + SUM) + (h - 1) * 0.03, TITLE + side + inches(words) + 0.05)
    figure = Drawing(size, alt=alt)
    for head in range(h):
        x = left + head * (side + SUM + 0.03)
        place = (x / size[0], (size[1] - TITLE - side) / size[1], side / size[0], side / size[1])
        ax = figure.add_axes(place)
        name = read("heads")["head"].format(name=head_letter(head))
        badge(ax, name, head_colour(head), families)
        if weights is None:
            ax.set(xticks=[], yticks=[])
            ax.text(0.5, 0.5, text.no_result, ha="center", va="center", transform=ax.transAxes, size=12)
            continue
        values, may = weights[head].numpy(), mask[head].numpy()
        draw_map(ax, values, may | (values != 0), CELL)
        for y, key in np.argwhere(~may & (values != 0) & ~np.isnan(values)):
            ax.add_patch(Rectangle((key - 0.46, y - 0.46), 0.92, 0.92, fill=False, ec=WRONG, lw=2))
        grey = np.zeros(L, bool)
        if head == 0:
            name_axis(ax, ax.yaxis, words, CELL, families, grey)
        name_axis(ax, ax.xaxis, words, CELL, families, grey)
        _write_sums(ax, values, may)
    return figure


def _write_sums(ax: Axes, values: np.ndarray, may: np.ndarray) -> None:
    beside: dict[str, Any] = {"textcoords": "offset points", "path_effects": HALO}
    ax.annotate(text.sum, (1, 1), (6, 3), xycoords="axes fraction", size=9.5, **beside)
    for y, total in enumerate(values.sum(-1)):
        fine = abs(total - 1) <= CLOSE or (total == 0 and not may[y].any())
        mark = "NaN✗" if np.isnan(total) else f"{total:.2f}" + "✗" * (not fine)
        place = (values.shape[1] - 0.5, y)
        font: dict[str, Any] = {
            "size": 9,
            "family": MONO,
            "weight": "normal" if fine else "bold",
            "va": "center",
        }
        ax.annotate(mark, place, (3, 0), annotation_clip=False, **font, **beside)
