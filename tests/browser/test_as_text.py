"""Words and code reach the page as text: nothing in them is markup, runs, or turns its neighbours round."""

import pytest
import torch

import mha_lib as mha
from mha_lib.look.unseen import visible

MARKUP = "<img id=evil src=x onerror=evil=1>"
SCRIPT = "</script><script>evil=1</script>"
TURNED = "\u202edrow\u2066"
WORDS = [MARKUP, SCRIPT, TURNED]


def moves(**named):
    X = torch.arange(18.0).reshape(1, 3, 6)
    return mha.watch(lambda X: X.reshape(1, 3, 2, 3).permute(0, 2, 1, 3), X, **named)


PICTURES = {
    "moves": lambda: mha.widgets.TensorMoves(moves(axes=WORDS), beside=moves(words=[WORDS])),
    "heads": lambda: mha.widgets.HeadExplorer(
        torch.eye(3).expand(1, 2, 3, 3), WORDS, sample=0, scores={name: torch.rand(1, 2) for name in WORDS}
    ),
    "plane": lambda: mha.widgets.AttentionPlane(*torch.eye(3, 2).repeat(3, 1, 1), WORDS),
}


def nothing_ran(page) -> bool:
    return page.evaluate("() => !('evil' in window)")


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("title", WORDS, ids=["markup", "script", "turned"])
def test_a_saved_page(lab, tmp_path, picture, title):
    """Its words, axes, names of scores and title."""
    page = lab.show(PICTURES[picture]().save_html(tmp_path / "page.html", title=title)).page
    page.locator(f"#picture .mha-{picture}").wait_for()
    assert page.title() == page.locator("h1").inner_text() == visible(title)
    said = page.locator("#picture").inner_text()
    assert all(visible(word) in said for word in WORDS)
    assert not {"\u202e", "\u2066"} & set(said)
    assert nothing_ran(page)


def test_a_chain_of_the_playground_and_what_it_is_answered(lab):
    book = lab.open(["import torch, mha_lib as mha", "mha.widgets.TensorMoves.playground()"])
    widget = book.page.locator(".mha-moves")
    trouble = widget.locator(".mha-trouble")
    for word in WORDS:
        widget.get_by_label("Your chain").fill(f"X[{word!r}]")
        widget.get_by_role("button", name="Run").click()
        trouble.filter(has_text="Error").wait_for()
        assert "\u202e" not in trouble.inner_text()
    widget.get_by_label("Your chain").fill(f"X.flatten()  # {SCRIPT}{MARKUP}{TURNED}")
    widget.get_by_role("button", name="Run").click()
    widget.get_by_text("step 1 of 1").wait_for()
    assert nothing_ran(book.page)


@pytest.mark.parametrize("picture", PICTURES)
def test_what_a_saved_notebook_shows(lab, tmp_path, picture):
    """The still, which a reader without a kernel sees."""
    path = tmp_path / "still.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{PICTURES[picture]().fallback()}", "utf-8")
    page = lab.show(path).page
    said = page.locator("body").inner_text()
    assert all(visible(word) in said for word in WORDS)
    assert not {"\u202e", "\u2066"} & set(said)
    assert nothing_ran(page)
