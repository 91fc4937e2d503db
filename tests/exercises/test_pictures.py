"""A wrong answer beside the right one: offered by a button, drawn when it is pressed, and true."""

import ipywidgets
import pytest
import torch

import mha_lib as mha
from mha_lib.exercises.pictures import first_difference, first_wrong_block
from mha_lib.widgets.offer import Offer
from mha_lib.widgets.tensor_moves import TensorMoves

VIEW = "application/vnd.jupyter.widget-view+json"


def heads_first(X, h):
    return torch.cat(X.chunk(h, -1))


def straight(S, h):
    return S.reshape(len(S) // h, S.shape[1], -1)


MOVES = [
    ("splitting.split", heads_first, "sentence 1, head B; 2 of 4 "),
    ("splitting.split", lambda X, h: X.reshape(len(X) * h, X.shape[1], -1), "sentence 1, head A; 4 of 4 "),
    ("splitting.merge", straight, "sentence 1, head A; 4 of 4 "),
    (
        "splitting.heads_first",
        lambda X, n, h: (mha.split_heads(X, h), n.repeat(h)),
        "sentence 1, head B; 2 of 4 ",
    ),
]


def offered(name, attempt):
    verdict = mha.check(name, attempt)
    assert not verdict and verdict.picture is not None
    return verdict.picture()


def shown_in(moves, number):
    """The ids of the cells of both lanes at this step; a lane that has ended shows its end."""
    lanes = moves.recording.frames, moves.beside.frames
    return [frames[min(number, len(frames) - 1)].steps[0].ids for frames in lanes]


@pytest.mark.parametrize("name, attempt, block", MOVES)
def test_a_wrong_stack_moves_beside_the_right_one_and_its_first_wrong_block_is_named(name, attempt, block):
    named, moves = offered(name, attempt).children
    assert block in named.value
    assert isinstance(moves, TensorMoves) and moves.beside is not None
    X, right, wrong = moves.beside.steps[0], moves.recording.result, moves.beside.result
    assert right.shape == wrong.shape and X.shape == (2, 4, 10) and not torch.equal(right, wrong)
    assert [lane["title"] for lane in moves.pictures["lanes"]] == ["The right one", "Yours"]
    assert 0 < moves.step == first_difference(moves.recording, moves.beside)
    before, there = (shown_in(moves, number) for number in (moves.step - 1, moves.step))
    assert before[0].equal(before[1])
    assert there[0].shape != there[1].shape or not there[0].equal(there[1])
    if name == "splitting.split":  # the first of the two is the right one, which the other is held against
        assert torch.equal(right, mha.split_heads(X.values, 2))


def test_what_cannot_be_followed_is_named_all_the_same():
    shown = offered("splitting.split", lambda X, h: heads_first(X, h).tolist())
    assert isinstance(shown, ipywidgets.HTML) and "sentence 1, head B" in shown.value


def test_the_first_wrong_block_is_the_first():
    want = torch.arange(24.0).reshape(2, 3, 2, 2)
    got = want.clone()
    got[1, 2, 0, 1] += 1
    assert "sentence 2, head C; 1 of 6 " in first_wrong_block(got, want)
    assert "sentence" not in first_wrong_block(want, want)


@pytest.mark.parametrize(
    "name, attempt, yours, theirs",
    [
        ("masks.softmax", lambda s, m: s.softmax(-1) * m, "0.25", "0.79"),
        ("masks.lengths", lambda n, k: torch.arange(k) <= n[:, None], "1.00", "0.00"),
        ("one_head.softmax", lambda s: s.softmax(0), "0.", "0."),
        ("masks.decode", lambda n, q, k: mha.length_mask(n, k).expand(len(n), q, k), "Matrix 1 of 2", "1.00"),
    ],
)
def test_a_wrong_mask_or_softmax_comes_as_two_heatmaps(name, attempt, yours, theirs):
    page = offered(name, attempt).value
    assert page.count("<table") == 2 and yours in page and theirs in page
    first, second = page.split("</table>")[:2]
    assert (
        "Yours" in first
        and "The right one" in second
        and first.partition("</caption>")[2] != second.partition("</caption>")[2]
    )


def test_the_text_comes_first_and_the_picture_only_when_asked_for():
    verdict = mha.check("splitting.split", heads_first)
    data, _ = verdict._repr_mimebundle_()
    assert data["text/plain"] == repr(verdict) and VIEW in data and "heads come first" in data["text/html"]
    right, _ = mha.check("splitting.split", mha.split_heads)._repr_mimebundle_()
    unlike, _ = mha.check("splitting.split", lambda X, h: X)._repr_mimebundle_()
    assert VIEW not in right and VIEW not in unlike, "no picture where there is nothing to hold side by side"


def test_a_press_draws_below_the_text_and_another_hides_it():
    drawn = []

    def picture():
        drawn.append(1)
        return ipywidgets.HTML("picture")

    offer = Offer("<p>said</p>", picture)
    assert not drawn and [type(child).__name__ for child in offer.children[:2]] == ["HTML", "Button"]
    for shown in (True, False, True):
        offer.button.click()
        assert len(offer.children) == 3 + shown
        assert ("Hide" in offer.button.description) == shown
    assert drawn == [1], "drawn once, however often it is shown"
    assert offer.fallback() == "<p>said</p>"


def test_where_nothing_can_be_drawn_no_picture_is_promised():
    (moving, _) = offered("splitting.split", heads_first).children
    assert "▶ goes on" in moving.value
    by_numpy = offered("splitting.split", lambda X, h: torch.from_numpy(heads_first(X, h).numpy() * 1))
    assert "2 of 4 blocks are wrong" in by_numpy.value and "leaves torch" in by_numpy.value
    assert "▶" not in by_numpy.value
