"""The measured reason for ÷√d, and the widget that shows it."""

import math
import re

import pytest
import torch

import mha_lib as mha
from mha_lib.labs.scaling import WIDTHS, measure_scaling, weights_of_one
from mha_lib.widgets import ScalePlayground
from mha_lib.widgets.scale_playground import SHOWN_DRAW


@pytest.mark.parametrize(
    ("d", "largest_without", "largest_with"), [(4, 0.486, 0.301), (64, 0.862, 0.319), (512, 0.953, 0.321)]
)
def test_variance_and_largest_weight(d, largest_without, largest_with):
    """Var(q·k) is d, and 1 after ÷√d; the largest of ten weights as measured elsewhere with 4000 draws."""
    without, scaled = measure_scaling(d, 1.0), measure_scaling(d)
    assert without.variance == pytest.approx(d, rel=0.06) and without.expected == d
    assert scaled.variance == pytest.approx(1, rel=0.06) and scaled.expected == 1
    assert without.largest == pytest.approx(largest_without, abs=0.02)
    assert scaled.largest == pytest.approx(largest_with, abs=0.02)


def test_theory_for_any_scale():
    half = measure_scaling(16, 0.5)
    assert half.expected == 4 and half.variance == pytest.approx(4, rel=0.06)


def test_the_same_draw_for_every_scale():
    assert measure_scaling(16).variance == pytest.approx(measure_scaling(16, 1.0).variance / 16, rel=1e-4)
    assert measure_scaling(16) == measure_scaling(16) != measure_scaling(16, seed=1)


def test_the_global_seed_is_left_alone():
    torch.manual_seed(3)
    want = torch.rand(2)
    torch.manual_seed(3)
    measure_scaling(8)
    torch.testing.assert_close(torch.rand(2), want)


def test_the_gradient_by_the_formula():
    """d w_max / d scores = w_max (1{j = max} − w): its length for one query, by hand."""
    found = measure_scaling(3, keys=4, queries=1, seed=2)
    generator = torch.Generator().manual_seed(2)
    q, k = torch.randn(1, 1, 3, generator=generator), torch.randn(1, 4, 3, generator=generator)
    weights = ((q @ k.mT)[0, 0] / math.sqrt(3)).softmax(-1)
    top = weights.argmax()
    gradient = weights[top] * (torch.nn.functional.one_hot(top, 4) - weights)
    assert found.gradient == pytest.approx(float(gradient.norm()), rel=1e-4)
    assert found.entropy == pytest.approx(float(torch.distributions.Categorical(weights).entropy()), rel=1e-4)


def test_bounds():
    assert measure_scaling(1, 0.0).entropy == pytest.approx(math.log(10))
    assert measure_scaling(1024, 1.0).gradient < 0.2 * measure_scaling(1024).gradient


@pytest.mark.parametrize("wrong", [{"d": 0}, {"d": 4, "keys": 1}, {"d": 4, "queries": 0}])
def test_sizes_that_measure_nothing(wrong):
    with pytest.raises(mha.InputValueError):
        measure_scaling(**wrong)


def test_one_query_keeps_its_numbers_when_the_width_grows():
    """The weights by hand, from the same draw: the first d of 1024 numbers."""
    drawn = torch.randn(11, 1024, generator=torch.Generator().manual_seed(5))
    for d in (1, 8, 1024):
        scores = drawn[1:, :d] @ drawn[0, :d]
        torch.testing.assert_close(weights_of_one(d, 1.0, seed=5), scores.softmax(0))
        torch.testing.assert_close(weights_of_one(d, seed=5), (scores / math.sqrt(d)).softmax(0))
    for wrong in (0, 1025):
        with pytest.raises(mha.InputValueError):
            weights_of_one(wrong)


def test_the_playground_shows_what_was_measured():
    playground = ScalePlayground(4)
    playground.d = 512
    raw, scaled = measure_scaling(512, 1.0), measure_scaling(512)
    assert "d = 512" in playground.report and "(theory: 512)" in repr(playground)
    at = playground.widths.index(512)
    assert playground.reports[at] == playground.report
    assert playground.means[at][1] == [f"{raw.largest:.2f}", f"{scaled.largest:.2f}"]
    for weights, scale in zip(playground.bars[at], (1.0, None), strict=True):
        assert weights == pytest.approx(weights_of_one(512, scale, seed=SHOWN_DRAW).tolist(), abs=6e-5)


def test_the_bars_say_what_the_lesson_says():
    """Without ÷√d one key takes nearly everything when d is large; with it, none does."""
    playground = ScalePlayground()
    wide = [both for d, both in zip(playground.widths, playground.bars, strict=True) if d >= 64]
    assert min(max(raw) for raw, _ in wide) > 0.8
    assert max(max(scaled) for _, scaled in wide) < 0.5


def test_the_one_query_shows_what_is_true_on_average():
    """Its largest weight never falls as d grows, and is near the mean over many, with and without ÷√d."""
    playground = ScalePlayground()
    largest = [[max(weights) for weights in both] for both in playground.bars]
    raw = [round(row[0], 2) for row in largest]
    assert raw == sorted(raw) and raw[-1] == 1
    for d, (without, scaled) in zip(WIDTHS, largest, strict=True):
        assert abs(without - measure_scaling(d, 1.0).largest) < 0.15
        assert abs(scaled - measure_scaling(d).largest) < 0.1


def test_the_fallback_holds_every_width_and_the_bars():
    html = ScalePlayground(16).fallback()
    assert [int(d) for d in re.findall(r'<th scope="row">(\d+)</th>', html)] == list(WIDTHS)
    cells = re.findall(r"<td>([\d.]+)</td>", html)
    shown = [*weights_of_one(16, 1.0, seed=SHOWN_DRAW), *weights_of_one(16, seed=SHOWN_DRAW)]
    shown += [measure_scaling(1, 1.0).variance, measure_scaling(1).variance]
    assert cells[:22] == [f"{number:.2f}" for number in shown]
    assert len(cells) == 20 + len(WIDTHS) * 8


def test_a_width_that_is_not_offered():
    with pytest.raises(mha.InputValueError, match="1024"):
        ScalePlayground(3)
    with pytest.raises(mha.InputValueError, match="1024"):
        ScalePlayground().d = 3
