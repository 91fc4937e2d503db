"""plot_moves: one figure with every step, its numbers where torch has them, nothing clipped."""

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.collections import PolyCollection

import mha_lib as mha
from mha_lib.moves.looks import numbers_of

X = torch.arange(80.0).reshape(2, 4, 10)


def split(X):
    return X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5)


RIGHT = mha.watch(split, X)


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def numbers(figure):
    """The numbers in the cells, in the order of reading: row by row over the whole figure."""
    found = [(t.get_position(), t.get_text()) for t in figure.axes[0].texts if t.get_text().isdigit()]
    return [int(text) for (_, _), text in sorted(found, key=lambda item: (round(item[0][1]), item[0][0]))]


def test_every_step_is_there_with_its_operation_and_sentence():
    said = " ".join(texts(mha.plot_moves(RIGHT)))
    for step in RIGHT.steps:
        assert step.operation in said and str(step.shape) in said and str(step.stride) in said
    assert "sentence 2 · head B" in said and said.count("stands still") == 2


def test_numbers_stand_where_torch_has_them():
    last = mha.watch(lambda X: X.mT, torch.arange(6.0).reshape(1, 2, 3))
    figure = mha.plot_moves(last, columns=1)
    assert numbers(figure) == [0, 1, 2, 3, 4, 5, 0, 3, 1, 4, 2, 5]


def test_all_cells_of_all_steps_are_drawn():
    figure = mha.plot_moves(RIGHT)
    cells = [c for c in figure.axes[0].collections if isinstance(c, PolyCollection)]
    assert [len(c.get_paths()) for c in cells] == [80, 80] * 4  # the picture and the memory


def test_nothing_is_clipped():
    figure = mha.plot_moves(RIGHT)
    figure.draw_without_rendering()
    width, height = figure.bbox.width, figure.bbox.height
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height, text.get_text()


def test_numbers_and_labels_can_be_read_from_the_last_row():
    sizes = {text.get_text(): text.get_size() / 0.75 for text in mha.plot_moves(RIGHT).axes[0].texts}
    assert all(size >= 12 for size in sizes.values()) and sizes["sentence 1 · head A"] >= 14


def test_beside_marks_the_wrong_cells_and_says_how_many():
    figure = mha.plot_moves(RIGHT, mha.watch(lambda X: X.reshape(4, 4, 5), X))
    assert "60 of 80" in figure.alt and "60 of 80" in texts(figure)[0]
    marks = figure.axes[0].lines[-1] if len(figure.axes[0].lines[-1].get_xdata()) == 60 else None
    assert marks or any(len(line.get_xdata()) == 60 for line in figure.axes[0].lines)


def test_the_figure_fits_a_slide_and_its_numbers_are_read_there():
    figure = mha.plot_moves(RIGHT)
    width, height = figure.get_size_inches() * 96
    scale = min(1280 / width, 720 / height)
    sizes = [text.get_size() / 0.75 for text in figure.axes[0].texts if text.get_text().isdigit()]
    assert min(sizes) * scale >= 12 and height / width > 0.5


@pytest.mark.parametrize("scale", [1, 1 / 7])
def test_a_sentence_begins_at_one_place_in_every_step(scale):
    """As in the page; longer numbers leave no room for sentences beside each other."""
    figure = mha.plot_moves(mha.watch(split, X * scale))
    places = {}
    for text in figure.axes[0].texts:
        places.setdefault(text.get_text(), []).append(text.get_position())
    first = numbers_of(mha.watch(split, X * scale).steps[0])
    starts, others = sorted(places[first[0]]), sorted(places[first[40]])
    away = {(round(b[0] - a[0]), round(b[1] - a[1])) for a, b in zip(starts, others, strict=True)}
    assert len(starts) == 4 and len(away) == 1 and (min(away)[1] == 0) == (scale == 1)


def test_it_shows_itself_without_pyplot_and_has_words_for_those_who_cannot_see():
    """matplotlib/ipympl#4: no figure is left open."""
    figure = mha.plot_moves(RIGHT)
    assert plt.get_fignums() == []
    data, _ = figure._repr_mimebundle_()
    assert data["image/png"][:4] == b"\x89PNG" and ".permute(0, 2, 1, 3) (2, 2, 4, 5)" in data["text/plain"]


@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 0, 3), (2, 3, 2, 2, 3), (12, 20, 30)])
def test_any_shape_is_drawn(shape):
    figure = mha.plot_moves(mha.watch(lambda X: X.clone(), torch.zeros(shape)))
    assert max(figure.get_size_inches()) < 40
    figure.draw_without_rendering()


@pytest.mark.filterwarnings("error:Glyph")
def test_padding_dollars_and_chinese_are_text():
    """matplotlib/matplotlib#14269: no boxes, no glyph warning."""
    recording = mha.watch(lambda X: torch.nn.functional.pad(X, (1, 1)), X, axes=("$x$", "<b>", "注意"))
    figure = mha.plot_moves(recording)
    figure.draw_without_rendering()
    assert any("$x$ 1" in text for text in texts(figure))


def test_too_many_cells_and_other_things_are_refused():
    with pytest.raises(mha.InputValueError, match="100,000"):
        mha.plot_moves(mha.watch(lambda X: X.mT, torch.zeros(2, 300, 200)))
    with pytest.raises(mha.InputTypeError, match="watch"):
        mha.plot_moves(X)
