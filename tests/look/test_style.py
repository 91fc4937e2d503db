"""The colours of heads, as far apart as Okabe and Ito's for colour-blind eyes too; letters on any page."""

import io

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from matplotlib.text import Text

import mha_lib as mha
from mha_lib.clinic.visibility import plot_visibility
from mha_lib.labs.cost import plot_growth
from mha_lib.labs.pictures import plot_runs
from mha_lib.look.style import HEAD_COLOURS, head_colour, head_letter

TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
# Machado, Oliveira and Fernandes 2009, full severity.
EYES = {
    "usual": np.eye(3),
    "no red": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "no green": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
}


def lab(colours, eyes):
    rgb = np.array([to_rgb(colour) for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ EYES[eyes].T, 0, 1) @ TO_XYZ.T / np.array([0.9505, 1, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], -1)


def nearest(colours, eyes):
    points = lab(colours, eyes)
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return apart[~np.eye(len(points), dtype=bool)].min()


@pytest.mark.parametrize("eyes", EYES)
def test_sixteen_heads_stay_as_far_apart_as_seven(eyes):
    assert len(set(HEAD_COLOURS)) == 16
    assert nearest(HEAD_COLOURS, eyes) > 0.95 * nearest(HEAD_COLOURS[:7], eyes)


def test_the_seventeenth_head_has_the_first_ones_colour_and_its_own_letter():
    assert head_colour(16) == head_colour(0) and head_letter(16) == "Q"
    assert [head_letter(head) for head in (0, 25, 26, 27)] == ["A", "Z", "AA", "AB"]


X = torch.arange(80.0).reshape(2, 4, 10)
RIGHT, WRONG = mha.watch(lambda X: X.view(2, 4, 2, 5).mT, X), mha.watch(lambda X: X.view(2, 4, 5, 2), X)
WEIGHTS = torch.eye(4).expand(3, 12, 4, 4)
FIGURES = {
    "steps": lambda: mha.plot_moves(RIGHT),
    "two results": lambda: mha.plot_moves(RIGHT, WRONG),
    "large steps": lambda: mha.plot_moves(mha.watch(lambda X: X.T, torch.ones(60, 60))),
    "two heads": lambda: mha.plot_heads(WEIGHTS[0, :2], list("abcd"), attn_mask=mha.causal_mask(4, 4)),
    "all heads": lambda: mha.plot_heads(list(WEIGHTS[:, None]), list("abcd")),
    "who sees whom": lambda: plot_visibility(torch.eye(3) > 0, list("abc"), allowed=torch.eye(3) > 1),
    "runs": lambda: plot_runs({"one": [0.5, -0.25], "two": [0.125]}, "loss"),
    "growth": lambda: plot_growth([1, 2, 4], {"a": [1, 4, 16]}, "bytes", "words"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_letters_read_on_a_light_page_and_on_a_dark_one(name):
    """No white paper, and a light line around every letter that stands on no colour of the picture."""
    figure = FIGURES[name]()
    assert figure.get_facecolor()[3] == 0
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    bare = [text for text in texts if not text.get_path_effects()]
    places = [text.get_window_extent() for text in bare]
    for text in texts:
        text.set_visible(False)
    under = imread(io.BytesIO(figure.png(dpi=figure.dpi)))[::-1, :, 3]
    for text, place in zip(bare, places, strict=True):
        column, row = (np.array([place.x0 + place.x1, place.y0 + place.y1]) / 2).astype(int)
        assert text.get_bbox_patch() or under[row, column] > 0.9, text.get_text()
    assert len(texts) > 2
