"""What is refused, and in which words."""

import pytest
import torch

import mha_lib as mha
from mha_lib.masks import combine_masks

T, F = True, False
LAYER = mha.MultiHeadAttention(6, 6, 6, 6, 3)
X = torch.zeros(2, 4, 6)


def refused(kind, call, *words):
    """The call raises `kind` from our family, with each word in the message."""
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, mha.MhaError)
    for word in words:
        assert word in str(caught.value), f"{word!r} is missing in: {caught.value}"


# ---- heads


@pytest.mark.parametrize("D, h", [(10, 3), (12, 5), (4, 0), (4, -2), (4, 8)])
def test_heads_that_do_not_divide(D, h):
    """facebookresearch/detr#499: in the constructor, naming both numbers."""
    for call in (
        lambda: mha.MultiHeadAttention(D, D, D, D, h),
        lambda: mha.documents.gpt.MultiHeadAttention(D, h),
        lambda: mha.documents.bert.SelfAttention(h, D, D),
        lambda: mha.split_heads(torch.zeros(1, 2, D), h),
    ):
        refused(ValueError, call, "num_heads", str(D), str(h), "Choose num_heads from [1, 2")


@pytest.mark.parametrize("h", [2.0, 10 / 5, "2", None])
def test_a_number_of_heads_is_an_int(h):
    """facebookresearch/detr#499, the kind: a float from a division (document 003's int(D / h))."""
    refused(TypeError, lambda: mha.MultiHeadAttention(10, 10, 10, 10, h), "num_heads", "int", repr(h))
    refused(TypeError, lambda: mha.split_heads(torch.zeros(2, 4, 10), h), "num_heads", "int")
    refused(TypeError, lambda: mha.merge_heads(torch.zeros(4, 4, 5), h), "num_heads", "int")


def test_a_stack_that_the_heads_do_not_divide():
    refused(
        ValueError, lambda: mha.merge_heads(torch.zeros(4, 3, 2), 3), "num_heads", "B·h = 4", "3", "[1, 2, 4]"
    )
    refused(ValueError, lambda: mha.merge_heads(torch.zeros(4, 3, 2), 0), "num_heads")


@pytest.mark.parametrize("shape", [(4,), (4, 6), (1, 2, 4, 6)])
def test_inputs_without_three_axes(shape):
    """jadore801120/attention-is-all-you-need-pytorch#179: says which axes it wants."""
    x = torch.zeros(shape)
    refused(ValueError, lambda: LAYER(x, x, x), "queries", "(B, L, D)", str(shape))
    refused(ValueError, lambda: LAYER(X, X, x), "values", "(B, L, D)", str(shape))
    refused(ValueError, lambda: mha.split_heads(x, 2), "(B, L, D)", str(shape))
    refused(ValueError, lambda: mha.merge_heads(x, 2), "(B·h, L, d)", str(shape))
    if len(shape) == 2:
        refused(ValueError, lambda: LAYER(x, x, x), "unsqueeze(0)")


def test_inputs_that_are_no_tensors():
    refused(TypeError, lambda: LAYER([[1.0]], X, X), "queries", "list", "torch.tensor")
    refused(TypeError, lambda: mha.split_heads([[1.0]], 2), "X", "list")
    refused(TypeError, lambda: mha.masked_softmax([0.0]), "scores", "list")


def test_inputs_at_odds_with_the_layer_or_with_each_other():
    refused(ValueError, lambda: LAYER(X[..., :5], X, X), "queries", "6 features", "(2, 4, 5)")
    refused(ValueError, lambda: LAYER(X, X[..., :5], X), "keys", "6 features")
    refused(ValueError, lambda: LAYER(X, X[:1], X), "keys", "a batch of 2", "(1, 4, 6)")
    refused(
        ValueError, lambda: LAYER(X, X, X[:, :3]), "values", "one value for each key", "3 values for 4 keys"
    )


def test_the_bare_attentions_check_too():
    attention = mha.DotProductAttention()
    q = torch.zeros(2, 3, 4)
    refused(ValueError, lambda: attention(q[0], q[0], q[0]), "(B, L, d)", "(3, 4)")
    refused(ValueError, lambda: attention(q, q[:1], q[:1]), "one B")
    refused(ValueError, lambda: attention(q, q, q[:, :2]), "as many values as keys")
    for need_weights in (False, True):
        narrow = q[..., :3]
        refused(
            ValueError, lambda n=need_weights, k=narrow: attention(q, k, q, need_weights=n), "keys", "4", "3"
        )


@pytest.mark.parametrize("dropout", [-0.1, 1.0, 1.5, float("nan")])
def test_a_dropout_that_is_no_probability(dropout):
    refused(ValueError, lambda: mha.MultiHeadAttention(4, 4, 4, 4, 2, dropout), "dropout", "[0, 1)")
    refused(ValueError, lambda: mha.AdditiveAttention(4, 4, 4, dropout), "dropout", str(dropout))


def test_a_scoring_that_is_not_there():
    refused(ValueError, lambda: mha.MultiHeadAttention(4, 4, 4, 4, 2, scoring="cosine"), "scoring", "cosine")


# ---- lengths


@pytest.mark.parametrize(
    "lens, kind, words",
    [
        (torch.tensor([5, 1]), ValueError, ("[0, 3]", "[5, 1]")),
        (torch.tensor([1, -1]), ValueError, ("[0, 3]", "[1, -1]")),
        (torch.tensor([[1, 9, 0], [1, 1, 1]]), ValueError, ("[0, 3]",)),
        (torch.tensor([2.5, 1.0]), TypeError, ("integers", "float32", ".long()")),
        (torch.tensor([T, F]), TypeError, ("integers", "bool")),
        (torch.tensor([[1], [2]]), ValueError, ("(B,) or (B, Lq)", "(2, 1)")),
        (torch.tensor(2), ValueError, ("(B,) or (B, Lq)", "()")),
        (torch.zeros(2, 3, 3, dtype=torch.long), ValueError, ("(2, 3, 3)",)),
        ([3, 2], TypeError, ("tensor", "list", "torch.tensor(valid_lens)")),
        (3, TypeError, ("tensor", "int")),
    ],
)
def test_lengths_that_make_no_sense(lens, kind, words):
    """fgnt/padertorch PR 92: refused by name, range and what came; through every door."""
    x = torch.zeros(2, 3, 6)
    for need_weights in (False, True):
        refused(kind, lambda n=need_weights: LAYER(x, x, x, lens, need_weights=n), "valid_lens", *words)
    refused(kind, lambda: mha.DotProductAttention()(x, x, x, lens), "valid_lens", *words)
    refused(kind, lambda: mha.length_mask(lens, 3), "valid_lens", *words)


def test_as_many_lengths_as_sentences():
    """fgnt/padertorch PR 92, the kind: one length must not be stretched over the batch."""
    for lens in (torch.tensor([1]), torch.tensor([1, 2, 3])):
        refused(ValueError, lambda n=lens: LAYER(X, X, X, n), "valid_lens", "B = 2", str(tuple(lens.shape)))


def test_a_length_for_each_query_counts_queries():
    refused(ValueError, lambda: LAYER(X, X, X, torch.ones(2, 3, dtype=torch.long)), "valid_lens", "Lq = 4")


# ---- masks


@pytest.mark.parametrize("mask", [[1, 1, 0], [0.0, 0.0, 1.0], [0.0, 0.0, float("-inf")], [1 + 0j, 0, 0]])
def test_masks_that_are_not_boolean(mask):
    """pytorch/pytorch#141018, #90534: a 0/1 float is not added; pytorch PR 33763: no ~ on integers."""
    mask, x = torch.tensor(mask), torch.zeros(1, 3, 6)
    words = ("attn_mask", "boolean", str(mask.dtype), "attn_mask.bool()")
    refused(TypeError, lambda: mha.masked_softmax(torch.zeros(1, 3), mask), *words)
    for need_weights in (False, True):
        refused(
            TypeError,
            lambda n=need_weights: LAYER(x, x, x, attn_mask=mask.expand(3, 3), need_weights=n),
            *words,
        )
    refused(TypeError, lambda: mha.DotProductAttention()(x, x, x, attn_mask=mask.expand(3, 3)), *words)


def test_a_mask_that_is_no_tensor():
    refused(TypeError, lambda: LAYER(X, X, X, attn_mask=[[True]]), "attn_mask", "list")


@pytest.mark.parametrize(
    "shape", [(), (4,), (3, 4), (4, 3), (3, 4, 4), (2, 4, 3), (2, 2, 4, 4), (1, 2, 3, 4, 4)]
)
def test_masks_of_a_shape_that_means_nothing(shape):
    """hyunwoongko/transformer#32: a clear error, never another mask. B=2, h=3, L=4."""
    mask = torch.ones(shape, dtype=torch.bool)
    refused(
        ValueError, lambda: LAYER(X, X, X, attn_mask=mask), "attn_mask", "B=2, h=3, Lq=4, Lk=4", str(shape)
    )
    refused(ValueError, lambda: combine_masks((2, 3, 4, 4), None, mask), "four axes")


def test_a_mask_that_does_not_broadcast_to_the_scores():
    scores = torch.zeros(2, 3, 4)
    for shape in ((3,), (2, 4), (1, 2, 3, 4), (5, 3, 4)):
        mask = torch.ones(shape, dtype=torch.bool)
        refused(
            ValueError, lambda m=mask: mha.masked_softmax(scores, m), "attn_mask", "(2, 3, 4)", str(shape)
        )


def test_scores_that_are_whole_numbers():
    refused(TypeError, lambda: mha.masked_softmax(torch.zeros(2, 3, dtype=torch.long)), "scores", "int64")


def test_causal_masks_that_are_not_there():
    refused(ValueError, lambda: mha.causal_mask(2, 3, align="left"), "align", "top-left", "'left'")
    refused(ValueError, lambda: mha.causal_mask(-1, 3), "num_queries", "-1")


def test_the_family():
    """One family: caught as MhaError, as ValueError or as TypeError."""
    assert issubclass(mha.InputValueError, (mha.MhaError, ValueError))
    assert issubclass(mha.InputValueError, ValueError) and issubclass(mha.InputTypeError, TypeError)
    assert issubclass(mha.InputValueError, mha.MhaError) and issubclass(mha.InputTypeError, mha.MhaError)
    assert not issubclass(mha.InputTypeError, ValueError)
