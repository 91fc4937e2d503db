"""Masks: True where a query may attend; weights exactly 0 elsewhere."""

import math

import pytest
import torch
from oracle import FLOATS, randn

import mha_lib as mha
from mha_lib.masks import combine_masks

T, F = True, False


def bools(*rows):
    return torch.tensor(rows, dtype=torch.bool)


# ---- lengths


def test_lengths_say_how_many_keys_count():
    """NVIDIA-NeMo/Speech PR 2648: a mask that is True everywhere."""
    mask = mha.length_mask(torch.tensor([1, 3]), 4)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[[T, F, F, F]], [[T, T, T, F]]]


def test_lengths_may_differ_by_query():
    mask = mha.length_mask(torch.tensor([[0, 1], [3, 2]]), 3, num_queries=2)
    assert mask.tolist() == [[[F, F, F], [T, F, F]], [[T, T, T], [T, T, F]]]


@pytest.mark.parametrize(
    "dtype",
    [
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
    ],
)
def test_lengths_of_any_integer_kind(dtype):
    """NVIDIA-NeMo/Speech PR 2648, the kind: a narrow integer must not wrap round at 300 keys."""
    mask = mha.length_mask(torch.tensor([100, 0], dtype=dtype), 300)
    assert mask.sum(-1).flatten().tolist() == [100, 0]


def test_both_ends_of_the_range_and_nothing_at_all():
    """pytorch/pytorch#188765: 0, Lk, no keys, no sentences."""
    assert mha.length_mask(torch.tensor([0, 3]), 3).sum(-1).flatten().tolist() == [0, 3]
    assert mha.length_mask(torch.tensor([0, 0]), 0).shape == (2, 1, 0)
    assert mha.length_mask(torch.zeros(0, dtype=torch.long), 3).shape == (0, 1, 3)
    assert mha.length_mask(torch.tensor([[2]]), 3, num_queries=1).tolist() == [[[T, T, F]]]


# ---- causal


def test_causal_names_its_alignment():
    """pytorch/pytorch#103082, #108108: top-left and bottom-right when Lq is not Lk."""
    values = torch.arange(1.0, 6.0)[:, None]
    for align, means in (("top-left", [1.0, 1.5]), ("bottom-right", [2.5, 3.0])):
        weights = mha.masked_softmax(torch.zeros(2, 5), mha.causal_mask(2, 5, align=align))
        torch.testing.assert_close((weights @ values).flatten(), torch.tensor(means))
    square = mha.causal_mask(4, 4)
    assert torch.equal(square, mha.causal_mask(4, 4, align="bottom-right"))
    assert square.tolist() == [[k <= q for k in range(4)] for q in range(4)]


@pytest.mark.parametrize("Lq, Lk", [(2, 5), (5, 2), (3, 3), (1, 4), (0, 3), (3, 0)])
def test_causal_by_the_definition(Lq, Lk):
    """pytorch/pytorch#103082, the kind: longer, shorter, single and empty."""
    top = [[k <= q for k in range(Lk)] for q in range(Lq)]
    bottom = [[k <= q + Lk - Lq for k in range(Lk)] for q in range(Lq)]
    assert mha.causal_mask(Lq, Lk).tolist() == top
    assert mha.causal_mask(Lq, Lk, align="bottom-right").tolist() == bottom


def test_causal_equals_torch():
    """pytorch/pytorch#103082: is_causal of the fused kernel is top-left."""
    q, k, v = randn(1, 3, 4), randn(1, 5, 4, seed=1), randn(1, 5, 4, seed=2)
    attend = torch.nn.functional.scaled_dot_product_attention
    torch.testing.assert_close(
        attend(q, k, v, is_causal=True), mha.DotProductAttention()(q, k, v, attn_mask=mha.causal_mask(3, 5))
    )


# ---- masked softmax


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "scores, keep, right",
    [
        ([0.0, 0.0, 0.0, 0.0], [T, T, F, F], [0.5, 0.5, 0.0, 0.0]),
        ([0.0, 0.0, 0.0], [T, T, F], [0.5, 0.5, 0.0]),
        ([1.0, 1.0, 9.0, -9.0], [T, T, F, F], [0.5, 0.5, 0.0, 0.0]),
        ([1.0, 2.0, 3.0], [F, F, F], [0.0, 0.0, 0.0]),
        ([0.0, math.log(3.0), 50.0], [T, T, F], [0.25, 0.75, 0.0]),
        ([1.0, math.nan, math.inf, -math.inf], [T, F, F, F], [1.0, 0.0, 0.0, 0.0]),
    ],
)
def test_weights_in_every_dtype(dtype, scores, keep, right):
    """bentrevett/pytorch-seq2seq#191, NVIDIA/apex#1105, lucidrains/flamingo-pytorch#10,
    NVIDIA/Megatron-LM PR 731, hyunwoongko/transformer#10: −1e9 that does not fit, a result thrown
    away, multiplying after the softmax, a fill of 0."""
    weights = mha.masked_softmax(torch.tensor([scores], dtype=dtype), bools(keep))
    assert weights.dtype == dtype
    tolerance = 0 if max(right) != 0.75 else 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(weights, torch.tensor([right], dtype=dtype), rtol=tolerance, atol=tolerance)
    assert (weights[0][~bools(keep)[0]] == 0).all(), "exactly 0"


@pytest.mark.parametrize("dtype", FLOATS[1:])
def test_no_score_is_lower_than_the_mask(dtype):
    """bentrevett/pytorch-seq2seq#191: scores of −3e6 beside a fill of −1e6; then the lowest there is."""
    for low in (-3e6, torch.finfo(dtype).min):
        weights = mha.masked_softmax(torch.tensor([[low, low * 0.5, 7.0]], dtype=dtype), bools([T, T, F]))
        assert weights.tolist() == [[0.0, 1.0, 0.0]]
        alone = mha.masked_softmax(torch.tensor([[low, 0.0, 0.0]], dtype=dtype), bools([T, F, F]))
        assert alone.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_two_masks_are_joined_before_anything_is_filled(dtype):
    """huggingface/transformers PR 27114: finfo.min twice is −inf; onnx/onnx PR 8068: 0 · −inf is NaN."""
    causal, padding = mha.causal_mask(3, 3), bools([T, F, F])
    weights = mha.masked_softmax(torch.zeros(3, 3, dtype=dtype), causal & padding)
    assert weights.tolist() == [[1.0, 0.0, 0.0]] * 3
    bias = torch.zeros(3, dtype=dtype).masked_fill(~bools([T, T, F])[0], -math.inf)
    assert bias.tolist() == [0.0, 0.0, -math.inf]
    by_bias = (torch.zeros(1, 3, dtype=dtype) + bias).softmax(-1)
    assert torch.equal(by_bias, mha.masked_softmax(torch.zeros(1, 3, dtype=dtype), bools([T, T, F])))


def test_softmax_runs_over_the_keys():
    """nerminnuraydogan/vision-transformer#1: not over the queries."""
    scores = torch.tensor([[0.0, math.log(3.0)], [0.0, 0.0]])
    right = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    torch.testing.assert_close(mha.masked_softmax(scores), right)
    torch.testing.assert_close(mha.masked_softmax(scores, bools([T, T])), right)


def test_padding_lies_on_the_key_axis():
    """bentrevett/pytorch-seq2seq#96: every row loses the padded column; no row is lost."""
    weights = mha.masked_softmax(torch.zeros(1, 3, 3), bools([T, T, F]))
    assert weights.tolist() == [[[0.5, 0.5, 0.0]] * 3]


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_dead_row_has_a_finite_gradient(dtype):
    """pytorch/pytorch#41508: one row with nothing to see made every gradient NaN."""
    scores = torch.tensor([[1.0, 2.0, math.nan], [1.0, math.inf, 3.0]], dtype=dtype, requires_grad=True)
    keep = bools([T, T, F], [F, F, F])
    weights = mha.masked_softmax(scores, keep)
    weights.backward(torch.tensor([[1.0, 3.0, 5.0], [7.0, 11.0, 13.0]], dtype=dtype))
    assert scores.grad.isfinite().all()
    assert (scores.grad[~keep] == 0).all()
    assert (scores.grad[0, :2] != 0).all()


def test_the_gradient_is_the_softmax_gradient():
    scores = randn(2, 3, 4, dtype=torch.float64).requires_grad_()
    keep = randn(2, 3, 4, seed=1) > 0
    keep[0, 0] = False
    assert torch.autograd.gradcheck(lambda s: mha.masked_softmax(s, keep), scores)


def test_nothing_passed_in_is_changed():
    """jadore801120/attention-is-all-you-need-pytorch#16: masking must not edit the caller's scores."""
    scores = torch.ones(1, 2, 3, requires_grad=True)  # a leaf: an edit in place would raise
    keep = mha.length_mask(torch.tensor([2]), 3)
    kept = keep.clone()
    weights = mha.masked_softmax(scores, keep)
    weights.sum().backward()
    assert (scores == 1).all() and scores._version == 0
    assert torch.equal(keep, kept) and keep._version == 0
    assert weights[0, 0].tolist() == [0.5, 0.5, 0.0]


def test_any_number_of_axes_and_broadcasts():
    scores = randn(2, 3, 4, 5)
    keep = randn(4, 5, seed=1) > 0
    weights = mha.masked_softmax(scores, keep)
    for b in range(2):
        for i in range(3):
            torch.testing.assert_close(weights[b, i], mha.masked_softmax(scores[b, i], keep))
    assert mha.masked_softmax(torch.zeros(0, 3), bools([T, T, F])).shape == (0, 3)
    assert mha.masked_softmax(torch.zeros(3, 0), torch.zeros(3, 0, dtype=torch.bool)).shape == (3, 0)
    assert mha.masked_softmax(torch.zeros(3), torch.tensor([T, F, T])).tolist() == [0.5, 0.0, 0.5]


# ---- joining masks


def test_lengths_and_mask_both_apply():
    """pytorch/pytorch#99282: causal must not be dropped because another mask is there."""
    mask = combine_masks((1, 2, 3, 3), torch.tensor([2]), mha.causal_mask(3, 3))
    assert mask[0, 0].tolist() == [[T, F, F], [T, T, F], [T, T, F]]


@pytest.mark.parametrize(
    "B, h, Lq, Lk", [(2, 3, 4, 5), (2, 2, 4, 5), (3, 2, 2, 3), (3, 3, 3, 3), (1, 3, 3, 3)]
)
def test_every_form_of_a_mask_means_what_it_says(B, h, Lq, Lk):
    """hyunwoongko/transformer#32, lucidrains/graph-transformer-pytorch PR 2, pytorch/pytorch#64706:
    2, 3 and 4 axes, also where B, h and L coincide."""
    full = randn(B, h, Lq, Lk) > 0
    sizes = (B, h, Lq, Lk)

    def spread(mask):
        return combine_masks(sizes, None, mask).expand(sizes)

    assert torch.equal(spread(full), full)
    assert torch.equal(spread(full[0, 0]), full[0, 0].expand(sizes))
    assert torch.equal(spread(full.flatten(0, 1)), full), "the fold is sentence by sentence"
    assert torch.equal(spread(full[:1]), full[:1].expand(sizes)), "a mask a head"
    assert torch.equal(spread(full[:, :1]), full[:, :1].expand(sizes)), "a mask a sentence, four axes"
    assert torch.equal(spread(full[:, :, :1]), full[:, :, :1].expand(sizes)), "one row for all queries"
    if B > 1:
        assert torch.equal(spread(full[:, 0]), full[:, :1].expand(sizes)), "a mask a sentence, three axes"


def test_nothing_given_is_no_mask():
    assert combine_masks((2, 3, 4, 5), None, None) is None


def test_masks_go_where_the_scores_are():
    """GRAAL-Research/deepparse PR 298: not on the CPU by habit."""
    mask = combine_masks((2, 1, 3, 3), torch.tensor([1, 2]), mha.causal_mask(3, 3), device="meta")
    assert mask.device.type == "meta"
    assert mha.causal_mask(2, 2, device="meta").device.type == "meta"
    assert mha.length_mask(torch.tensor([1, 2], device="meta"), 3).device.type == "meta"


def test_no_query_and_lengths_for_three():
    """Lq = 0 is a number of queries, too: three lengths a sentence do not fit it."""
    with pytest.raises(ValueError, match="valid_lens: .*with Lq = 0, got shape .2, 3."):
        mha.length_mask(torch.ones(2, 3, dtype=torch.long), 4, num_queries=0)
    assert mha.length_mask(torch.ones(2, 0, dtype=torch.long), 4, num_queries=0).shape == (2, 0, 4)


def test_one_row_a_sentence_is_told_from_a_mask_of_queries():
    """A padding mask (B, Lk) is no (Lq, Lk): where it can be told, the error says what it is."""
    padding = bools([T, T, T, F], [T, T, F, F])
    with pytest.raises(ValueError, match=r"one row a sentence: use valid_lens, or attn_mask\[:, None, :\]"):
        combine_masks((2, 3, 5, 4), None, padding)
    assert torch.equal(combine_masks((2, 3, 5, 4), None, padding[:, None, :])[:, 0, 0], padding)


def test_vmap_over_lengths():
    """vmap hides values: the shape is checked, and each set of lengths means what it says."""
    lengths = torch.tensor([[1, 3], [4, 0], [2, 2]])
    masks = torch.vmap(lambda each: mha.length_mask(each, 4))(lengths)
    assert torch.equal(masks, torch.stack([mha.length_mask(each, 4) for each in lengths]))
    with pytest.raises(ValueError, match="valid_lens"):
        torch.vmap(lambda each: mha.length_mask(each, 4))(lengths[:, :, None, None])
