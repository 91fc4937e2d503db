"""Tables: rounding, names, and words that look like markup."""

import pytest
import torch

from mha_lib.look.table import table


def test_numbers_are_rounded_and_minus_zero_is_zero():
    shown = table(torch.tensor([[-0.001, 0.555], [2.0, 3.0]]), ["a", "b"], ["x", "y"], corner="word")
    assert [line.split() for line in repr(shown).splitlines()] == [
        ["word", "x", "y"],
        ["a", "0.00", "0.56"],
        ["b", "2.00", "3.00"],
    ]


def test_integers_stay_integers():
    assert repr(table(torch.tensor([[1, 20]]), ["a"], ["x", "y"])).split() == ["x", "y", "a", "1", "20"]


def test_markup_is_shown_as_text():
    assert "<b>" not in table([["<b>"]], ["<i>"], ["a'b\"c&"])._repr_html_()


def test_names_must_fit():
    with pytest.raises(ValueError, match="rows, columns"):
        table(torch.zeros(2, 2), ["a"], ["x", "y"])
    with pytest.raises(ValueError, match="two axes"):
        table(torch.zeros(2, 2, 2), ["a", "b"], ["x", "y"])
