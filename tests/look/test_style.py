"""The colours of heads: as far apart as Okabe and Ito's are, for colour-blind eyes too."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

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
