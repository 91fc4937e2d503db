"""What attention costs: sizes worked by hand, memory counted, growth fitted."""

import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from torch.utils.flop_counter import FlopCounterMode

import mha_lib as mha
from mha_lib.labs import cost
from mha_lib.labs.cost import growth, in_words, peak_bytes, score_bytes, seconds
from mha_lib.masks import masked_softmax
from mha_lib.scoring import DotProductAttention


def _qkv(L, h=2, d=16, B=1):
    g = torch.Generator().manual_seed(0)
    return tuple(torch.randn(B, h, L, d, generator=g) for _ in range(3))


def test_bytes_of_the_scores_of_real_tensors():
    scores = torch.zeros(3, 4, 7, 7)
    assert score_bytes(7, num_heads=4, batch=3) == scores.numel() * scores.element_size()
    assert score_bytes(7, bytes_each=2) == 98


@pytest.mark.parametrize(
    "size, words",
    [
        (0, "0 B"),
        (999, "999 B"),
        (4_000_000, "4 MB"),
        (4_096_000_000, "4.1 GB"),
        (4 * 10**12, "4 TB"),
        (10**19, "1e+04 PB"),
    ],
)
def test_bytes_in_words(size, words):
    assert in_words(size) == words


def test_peak_is_what_is_held_at_once_and_not_what_was_ever_made():
    def one_after_the_other():
        for _ in range(5):
            torch.zeros(1000, dtype=torch.float64)

    def together():
        return [torch.zeros(1000, dtype=torch.float64) for _ in range(5)]

    assert 8000 <= peak_bytes(one_after_the_other) < 2 * 8064
    assert 5 * 8000 <= peak_bytes(together) < 5 * 8000 + 1000
    assert peak_bytes(lambda: None) == 0


def test_peak_says_nothing(capfd):
    peak_bytes(lambda: torch.zeros(10))
    assert capfd.readouterr() == ("", "")


def test_steps_hold_the_scores_twice_and_the_fused_call_never():
    q, k, v = _qkv(512)
    layer = DotProductAttention()
    steps = peak_bytes(lambda: masked_softmax(layer.scores(q, k)) @ v)
    fused = peak_bytes(lambda: layer(q, k, v))
    assert 2 * score_bytes(512, 2) <= steps < 2.5 * score_bytes(512, 2)
    assert fused < score_bytes(512, 2)


def test_seconds_takes_the_shortest_run(monkeypatch):
    ticks = iter([0.0, 5.0, 10.0, 12.0, 20.0, 29.0])
    monkeypatch.setattr(cost.time, "process_time", lambda: next(ticks))
    threads, calls = torch.get_num_threads(), []
    assert seconds(lambda: calls.append(torch.get_num_threads()), repeats=3) == 2.0
    assert calls == [1] * 4 and torch.get_num_threads() == threads


@pytest.mark.parametrize("power", [0.5, 1, 2, 3])
def test_growth_finds_the_power(power):
    sizes = [3, 5, 9, 20]
    assert growth(sizes, [7 * size**power for size in sizes]) == pytest.approx(power)


@pytest.mark.parametrize("sizes, values", [([1], [1]), ([2, 2], [1, 2]), ([1, 2], [1]), ([1, 2], [0, 1])])
def test_growth_refuses_what_has_no_power(sizes, values):
    with pytest.raises(ValueError, match="sizes, values: expected two or more sizes"):
        growth(sizes, values)


def test_figure_shows_the_measured_points():
    figure = cost.plot_growth([1, 2, 4], {"a": [1, 4, 16], "b": [1, 2, 4]}, "seconds", "words")
    lines = figure.axes[0].get_lines()
    assert [line.get_ydata().tolist() for line in lines] == [[1, 4, 16], [1, 2, 4]]
    assert [line.get_label() for line in lines] == ["a\n(power 2.0)", "b\n(power 1.0)"]
    assert repr(figure) == "[picture] seconds against words, one line each: a, b."


def test_factors_carry_no_power_where_there_is_none():
    figure = cost.plot_growth(
        [1, 2, 4], {"a": [1, 1.1, 3]}, "times the time of one head", "heads", powers=False
    )
    assert [line.get_label() for line in figure.axes[0].get_lines()] == ["a"]


def test_no_label_of_a_figure_is_cut_off():
    figure = cost.plot_growth([128, 1024], {"by steps": [2e-5, 3e-3]}, "seconds", "words L")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    box = figure.axes[0].get_tightbbox(canvas.get_renderer())
    assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1


def test_products_are_those_of_torchs_flop_counter():
    layer, X = mha.MultiHeadAttention(8, 8, 8, 8, num_heads=2, bias=True), torch.randn(3, 5, 8)
    with FlopCounterMode(display=False) as counter:
        layer(X, X, X, need_weights=True)
    assert cost.products(lambda: layer(X, X, X, need_weights=True)) == counter.get_total_flops() > 0
    assert cost.products(lambda: X * X + X) == 0, "products of matrices only"
