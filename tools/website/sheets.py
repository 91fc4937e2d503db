"""Sheets to print: the grid of eighty cells to fill in, and empty heatmaps, as PDF of one page each."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import mha_lib as mha
from mha_lib.look.style import head_colour, head_letter

TITLES = {
    "split_heads.pdf": "Split heads: where do eighty numbers go?",
    "heatmaps.pdf": "What does each head look at?",
}
PAGE = (8.0, 11.0)  # inches: inside A4 and inside Letter
INK = "#1c2128"


def _page(title: str, task: str) -> Figure:
    figure = Figure(figsize=PAGE)
    figure.text(0.07, 0.955, title, fontsize=17, weight="bold", color=INK, va="top")
    figure.text(0.07, 0.918, task, fontsize=10.5, color=INK, va="top", linespacing=1.5)
    return figure


def _grid(axes: Axes, numbers: list[list[str]], rows: list[str], title: str, colours: list[str]) -> None:
    """Draw one block of cells; an empty text is a cell to fill in, its frame has the head's colour."""
    height, width = len(numbers), len(numbers[0])
    for y, line in enumerate(numbers):
        for x, number in enumerate(line):
            axes.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor=colours[x], linewidth=1.2))
            axes.text(x + 0.5, y + 0.5, number, ha="center", va="center", fontsize=10, color=INK)
    for y, name in enumerate(rows):
        axes.text(-0.15, y + 0.5, name, ha="right", va="center", fontsize=10, color=INK)
    axes.text(0, -0.25, title, fontsize=11, weight="bold", color=INK)
    axes.set_xlim(-2.2, width + 0.1)
    axes.set_ylim(height + 0.1, -0.9)
    axes.set_aspect("equal")
    axes.set_axis_off()


def split_heads() -> Figure:
    """Return X (2, 4, 10) with its numbers, and the stack (4, 4, 5) to fill in."""
    ex = mha.example()
    B, L, D = ex.numbers.shape
    h, d = ex.num_heads, D // ex.num_heads
    figure = _page(
        TITLES["split_heads.pdf"],
        f"X has the shape ({B}, {L}, {D}). Cut each word into {h} heads of {d} features and stack them,\n"
        "all heads of sentence 1, then all of sentence 2. Write each number where it goes.",
    )
    above = figure.subplots(
        1, B, gridspec_kw={"left": 0.04, "right": 0.95, "top": 0.86, "bottom": 0.64, "wspace": 0.05}
    )
    words = [f"word {number}" for number in range(1, L + 1)]
    for b, axes in enumerate(above):
        numbers = [[f"{int(number)}" for number in row] for row in ex.numbers[b]]
        _grid(axes, numbers, words, f"sentence {b + 1}", [head_colour(f // d) for f in range(D)])
    below = figure.add_gridspec(B, h, left=0.08, right=0.95, top=0.58, bottom=0.06, hspace=0.25)
    for b in range(B):
        for head in range(h):
            title = f"sentence {b + 1}, head {head_letter(head)}"
            _grid(figure.add_subplot(below[b, head]), [[""] * d] * L, words, title, [head_colour(head)] * d)
    return figure


def heatmaps() -> Figure:
    """Return an empty heatmap for each sentence and head of the example."""
    ex = mha.example()
    B, L, _ = ex.X.shape
    figure = _page(
        TITLES["heatmaps.pdf"],
        "A row asks, a column is asked. Shade each row by what the word looks at (a row is 1 in all),\n"
        "and cross out what may not be seen. Then say each head in a sentence.",
    )
    grid = figure.add_gridspec(
        B, ex.num_heads, left=0.12, right=0.95, top=0.82, bottom=0.12, hspace=0.35, wspace=0.35
    )
    for b in range(B):
        for head in range(ex.num_heads):
            axes = figure.add_subplot(grid[b, head])
            _grid(
                axes,
                [[""] * L] * L,
                ex.words[b],
                f"sentence {b + 1}, head {head_letter(head)}",
                [head_colour(head)] * L,
            )
            for x, word in enumerate(ex.words[b]):
                axes.text(x + 0.5, L + 0.15, word, ha="right", va="top", rotation=40, fontsize=10, color=INK)
            axes.set_ylim(L + 1.2, -0.9)
            figure.text(
                *axes.get_position().corners()[0] - (0.0, 0.045),
                "Head looks at: " + "_" * 22,
                fontsize=10,
                color=INK,
            )
    return figure


def write(folder: Path) -> None:
    """Write every sheet into `folder`; the same bytes each time."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in {"split_heads.pdf": split_heads, "heatmaps.pdf": heatmaps}.items():
        draw().savefig(folder / name, metadata={"CreationDate": None, "Producer": None, "Creator": None})
