"""The frame of the checks: stubs, exceptions, first differences, fresh inputs, faults of our own."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import mha_lib as mha
from mha_lib import exercises
from mha_lib.exercises import Verdict, documents, splitting
from mha_lib.exercises.compare import difference
from mha_lib.exercises.exercise import Exercise
from mha_lib.exercises.verdict import Status
from mha_lib.text import read


def a_stub(*anything): ...


def a_stub_with_words(X):
    """Double X."""
    ...


def a_stub_that_returns(X):
    return ...


class Stub(nn.Module):
    def forward(self, X): ...


ALL = [name for names in read("learning")["notebooks"].values() for name in names]


@pytest.mark.parametrize("name", ALL)
def test_what_stands_in_the_notebook_is_not_wrong(name):
    for attempt in (None, ..., a_stub, a_stub_with_words, a_stub_that_returns, Stub, Stub()):
        verdict = mha.check(name, attempt)
        assert verdict.status is Status.NOT_TRIED and not verdict


@pytest.fixture
def double(monkeypatch):
    """An exercise that changes what it was given, and a record of what attempts got."""

    def right(X, Y):
        X *= 2
        return X + Y

    exercise = Exercise(right, lambda: [(torch.ones(n), torch.arange(n) / 3) for n in (3, 5)], {})
    monkeypatch.setattr(splitting, "split", exercise)
    monkeypatch.setitem(read("hints"), "splitting.split", {})
    return "splitting.split"


def test_each_call_gets_fresh_copies(double):
    seen = []

    def in_place(X, Y):
        seen.append((X.data_ptr(), Y.data_ptr(), X.clone()))
        X += X
        Y += X
        return Y

    assert mha.check(double, in_place) and mha.check(double, in_place)
    assert all(x != y and bool((given == 1).all()) for x, y, given in seen)


def test_right_wrong_and_broken(double):
    def said(attempt):
        return mha.check(double, attempt)

    wrong = said(lambda X, Y: X + Y)
    assert wrong.status is Status.NOT_YET and "index (0,): expected 2.0, got 1.0" in wrong.message
    assert (
        said(lambda X, Y: X.view(7)).mistake == "raised"
        and "RuntimeError" in said(lambda X, Y: X.view(7)).message
    )
    assert said(lambda X, Y: print(end="")).mistake == "no_return"
    assert "should be (3,)" in said(lambda X, Y: X[None]).message
    assert said(lambda X, Y: "words").mistake == "not_a_tensor" and said(7).mistake == "not_a_function"
    sizes = read("learning")["other_sizes"]
    assert sizes in said(lambda X, Y: 2 * X + Y if len(X) == 3 else X).message and sizes not in wrong.message


def test_a_fault_of_the_check_is_not_hidden(double, monkeypatch):
    def faulty(*args):
        raise ImportError("a package that the check needs")

    monkeypatch.setattr(
        splitting, "split", Exercise(faulty, lambda: [(1,)], {}, ask=lambda attempt, x: faulty())
    )
    with pytest.raises(ImportError, match="a package"):
        mha.check(double, lambda x: x)
    monkeypatch.setattr(exercises, "import_module", faulty)
    with pytest.raises(ImportError, match="a package"):
        mha.check("splitting.merge", lambda x: x)


@pytest.mark.parametrize(
    "name", ["nowhere.nothing", "splitting.nothing", "splitting.INPUTS", "splitting", "", "verdict.Hint"]
)
def test_unknown_exercise(name):
    with pytest.raises(ValueError, match="name of an exercise"):
        mha.check(name, 1)


def test_words_of_a_learner_are_shown_as_text(double):
    def attempt(X, Y):
        raise ValueError("<script>")

    assert "<script>" not in mha.check(double, attempt)._repr_html_()


@pytest.mark.parametrize(
    "got, want, kind",
    [
        (torch.tensor([1.0, float("nan")]), torch.ones(2), "number"),
        (np.ones(2), torch.ones(2), None),
        ([torch.tensor(1), 1.0], torch.ones(2), None),
        (torch.ones(2, requires_grad=True), torch.ones(2), None),
        ((torch.ones(2), 3), torch.ones(2), "returns_more"),
        ([1, "a"], torch.ones(2), "not_a_tensor"),
        (torch.ones(2), torch.ones(2).bool(), "not_boolean"),
        (np.ones(2, bool), torch.ones(2).bool(), None),
        ((1, 2), (1, 2, 3), "several"),
        ("ab", ("a", "b"), "several"),
        (torch.tensor([3, 4]), (3, 4), None),
        (3.0, 3, None),
        (3.5, 3, "value"),
        ("3", 3, None),
        (None, 3, "no_return"),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, "value"),
    ],
)
def test_difference(got, want, kind):
    found = difference(got, want)
    assert (found and found.kind) == kind
    if isinstance(want, dict):
        assert found.part == "b"


def test_a_difference_in_late_digits_shows_them():
    assert (
        "expected 0.10001, got 0.10004" in difference(torch.tensor([0.10004]), torch.tensor([0.10001])).text
    )


def test_a_verdict_is_compared_by_what_it_says():
    one, other = (Verdict("a.b", Status.NOT_YET, "x", "m", picture) for picture in (None, print))
    assert one == other and repr(one) == "✗ a.b: x"


def test_the_line_that_the_diagnosis_points_at_comes_with_the_hint(monkeypatch):
    line = SimpleNamespace(source="    scores = q @ k.mT")
    found = SimpleNamespace(name="no_scale", message="", line=line)
    monkeypatch.setattr(documents, "diagnose", lambda *args, **kwargs: found)
    verdict = mha.check("documents.rung", lambda layer, x: x)
    assert verdict.mistake == "bug" and verdict.message.endswith("from this line: scores = q @ k.mT")
