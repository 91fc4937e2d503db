"""The example's sizes, its readable heads, and that each call gives fresh parts."""

import pytest
import torch

import mha_lib as mha


def test_sizes_and_names():
    ex = mha.example()
    assert ex.X.shape == (2, 4, 10) and ex.numbers.flatten().tolist() == list(range(80))
    assert ex.valid_lens.tolist() == [3, 2] and ex.num_heads == 2
    assert [len(sentence) for sentence in ex.words] == [4, 4] and len(set(ex.features)) == 10
    for sentence, length in zip(ex.words, ex.valid_lens.tolist(), strict=True):
        assert [word == "(pad)" for word in sentence] == [i >= length for i in range(4)]


def test_head_a_looks_for_the_noun_and_head_b_at_the_word_before():
    ex = mha.example()
    _, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    for sentence, length in enumerate(ex.valid_lens.tolist()):
        noun = int(ex.X[sentence, :, ex.features.index("noun")].argmax())
        for word in range(length):
            head_a, head_b = weights[sentence, :, word]
            assert head_a.argmax() == noun and head_a.max() > 0.8
            assert head_b.argmax() == max(word - 1, 0) and head_b.max() > 0.8


def test_weights_are_small_whole_numbers_and_cross_the_cut_between_the_heads():
    ex = mha.example()
    maps = [ex.layer.W_q, ex.layer.W_k, ex.layer.W_v, ex.layer.W_o]
    assert all(torch.equal(m.weight, m.weight.round()) and m.weight.abs().max() <= 3 for m in maps)
    # A head reads all ten inputs, not the slice of X with its own five features.
    assert ex.layer.W_q.weight[:5, 5:].any() and ex.layer.W_k.weight[5:, :5].any()


def test_two_decimals_keep_clear_of_rounding_edges():
    ex = mha.example()
    _, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    beyond = (weights.double() * 100) % 1
    assert ((beyond - 0.5).abs() > 1e-3).all()


def test_each_call_is_fresh():
    first = mha.example()
    first.X.zero_()
    first.layer.W_q.weight.zero_()
    assert mha.example().X.any() and mha.example().layer.W_q.weight.any()
    with pytest.raises(AttributeError):
        first.X = torch.zeros(2, 4, 10)
