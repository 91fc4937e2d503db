"""MaskConsole without a browser: weights as set, what it says of them, one redraw, one handler."""

import re
import sys
import threading
from itertools import product

import pytest
import torch
import traitlets

import mha_lib as mha
from mha_lib.labs.mask_faults import Settings, findings, may_attend, weights_as_set
from mha_lib.text import sentences
from mha_lib.widgets import MaskConsole


@pytest.fixture(scope="module")
def ex():
    return mha.example()


def say(ex, **settings):
    settings = Settings(**settings)
    return " ".join(findings(ex, settings, weights_as_set(ex, settings)))


def settle():
    """Wait until no timer runs, nor one that a timer has started."""
    while waiting := [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]:
        for thread in waiting:
            thread.join()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [(3, 2), (0, 4), (1, 0)])
def test_our_settings_give_the_layers_own_weights(ex, lengths, causal):
    settings = Settings(lengths, causal)
    mask = mha.causal_mask(4, 4) if causal else None
    _, want = ex.layer(ex.X, ex.X, ex.X, torch.tensor(lengths), attn_mask=mask, need_weights=True)
    weights = weights_as_set(ex, settings)
    torch.testing.assert_close(weights, want)
    assert findings(ex, settings, weights) == []


def test_infinite_fill_makes_nan_of_an_empty_row(ex):
    assert weights_as_set(ex, Settings((0, 2), fill="-inf"))[0].isnan().all()
    said = say(ex, lengths=(0, 2), fill="-inf")
    assert said.startswith("NaN in 8 rows, first in sentence 1, head A, row 1")
    assert say(ex, fill="-inf") == "", "no empty row, no fault"


@pytest.mark.parametrize("fill", ["-1e9", "-1e6"])
def test_a_large_fill_attends_evenly_to_padding(ex, fill):
    """d2l-ai/d2l-en#2423, NVIDIA/apex#1390."""
    weights = weights_as_set(ex, Settings((0, 2), fill=fill))
    torch.testing.assert_close(weights[0], torch.full((2, 4, 4), 0.25))
    assert "8 rows attend evenly" in say(ex, lengths=(0, 2), fill=fill)


@pytest.mark.parametrize("fill", ["-1e9", "-1e6"])
def test_a_fill_that_float16_cannot_hold(ex, fill):
    """bentrevett/pytorch-seq2seq#191, NVIDIA/apex#1105."""
    assert weights_as_set(ex, Settings(fill=fill, dtype="float16")) is None
    assert "does not fit float16" in say(ex, fill=fill, dtype="float16")
    console = MaskConsole(fill=fill, dtype="float16")
    assert console.weights is None and "does not fit" in console.report and console.fallback()


def test_our_zero_is_right_in_float16(ex):
    weights = weights_as_set(ex, Settings((0, 2), dtype="float16"))
    assert not weights.isnan().any() and (weights[0] == 0).all() and say(ex, dtype="float16") == ""


@pytest.mark.parametrize("scaling", ["none", "/d", "*d"])
def test_a_wrong_scale_is_seen_in_the_weights(ex, scaling):
    """esceptico/perceiver-io#9; document 000 prints d ** -1 as a divisor."""
    flat = weights_as_set(ex, Settings(scaling=scaling)).amax(-1).mean()
    right = weights_as_set(ex, Settings()).amax(-1).mean()
    assert (flat < right) == (scaling == "/d")
    assert "instead of ÷√d" in say(ex, scaling=scaling)


def test_dropout_in_train_mode_breaks_the_sums(ex):
    """pytorch/pytorch#42929, #33360."""
    dropped, plain = (weights_as_set(ex, Settings(dropout=mode)) for mode in ("train", "eval"))
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], 2 * plain[kept])
    assert 0 < kept.sum() < (plain != 0).sum()
    assert "rows do not sum to 1" in say(ex, dropout="train")


def test_dropout_leaves_the_global_seed_alone(ex):
    torch.manual_seed(5)
    want = torch.rand(3)
    torch.manual_seed(5)
    first, second = (weights_as_set(ex, Settings(dropout="train")) for _ in range(2))
    torch.testing.assert_close(torch.rand(3), want)
    torch.testing.assert_close(first, second)


def test_every_setting_draws_and_no_false_alarm(ex):
    """What the text says agrees with the tensor, for every choice of the menus."""
    text, lengths, dtypes = sentences("console"), ((3, 2), (0, 4), (4, 1)), ("float32", "float16")
    for choice in product(lengths, (False, True), text.fills, dtypes, text.scalings, text.dropouts):
        settings = Settings(*choice)
        weights = weights_as_set(ex, settings)
        said = " ".join(findings(ex, settings, weights))
        if weights is None:
            assert settings.dtype == "float16" and "does not fit" in said
            continue
        keep = may_attend(ex, settings)
        alive = keep.any(-1) & ~weights.isnan().any(-1)
        assert ("NaN in" in said) == bool(weights.isnan().any())
        assert ("attend evenly" in said) == bool(((weights > 0) & ~keep).any())
        assert ("do not sum" in said) == bool(((weights.sum(-1) - 1).abs() > 2e-3)[alive].any())
        assert ("instead of" in said) == (settings.scaling != "/sqrt(d)")


def test_the_console_shows_what_the_function_computes():
    console = MaskConsole(lengths=(2, 4), causal=True)
    torch.testing.assert_close(console.weights, weights_as_set(mha.example(), Settings((2, 4), True)))
    cells = re.findall(r"<td[^>]*>([^<]+)</td>", console.fallback())
    second = [f"{w:.2f}" for w in console.weights[0, 0, 1, :2]]
    assert cells[:10] == ["1.00", "–", "–", "–", "1.00", *second, "–", "–", "1.00"]
    assert "counts (pad) as a word" in console.report


def test_fast_changes_make_one_redraw_of_the_last_value():
    """jupyter-widgets/ipywidgets#663, #2081."""
    console = MaskConsole()
    before, picture = console.redraws, console._picture.value
    for value in (0, 1, 2, 3, 4, 3, 2, 1, 4, 0):
        console.controls["length_1"].value = value
    assert console._picture.value == picture, "nothing is drawn while it moves"
    settle()
    assert console.redraws == before + 1
    assert console._picture.value == MaskConsole(lengths=(0, 2))._picture.value


def test_each_change_puts_the_redraw_off(monkeypatch):
    timers = []

    class Watch:
        def __init__(self, seconds, call):
            self.call, self.state = call, "made"
            timers.append(self)

        def start(self):
            self.state = "running"

        def cancel(self):
            self.state = "cancelled"

    monkeypatch.setattr(threading, "Timer", Watch)
    console = MaskConsole()
    for value in (0, 1, 4):
        console.controls["length_2"].value = value
    assert [timer.state for timer in timers] == ["cancelled", "cancelled", "running"]
    timers[-1].call()
    assert console.redraws == 2 and "length 4" in console.report


def test_reading_does_not_wait_for_the_rest():
    console = MaskConsole()
    console.controls["fill"].value = "-inf"
    console.controls["length_2"].value = 0
    assert console.report.startswith("NaN in 8 rows")
    redraws = console.redraws
    settle()
    assert console.redraws == redraws, "the pending redraw was done, once"


def test_one_handler_after_the_cell_ran_again():
    """jupyter-widgets-contrib/ipyautoui#104."""
    for _ in range(3):
        console = MaskConsole()
    calls = []
    console._redraw = lambda: calls.append(console.settings)
    for control in console.controls.values():
        assert list(control._trait_notifiers["value"]) == ["change"]
    console.controls["causal"].value = True
    settle()
    assert calls == [Settings(causal=True)]


def test_a_length_that_no_menu_has_changes_nothing():
    """A field for numbers read a typed 2.7 as 27; a menu has 0 to 4 and nothing else."""
    console = MaskConsole()
    for control in ("length_1", "length_2"):
        assert console.controls[control].options == (0, 1, 2, 3, 4)
    for wrong in (99, -5, 2.7, "3"):
        with pytest.raises(traitlets.TraitError):
            console.controls["length_1"].value = wrong
    assert console.settings.lengths == (3, 2) and console.report


def test_a_row_that_may_see_nothing_is_not_said_to_sum_to_one():
    console = MaskConsole(lengths=(0, 2))
    assert console.weights[0].sum() == 0
    assert console.report.startswith("Right: each row that may see a key sums to 1")
    assert MaskConsole().report.startswith("Right: each row sums to 1")


def test_no_dash_stands_for_a_number():
    report = MaskConsole(lengths=(0, 0), scaling="/d").report
    assert "no row may see a key" in report and "–" not in report


def test_a_redraw_that_raises_shows_the_error_in_its_place(monkeypatch):
    console = MaskConsole()
    with monkeypatch.context() as patch:
        patch.setattr(console, "_draw", lambda: 1 / 0)
        console.controls["causal"].value = True
        settle()
        assert "<img" not in console._picture.value, "no old picture stays and looks right"
        assert "ZeroDivisionError: division by zero" in console._text.value
        assert "ZeroDivisionError" in console.report
    console.controls["causal"].value = False
    assert console.report == MaskConsole().report and "<img" in console._picture.value


def test_the_picture_has_a_fixed_size_and_an_alt_text():
    """jupyter-widgets/ipywidgets#3507, #1582: nothing jumps."""
    refused = MaskConsole(fill="-1e9", dtype="float16")
    consoles = [MaskConsole(), MaskConsole(lengths=(0, 0), fill="-inf"), refused]
    sizes = {tuple(re.findall(r'(?:width|height)="(\d+)"', console._picture.value)) for console in consoles}
    assert len(sizes) == 1
    for console in consoles:
        alts = re.findall(r'<img [^>]*alt="([^"]*)"', console._picture.value)
        assert len(alts) == 2 and all(console.report in alt for alt in alts)
        assert console._picture.layout.min_height == consoles[0]._picture.layout.min_height


def test_every_control_has_a_name():
    for control in MaskConsole().controls.values():
        assert control.description and control.tooltip == control.description


def test_shown_without_pyplot_and_without_an_output_widget():
    """jupyterlab/jupyterlab#19719, ipython/ipykernel#1564, matplotlib/ipympl#4."""
    import ipywidgets

    console = MaskConsole()
    for value in range(21):
        console.controls["length_1"].value = value % 5
        console._update()
    assert not any(isinstance(child, ipywidgets.Output) for child in console.children)
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_the_repr_is_fixed():
    bundle, _ = MaskConsole()._repr_mimebundle_()
    assert bundle["text/plain"].startswith("[MaskConsole] Right: each row sums to 1, and what is masked")
    assert bundle["text/html"] == MaskConsole()._repr_mimebundle_()[0]["text/html"]
    view = bundle["application/vnd.jupyter.widget-view+json"]
    assert set(view) == {"version_major", "version_minor", "model_id"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"lengths": (5, 2)},
        {"lengths": (3,)},
        {"fill": "0"},
        {"dtype": "int8"},
        {"scaling": "d"},
        {"dropout": "on"},
    ],
)
def test_a_setting_that_no_control_has(wrong):
    with pytest.raises(mha.InputValueError, match=next(iter(wrong))):
        MaskConsole(**wrong)
