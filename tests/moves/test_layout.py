"""Layout: read like text; every cell of any shape has a place of its own, and what keeps its order stays."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mha_lib as mha
from mha_lib.moves.compare import compare
from mha_lib.moves.layout import CELL, NARROW, WIDE, pictures, place
from mha_lib.moves.lines import LABEL, SLIT, same_order
from mha_lib.moves.recorder import watch

EX = mha.example()
X = EX.numbers.float()


def split(X):
    return X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5)


SPLIT = watch(split, X, words=EX.words)
STRAIGHT = watch(lambda X: X.reshape(4, 4, 5), X, num_heads=2, words=EX.words)


def spots(step, piece):
    """The place of every cell in reading order."""
    index = list(np.indices(step.shape).reshape(len(step.shape), -1)) if step.shape else []
    x, y = place(piece, index)
    count = step.ids.numel()
    return np.stack([np.broadcast_to(x, (count,)), np.broadcast_to(y, (count,))], 1).astype(float)


def said(labels):
    return [" · ".join(part.text for part in label.parts) for label in labels]


def frames(recording, room=WIDE, labels=True):
    return pictures(recording, room, labels)


def test_the_input_is_lines_of_ten_with_heads_above_and_words_beside():
    drawn = frames(SPLIT)[0]
    at = spots(SPLIT.steps[0], drawn.pieces[0]).reshape(2, 4, 10, 2)
    assert (at[:, :, 1:, 0] - at[:, :, :-1, 0] == CELL[0]).all() and (
        at[:, :, 1:, 1] == at[:, :, :-1, 1]
    ).all()
    assert (at[:, 1:, :, 1] - at[:, :-1, :, 1] == CELL[1]).all()
    assert (at[1, ..., 1] == at[0, ..., 1]).all() and (at[1, ..., 0] > at[0, ..., 0].max()).all()
    assert said(drawn.brackets) == ["head A", "head B"] * 2
    for label in drawn.brackets:
        head = said([label])[0][-1]
        inside = (at[..., 0] >= label.x) & (at[..., 0] < label.x + label.width)
        assert set(np.unique(np.nonzero(inside)[2])) == set(range(5) if head == "A" else range(5, 10))
    assert said(drawn.blocks) == ["sentence 1", "sentence 2"]
    assert said(drawn.rows) == [word for words in EX.words for word in words]
    assert [label.y for label in drawn.rows] == at[:, :, 0, 1].ravel().tolist()


def test_cutting_opens_a_gap_and_nothing_else():
    first, second = (
        spots(step, picture.pieces[0]) for step, picture in zip(SPLIT.steps[:2], frames(SPLIT), strict=False)
    )
    moved = (second - first).reshape(2, 4, 2, 5, 2)
    assert (moved[:, :, 0] == 0).all() and (moved[:, :, 1] == (SLIT, 0)).all()


def test_permuting_gathers_head_bs_lines_below_head_as():
    drawn = frames(SPLIT)[2]
    at = spots(SPLIT.steps[2], drawn.pieces[0]).reshape(2, 2, 4, 5, 2)
    assert (at[:, 1, 0, :, 1] > at[:, 0, 3, :, 1]).all() and (at[:, 1, ..., 0] == at[:, 0, ..., 0]).all()
    assert said(drawn.blocks) == [f"sentence {s} · head {h}" for s in (1, 2) for h in "AB"]
    assert said(drawn.rows)[:8] == list(EX.words[0]) * 2


@pytest.mark.parametrize("room", [WIDE, NARROW])
def test_folding_leaves_the_picture(room):
    before, after = frames(SPLIT, room)[2:]
    assert (spots(SPLIT.steps[2], before.pieces[0]) == spots(SPLIT.steps[3], after.pieces[0])).all()
    assert before.blocks == after.blocks


def test_the_straight_reshape_sets_the_same_text_in_lines_of_five():
    step, drawn = STRAIGHT.steps[-1], frames(STRAIGHT)[-1]
    at = spots(step, drawn.pieces[0])
    columns = at.reshape(2, 8, 5, 2)  # a sentence's numbers in one column, line by line
    assert (columns[:, :, 1:, 0] - columns[:, :, :-1, 0] == CELL[0]).all()
    assert (np.diff(columns[:, :, 0, 1], axis=1) > 0).all() and (
        columns[1, 0, 0, 0] > columns[0, :, -1, 0]
    ).all()
    assert step.ids.flatten().tolist() == list(range(80))
    assert (
        said(drawn.rows)[:4] == ["[0]", "[1]", "[2]", "[3]"] and said(drawn.blocks)[0] == "[0] · sentence 1"
    )


def test_wrong_blocks_ask_whether_they_are_what_they_should_be():
    drawn = pictures(STRAIGHT, WIDE, True, compare(SPLIT, STRAIGHT))[-1]
    assert said(drawn.blocks) == [
        f"[{k}] · sentence {s} · head {h}?"
        for k, (s, h) in enumerate([(1, "A"), (1, "B"), (2, "A"), (2, "B")])
    ]
    right = pictures(SPLIT, WIDE, True, compare(SPLIT, SPLIT))[-1]
    assert said(right.blocks)[0] == "sentence 1 · head A"


def whole_layer(X):
    """As in notebook 06."""
    layer, mask = EX.layer, mha.length_mask(EX.valid_lens, 4).repeat_interleave(2, 0)
    q, k, v = split(layer.W_q(X)), split(layer.W_k(X)), split(layer.W_v(X))
    weights = (q @ k.transpose(1, 2) / 5**0.5).masked_fill(~mask, -torch.inf).softmax(-1)
    merged = (weights @ v).reshape(2, 2, 4, 5).permute(0, 2, 1, 3).reshape(2, 4, 10)
    return layer.W_o(merged)


def merge(X):
    return split(X).reshape(2, 2, 4, 5).permute(0, 2, 1, 3).reshape(2, 4, 10)


CHAINS = {
    "split": (split, X),
    "merge": (merge, X),
    "whole layer": (whole_layer, EX.X),
    "flatten": (lambda X: X.flatten(), X),
    "flatten and back": (lambda X: X.flatten().view(2, 4, 10), X),
    "sentences joined": (lambda X: X.flatten(0, 1), X),
    "words joined": (lambda X: X.flatten(1), X),
    "cut twice": (lambda X: X.view(2, 2, 2, 10).view(2, 2, 2, 2, 5), X),
    "unsqueeze": (lambda X: X.unsqueeze(1).unsqueeze(-2).squeeze(), X),
    "views": (lambda X: X.view(8, 10).view(8, 2, 5).view(2, 4, 2, 5), X),
    "clone": (lambda X: X.clone().contiguous(), X),
    "split of one": (lambda X: X.reshape(4, 2, 5).transpose(0, 1), X[0]),
    "split of one, merged": (
        lambda X: X.reshape(4, 2, 5).transpose(0, 1).transpose(0, 1).reshape(4, 10),
        X[0],
    ),
    "five heads": (lambda X: X.view(2, 4, 5, 2).transpose(1, 2).flatten(0, 1), X),
    "one head": (lambda X: X.view(2, 4, 1, 10).transpose(1, 2).flatten(0, 1), X),
    "heads first": (lambda X: X.view(2, 4, 2, 5).permute(2, 0, 1, 3).flatten(0, 1), X),
    "heads first, merged": (
        lambda X: X.view(2, 4, 2, 5).permute(2, 0, 1, 3).permute(1, 2, 0, 3).flatten(2),
        X,
    ),
    "transposed": (lambda X: X.mT.contiguous().view(20, 4), X),
    "transposed twice": (lambda X: X.mT.mT.flatten(0, 1), X),
    "three sentences": (
        lambda X: X.view(3, 2, 2, 4).transpose(1, 2).flatten(0, 1),
        torch.arange(48.0).view(3, 2, 8),
    ),
    "four heads": (
        lambda X: X.view(2, 3, 4, 3).transpose(1, 2).reshape(8, 3, 3),
        torch.arange(72.0).view(2, 3, 12),
    ),
    "unflatten": (lambda X: X.unflatten(-1, (2, 5)).movedim(2, 1).flatten(0, 1), X),
    "stack of pieces": (lambda X: torch.stack(X.chunk(2, -1), 1).flatten(0, 1), X),
    "cat of pieces": (lambda X: torch.cat(X.chunk(2, -1), 0).view(2, 2, 4, 5).flatten(0, 1), X),
    "our split": (lambda X: mha.split_heads(X, 2), X),
    "our merge": (lambda X: mha.merge_heads(mha.split_heads(X, 2), 2), X),
    "a matrix": (lambda X: X.flatten().view(3, 4), torch.arange(12.0).view(3, 4)),
    "a matrix, cut": (lambda X: X.view(3, 2, 2).view(3, 4), torch.arange(12.0).view(3, 4)),
    "a vector": (lambda X: X.view(2, 6).view(2, 3, 2), torch.arange(12.0)),
    "five axes": (lambda X: X.flatten(0, 1).flatten(1, 2), torch.arange(48.0).view(2, 2, 3, 2, 2)),
    "part, then fold": (lambda X: X[:, :3].reshape(2, 3, 2, 5).flatten(0, 1), X),
    "add": (lambda X: (X + 1).view(2, 4, 2, 5).transpose(1, 2).flatten(0, 1), X),
    "expand": (lambda X: X.unsqueeze(1).expand(2, 2, 4, 10).flatten(0, 1), X),
}


def moved(recording, room):
    """How many cells move by more than how many gaps, over all steps that keep the order of reading."""
    drawn = frames(recording, room)
    places = [
        spots(step, piece)
        for frame, picture in zip(recording.frames, drawn, strict=True)
        for step, piece in zip(frame.steps, picture.pieces, strict=True)
    ]
    far = [0.0]
    number = 0
    for frame in recording.frames:
        for step in frame.steps:
            for parent in frame.parents:
                if same_order(recording.steps[parent], step):
                    far += np.abs(places[number] - places[parent]).max(1).tolist()
            number += 1
    return lambda gaps: int((np.array(far) > gaps * SLIT + 0.01).sum())


# A line that is cut into n pieces opens n - 1 gaps, and the last piece moves by all of them.
CUT_OFTENER = {"five heads": 4, "four heads": 3, "a vector": 2}


@pytest.mark.parametrize("room", [WIDE, NARROW])
@pytest.mark.parametrize("name", CHAINS)
def test_at_a_step_that_keeps_the_order_no_cell_moves_by_more_than_the_gaps_of_its_line(name, room):
    count = moved(watch(*CHAINS[name]), room)
    assert count(CUT_OFTENER.get(name, 1)) == 0


def test_no_line_is_longer_than_one_that_some_step_has_by_itself():
    """Both could stand in one line of twenty; (2, 10) that becomes (4, 5) is two texts all the same."""
    recording = watch(lambda X: X.view(4, 5), X[0, :2])
    drawn = zip(recording.steps, frames(recording), strict=True)
    lines = [len(np.unique(spots(step, picture.pieces[0])[:, 1])) for step, picture in drawn]
    assert lines == [2, 4]


def test_there_are_thirty_chains():
    assert len(CHAINS) >= 30 and set(CUT_OFTENER) < set(CHAINS)


@st.composite
def groupings(draw):
    """Shapes of one tensor: some axes, cut and joined anew in each, its lines kept, or cut once."""
    atoms = draw(st.lists(st.sampled_from([2, 3]), min_size=1, max_size=4))
    line = draw(st.sampled_from([(4,), (2, 5), (2, 3), (6,)]))
    shapes = []
    for _ in range(draw(st.integers(2, 4))):
        shape = [1]
        for atom in atoms:
            if draw(st.booleans()):
                shape[-1] *= atom
            else:
                shape.append(atom)
        shapes.append((*shape, *(line if draw(st.booleans()) else (int(np.prod(line)),))))
    return shapes


@settings(max_examples=150, deadline=None)
@given(groupings(), st.sampled_from([WIDE, NARROW]))
def test_whatever_is_cut_and_joined_no_cell_moves_by_more_than_a_gap_while_lines_are_kept(shapes, room):
    def regrouped(X):
        for shape in shapes[1:]:
            X = X.view(shape)
        return X

    given_ = torch.arange(float(np.prod(shapes[0]))).view(shapes[0])
    assert moved(watch(regrouped, given_), room)(1) == 0


@pytest.mark.parametrize(
    ("fn", "given_"),
    [
        pytest.param(lambda X: X.reshape(4, 4, 5), (X,), id="lines of ten become lines of five"),
        pytest.param(lambda X: X.view(2, 10, 4), (X,), id="lines of ten become lines of four"),
        pytest.param(lambda X: X.view(4, 5), (X[0, :2],), id="a matrix gets a row's half as its row"),
        pytest.param(lambda X, Y: Y.view(8, 10), (X, X + 80), id="the first of two no longer stands above"),
        pytest.param(
            lambda X: X.view(3, 4, 2).view(4, 3, 2), (X[0, :, :6].flatten(),), id="blocks of four, of three"
        ),
    ],
)
def test_cells_move_where_no_layout_can_keep_them(fn, given_):
    assert moved(watch(fn, given_ if len(given_) > 1 else given_[0]), WIDE)(1) > 0


@pytest.mark.parametrize("room", [WIDE, NARROW])
def test_at_the_exchange_head_a_stays_in_each_sentence(room):
    """Sentence 2 does not move down for head B of sentence 1, also where it stands below."""
    before, after = (spots(SPLIT.steps[k], frames(SPLIT, room)[k].pieces[0]) for k in (1, 2))
    cut, exchanged = before.reshape(2, 4, 2, 5, 2), after.reshape(2, 2, 4, 5, 2)
    assert (cut[:, :, 0] == exchanged[:, 0]).all()
    names = [[b for b in frames(SPLIT, room)[k].blocks if "2" in b.parts[0].text][0] for k in (1, 2)]
    assert abs(names[0].y - names[1].y) <= LABEL


@pytest.mark.parametrize("room", [WIDE, NARROW])
def test_the_whole_example_fits(room):
    assert max(picture.size[0] for picture in frames(SPLIT, room)) <= room
    assert max(picture.size[1] for picture in frames(SPLIT, room)) <= (300 if room == WIDE else 560)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(1, 5), max_size=6), st.sampled_from([WIDE, NARROW]), st.booleans())
def test_no_two_cells_overlap_and_all_are_inside(shape, room, labels):
    recording = watch(lambda X: X.clone(), torch.zeros(shape))
    drawn = frames(recording, room, labels)[0]
    at = spots(recording.steps[0], drawn.pieces[0])
    assert len({(round(x), round(y)) for x, y in at}) == len(at)
    rows = sorted(at.tolist(), key=lambda p: (p[1], p[0]))
    for (x, y), (u, v) in zip(rows, rows[1:], strict=False):
        assert v >= y + CELL[1] - 0.01 or (v == y and u - x >= CELL[0] - 0.01)
    wide, high = drawn.size
    assert (
        (at >= 0).all()
        and (at[:, 0] <= wide - CELL[0] + 0.01).all()
        and (at[:, 1] <= high - CELL[1] + 0.01).all()
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5))
def test_labels_do_not_lie_on_cells(shape):
    recording = watch(lambda X: X.clone(), torch.zeros(shape), num_heads=2)
    drawn = frames(recording)[0]
    for u, v in spots(recording.steps[0], drawn.pieces[0]):
        for x, y, wide, _ in (*drawn.blocks, *drawn.brackets):
            assert not (x < u + CELL[0] and u < x + wide and y < v + CELL[1] - 0.1 and v < y + 20)
        for x, y, wide, _ in drawn.rows:
            assert abs(v - y) > 1 or u >= x + wide or u + CELL[0] <= x


def test_on_a_phone_each_sentence_of_a_whole_layer_stays_and_no_name_is_cut_off():
    tops = set()
    for picture in frames(watch(whole_layer, EX.X), NARROW):
        second = [label for label in picture.blocks if label.parts[0].text == "sentence 2"]
        tops.add(second[0].y + (LABEL if picture.brackets else 0))
        assert all(label.x + label.width <= picture.size[0] for label in (*picture.blocks, *picture.rows))
        assert len({label.x for label in picture.blocks}) == 1  # all below each other
    assert len(tops) == 1


def test_several_tensors_stand_apart_with_their_names():
    recording = watch(lambda q, k: k, (torch.zeros(2, 3), torch.zeros(4, 3)))
    drawn = frames(recording)[0]
    first, second = (spots(*each) for each in zip(recording.steps, drawn.pieces, strict=False))
    assert second[:, 1].min() > first[:, 1].max() + CELL[1]
    assert said(drawn.blocks) == ["q", "k"]


@pytest.mark.parametrize("size", [80, 97])
def test_a_long_single_axis_wraps(size):
    recording = watch(lambda X: X.clone(), torch.zeros(size))
    drawn = frames(recording)[0]
    at = spots(recording.steps[0], drawn.pieces[0])
    assert (
        drawn.size[0] <= WIDE
        and len(np.unique(at[:, 1])) > 1
        and len({tuple(p) for p in at.tolist()}) == size
    )


LABELLED = {  # functions whose cells stand in other places than their axes would make believe
    "heads in other order": lambda X: torch.cat([X[..., 5:], X[..., :5]], -1),
    "flip": lambda X: X.flip(1),
    "roll": lambda X: X.roll(1, 1),
    "part": lambda X: X[:, 2:],
    "picked": lambda X: X[:, [3, 1]],
    "repeat": lambda X: X.repeat(2, 1, 1),
    "grouped heads": lambda X: X.view(2, 4, 2, 5).transpose(1, 2).repeat_interleave(2, 1),
    "stacked": lambda X: torch.stack([X[..., 5:], X[..., :5]], 1),
    "flip, then arithmetic": lambda X: X.flip(1) * 2,
    "repeat, then arithmetic": lambda X: X.repeat(2, 1, 1) * 2,
    "sentences in other order, then arithmetic": lambda X: X.flip(0) * 2,
}


@pytest.mark.parametrize("name", LABELLED)
def test_a_name_stands_only_where_every_cell_agrees(name):
    """Read back from the numbers, which are the addresses: word (n // 10) % 4, head (n % 10) // 5."""
    recording = watch(LABELLED[name], X, words=EX.words, num_heads=2)
    step, drawn = recording.steps[-1], frames(recording)[-1]
    at, numbers = spots(step, drawn.pieces[0]), step.values.flatten()
    numbers = (numbers / (2 if "arithmetic" in name else 1)).long().numpy()
    for label in drawn.rows:
        beside = numbers[(at[:, 1] == label.y) & (at[:, 0] > label.x)]
        later = [other.x for other in drawn.rows if other.y == label.y and other.x > label.x]
        if later:
            beside = numbers[(at[:, 1] == label.y) & (at[:, 0] > label.x) & (at[:, 0] < min(later))]
        text = said([label])[0]
        names = {EX.words[n // 40][n // 10 % 4] for n in beside}, {f"word {n // 10 % 4 + 1}" for n in beside}
        assert text.startswith("[") or {text} in names
    for label in drawn.brackets:
        under = (at[:, 0] >= label.x) & (at[:, 0] < label.x + label.width) & (at[:, 1] > label.y)
        assert {"AB"[n % 10 // 5] for n in numbers[under]} == {said([label])[0][-1]}
    assert not any("sentence 3" in text or "head C" in text for text in said(drawn.blocks))
