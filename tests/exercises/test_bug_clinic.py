"""The bug clinic: the ward is as its answers say, kills counts, and its lab's claim holds."""

import math

import torch
from attempts.bug_clinic import WARD, with_lengths, words

import mha_lib as mha
from mha_lib.exercises.bug_clinic import UNSEEN, kills, ward
from mha_lib.labs.training import next_digit, train


def test_the_ward_is_as_the_answers_say():
    for letter, layer in ward().items():
        assert mha.diagnose(layer).name == WARD[letter]


def test_kills_says_what_lives():
    found = kills(with_lengths(0, 2, 3))
    assert set(found.missed) == UNSEEN and not found.refused
    assert len(found.caught) == len(mha.bugs) - len(UNSEEN)
    assert "catches 39 of 46" in repr(found) and "values_detached" in repr(found)

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
