"""TensorMoves without a browser: state, fallback, comparison, the learner's chain, one-file HTML."""

import colorsys
import json
import re
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

import mha_lib as mha
from mha_lib.look.colours import HEAD_COLOURS
from mha_lib.moves.compare import compare, verdict_sentence
from mha_lib.moves.looks import short
from mha_lib.widgets import TensorMoves

X = torch.arange(80.0).reshape(2, 4, 10)
SIZES = {"sentences": 2, "words": 4, "features": 10, "heads": 2}


def split(X):
    return X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5)


RIGHT = mha.watch(split, X)
WRONG = mha.watch(lambda X: X.reshape(4, 4, 5), X)


def numbers_of(widget, where):
    """Cut a list of numbers out of the blob, as the browser does."""
    first, count = where
    return np.frombuffer(widget.numbers, "<i4")[first : first + count]


def cells_of(widget, lane=0):
    """Return for each frame its steps' cells and its memory."""
    found = []
    for frame in widget.pictures["lanes"][lane]["frames"]:
        ids = [numbers_of(widget, step["ids"]).reshape(step["shape"]) for step in frame["steps"]]
        found.append((ids, numbers_of(widget, frame["memory"])))
    return found


def texts_of(widget, number, lane=0):
    """Return the numbers that are written into the cells of a frame's first tensor."""
    shown = widget.pictures["lanes"][lane]
    return [shown["texts"][i] for i in numbers_of(widget, shown["frames"][number]["steps"][0]["texts"])]


def test_the_state_holds_torchs_addresses_and_the_memory():
    widget = TensorMoves(RIGHT)
    for (ids, memory), step in zip(cells_of(widget), RIGHT.steps, strict=True):
        assert (ids[0] == step.addresses.numpy()).all() and (memory == step.memory.numpy()).all()
    assert len(numbers_of(widget, widget.pictures["lanes"][0]["colours"])) == 80


def test_what_is_stored_twice_is_stored_once():
    widget = TensorMoves(RIGHT)
    first, second = (frame["memory"] for frame in widget.pictures["lanes"][0]["frames"][:2])
    assert first == second  # a view's memory is the memory it looks at


def test_a_cell_shows_the_number_that_it_has_at_that_step():
    widget = TensorMoves(
        mha.watch(lambda X: torch.cat([X[0, 0, :3], X.new_tensor([7.0, 8.0, 9.0])]).long(), X)
    )
    assert texts_of(widget, -1) == ["0", "1", "2", "7", "8", "9"]


def test_how_many_numbers_moved_in_memory_is_said_where_they_are_copied():
    tapes = [frame["tape"] for frame in TensorMoves(RIGHT).pictures["lanes"][0]["frames"]]
    old, new = RIGHT.steps[2].memory, RIGHT.steps[3].memory
    assert "stands still" in tapes[1] and "stands still" in tapes[2]
    assert f"{int((old != new).sum())} numbers" in tapes[3]


def test_state_is_small():
    widget = TensorMoves(RIGHT)
    assert len(json.dumps(widget.pictures)) + len(widget.numbers) < 30_000


def test_call_to_state_is_fast():
    """A generous bound for noisy machines; `make bench` measures the 20 ms."""
    TensorMoves(mha.watch(split, X))
    best = min(timed() for _ in range(5))
    assert best < 0.2


def timed():
    start = time.perf_counter()
    TensorMoves(mha.watch(split, X))
    return time.perf_counter() - start


def test_the_first_widget_loads_no_matplotlib():
    source = """
import sys, torch, mha_lib as mha
widget = mha.widgets.TensorMoves(mha.watch(lambda X: X.mT, torch.ones(1, 2, 3)))
widget._repr_mimebundle_()
print("matplotlib" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_no_axis_shares_a_hue_with_a_head_and_every_tone_can_be_read():
    """Two colour codes in one picture: what is grey belongs to no hue; the others keep 25° from heads A to G.

    Beyond seven heads every hue is some head's."""
    sheet = TensorMoves._css
    tones = re.findall(r"--mha-tone\d: light-dark\((#\w{6}), (#\w{6})\)", str(sheet))
    papers = re.search(r"--mha-paper: light-dark\((#\w{6}), (#\w{6})\)", str(sheet)).groups()
    assert len(tones) == 6
    heads = [hls(colour)[0] for colour in HEAD_COLOURS[:7]]
    for pair in tones:
        for tone, paper in zip(pair, papers, strict=True):
            hue, _, saturation = hls(tone)
            assert saturation < 0.25 or all(abs((hue - head + 0.5) % 1 - 0.5) * 360 > 25 for head in heads)
            light, dark = sorted((luminance(tone), luminance(paper)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5


def rgb(colour):
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def hls(colour):
    return colorsys.rgb_to_hls(*rgb(colour))


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_tell_head_and_word_apart():
    widget = TensorMoves(RIGHT)
    colours = numbers_of(widget, widget.pictures["lanes"][0]["colours"]).reshape(2, 4, 2, 5)
    assert (colours == colours[:1, :, :, :1]).all()  # same for both sentences and all features of a head
    assert len(np.unique(colours)) == 4 * 2


def test_heads_are_told_apart_without_any_colour():
    """As in a printed sheet, and as plot_moves does: B has one tick, C two, D three."""
    four = TensorMoves(mha.watch(lambda X: X.view(2, 4, 4, 3), torch.zeros(2, 4, 12), num_heads=4))
    for widget, each in ((TensorMoves(RIGHT), [0, 1]), (four, [0, 1, 2, 3])):
        ticks = numbers_of(widget, widget.pictures["lanes"][0]["ticks"]).reshape(2, 4, len(each), -1)
        assert (ticks == np.array(each)[:, None]).all()


def test_no_sentence_of_a_state_is_written_in_the_script():
    script = (
        mha.widgets.TensorMoves._esm.path
        if hasattr(TensorMoves._esm, "path")
        else mha.__path__[0] + "/widgets/static/tensor_moves.js"
    )
    code = re.sub(r"//.*|/\*.*?\*/", "", open(script, encoding="utf-8").read(), flags=re.S)
    assert not re.findall(r'"[A-Z][a-z]+ [a-z]+[^"]*"', code)


def test_side_by_side_counts_and_says_what_is_mixed():
    comparison = compare(RIGHT, WRONG)
    sentence = verdict_sentence(comparison)
    assert comparison.wrong == 60 and "60 of 80" in sentence
    assert "Sentence 1 · head A now holds heads A and B of words 1 and 2" in sentence
    widget = TensorMoves(RIGHT, beside=WRONG)
    shown = widget.pictures["compare"]
    assert numbers_of(widget, shown["wrong"]).sum() == 60 and shown["sentence"] == sentence
    belongs = torch.from_numpy(numbers_of(widget, shown["belongs"]).copy()).long()
    bad = torch.from_numpy(numbers_of(widget, shown["wrong"]).copy()).bool()
    right, beside = RIGHT.steps[-1].addresses.flatten(), WRONG.steps[-1].addresses.flatten()
    assert right[belongs[bad]].equal(beside[bad]) and (belongs[~bad] == -1).all()
    assert "60 of 80" in repr(widget) and "60 of 80" in widget.fallback()


def test_a_merge_without_permute_says_whose_words_are_mixed():
    """649453932/Chinese-Text-Classification-Pytorch#10: merging without transposing back."""
    heads = split(X)
    good = mha.watch(
        lambda X: X.reshape(2, 2, 4, 5).transpose(1, 2).reshape(2, 4, 10),
        heads,
        axes=("sentence", "word", "feature"),
    )
    bad = mha.watch(lambda X: X.reshape(2, 4, 10), heads)
    assert "60 of 80" in verdict_sentence(compare(good, bad))
    full = [
        mha.watch(lambda X, end=end: end(split(X)), X)
        for end in (
            lambda Y: Y.reshape(2, 2, 4, 5).transpose(1, 2).reshape(2, 4, 10),
            lambda Y: Y.reshape(2, 4, 10),
        )
    ]
    assert "Sentence 1 · word 1 now holds head A of words 1 and 2" in verdict_sentence(compare(*full))


def test_after_arithmetic_the_values_are_compared_not_the_addresses():
    def attend(split):
        return mha.watch(lambda X: split(X) @ split(X).mT, X / 80)

    comparison = compare(attend(split), attend(lambda X: X.reshape(4, 4, 5)))
    wrong, sentence = torch.from_numpy(comparison.pairs[0].wrong), verdict_sentence(comparison)
    expected = split(X / 80) @ split(X / 80).mT, (X / 80).reshape(4, 4, 5) @ (X / 80).reshape(4, 4, 5).mT
    assert wrong.equal(~torch.isclose(*expected)) and wrong.any()
    assert sentence == f"Same shape, but {int(wrong.sum())} of 64 numbers differ (marked ×)."
    assert "same numbers" in verdict_sentence(compare(attend(split), attend(lambda X: split(X).clone())))


def test_comparing_equal_and_differently_shaped_results():
    assert "same numbers in every place" in verdict_sentence(compare(RIGHT, RIGHT))
    assert (
        verdict_sentence(compare(RIGHT, mha.watch(lambda X: X.mT, X)))
        == "Other shapes: (4, 4, 5) and (2, 10, 4)."
    )


def test_fallback_is_deterministic_has_every_step_and_parses_no_markup():
    first, second = (TensorMoves(mha.watch(split, X)).fallback() for _ in range(2))
    assert first == second and first.count("<table") == 4 and first.count(">79</td>") == 4
    assert first.count(">sentence 2 · head B</th>") == 2 and first.count(">word 4</th>") == 2 + 2 + 4 + 4
    odd = mha.watch(lambda X: X.mT, X, axes=("<b>", "a&b", "x"))
    assert "<b>," not in TensorMoves(odd).fallback() and "&lt;b&gt;," in TensorMoves(odd).fallback()


def test_repr_is_fixed_and_the_bundle_has_the_fallback():
    widget = TensorMoves(RIGHT)
    assert repr(widget).startswith("TensorMoves: X (2, 4, 10) → X.reshape(2, 4, 2, 5)")
    data, _ = widget._repr_mimebundle_()
    assert data["text/html"] == widget.fallback() and data["text/plain"] == repr(widget)
    assert "application/vnd.jupyter.widget-view+json" in data


def test_save_html_is_one_file_without_network(tmp_path):
    odd = mha.watch(lambda X: X.mT, X, axes=("</script><b>", "b", "c"))
    path = TensorMoves(odd).save_html(tmp_path / "moves.html", title="<Moves> & more")
    page = path.read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href)=|url\(|https?://(?!www\.w3\.org)""", page)
    assert "</script><b>" not in page and "&lt;Moves&gt; &amp; more" in page
    assert page.count("<script") == 4


def test_the_learners_chain_runs_in_python():
    widget = TensorMoves.playground()
    assert widget.recording.steps[-1].shape == (4, 4, 5)
    widget._handle_custom_msg({"kind": "run", "chain": "X.mT", "sizes": SIZES}, [])
    assert widget.recording.steps[-1].shape == (2, 10, 4) and widget.trouble == {}
    assert [s.operation for s in widget.recording.steps] == ["X", "X.mT"]
    widget.run("Y = X.reshape(B, L, h, d)\nY.permute(0, 2, 1, 3)", {**SIZES, "features": 12, "heads": 3})
    assert widget.recording.steps[-1].shape == (2, 3, 4, 4)


@pytest.mark.parametrize(
    ("chain", "torchs", "hint"),
    [
        ("X.reshape(3, 3)", "invalid for input of size 80", "these give 9"),
        ("X.reshape(3, -1, 7)", "invalid for input of size 80", "3 × 7 = 21, and 21 does not divide 80"),
        ("X.permute(0, 2, 1).view(80)", "view size is not compatible", "contiguous()"),
        ("X.permute(0, 1)", "does not match", "every axis exactly once"),
        ("X.transpose(0, 5)", "Dimension out of range", "numbered from 0"),
        ("Z.mT", "name 'Z' is not defined", "Names you can use"),
        ("X.reshap(80)", "no attribute 'reshap'", "spelling"),
        ("X.reshape(2, ", "never closed", "brackets"),
        ("X.shape", "has to give a tensor made from X; it gave Size", ""),
        ("y = X", "has to give a tensor", ""),
        ("", "has to give a tensor", ""),
        ("X.tolist()", "has to give a tensor made from X; it gave list", ""),
        ("torch.zeros(3)", "cannot be followed", ""),
        ("X.repeat(100, 100, 100)", "would make 80,000,000 cells", ""),
        ("torch.zeros(1000, 1000) + X[0, 0, 0]", "would make 1,000,000 cells", ""),
        ("X[..., None].expand(2, 4, 10, 2000).clone()", "would make 160,000 cells", ""),
        ("torch.cat([X] * 2000)", "would make 160,000 cells", ""),
    ],
)
def test_a_mistake_is_told_in_torchs_words_with_a_hint_and_the_picture_stays(chain, torchs, hint):
    widget = TensorMoves.playground()
    before = widget.numbers, widget.pictures, widget.step
    assert not widget.run(chain, SIZES)
    assert torchs in widget.trouble["error"] and hint in widget.trouble["hint"]
    assert (widget.trouble["chain"], widget.trouble["sizes"]) == (chain, SIZES)
    assert not re.search(r"\bfn\b", widget.trouble["error"])
    assert (widget.numbers, widget.pictures, widget.step) == before
    assert widget.run("X.mT", SIZES) and widget.trouble == {}


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({**SIZES, "heads": 3}, "10 features cannot be shared evenly by 3 heads; try 1, 2, 5, 10 heads"),
        ({**SIZES, "words": 0}, "at least 1"),
        ({**SIZES, "words": 50_000}, "1,000,000 cells"),
    ],
)
def test_sizes_that_cannot_be_are_explained(sizes, said):
    """fastplotlib/fastplotlib#155: an illegal pair is explained in place."""
    widget = TensorMoves.playground()
    widget.run("X.mT", sizes)
    assert said in widget.trouble["error"]


def test_the_chain_sees_the_notebooks_names_and_changes_none(monkeypatch):
    shell = InteractiveShell.instance()
    try:
        shell.user_ns["turn"] = lambda X: X.mT
        widget = TensorMoves.playground("turn(X)")
        assert widget.recording.steps[-1].shape == (2, 10, 4)
        widget.run("X = X.mT\nX", SIZES)
        assert "X" not in shell.user_ns
    finally:
        InteractiveShell.clear_instance()


def test_a_widget_without_edit_runs_nothing():
    widget = TensorMoves(RIGHT)
    widget._handle_custom_msg({"kind": "run", "chain": "X.mT", "sizes": SIZES}, [])
    assert widget.recording is RIGHT


def test_a_message_of_another_kind_is_let_be():
    widget = TensorMoves.playground()
    widget._handle_custom_msg({"kind": "other"}, [])
    widget._handle_custom_msg("text", [])


def test_too_many_cells_are_refused_with_a_smaller_example():
    """jessevig/bertviz#82: a long input never freezes the page."""
    big = mha.watch(lambda X: X.mT, torch.zeros(2, 300, 200))
    with pytest.raises(mha.InputValueError, match=r"100,000 cells, got 120,000 cells.*\(2, 4, 10\)"):
        TensorMoves(big)
    with pytest.raises(mha.InputTypeError, match="watch"):
        TensorMoves(X)
    with pytest.raises(mha.InputTypeError, match="watch"):
        TensorMoves(RIGHT, beside=X)


def test_many_cells_have_no_texts_and_stay_light():
    many = TensorMoves(mha.watch(lambda X: X.mT, torch.zeros(10, 100, 100)))
    assert many.pictures["lanes"][0]["texts"] == [] and len(json.dumps(many.pictures)) < 30_000


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 0, 3), (1, 1, 1), (2, 2, 2, 2, 2, 2)])
def test_any_number_of_axes_has_a_picture(shape):
    recording = mha.watch(lambda X: X.clone(), torch.zeros(shape))
    widget = TensorMoves(recording)
    assert len(widget.pictures["lanes"][0]["frames"]) == 2 and widget.fallback()


def test_padding_and_several_tensors():
    recording = mha.watch(lambda X: torch.nn.functional.pad(X.chunk(2, -1)[1], (1, 0)), X)
    frames = cells_of(TensorMoves(recording))
    assert [len(ids) for ids, _ in frames] == [1, 2, 1]
    assert (frames[2][0][0][..., 0] == -1).all()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (37, "37"),
        (-5, "-5"),
        (0.25, ".25"),
        (-0.25, "-.25"),
        (3.14159, "3.14"),
        (-3.14159, "-3.1"),
        (12.345, "12.3"),
        (123.45, "123"),
        (0.0004, "4e-4"),
        (-0.0004, "-4e-4"),
        (1e7, "1e7"),
        (float("nan"), "nan"),
        (float("-inf"), "-∞"),
        (True, "1"),
        (0.999, "1.00"),
        (1e-9, "0"),
    ],
)
def test_numbers_are_short(value, shown):
    assert short(value) == shown and len(short(value)) <= 5


def test_saved_state_has_no_machine_dependent_text():
    assert TensorMoves(RIGHT).pictures == TensorMoves(mha.watch(split, X.clone())).pictures
