"""Layout: every cell of any shape has a place of its own, and labels say what stands there."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_lib.moves.axes import Factor, default_axes
from mha_lib.moves.layout import CELL, NARROW, WIDE, index_words, picture, place
from mha_lib.moves.recorder import watch

X = torch.arange(80.0).reshape(2, 4, 10)


def frame(step, width=WIDE):
    return picture([("", step.shape, step.axes)], width)


def cells(shape, drawn):
    return (
        [
            place(drawn["pieces"][0], index)
            for index in torch.cartesian_prod(*map(torch.arange, shape)).reshape(-1, len(shape)).tolist()
        ]
        if shape
        else [drawn["pieces"][0]["at"]]
    )


STEPS = watch(lambda X: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5), X).steps


def test_two_sentences_are_two_blocks_of_4_by_10():
    drawn = frame(STEPS[0])
    assert [words for *_, words in drawn["blocks"]] == [(("sentence 1", 0),), (("sentence 2", 0),)]
    (x, y), (u, v) = (place(drawn["pieces"][0], (s, 0, 0)) for s in (0, 1))
    assert v == y and u - x > 10 * CELL[0]
    assert place(drawn["pieces"][0], (0, 3, 9)) == (x + 9 * CELL[0], y + 3 * CELL[1])


def test_a_cut_word_is_a_block_of_its_own_with_its_heads_a_little_apart():
    """So that the permute that follows is seen to carry each head's rows together."""
    drawn = frame(STEPS[1])
    first, second = (place(drawn["pieces"][0], (0, 0, head, 0)) for head in (0, 1))
    assert first[0] == second[0] and CELL[1] < second[1] - first[1] < 1.5 * CELL[1]
    gathered = frame(STEPS[2])["pieces"][0]
    moved = [
        (s, w, h, f)
        for s in range(2)
        for w in range(4)
        for h in range(2)
        for f in range(5)
        if place(drawn["pieces"][0], (s, w, h, f)) != place(gathered, (s, h, w, f))
    ]
    assert len(moved) > 60


def test_in_little_room_words_and_heads_are_the_rows_of_their_sentence():
    drawn = frame(STEPS[1], NARROW)
    assert [words for *_, words in drawn["blocks"]] == [(("sentence 1", 0),), (("sentence 2", 0),)]
    assert [" · ".join(w for w, _ in words) for *_, words in drawn["rows"]] == [
        f"word {word} · {head}" for word in range(1, 5) for head in "AB"
    ]
    assert drawn["size"][1] <= frame(STEPS[2], NARROW)["size"][1]


def test_after_permute_sentences_are_rows_and_heads_columns_of_blocks():
    drawn = frame(STEPS[2])
    at = {(s, h): place(drawn["pieces"][0], (s, h, 0, 0)) for s in (0, 1) for h in (0, 1)}
    assert at[0, 0][1] == at[0, 1][1] < at[1, 0][1] == at[1, 1][1]
    assert at[0, 0][0] == at[1, 0][0] < at[0, 1][0] == at[1, 1][0]


def test_the_stack_of_four_is_labelled():
    labels = [" · ".join(w for w, _ in words) for *_, words in frame(STEPS[3])["blocks"]]
    assert labels == [f"sentence {s} · head {h}" for s in (1, 2) for h in "AB"]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_whole_example_fits(width):
    assert max(frame(step, width)["size"][0] for step in STEPS) <= width
    assert max(frame(step, width)["size"][1] for step in STEPS) <= 340


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(1, 5), max_size=6), st.sampled_from([WIDE, NARROW]), st.booleans())
def test_no_two_cells_overlap_and_all_are_inside(shape, width, labels):
    drawn = picture([("", tuple(shape), default_axes(shape, None))], width, labels)
    found = cells(shape, drawn)
    assert len({(round(x), round(y)) for x, y in found}) == len(found)
    rows = sorted(found, key=lambda p: (p[1], p[0]))
    for (x, y), (u, v) in zip(rows, rows[1:], strict=False):
        assert v > y or u - x >= CELL[0] - 0.01
    assert {y for _, y in found} and all(
        b - a >= CELL[1] - 0.01
        for a, b in zip(sorted({y for _, y in found}), sorted({y for _, y in found})[1:], strict=False)
    )
    wide, high = drawn["size"]
    assert all(0 <= x <= wide - CELL[0] + 0.01 and 0 <= y <= high - CELL[1] + 0.01 for x, y in found)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5))
def test_labels_do_not_lie_on_cells(shape):
    drawn = picture([("", tuple(shape), default_axes(shape, None))], WIDE)
    for x, y, width, _ in drawn["blocks"]:
        for u, v in cells(shape, drawn):
            assert not (x < u + CELL[0] and u < x + width and y < v + CELL[1] - 0.1 and v < y + 20)
    for x, y, width, _ in drawn["rows"]:
        assert all(abs(v - y) > 1 or u >= x + width for u, v in cells(shape, drawn))


def test_several_tensors_stand_apart():
    drawn = picture([("q", (2, 3), default_axes((2, 3), None)), ("k", (4, 3), default_axes((4, 3), None))])
    (x, _), (u, _) = (piece["at"] for piece in drawn["pieces"])
    assert u > x + 3 * CELL[0]
    assert [words[0][0] for *_, words in drawn["blocks"]] == ["q", "k"]


def test_index_words():
    assert index_words((Factor("sentence", 2), Factor("head", 3)), 4) == (("sentence 2", 0), ("head B", 2))
    assert index_words((Factor("?", 4),), 3) == (("[3]", 5),)


def test_a_long_single_axis_wraps():
    drawn = picture([("", (80,), default_axes((80,), None))], WIDE)
    assert drawn["size"][0] <= WIDE and len({y for _, y in cells((80,), drawn)}) > 1
