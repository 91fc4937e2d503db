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


def test_the_text_holds_no_measured_digit():
    assert repr(plot_runs({"a": [0.123]}, "loss")) == "[picture] loss, a dot for each run: a."


@pytest.mark.parametrize("groups", [{}, {"a": []}])
def test_nothing_to_draw_is_refused(groups):
    with pytest.raises(ValueError, match="groups: expected one run or more"):
        plot_runs(groups, "loss")
