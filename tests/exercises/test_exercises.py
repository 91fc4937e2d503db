"""The frame of the checks: stubs, exceptions and first differences."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import mha_lib as mha
from mha_lib import exercises
from mha_lib.exercises import compare


@pytest.fixture
def double(monkeypatch):
    def check_double(attempt):
        yield compare(attempt(torch.arange(3.0)), torch.tensor([0.0, 2.0, 4.0]))

    topic = SimpleNamespace(check_double=check_double)
    monkeypatch.setattr(exercises, "import_module", lambda *names: topic)
    return "numbers.double"


def stub(X): ...


def stub_with_words(X):
    """Double X."""
    ...


def stub_that_returns(X):
    return ...


class Stub(nn.Module):
    def forward(self, X): ...


@pytest.mark.parametrize("attempt", [None, ..., stub, stub_with_words, stub_that_returns, Stub, Stub()])
def test_untouched_stubs_are_not_wrong(double, attempt):
    verdict = mha.check(double, attempt)
    assert verdict.status == "not tried yet" and not verdict


def test_right_wrong_and_broken(double):
    assert mha.check(double, lambda X: X + X)
    wrong = mha.check(double, lambda X: X)
    assert wrong.status == "not yet" and "index (1,): expected 2.0, got 1.0" in wrong.message
    assert "RuntimeError" in mha.check(double, lambda X: X.view(7)).message
    assert "return" in mha.check(double, lambda X: print(end="")).message
    assert "shape should be (3,)" in mha.check(double, lambda X: X[None]).message


def test_nan_is_a_difference():
    assert compare(torch.tensor([1.0, float("nan")]), torch.ones(2)) is not None


def test_words_of_a_learner_are_shown_as_text(double):
    def attempt(X):
        raise ValueError("<script>")

    assert "<script>" not in mha.check(double, attempt)._repr_html_()


@pytest.mark.parametrize("name", ["nowhere.nothing", "splitting.nothing", "splitting", ""])
def test_unknown_exercise(name):
    with pytest.raises(ValueError, match="name of an exercise"):
        mha.check(name, 1)
