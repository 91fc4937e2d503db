"""A dot for each run, at its value."""

import pytest

from mha_lib.labs.pictures import plot_runs


def test_every_run_is_a_dot_in_the_row_of_its_group():
    groups = {"one head": [0.7, 0.5, 0.6], "two heads": [0.125]}
    figure = plot_runs(groups, "loss")
    ax = figure.axes[0]
    assert [list(line.get_xdata()) for line in ax.get_lines()] == list(groups.values())
    assert all(round(y) == row for row, line in enumerate(ax.get_lines()) for y in line.get_ydata())
    assert [label.get_text() for label in ax.get_yticklabels()] == list(groups)
    assert [text.get_text() for text in ax.texts] == ["0.50 to 0.70", "0.12"]


def test_a_marked_value_stands_in_its_row_and_what_is_below_zero_is_seen():
    figure = plot_runs({"a": [-0.5, 0.25], "b": [0.125]}, "change", marked={"b": 0.125, "a": -0.5})
    ax = figure.axes[0]
    marks = next(line for line in ax.get_lines() if line.get_marker() == "D")
    assert list(marks.get_xdata()) == [-0.5, 0.125] and list(marks.get_ydata()) == [0, 1]
    assert ax.get_xlim()[0] <= -0.5 and [text.get_text() for text in ax.texts] == ["−0.50 to 0.25", "0.12"]
    assert any(list(line.get_xdata()) == [0, 0] for line in ax.get_lines())


def test_the_text_holds_no_measured_digit():
    assert repr(plot_runs({"a": [0.123]}, "loss")) == "[picture] loss, a dot for each run: a."


@pytest.mark.parametrize("groups", [{}, {"a": []}])
def test_nothing_to_draw_is_refused(groups):
    with pytest.raises(ValueError, match="groups: expected one run or more"):
        plot_runs(groups, "loss")


def test_diagrams_can_be_read_on_a_dark_page_too():
    from mha_lib.labs.cost import plot_growth

    for figure in (
        plot_runs({"a": [0.1, 0.2]}, "loss"),
        plot_growth([1, 2], {"a": [1, 2]}, "bytes", "words"),
    ):
        ax = figure.axes[0]
        assert figure.get_facecolor()[3] == 0 and ax.get_facecolor()[3] == 0, "no white sheet"
        letters = [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, *ax.texts]
        assert all(text.get_path_effects() for text in letters)
