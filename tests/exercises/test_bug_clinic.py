"""Checks of notebook 08: the solution passes, known mistakes get their hint; tests kill mutants."""

import math

import pytest
import torch

import mha_lib as mha
from mha_lib.exercises.bug_clinic import _WARD, UNSEEN, kills, ward
from mha_lib.labs.training import next_digit, train


def judged(name, attempt, hint):
    verdict = mha.check(name, attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message, verdict


def stub(*args): ...


@pytest.mark.parametrize("name, attempt", [("names", ...), ("mend", stub), ("test", stub)])
def test_stubs(name, attempt):
    assert mha.check(f"bug_clinic.{name}", attempt).status == "not tried yet"


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (_WARD, None),
        ({**_WARD, "D": "no_scale"}, "Patient D has nothing of the kind"),
        ({**_WARD, "A": "right"}, "Patient A is not well"),
        ({**_WARD, "A": "lengths_ignored"}, "not with lengths_ignored"),
        ({**_WARD, "B": "a cold"}, "no name in mha.bugs"),
        ({**_WARD, "C": ...}, "no name yet"),
        ({"A": "right"}, "for each of A, B, C and D"),
        ("right", "A dictionary"),
    ],
)
def test_names(attempt, hint):
    judged("bug_clinic.names", attempt, hint)


def test_the_ward_is_as_the_answers_say():
    for letter, layer in ward().items():
        assert mha.diagnose(layer).name == _WARD[letter]


def listing(layer, X, lengths, scale=0.5, mask_first=True, permute=True):
    B, L, D = X.shape
    h, d = layer.num_heads, D // layer.num_heads
    q, k, v = (W(X).reshape(B, L, h, d).permute(0, 2, 1, 3) for W in (layer.W_q, layer.W_k, layer.W_v))
    scores = q @ k.transpose(2, 3) / d**scale
    lengths = torch.full((B,), L) if lengths is None else lengths
    seen = (torch.arange(L) < lengths[:, None])[:, None, None]
    if mask_first:
        weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
    else:
        weights = scores.softmax(-1) * seen
    context = weights @ v
    return layer.W_o((context.permute(0, 2, 1, 3) if permute else context).reshape(B, L, D))


@pytest.mark.parametrize(
    "kwargs, hint",
    [
        ({}, None),
        ({"scale": -1}, "d ** -1"),
        ({"scale": 1}, "square root is missing"),
        ({"mask_first": False}, "One is left. The weights are multiplied by the mask"),
        ({"permute": False}, "without permuting"),
        ({"scale": -1, "mask_first": False}, "Without lengths it behaves like scale_multiplied"),
        ({"scale": -1, "mask_first": False, "permute": False}, "More than one is left"),
    ],
)
def test_mend(kwargs, hint):
    judged("bug_clinic.mend", lambda layer, X, lengths: listing(layer, X, lengths, **kwargs), hint)


def test_calling_the_layer_is_no_mending():
    judged("bug_clinic.mend", lambda layer, X, lengths: layer(X, X, X, lengths), "calls the layer itself")


def words(layer, B=3):
    return torch.randn(B, 4, layer.W_q.in_features, generator=torch.Generator().manual_seed(1))


def with_lengths(*lengths, without=True, atol=1e-5):
    def test(layer, right):
        x = words(layer, len(lengths))
        for lens in (None, torch.tensor(lengths)) if without else (torch.tensor(lengths),):
            torch.testing.assert_close(layer(x, x, x, lens), right(x, x, x, lens), atol=atol, rtol=0)

    return test


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (with_lengths(0, 2, 3), None),
        (with_lengths(1, 2, 3), "fill_minus_1e9. Give one sentence the length 0"),
        (with_lengths(0, 2, 3, without=False), "without lengths, too"),
        (with_lengths(2, 2, 2), "unequal lengths"),
        (with_lengths(4, 4, 4), "Still alive"),
        (lambda layer, right: layer(words(layer), words(layer), words(layer)).shape == (3, 4, 10), "refuses"),
        (lambda layer, right: True, "It catches 0 of 39"),
        (lambda layer, right: False, "refuses a right layer"),
    ],
)
def test_mutants(attempt, hint):
    judged("bug_clinic.test", attempt, hint)


def test_kills_says_what_lives():
    found = kills(with_lengths(0, 2, 3))
    assert set(found.missed) == UNSEEN and len(found.caught) == len(mha.bugs) - 3 and not found.refused
    assert "catches 36 of 39" in repr(found) and "values_detached" in repr(found)

    def by_gradient(layer, right):
        x, slopes = words(layer), []
        for one in (layer, right):
            slopes.append(torch.autograd.grad(one(x, x, x).sum(), one.W_v.weight, allow_unused=True)[0])
        torch.testing.assert_close(*slopes)

    assert "values_detached" in kills(by_gradient).caught


def test_a_wrong_merge_learns_random_digits():
    """The lab's claim: the right layer cannot get below ln 10, a wrong merge does, the mask after too."""

    def build(name):
        return lambda: mha.bugs[name].make(mha.MultiHeadAttention(32, 32, 32, 32, 2))

    assert train(next_digit(), 2, steps=100, seed=1).loss > math.log(10) - 0.03  # seed 0 is the notebook's
    for name in ("merge_without_permute", "mask_after_softmax"):
        assert train(next_digit(), build(name), steps=110, seed=1).loss < 1.8
