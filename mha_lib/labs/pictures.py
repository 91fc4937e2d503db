"""Measurements of several runs, each run a dot, so that the spread is seen with the mean."""

from collections.abc import Sequence

from matplotlib.text import Text

from ..errors import value_error
from ..look.style import HALO, Drawing, head_colour

MARK = "#D55E00"


def plot_runs(
    groups: dict[str, Sequence[float]], measured: str, marked: dict[str, float] | None = None
) -> Drawing:
    """Draw one row a group and one dot a run, with the lowest and the highest value in figures.

    `marked` has one value for each group, which gets a large mark.

    The text for those who cannot see it names the groups, not the values: they differ a
    little from machine to machine, and nbval compares that text.

    Raises:
        ValueError: if there is no group, or a group without a run.

    Example:
        >>> plot_runs({"one head": [0.7, 0.5], "two heads": [0.0, 0.0]}, "loss")
        [picture] loss, a dot for each run: one head, two heads.
    """
    if not groups or not all(len(values) for values in groups.values()):
        raise value_error("groups", "one run or more in each group", groups)
    height = 0.85 + 0.5 * len(groups)
    alt = f"{measured}, a dot for each run: {', '.join(groups)}."
    figure = Drawing((8, height), alt=alt, measured=True)
    ax = figure.add_axes((0.3, 0.6 / height, 0.5, 1 - 0.7 / height))
    for row, values in enumerate(groups.values()):
        spread = [row + 0.24 * (n / max(len(values) - 1, 1) - 0.5) for n in range(len(values))]
        size = 8 if len(values) < 20 else 5
        colour = "0.6" if marked else head_colour(row)
        ax.plot(values, spread, "o", color=colour, markersize=size, alpha=0.8)
        label = f"{min(values):.2f} to {max(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"
        ax.text(1.03, row, label.replace("-", "−"), va="center", size=11, transform=ax.get_yaxis_transform())
    if marked:
        ax.plot([marked[name] for name in groups], range(len(groups)), "D", color=MARK, markersize=9)
    ax.set_yticks(range(len(groups)), list(groups), size=11)
    ax.set_ylim(len(groups) - 0.5, -0.5)
    low, high = ax.get_xlim()
    if low < 0:
        ax.axvline(0, color="0.5", linewidth=1, zorder=1)
    ax.set_xlim(min(low, 0), high)
    ax.set_xlabel(measured, size=11)
    ax.grid(axis="x", alpha=0.3)
    return on_any_paper(figure)


def on_any_paper(figure: Drawing) -> Drawing:
    """Make a diagram readable on a light page and on a dark one: no white sheet, letters with a halo."""
    for ax in figure.axes:
        ax.set_facecolor("none")
        ax.tick_params(color="0.5", which="both")
        ax.spines[:].set_color("0.5")
    for text in figure.findobj(Text):
        text.set_path_effects(HALO)
    return figure
