"""The heatmaps: what they show is what the tensor holds, and what they refuse they explain."""

import re
import warnings

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection, PatchCollection

import mha_lib as mha
from mha_lib.heatmaps.draw import BAD, COLOURS, PALETTE
from mha_lib.look import fonts
from mha_lib.look.style import Drawing, head_colour
from mha_lib.look.unseen import visible


@pytest.fixture
def weights():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 4, 5, generator=generator).softmax(-1)


def maps(figure):
    """The axes with a heatmap; the last axes is the colour bar."""
    return [ax for ax in figure.axes if ax.images]


def drawn(figure):
    """Draw it, with every warning an error (a missing glyph is one)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return figure.png(dpi=60)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def numbers(ax):
    return [float(t.get_text()) for t in ax.texts if re.fullmatch(r"\d\.\d\d", t.get_text())]


def test_each_panel_shows_its_head(weights):
    figure = mha.plot_heads(weights, sample=1)
    assert isinstance(figure, Drawing) and len(maps(figure)) == 3
    for ax, map_ in zip(maps(figure), weights[1], strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), map_.numpy())
        assert numbers(ax) == pytest.approx(map_.flatten().tolist(), abs=0.00501)


def test_one_scale_and_one_colour_bar():
    """matplotlib/matplotlib#11377, #5467: no head is stretched to its own range."""
    narrow, uniform = torch.tensor([[0.45, 0.55], [0.5, 0.5]]), torch.full((2, 2), 0.5)
    figure = mha.plot_heads(torch.stack([narrow, uniform, torch.eye(2)]))
    for ax in maps(figure):
        assert ax.images[0].get_clim() == (0, 1)
    assert len(figure.axes) == len(maps(figure)) + 1
    assert figure.axes[-1].get_ylim() == (0, 1)


def test_rows_are_queries_and_columns_are_keys(weights):
    """poloclub/transformer-explainer#19, bojieli/ai-agent-book#346, matplotlib/matplotlib#18848."""
    figure = mha.plot_heads(weights, list("abcd"), list("vwxyz"), sample=0)
    first = maps(figure)[0]
    assert labels(first.yaxis) == list("abcd") and labels(first.xaxis) == list("vwxyz")
    assert list(first.get_yticks()) == [0, 1, 2, 3] and list(first.get_xticks()) == [0, 1, 2, 3, 4]
    assert (first.get_ylabel(), first.get_xlabel()) == ("queries", "keys")
    top, bottom = first.get_ylim()[1], first.get_ylim()[0]
    assert top < bottom, "query 0 stands at the top"


def test_repeated_words_stay_three_positions():
    """ndif-team/nnsight#678."""
    figure = mha.plot_heads(torch.eye(3)[None], ["the", "cat", "the"])
    assert labels(maps(figure)[0].xaxis) == ["the", "cat", "the"]


def test_words_of_a_batch_follow_the_sample():
    ex = mha.example()
    _, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    figure = mha.plot_heads(weights, ex.words, sample=1)
    assert labels(maps(figure)[0].yaxis) == list(ex.words[1])


@pytest.mark.parametrize(
    "words",
    [
        ["$x$", "a_b^c", "\\alpha"],
        ["<b>", "a'b\"c&", "</script>"],
        [" ", "", "two words"],
        ["注意力", "键", "cats"],
        ["😀", "🚀", "👩‍🚀"],
        ["line\nend", "tab\t", "very long word indeed, and more"],
    ],
)
def test_any_word_is_drawn_without_a_warning(words):
    """matplotlib/matplotlib#14269, youngfish42/PaperVault#45, huggingface/tokenizers#1937."""
    figure = mha.plot_heads(torch.eye(3)[None], words)
    assert drawn(figure).startswith(b"\x89PNG")
    assert not any(label.get_parse_math() for label in maps(figure)[0].yaxis.get_ticklabels())


def test_unseen_characters_are_made_visible():
    assert [visible(word) for word in ("", " ", " a", "a b", "\n")] == ["∅", "␣", "␣a", "a b", "⏎"]
    unseen = [
        "\u200b",
        "\u00a0",
        "\ufeff",
        "\u202e",
        "\u2066",
        "\x00",
        "\u2003",
        "\ud800",
        "\ue000",
        "\u0378",
    ]
    for sign in unseen:
        shown = visible(f"a{sign}b")
        assert shown.startswith("a[") and shown.endswith("]b") and sign not in shown
    assert visible("x\u202ey") == "x[RLO]y", "nothing turns a label round"
    for seen in ("👩‍🚀", "键", "שלום", "é", "e\u0301"):
        assert visible(seen) == seen


def test_arrays_lists_of_layers_and_one_tensor_are_the_same_picture(weights):
    """What models return: a tuple of layers, numpy arrays, half precision."""
    layers = weights[:, None].repeat(1, 2, 1, 1, 1)  # two layers, two sentences
    whole = mha.plot_heads(layers, sample=1)
    for given in (list(layers), tuple(layers), layers.numpy(), [layer.numpy() for layer in layers]):
        assert repr(mha.plot_heads(given, sample=1)) == repr(whole)
    frozen = layers.numpy().copy()
    frozen.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(mha.plot_heads(frozen, sample=1)) == repr(whole)


def test_a_sheet_of_all_heads_can_be_printed():
    blocks = torch.rand(12, 1, 12, 20, 20)
    blocks[2, 0, 9, 4, 7] = 2.0
    figure = mha.plot_heads(blocks, attn_mask=mha.causal_mask(20, 20))
    titles = [ax.get_title() for ax in maps(figure)]
    assert titles == [f"{block} {letter}" for block in range(1, 13) for letter in "ABCDEFGHIJKL"]
    assert figure.get_size_inches()[0] <= 10.1 and figure.get_size_inches()[1] < 13
    for n, ax in enumerate(maps(figure)):
        shown = ax.images[0].get_array()
        want = blocks[n // 12, 0, n % 12].tril()
        np.testing.assert_array_equal(np.tril(shown), want.numpy())
    lines = figure.details.splitlines()
    assert len(lines) == 12 and repr(figure).count("\n") == 12
    assert "A (" in lines[0] and drawn(figure)


def test_a_sheet_of_long_inputs_keeps_a_thin_diagonal():
    """matplotlib draws every tenth line of what is too large; the largest of its neighbours stays."""
    figure = mha.plot_heads(torch.eye(512).expand(2, 1, 3, 512, 512))
    for ax in maps(figure):
        shown = ax.images[0].get_array()
        assert shown.shape == (64, 64)
        np.testing.assert_array_equal(shown, np.eye(64))


def test_the_words_of_a_picture_are_read_back_from_it(weights, monkeypatch):
    """What is drawn wrongly is said wrongly, so that nbval sees it."""
    from mha_lib.heatmaps import draw, figure

    right = repr(mha.plot_heads(weights, sample=0))
    faults = {
        "a map upside down": (figure, "draw_map", lambda ax, w, m, c: draw.draw_map(ax, w[::-1], m, c)),
        "labels off by a row": (
            figure,
            "name_axis",
            lambda ax, axis, words, *rest: draw.name_axis(ax, axis, [*words[1:], words[0]], *rest),
        ),
        "another head's name": (figure, "badge", lambda ax, n, c, f: draw.badge(ax, n + "A", c, f)),
        "another colour": (figure, "badge", lambda ax, n, c, f: draw.badge(ax, n, "#123456", f)),
        "another scale": (draw, "COLOURS", draw.COLOURS.reversed()),
        "a lost mask": (draw, "_hatch", lambda ax, mask: None),
    }
    masked = repr(mha.plot_heads(weights, sample=0, attn_mask=mha.causal_mask(4, 5)))
    for fault, (module, name, wrong) in faults.items():
        with monkeypatch.context() as patch:
            patch.setattr(module, name, wrong)
            changed = repr(mha.plot_heads(weights, sample=0)) != right
            changed |= repr(mha.plot_heads(weights, sample=0, attn_mask=mha.causal_mask(4, 5))) != masked
            assert changed, fault


def test_letters_read_on_a_dark_page_too():
    """No white paper, and a light line around every black letter that stands on no colour."""
    figure = mha.plot_heads(torch.eye(3)[None], ["a", "b", "c"], attn_mask=mha.causal_mask(3, 3))
    assert figure.get_facecolor()[3] == 0
    for ax in figure.axes:
        for label in (*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label):
            assert not label.get_text() or label.get_path_effects()
    assert all(label.get_path_effects() for label in figure.legends[0].get_texts())


def test_a_sign_that_no_font_has_is_a_box_with_a_hint(monkeypatch):
    monkeypatch.setattr(fonts, "OTHERS", ())
    fonts._signs.cache_clear()
    figure = mha.plot_heads(torch.eye(2)[None], ["注意", "cats"])
    assert labels(maps(figure)[0].yaxis)[0] == "□□"
    assert "install" in figure.legends[0].get_texts()[-1].get_text()
    drawn(figure)


def test_masked_is_hatched_and_told_from_zero():
    weights = torch.tensor([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.3, 0.3, 0.4]]])
    plain = mha.plot_heads(weights)
    hatches = [c for c in maps(plain)[0].collections if isinstance(c, PatchCollection)]
    assert [len(c.get_paths()) for c in hatches] == [0] and not plain.legends
    figure = mha.plot_heads(weights, attn_mask=mha.causal_mask(3, 3))
    (hatch,) = [c for c in maps(figure)[0].collections if isinstance(c, PatchCollection)]
    runs = sorted(path.get_extents().bounds for path in hatch.get_paths())
    assert runs == [(0.5, -0.5, 2.0, 1.0), (1.5, 0.5, 1.0, 1.0)]
    assert hatch.get_hatch() and figure.legends[0].get_texts()[0].get_text() == "masked"
    assert len(numbers(maps(figure)[0])) == 6, "no number stands in a masked cell"


@pytest.mark.parametrize(("sample", "real"), [(0, 3), (1, 2)])
def test_lengths_hatch_the_padding_of_every_head(sample, real):
    ex = mha.example()
    _, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    figure = mha.plot_heads(weights, ex.words, sample=sample, valid_lens=ex.valid_lens)
    for ax in maps(figure):
        (hatch,) = [c for c in ax.collections if isinstance(c, PatchCollection)]
        runs = sorted(path.get_extents().bounds for path in hatch.get_paths())
        assert runs == [(real - 0.5, y - 0.5, 4 - real, 1) for y in range(4)]


def test_nan_has_its_own_mark():
    """matplotlib/matplotlib#20325: NaN is neither nothing nor 0."""
    figure = mha.plot_heads(torch.tensor([[[float("nan"), float("nan")], [0.0, 1.0]]]))
    ax = maps(figure)[0]
    assert ax.images[0].get_array().mask.tolist() == [[True, True], [False, False]]
    assert ax.get_facecolor() == pytest.approx([int(BAD[i : i + 2], 16) / 255 for i in (1, 3, 5)] + [1])
    assert BAD not in PALETTE
    (crosses,) = [c for c in ax.collections if isinstance(c, LineCollection) and len(c.get_segments()) == 4]
    assert {round(float(s.mean(0)[0]), 6) for s in crosses.get_segments()} == {0.0, 1.0}
    assert "NaN" in figure.alt and figure.legends[0].get_texts()[0].get_text() == "not a number"


def test_chosen_heads_keep_letter_and_colour(weights):
    figure = mha.plot_heads(weights, sample=0, heads=[2, 0])
    badges = [next(t for t in ax.texts if t.get_text().startswith("Head")) for ax in maps(figure)]
    assert [badge.get_text() for badge in badges] == ["Head C", "Head A"]
    faces = [badge.get_bbox_patch().get_facecolor() for badge in badges]
    assert faces[0] == pytest.approx([int(head_colour(2)[i : i + 2], 16) / 255 for i in (1, 3, 5)] + [1])
    np.testing.assert_array_equal(maps(figure)[0].images[0].get_array(), weights[0, 2].numpy())


def test_a_map_that_is_no_head_has_a_name_of_its_own(weights):
    figure = mha.plot_heads(weights, sample=0, heads=[1], names=["both at once"])
    assert "both at once: 0 →" in figure.alt and "Head" not in repr(figure)
    assert "both at once #666666" in figure.details
    with pytest.raises(ValueError, match="names"):
        mha.plot_heads(weights, sample=0, names=["one"])


def test_the_mean_is_beside_the_heads_never_instead():
    """pytorch/pytorch#34537, #47583: heads [1, 0] and [0, 1] look like [.5, .5] when averaged."""
    weights = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])
    figure = mha.plot_heads(weights, mean=True)
    shown = [ax.images[0].get_array().tolist() for ax in maps(figure)]
    assert shown == [[[1, 0]], [[0, 1]], [[0.5, 0.5]]]
    assert "Mean of A, B" in figure.alt


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5), (1, 3, 4, 5), (1, 0, 3), (1, 3, 0), (1, 1, 1)])
def test_ranks_and_empty_maps(shape):
    assert drawn(mha.plot_heads(torch.zeros(shape)))


def test_long_inputs_keep_their_size_and_thin_their_words():
    """jessevig/bertviz#82, #74."""
    figure = mha.plot_heads(torch.full((1, 512, 512), 1 / 512), [f"word{i}" for i in range(512)])
    assert max(figure.get_size_inches()) <= 10.5 and figure.get_size_inches()[1] < 6.5
    ax = maps(figure)[0]
    assert 10 < len(labels(ax.yaxis)) < 60
    for place, label in zip(ax.get_yticks(), labels(ax.yaxis), strict=True):
        assert label == f"word{int(place)}"
    assert not numbers(ax)


def test_a_real_model_fits_a_projector():
    figure = mha.plot_heads(torch.rand(12, 64, 64), attn_mask=mha.causal_mask(64, 64))
    width, height = figure.get_size_inches() * 96
    assert width <= 1010 and height <= 720


def test_half_precision_and_gradients_are_fine(weights):
    for given in (weights.half(), weights.bfloat16(), weights.clone().requires_grad_()):
        mha.plot_heads(given, sample=0)


def test_the_tensor_is_not_changed(weights):
    before = weights.clone()
    mha.plot_heads(weights, sample=0, attn_mask=mha.causal_mask(4, 5), mean=True)
    torch.testing.assert_close(weights, before, rtol=0, atol=0)


def test_the_alt_text_says_who_looks_where():
    ex = mha.example()
    _, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    figure = mha.plot_heads(weights, ex.words, sample=0, valid_lens=ex.valid_lens)
    assert repr(figure).startswith("[picture] Attention weights, 2 heads, 4 queries by 4 keys.")
    assert "Head A: small → cats 0.92, cats → cats 0.85, sleep → cats 0.92" in figure.alt
    assert "Head B: small → small 0.88, cats → small 0.88, sleep → cats 0.88" in figure.alt
    empty = mha.plot_heads(torch.zeros(1, 1, 2), ["a"], ["b", "c"], valid_lens=torch.tensor([0]))
    assert "a → nothing" in empty.alt


def test_no_pyplot_figure_is_left_open(weights):
    """matplotlib/ipympl#4: 21 pictures, no figure that pyplot holds."""
    import sys

    for _ in range(21):
        mha.plot_heads(weights, sample=0).png(dpi=30)
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_the_colours_run_from_light_to_dark():
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in PALETTE]) / 255
    lightness = rgb @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) < 0.002).all() and lightness[0] > 0.9 and lightness[-1] < 0.15
    assert len(PALETTE) == COLOURS.N


@pytest.mark.parametrize(
    ("kwargs", "error", "says"),
    [
        ({"weights": [[1.0]]}, TypeError, "need_weights=True"),
        ({"weights": torch.zeros(4)}, ValueError, r"\(B, h, Lq, Lk\).*shape \(4,\)"),
        ({"weights": torch.zeros(2, 1, 1, 3, 4, 5)}, ValueError, r"shape \(2, 1, 1, 3, 4, 5\)"),
        ({"weights": [None, None]}, TypeError, 'weights\\[0\\].*attn_implementation="eager"'),
        ({"weights": []}, ValueError, "layers"),
        (
            {"weights": [torch.zeros(1, 2, 3, 3), torch.zeros(1, 4, 3, 3)]},
            ValueError,
            r"weights\[1\].*one shape",
        ),
        ({"weights": np.array([["a"]])}, TypeError, "an array of <U1"),
        # Averaged over heads, as nn.MultiheadAttention returns them: three axes that are no heads.
        ({"weights": torch.zeros(2, 4, 4), "sample": 0}, ValueError, "average_attn_weights=False"),
        ({"weights": torch.zeros(2, 2, 2), "queries": [["a", "b"]] * 2}, ValueError, "average_attn_weights"),
        ({"weights": torch.zeros(2, 4, 4), "valid_lens": torch.tensor([3, 2])}, ValueError, "average_attn"),
        ({"weights": torch.zeros(16, 3, 12, 12)}, ValueError, "batch of 16.*sample=0"),
        ({"weights": torch.zeros(2, 3, 4, 5), "sample": 2}, ValueError, "from 0 to 1, got 2"),
        ({"weights": torch.zeros(3, 4, 5), "queries": list("abcde")}, ValueError, "queries: expected 4 w"),
        ({"weights": torch.zeros(3, 4, 5), "keys": list("abcd")}, ValueError, "keys: expected 5 words"),
        ({"weights": torch.zeros(3, 4, 4), "queries": "the cat sat"}, TypeError, "split"),
        ({"weights": torch.zeros(3, 4, 4), "heads": [3]}, ValueError, "heads"),
        ({"weights": torch.zeros(3, 4, 4), "heads": [1, 1]}, ValueError, "each once"),
        ({"weights": torch.zeros(3, 4, 4), "heads": []}, ValueError, "heads"),
        ({"weights": torch.tensor([[-1.0, 2.0]])}, ValueError, "masked_softmax"),
        ({"weights": torch.zeros(3, 4, 4), "attn_mask": torch.ones(4, 4)}, TypeError, "attn_mask"),
        ({"weights": torch.zeros(3, 4, 4), "attn_mask": torch.ones(4, 5).bool()}, ValueError, "attn_mask"),
    ],
)
def test_one_error_that_says_what(kwargs, error, says):
    """jessevig/bertviz#101, bojieli/ai-agent-book#346."""
    with pytest.raises(error, match=says):
        mha.plot_heads(**kwargs)
    with pytest.raises(mha.MhaError):
        mha.plot_heads(**kwargs)
