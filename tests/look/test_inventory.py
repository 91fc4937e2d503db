"""What a figure says it holds: everything that can be seen changes it, and nothing that cannot."""

import pytest
import torch
from matplotlib.collections import LineCollection, PatchCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.text import Annotation

import mha_lib as mha
from mha_lib.look import fonts
from mha_lib.look.inventory import MIME, inventory

X = torch.arange(12.0).reshape(1, 3, 4)
WORDS = ["small", "cats", "sleep"]


def moves():
    return mha.plot_moves(mha.watch(lambda X: X.reshape(1, 3, 2, 2).permute(0, 2, 1, 3), X))


def heads():
    weights = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [1.0, 0.0, float("nan")]])
    return mha.plot_heads(weights[None], WORDS, valid_lens=torch.tensor([2, 2, 3])[None])


def shift(text):
    x, y = text.get_position()
    text.set_position((x + 1, y))


def exchange(image):
    image.set_array(image.get_array().T.copy())


def first(kind, ax, filled=lambda artist: True):
    return next(c for c in ax.collections if isinstance(c, kind) and c.get_paths() and filled(c))


CHANGES = {
    "a word": (moves, lambda ax: ax.texts[1].set_text("other")),
    "its place": (moves, lambda ax: shift(ax.texts[3])),
    "its colour": (moves, lambda ax: ax.texts[3].set_color("red")),
    "its size": (moves, lambda ax: ax.texts[3].set_fontsize(3)),
    "its side": (moves, lambda ax: ax.texts[3].set_ha("right")),
    "a cell's colour": (moves, lambda ax: first(PolyCollection, ax).set_facecolor("red")),
    "a line's colour": (moves, lambda ax: first(LineCollection, ax).set_color("red")),
    "a line's width": (moves, lambda ax: first(LineCollection, ax).set_linewidth(7)),
    "an artist that is gone": (moves, lambda ax: first(LineCollection, ax).remove()),
    "the room": (moves, lambda ax: ax.set_xlim(0, 10)),
    "a frame": (moves, lambda ax: ax.axis("on")),
    "weights exchanged": (heads, lambda ax: exchange(ax.images[0])),
    "a map's colours": (heads, lambda ax: ax.images[0].set_cmap("viridis")),
    "a map's scale": (heads, lambda ax: ax.images[0].set_norm(Normalize(0, 2))),
    "hatching": (heads, lambda ax: first(PatchCollection, ax).set_hatch("..")),
    "the colour of what is no number": (heads, lambda ax: ax.set_facecolor("white")),
    "an axis's words": (heads, lambda ax: ax.set_yticks(range(3), ["cats", "small", "sleep"])),
    "their colour": (heads, lambda ax: ax.get_xticklabels()[0].set_color("red")),
    "an axis's name": (heads, lambda ax: ax.set_ylabel("keys")),
    "a badge's paper": (heads, lambda ax: ax.texts[-1].get_bbox_patch().set_facecolor("red")),
    "a row turned upside down": (heads, lambda ax: ax.invert_yaxis()),
    "the place of a map": (heads, lambda ax: ax.set_position((0, 0, 1, 1))),
    "a legend": (heads, lambda ax: ax.figure.legends[0].get_texts()[0].set_text("seen")),
    "the sample in a legend": (heads, lambda ax: ax.figure.legends[0].legend_handles[0].set_hatch("..")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_can_be_seen_is_told(name):
    draw, change = CHANGES[name]
    figure = draw()
    before = inventory(figure)
    change(figure.axes[0])
    assert inventory(figure) != before


@pytest.mark.parametrize("draw", [moves, heads])
def test_the_same_figure_says_the_same_and_with_other_fonts_too(draw, monkeypatch):
    said = draw()._repr_mimebundle_()[0][MIME]
    monkeypatch.setattr(fonts, "OTHERS", ())
    figure = draw()
    assert said == inventory(figure) == inventory(draw())
    for text in figure.axes[0].texts:
        text.set_fontfamily("DejaVu Serif")
    assert inventory(figure) == said


def test_what_stands_where_can_be_read():
    lines = [line.strip() for line in inventory(moves()).splitlines()]
    assert sum(line.endswith(": 0 · 1 · 2 · 3 · 0 · 1 · 2 · 3") for line in lines) == 1, "two steps, one row"
    assert sum(line.endswith(": 0 · 1 · 4 · 5") or ": 0 · 1" in line for line in lines) >= 2
    assert any(line.endswith("cells #0d6ba0×2 #a04e0d×2") for line in lines)
    lines = [line.strip() for line in inventory(heads()).splitlines()]
    assert "rows: 0 small · 1 cats · 2 sleep" in lines and "columns are: keys" in lines
    assert "above: Head A on #0072b2" in lines and "y 1: 0.20 · 0.80" in lines
    assert any(line.startswith("legend: masked · ") for line in lines)


def test_signs_that_only_other_fonts_have_are_boxes():
    figure = moves()
    figure.axes[0].texts[1].set_text("注意\n$x$")
    assert "□□ / $x$" in inventory(figure)


def test_a_badge_that_moves_away_is_told():
    figure = heads()
    (badge,) = [text for text in figure.axes[0].texts if isinstance(text, Annotation)]
    before = inventory(figure)
    badge.xyann = (0, 9)
    assert inventory(figure) != before


def test_what_was_measured_is_not_told():
    from mha_lib.labs.pictures import plot_runs

    assert MIME not in plot_runs({"one head": [0.7, 0.5]}, "loss")._repr_mimebundle_()[0]
