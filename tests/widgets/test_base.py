"""What all widgets share: the fallback in every version of ipywidgets, and pages with any text."""

import json

import ipywidgets
import pytest
import torch
from IPython.core.formatters import DisplayFormatter

import mha_lib as mha
from mha_lib.widgets.base import MIME, BrowserPicture, Fallback, style

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def as_in_colab(monkeypatch):
    """ipywidgets 7 shows a widget by `_ipython_display_`, and has no `_repr_mimebundle_`."""
    monkeypatch.delattr(ipywidgets.Widget, "_repr_mimebundle_", raising=False)
    shown = []
    monkeypatch.setattr(ipywidgets.Widget, "_ipython_display_", shown.append, raising=False)
    return shown


def widgets():
    ex = mha.example()
    weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)[1]
    yield mha.widgets.HeadExplorer(weights, ex.words, sample=0)
    yield mha.widgets.MaskConsole()
    yield mha.widgets.TensorMoves(mha.watch(lambda X: X.mT, ex.numbers))


def test_the_fallback_stays_under_ipywidgets_7(as_in_colab):
    for widget in widgets():
        assert isinstance(widget, Fallback)
        data, _ = DisplayFormatter().format(widget)
        assert data["text/html"] == widget.fallback() and data["text/plain"] == repr(widget)
        assert data[VIEW]["model_id"] == widget.model_id
    assert as_in_colab == []


def test_the_fallback_stands_beside_the_view():
    for widget in widgets():
        data, _ = DisplayFormatter().format(widget)
        assert data["text/html"] == widget.fallback() and VIEW in data


def test_half_a_character_is_named_and_the_page_is_written(tmp_path):
    words = ["a\ud83d", "b"]
    explorer = mha.widgets.HeadExplorer(torch.eye(2)[None], words)
    page = explorer.save_html(tmp_path / "heads.html", title="half \udc00").read_text("utf-8")
    assert "a[U+D83D]" in page and "half [U+DC00]" in page


def test_a_small_picture_is_saved_with_its_state():
    """A site shows it alive without executing anything."""
    moving, *_ = (widget for widget in widgets() if isinstance(widget, BrowserPicture))
    data, _ = DisplayFormatter().format(moving)
    assert "\n" not in data[MIME], "one line in a notebook's diff"
    saved = json.loads(data[MIME])
    assert saved == moving.page_state()
    assert saved["module"] == "head_explorer" and saved["title"] == repr(moving)
    assert saved["state"]["offline"] is True and not any(name[0] == "_" for name in saved["state"])


def test_a_large_picture_is_not_sent_twice():
    large = mha.widgets.HeadExplorer(torch.rand(1, 4, 128, 128))
    assert MIME not in DisplayFormatter().format(large)[0]
    assert large.page_state()["state"]["weights"].keys() == {"deflate"}


@pytest.mark.parametrize("sheet", ["head_explorer", "tensor_moves"])
def test_every_mark_of_a_dark_page_is_in_every_sheet(sheet):
    marks = (
        "data-jp-theme-light",
        "html[data-theme=",
        "body.vscode-dark",
        "data-vscode-theme-kind",
        ".dark-theme",
    )
    assert all(mark in style(sheet) for mark in (*marks, 'html[theme="dark"]'))
