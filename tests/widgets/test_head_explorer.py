"""HeadExplorer without a browser: what it holds, what it sends, what it refuses."""

import json
import re
import time
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import mha_lib as mha
from mha_lib.heatmaps.draw import PALETTE, weight_colour
from mha_lib.heatmaps.wire import MASKED, NAN, unpacked
from mha_lib.widgets import HeadExplorer


def sent(explorer, name="weights"):
    shapes = {"row_sums": explorer.shape[:3], "column_sums": [*explorer.shape[:2], explorer.shape[3]]}
    return unpacked(explorer.get_state()[name]).reshape(shapes.get(name, explorer.shape))


def ask(explorer, heads=(), index=-1, side="query", measure="weights", most=0):
    explorer.ask = {
        "id": explorer.ask.get("id", 0) + 1,
        "heads": list(heads),
        "most": most,
        "index": index,
        "side": side,
        "measure": measure,
    }
    return explorer.answer


@pytest.fixture
def weights():
    return torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0)).softmax(-1)


@pytest.fixture
def explorer():
    ex = mha.example()
    _, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    return HeadExplorer(weights, ex.words, sample=0, valid_lens=ex.valid_lens)


@pytest.fixture(scope="module")
def large():
    """More than a page is sent at once: 3 blocks of 4 heads, 160 words."""
    weights = torch.randn(3, 1, 4, 160, 160, generator=torch.Generator().manual_seed(0)).mul(3).softmax(-1)
    return weights, HeadExplorer(weights)


def test_thousandths_are_what_python_prints(weights):
    explorer = HeadExplorer(weights, sample=1)
    assert explorer.shape == [1, 3, 4, 5]
    for have, want in zip(sent(explorer).flatten(), weights[1].flatten().tolist(), strict=True):
        assert f"{have / 1000:.3f}" == f"{want:.3f}"
    ties = torch.tensor([[0.0625, 0.1875, 0.0005, 0.75]])
    assert sent(HeadExplorer(ties)).flatten().tolist() == [round(float(t) * 1000) for t in ties.double()[0]]


def test_sums_are_the_tensors_and_not_of_the_rounded():
    weights = torch.full((1, 1, 7), 1 / 7)
    explorer = HeadExplorer(weights)
    assert sent(explorer).sum() == 1001
    assert sent(explorer, "row_sums").item() == 1000
    given = torch.rand(1, 2, 9, 4)
    assert sent(HeadExplorer(given), "column_sums") == pytest.approx(given.sum(-2).numpy() * 100, abs=0.51)


def test_masked_and_nan_travel_as_marks():
    weights = torch.tensor([[[0.0, 1.0, 0.0], [float("nan")] * 3, [0.0, 0.0, 0.0]]])
    mask = torch.tensor([[True, True, False]] * 2 + [[False] * 3])
    explorer = HeadExplorer(weights, attn_mask=mask)
    assert sent(explorer)[0, 0].tolist() == [[0, 1000, MASKED], [NAN, NAN, MASKED], [MASKED] * 3]
    assert sent(explorer, "row_sums").flatten().tolist() == [1000, NAN, MASKED]
    assert explorer.marks == ["masked", "nan"]
    assert HeadExplorer(torch.eye(2)).marks == []


def test_weights_after_dropout_may_exceed_one():
    assert sent(HeadExplorer(torch.tensor([[2.0, 0.0]]))).flatten().tolist() == [2000, 0]


def test_half_precision_is_not_said_to_sum_to_something_else():
    weights = torch.rand(1, 1, 8, 300).softmax(-1)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        explorer = HeadExplorer(weights.to(dtype))
        off = np.abs(sent(explorer, "row_sums").astype(int) - 1000)
        assert (off <= explorer.slack).all(), dtype
    assert HeadExplorer(weights).slack < 5


def test_blocks_words_and_letters():
    weights = torch.rand(3, 1, 4, 2, 5)
    explorer = HeadExplorer(weights, ["q", "r"], list("vwxyz"), heads=[3, 1])
    assert explorer.shape == [3, 2, 2, 5]
    assert [head["letter"] for head in explorer.heads] == ["D", "B"]
    assert (explorer.query_words, explorer.key_words) == (["q", "r"], list("vwxyz"))
    np.testing.assert_allclose(sent(explorer)[2, 0] / 1000, weights[2, 0, 3], atol=0.000501)
    assert repr(explorer) == "[HeadExplorer] 3 blocks, 2 heads, 2 queries by 5 keys"
    assert explorer.view == "all" and HeadExplorer(weights[0]).view == "some", "many heads: an overview first"


def test_only_plain_data_and_buffers_cross_the_wire(explorer):
    state = {k: v for k, v in explorer.get_state().items() if not k.startswith("_") and k != "layout"}
    json.dumps({k: v for k, v in state.items() if not isinstance(v, bytes)})
    assert state["palette"] == list(PALETTE)
    assert {k for k, v in state.items() if isinstance(v, bytes)} == {
        "weights",
        "moved",
        "row_sums",
        "column_sums",
        "small",
    }


def test_a_choice_comes_back_from_the_page(explorer):
    explorer.set_state({"query": 2, "shown": [1], "side": "key", "key": 3})
    assert (explorer.query, explorer.shown, explorer.side, explorer.key) == (2, [1], "key", 3)


def test_a_block_shows_all_of_its_heads_and_a_head_only_itself():
    explorer = HeadExplorer(torch.rand(3, 1, 4, 2, 2))
    explorer.layer = 1
    assert explorer.shown == [4, 5, 6, 7]
    explorer.set_state({"layer": 2, "shown": [9], "view": "some"})
    assert (explorer.layer, explorer.shown) == (2, [9])


@pytest.mark.parametrize(
    ("name", "value"),
    [("query", 4), ("query", -1), ("key", 4), ("layer", 1), ("shown", [0, 2]), ("order", 2), ("order", -2)],
)
def test_a_choice_out_of_range_is_refused(explorer, name, value):
    with pytest.raises(mha.InputValueError, match=name):
        setattr(explorer, name, value)


def test_a_large_picture_is_sent_when_it_is_asked_for(large):
    weights, explorer = large
    state = explorer.get_state()
    assert explorer.held == [] and state["weights"] == b"" and len(state["small"]) == 12 * 32 * 32
    answer = ask(explorer, [5, 11])
    maps = unpacked(answer["maps"]).reshape(2, 160, 160)
    for have, (block, head) in zip(maps, ((1, 1), (2, 3)), strict=True):
        np.testing.assert_allclose(have / 1000, weights[block, 0, head], atol=0.000501)
    line = unpacked(ask(explorer, [], 7)["line"]).reshape(3, 4, 160)
    np.testing.assert_allclose(line / 1000, weights[:, 0, :, 7], atol=0.000501)
    column = unpacked(ask(explorer, [], 7, side="key")["line"]).reshape(3, 4, 160)
    np.testing.assert_allclose(column / 1000, weights[:, 0, :, :, 7], atol=0.000501)


def test_a_map_that_is_shown_small_is_sent_small(large):
    weights, explorer = large
    for heads in ([5, 11], [4, 5, 6, 7]):
        maps = unpacked(ask(explorer, heads, most=80)["maps"]).reshape(len(heads), 80, 80)
        largest = weights[:, 0].flatten(0, 1)[heads].reshape(-1, 80, 2, 80, 2).amax((2, 4))
        np.testing.assert_allclose(maps / 1000, largest, atol=0.000501)
    mask = torch.ones(2, 2).tril().bool()
    given = torch.tensor([[0.0, 0.0], [float("nan"), 1.0]])
    small = HeadExplorer(given[None].expand(2, 2, 2), attn_mask=mask)
    assert unpacked(ask(small, [1], most=2)["maps"]).tolist() == [0, MASKED, NAN, 1000]


def test_a_thumbnail_keeps_the_largest_weights(large):
    weights, explorer = large
    small = np.frombuffer(explorer.small, np.uint8).reshape(12, 32, 32)
    largest = weights[:, 0].reshape(12, 32, 5, 32, 5).amax((2, 4))
    np.testing.assert_array_equal(small, (largest * 254).floor().clamp(0, 253))


def test_the_picture_does_not_change_with_the_tensor():
    """The kernel answers later: from a copy."""
    for given in (torch.rand(1, 1, 600, 600), np.random.default_rng(0).random((1, 1, 600, 600), np.float32)):
        before = given[0, 0].copy() if isinstance(given, np.ndarray) else given[0, 0].clone().numpy()
        explorer = HeadExplorer(given)
        given *= 0
        np.testing.assert_allclose(
            unpacked(ask(explorer, [0])["maps"]).reshape(600, 600) / 1000, before, atol=0.000501
        )


@pytest.mark.parametrize("form", [list, tuple, torch.Tensor.numpy, lambda w: [layer.numpy() for layer in w]])
def test_what_models_return(form):
    weights = torch.rand(3, 1, 2, 4, 4)
    assert HeadExplorer(form(weights)).fallback() == HeadExplorer(weights).fallback()


def test_the_mean_over_heads_is_not_drawn_as_heads():
    """nn.MultiheadAttention returns the mean unless it is asked for each head."""
    ex = mha.example()
    theirs = mha.to_torch(ex.layer)
    _, averaged = theirs(ex.X, ex.X, ex.X)
    for kwargs in ({"queries": ex.words}, {"sample": 0}, {"valid_lens": ex.valid_lens}):
        with pytest.raises(ValueError, match="average_attn_weights=False"):
            HeadExplorer(averaged, **kwargs)


# ---- scores, value lengths, a sentence of one's own


def test_scores_are_the_callers_and_entropy_and_distance_come_along():
    weights = torch.zeros(2, 1, 2, 4, 4)
    weights[0, 0, 0] = torch.eye(4)
    weights[0, 0, 1] = 0.25
    weights[1, 0, :, :, 0] = 1
    given = torch.tensor([[0.1, 0.9], [0.5, 0.3]])
    explorer = HeadExplorer(weights, scores={"mine": given, "top": lambda w, words: w.amax((-2, -1))})
    mine, top, entropy, distance = explorer.scores
    assert (mine["name"], mine["low_first"]) == ("mine", False)
    assert mine["values"] == pytest.approx([0.1, 0.9, 0.5, 0.3])
    assert top["values"] == pytest.approx([1, 0.25, 1, 1])
    assert entropy["values"] == pytest.approx([0, np.log(4), 0, 0], abs=1e-4) and entropy["low_first"]
    assert distance["values"] == pytest.approx([0, 1.25, 1.5, 1.5])


def test_rows_that_may_see_nothing_do_not_count_in_a_score():
    weights = torch.tensor([[[0.5, 0.5], [0.0, 0.0]]])
    mask = torch.tensor([[True, True], [False, False]])
    entropy = HeadExplorer(weights, attn_mask=mask).scores[0]
    assert entropy["values"] == pytest.approx([np.log(2)], abs=1e-4)


def test_a_score_of_many_weights_is_computed_when_it_is_asked_for(monkeypatch):
    monkeypatch.setattr("mha_lib.widgets.head_explorer.MOST_SCORED", 1)
    explorer = HeadExplorer(torch.eye(3)[None, None], scores={"mine": torch.tensor([[1.0]])})
    assert [score["values"] for score in explorer.scores] == [[1.0], None, None]
    explorer.order = 2
    assert [score["values"] for score in explorer.scores] == [[1.0], None, [0.0]]


@pytest.mark.parametrize(
    ("kwargs", "error", "says"),
    [
        ({"scores": {"x": torch.zeros(3, 2)}}, ValueError, r"scores\['x'\].*\(1, 2\)"),
        ({"scores": {"x": [1, 2]}}, TypeError, r"scores\['x'\]"),
        ({"values": torch.zeros(5, 5)}, ValueError, r"values.*\(1, 2, 3\)"),
        ({"values": -torch.ones(2, 3)}, ValueError, "lengths from 0"),
        ({"values": "long"}, TypeError, "values"),
    ],
)
def test_scores_and_values_that_do_not_fit(kwargs, error, says):
    with pytest.raises(error, match=says):
        HeadExplorer(torch.rand(1, 2, 3, 3), **kwargs)


@pytest.mark.parametrize("axes", ["layers, B, h, Lk", "layers, h, Lk"])
def test_weights_times_the_length_of_the_values(axes):
    weights, lengths = torch.rand(2, 1, 3, 4, 4), torch.rand(2, 3, 4) * 9
    explorer = HeadExplorer(weights, values=lengths[:, None] if "B" in axes else lengths)
    want = weights[:, 0] * lengths[:, :, None] / lengths.max()
    np.testing.assert_allclose(sent(explorer, "moved") / 1000, want, atol=0.000501)
    assert explorer.longest == f"{lengths.max():.3g}"
    np.testing.assert_allclose(sent(explorer) / 1000, weights[:, 0], atol=0.000501)


def test_a_large_picture_answers_in_either_measure(large):
    weights, _ = large
    lengths = torch.rand(3, 4, 160)
    explorer = HeadExplorer(weights, values=lengths)
    want = weights[:, 0] * lengths[:, :, None] / lengths.max()
    maps = unpacked(ask(explorer, [6], measure="moved")["maps"]).reshape(160, 160)
    np.testing.assert_allclose(maps / 1000, want[1, 2], atol=0.000501)
    column = unpacked(ask(explorer, [], 9, side="key", measure="moved")["line"]).reshape(3, 4, 160)
    np.testing.assert_allclose(column / 1000, want[..., 9], atol=0.000501)
    before = explorer.small
    explorer.measure = "moved"
    assert explorer.small != before


@dataclass
class Reading:
    words: tuple
    weights: torch.Tensor
    value_lengths: torch.Tensor | None = None


def read(sentence):
    words = sentence.split()
    if len(words) < 2:
        raise ValueError("two words at least")
    weights = torch.full((2, 1, 2, len(words), len(words)), 1 / len(words))
    return Reading((tuple(words),), weights, torch.ones(2, 1, 2, len(words)))


def test_a_sentence_of_ones_own_takes_the_place_of_the_first():
    first = read("a b c")
    explorer = HeadExplorer(
        first.weights,
        first.words,
        sample=0,
        scores={"fixed": torch.zeros(2, 2), "counted": lambda weights, words: torch.full((2, 2), len(words))},
        read=read,
    )
    explorer.set_state({"query": 2, "order": 1})
    explorer.set_state({"sentence": "cats sleep"})
    assert explorer.key_words == ["cats", "sleep"] and explorer.shape == [2, 2, 2, 2]
    assert (explorer.query, explorer.order, explorer.version, explorer.trouble) == (0, -1, 1, "")
    names = [score["name"] for score in explorer.scores]
    assert "fixed" not in names and explorer.scores[names.index("counted")]["values"] == [2.0] * 4
    assert explorer.longest == "1" and explorer.sentence == "", "the same sentence can be asked for again"


@pytest.mark.parametrize(
    ("reads", "sentence", "says"),
    [
        (read, "one", "ValueError: two words at least"),
        (read, " ", "Write a sentence first"),
        (lambda sentence: 3, "a b", "it returned int"),
        (lambda sentence: (torch.rand(1, 2, 3, 3), ["a"]), "a b", "3 words"),
    ],
)
def test_a_bad_sentence_says_why_and_changes_nothing(reads, sentence, says):
    first = read("a b c")
    explorer = HeadExplorer(first.weights, first.words, sample=0, read=reads)
    before = explorer.get_state()["weights"]
    explorer.set_state({"sentence": sentence})
    assert says in explorer.trouble and explorer.version == 0
    assert explorer.get_state()["weights"] == before and explorer.key_words == ["a", "b", "c"]


def test_a_score_that_fails_on_a_sentence_is_left_out_and_named():
    def picky(weights, words):
        if len(words) == 2:
            raise ValueError("no pair")
        return torch.zeros(2, 2)

    first = read("a b c")
    explorer = HeadExplorer(first.weights, first.words, sample=0, scores={"pairs": picky}, read=read)
    explorer.set_state({"sentence": "cats sleep"})
    assert explorer.trouble == "No score pairs for this sentence: no pair"
    assert len(explorer.scores) == 2


# ---- what stands in for it, and pages


def test_the_fallback_holds_the_rounded_weights(explorer):
    bundle, _ = explorer._repr_mimebundle_()
    html = bundle["text/html"]
    assert bundle["text/plain"] == repr(explorer) == "[HeadExplorer] 2 heads, 4 queries by 4 keys"
    cells = re.findall(r"<td[^>]*>([^<]+)</td>", html)
    ex = mha.example()
    _, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    rows = weights[0].flatten(0, 1).tolist()
    assert cells == [f"{w:.3f}" if k < 3 else "–" for row in rows for k, w in enumerate(row)]
    assert explorer._repr_mimebundle_()[0]["text/html"] == html, "the same bytes each time"
    assert "– is masked" in html and 'cellpadding="4"' in html, "it reads where styles are stripped"


def test_the_fallback_is_what_the_page_is_sent(explorer):
    """A wrong number, name, colour or order on the page changes what nbval compares."""
    right = explorer.fallback()
    for name, wrong in (
        ("weights", explorer.weights[::-1]),
        ("key_words", explorer.key_words[::-1]),
        ("heads", explorer.heads[::-1]),
        ("heads", [head | {"colour": "#123456"} for head in explorer.heads]),
    ):
        before = getattr(explorer, name)
        explorer.set_trait(name, wrong)
        assert explorer.fallback() != right, name
        explorer.set_trait(name, before)
    assert explorer.fallback() == right


def test_many_heads_are_told_in_one_table():
    weights = torch.full((3, 1, 12, 9, 9), 0.01)
    weights[2, 0, 9, 4, 7] = 0.9
    html = HeadExplorer(weights, list("abcdefghi")).fallback()
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    assert re.findall(r"<th[^>]*>(.*?)</th>", rows[0]) == list("ABCDEFGHIJKL")
    assert [row.partition("</th>")[0].rpartition(">")[2] for row in rows[1:]] == [
        "block 1",
        "block 2",
        "block 3",
    ]
    cells = re.findall(r"<td style=\"background:(.*?);.*?>(.*?)</td>", rows[3])
    assert len(cells) == 12 and cells[9] == (weight_colour(0.9), "e → h<br>0.90")
    assert all(colour == weight_colour(0.01) for i, (colour, _) in enumerate(cells) if i != 9)


def test_a_head_that_sees_nothing_and_one_without_numbers_name_no_largest_weight():
    weights = torch.full((3, 1, 12, 9, 9), 0.01)
    weights[1, 0, 2] = float("nan")
    mask = torch.ones(1, 12, 9, 9, dtype=torch.bool)
    mask[0, 4] = False
    html = HeadExplorer(weights, list("abcdefghi"), attn_mask=mask).fallback()
    rows = [re.findall(r"<td style[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]
    assert [row[4] for row in rows[1:]] == ["–"] * 3
    assert [row[2] for row in rows[1:]] == ["a → a<br>0.01", "NaN", "a → a<br>0.01"]


def test_words_are_text_and_never_markup():
    """huggingface/tokenizers#1937."""
    words = ["<b>", "a'b\"c&", "</script><script>alert(1)</script>"]
    html = HeadExplorer(torch.eye(3)[None], words).fallback()
    assert "<b>" not in html.replace("<b style", "") and "<script" not in html and "&lt;b&gt;" in html


def test_signs_that_cannot_be_seen_are_shown():
    explorer = HeadExplorer(torch.eye(3)[None], ["a\u200bb", "\u202edrow", "x\u00a0y"])
    assert explorer.key_words == ["a[ZWSP]b", "[RLO]drow", "x[NBSP]y"]


def test_the_saved_page_is_one_file_that_asks_for_nothing(explorer, tmp_path):
    """jessevig/bertviz#63: no remote script."""
    page = explorer.save_html(tmp_path / "heads.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?https?:|import\s*\(?["']https?:|url\(https?:""", page)
    assert "0.920" in page, "the static tables are in it"


def test_a_page_holds_what_fits_and_names_what_it_leaves_out(large, monkeypatch, tmp_path):
    weights, explorer = large
    whole = explorer.page_traits()
    assert whole["held"] == [0, 1, 2] and whole["trouble"] == ""
    monkeypatch.setattr("mha_lib.widgets.head_explorer.MOST_PAGE", 150_000)
    explorer.layer = 1
    part = explorer.page_traits()
    assert part["held"][0] == 1 and len(part["held"]) < 3
    left = [block + 1 for block in range(3) if block not in part["held"]]
    assert "Left out: blocks " + ", ".join(map(str, left)) in part["trouble"]
    held = unpacked(part["weights"]).reshape(len(part["held"]), 4, 160, 160)
    np.testing.assert_allclose(held[0] / 1000, weights[1, 0], atol=0.000501)
    assert part["trouble"] in explorer.save_html(tmp_path / "part.html").read_text("utf-8")


def test_a_page_offers_no_score_that_it_has_not_and_says_that_values_are_left_out(monkeypatch):
    weights = (2 * torch.randn(12, 1, 12, 128, 128)).softmax(-1)
    explorer = HeadExplorer(weights, scores={"mine": torch.rand(12, 12)}, values=torch.rand(12, 1, 12, 128))
    assert not explorer.held, "too large to be sent whole"
    part = explorer.page_traits()
    assert [score["name"] for score in part["scores"]] == ["mine"] != [s["name"] for s in explorer.scores]
    assert "Left out: weights × |W_o v|" in part["trouble"]


def size(explorer):
    state = explorer.get_state().values()
    return sum(len(v) if isinstance(v, bytes) else len(json.dumps(v)) for v in state)


def test_a_real_model_is_small(tmp_path):
    weights = (2 * torch.randn(12, 1, 12, 64, 64)).softmax(-1)
    explorer = HeadExplorer(weights, [f"word{i}" for i in range(64)])
    assert size(explorer) + len(explorer.fallback()) < 1_230_000
    assert explorer.save_html(tmp_path / "heads.html").stat().st_size < 1_300_000


@pytest.mark.parametrize("form", [list, torch.Tensor.clone])
def test_a_large_model_is_there_at_once(form):
    """jessevig/bertviz#82, #74: forty million weights, and no frozen page."""
    weights = torch.full((12, 1, 12, 512, 512), 1 / 512)
    given = form(weights)
    start = time.process_time()
    explorer = HeadExplorer(given)
    bundle, _ = explorer._repr_mimebundle_()
    seconds = time.process_time() - start
    sent_first = size(explorer) + len(bundle["text/html"])
    assert sent_first + len(ask(explorer, [0])["maps"]) < 4_000_000
    assert seconds < 1, f"{seconds:.2f} s: tests/bench/bench_heads.py measures it on a quiet machine"


def test_a_batch_asks_for_a_sample(weights):
    """jessevig/bertviz#101."""
    with pytest.raises(ValueError, match="batch of 2.*sample=0"):
        HeadExplorer(weights, list("abcd"))


@pytest.mark.parametrize("shape", [(1, 0, 3), (1, 3, 0), (1, 0, 0), (2, 1, 3, 0, 0)])
def test_empty_maps(shape):
    assert HeadExplorer(torch.zeros(shape)).fallback()
