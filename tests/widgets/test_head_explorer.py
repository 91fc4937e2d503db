"""HeadExplorer without a browser: what it holds, what it sends, what it refuses."""

import json
import re

import numpy as np
import pytest
import torch

import mha_lib as mha
from mha_lib.heatmaps.draw import PALETTE
from mha_lib.widgets import HeadExplorer
from mha_lib.widgets.head_explorer import MASKED, NAN


def sent(explorer, name="weights"):
    values = np.frombuffer(explorer.get_state()[name], "<u2")
    return values.reshape(explorer.shape if name == "weights" else explorer.shape[:3])


@pytest.fixture
def weights():
    return torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0)).softmax(-1)


@pytest.fixture
def explorer():
    ex = mha.example()
    _, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    return HeadExplorer(weights, ex.words, sample=0, valid_lens=ex.valid_lens)


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
    assert sent(explorer, "sums").item() == 1000


def test_masked_and_nan_travel_as_marks():
    weights = torch.tensor([[[0.0, 1.0, 0.0], [float("nan")] * 3, [0.0, 0.0, 0.0]]])
    keep = torch.tensor([[True, True, False]] * 2 + [[False] * 3])
    explorer = HeadExplorer(weights, attn_mask=keep)
    assert sent(explorer)[0, 0].tolist() == [[0, 1000, MASKED], [NAN, NAN, MASKED], [MASKED] * 3]
    assert sent(explorer, "sums").flatten().tolist() == [1000, NAN, 0]


def test_weights_after_dropout_may_exceed_one():
    assert sent(HeadExplorer(torch.tensor([[2.0, 0.0]]))).flatten().tolist() == [2000, 0]


def test_layers_words_and_letters():
    weights = torch.rand(3, 1, 4, 2, 5)
    explorer = HeadExplorer(weights, ["q", "r"], list("vwxyz"), heads=[3, 1])
    assert explorer.shape == [3, 2, 2, 5]
    assert [head["letter"] for head in explorer.heads] == ["D", "B"]
    assert (explorer.query_words, explorer.key_words) == (["q", "r"], list("vwxyz"))
    np.testing.assert_allclose(sent(explorer)[2, 0] / 1000, weights[2, 0, 3], atol=0.000501)
    assert repr(explorer) == "[HeadExplorer] 3 layers, 2 heads, 2 queries by 5 keys"


def test_only_plain_data_and_buffers_cross_the_wire(explorer):
    state = {k: v for k, v in explorer.get_state().items() if not k.startswith("_") and k != "layout"}
    json.dumps({k: v for k, v in state.items() if not isinstance(v, bytes)})
    assert state["palette"] == list(PALETTE)
    assert {k for k, v in state.items() if isinstance(v, bytes)} == {"weights", "sums"}


def test_a_choice_comes_back_from_the_page(explorer):
    explorer.set_state({"query": 2, "shown": [1]})
    assert (explorer.query, explorer.shown) == (2, [1])


@pytest.mark.parametrize(("name", "value"), [("query", 4), ("query", -1), ("layer", 1), ("shown", [0, 2])])
def test_a_choice_out_of_range_is_refused(explorer, name, value):
    with pytest.raises(mha.InputValueError, match=name):
        setattr(explorer, name, value)


def test_the_fallback_holds_the_rounded_weights(explorer):
    bundle, _ = explorer._repr_mimebundle_()
    html = bundle["text/html"]
    assert bundle["text/plain"] == repr(explorer) == "[HeadExplorer] 2 heads, 4 queries by 4 keys"
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", html)
    ex = mha.example()
    _, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    rows = weights[0].flatten(0, 1).tolist()
    assert cells == [f"{w:.2f}" if k < 3 else "–" for row in rows for k, w in enumerate(row)]
    assert explorer._repr_mimebundle_()[0]["text/html"] == html, "the same bytes each time"


def test_words_are_text_and_never_markup():
    """huggingface/tokenizers#1937."""
    words = ["<b>", "a'b\"c&", "</script><script>alert(1)</script>"]
    html = HeadExplorer(torch.eye(3)[None], words).fallback()
    assert "<b>" not in html and "<script" not in html and "&lt;b&gt;" in html


def test_the_saved_page_is_one_file_that_asks_for_nothing(explorer, tmp_path):
    """jessevig/bertviz#63: no remote script."""
    page = explorer.save_html(tmp_path / "heads.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?https?:|import\s*\(?["']https?:|url\(https?:""", page)
    assert "0.92" in page, "the static tables are in it"


def test_a_real_model_is_small(tmp_path):
    weights = (2 * torch.randn(12, 1, 12, 64, 64)).softmax(-1)
    explorer = HeadExplorer(weights, [f"word{i}" for i in range(64)])
    bundle, _ = explorer._repr_mimebundle_()
    state = explorer.get_state().values()
    size = sum(len(v) if isinstance(v, bytes) else len(json.dumps(v)) for v in state)
    assert size + len(bundle["text/html"]) < 1_300_000
    assert explorer.save_html(tmp_path / "heads.html").stat().st_size < 1_300_000


@pytest.mark.parametrize("shape", [(1, 16, 512, 512), (1, 1, 513, 2), (2, 1, 12, 256, 256)])
def test_too_much_for_a_page_is_refused_with_a_way_out(shape):
    """jessevig/bertviz#82, #74: a clear word, never a frozen page."""
    with pytest.raises(ValueError, match="heads="):
        HeadExplorer(torch.zeros(shape), sample=0)


def test_a_batch_asks_for_a_sample(weights):
    """jessevig/bertviz#101."""
    with pytest.raises(ValueError, match="batch of 2.*sample=0"):
        HeadExplorer(weights, list("abcd"))


@pytest.mark.parametrize("shape", [(1, 0, 3), (1, 3, 0), (1, 0, 0)])
def test_empty_maps(shape):
    assert HeadExplorer(torch.zeros(shape)).fallback()
