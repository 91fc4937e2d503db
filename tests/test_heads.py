"""Splitting the features into heads, and merging them back."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mha_lib as mha
from mha_lib.heads import head_dim, heads_apart, heads_together

SIZES = st.tuples(*[st.integers(0, 3), st.integers(0, 4), st.integers(1, 4), st.integers(1, 4)])


@settings(deadline=None, derandomize=True, max_examples=50)
@given(SIZES)
def test_every_number_lands_where_the_definition_says(sizes):
    """hyunwoongko/transformer#15, harvardnlp/annotated-transformer#17, #118: no view straight to it."""
    B, L, h, d = sizes
    X = torch.arange(B * L * h * d).view(B, L, h * d)
    stack = mha.split_heads(X, h)
    assert stack.shape == (B * h, L, d)
    for b in range(B):
        for i in range(h):
            assert torch.equal(stack[b * h + i], X[b, :, i * d : (i + 1) * d])
    assert torch.equal(mha.merge_heads(stack, h), X)
    assert torch.equal(heads_together(heads_apart(X, h)), X)


def test_two_heads_by_hand():
    """hyunwoongko/transformer#15: the three words of four features."""
    heads = mha.split_heads(torch.arange(12).view(1, 3, 4), 2)
    assert heads.tolist() == [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]]


def test_merge_is_the_exact_way_back():
    """649453932/Chinese-Text-Classification-Pytorch#10, pytorch/pytorch#67651: transpose before merging."""
    X = torch.arange(12).view(1, 3, 4)
    stack = mha.split_heads(X, 2)
    assert torch.equal(mha.merge_heads(stack, 2), X)
    without_transpose = stack.reshape(1, 3, 4)
    assert without_transpose[0].tolist() == [[0, 1, 4, 5], [8, 9, 2, 3], [6, 7, 10, 11]]


def test_a_direct_reshape_has_the_same_shape_and_other_numbers():
    """A Chinese Q&A page (cases.md 43): reshape to (B·h, n, d) is not the four-axis route."""
    X = torch.arange(80).view(2, 4, 10)
    direct, right = X.reshape(4, 4, 5), mha.split_heads(X, 2)
    assert direct.shape == right.shape
    assert int((direct != right).sum()) == 60
    assert torch.equal(right, X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5))


def test_merge_takes_what_a_matmul_made():
    """rasbt/LLMs-from-scratch#61: a permuted product can't be viewed; merging works all the same."""
    product = torch.arange(12.0).view(1, 2, 3, 2) @ torch.eye(2)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        product.transpose(1, 2).view(1, 3, 4)
    merged = mha.merge_heads(product.flatten(0, 1), 2)
    assert merged[0].tolist() == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]
    one_head = product[:, :1].transpose(1, 2)
    assert one_head.view(1, 3, 2).shape == (1, 3, 2), "with h = 1 the view works by luck"


@pytest.mark.parametrize("change", [lambda X: X.transpose(0, 1), lambda X: X[:, ::2], lambda X: X.flip(2)])
def test_inputs_of_any_stride_are_taken(change):
    """rasbt/LLMs-from-scratch#61: the kind, on the way in."""
    X = change(torch.arange(120).view(4, 5, 6))
    assert torch.equal(mha.split_heads(X, 3), mha.split_heads(X.contiguous(), 3))
    assert torch.equal(mha.merge_heads(mha.split_heads(X, 3), 3), X)


def test_the_stack_reads_sentence_by_sentence():
    """lsdefine/attention-is-all-you-need-keras#36: batch-major, as repeat_interleave repeats the lengths."""
    stack = mha.split_heads(torch.arange(8).view(2, 1, 4), 2)
    assert stack.tolist() == [[[0, 1]], [[2, 3]], [[4, 5]], [[6, 7]]]
    lengths = torch.tensor([3, 2]).repeat_interleave(2)
    assert lengths.tolist() == [3, 3, 2, 2]


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4)])
def test_empty_batch_and_empty_sequence(shape):
    """pytorch/pytorch#188765: shapes survive where there are no numbers."""
    B, L, D = shape
    stack = mha.split_heads(torch.zeros(shape), 2)
    assert stack.shape == (2 * B, L, 2)
    assert mha.merge_heads(stack, 2).shape == shape


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float16, torch.float64, torch.complex64])
def test_dtype_is_kept_and_the_input_is_not_changed(dtype):
    X = torch.arange(24).view(2, 3, 4).to(dtype)
    before = X.clone()
    stack = mha.split_heads(X, 2)
    assert stack.dtype == dtype and mha.merge_heads(stack, 2).dtype == dtype
    stack.zero_()
    assert torch.equal(X, before), "the stack is a copy"


def test_heads_apart_moves_no_number():
    X = torch.arange(24).view(2, 3, 4)
    apart = heads_apart(X, 2)
    assert apart.data_ptr() == X.data_ptr() and not apart.is_contiguous()


def test_gradients_pass_through_unchanged():
    X = torch.arange(24.0, dtype=torch.float64).view(2, 3, 4).requires_grad_()
    there_and_back = mha.merge_heads(mha.split_heads(X, 2), 2)
    there_and_back.backward(torch.arange(24.0, dtype=torch.float64).view(2, 3, 4))
    assert torch.equal(X.grad, X.detach())


def test_the_documents_names_are_the_same_functions():
    assert mha.transpose_qkv is mha.split_heads and mha.transpose_output is mha.merge_heads


def test_a_longer_run_with_five_heads():
    """Document 000's own sizes (000-d): (2, 4, 100) with 5 heads becomes (10, 4, 20)."""
    X = torch.arange(800).view(2, 4, 100)
    assert X.reshape(2, 4, 5, 20).permute(0, 2, 1, 3).shape == (2, 5, 4, 20)
    assert mha.split_heads(X, 5).shape == (10, 4, 20)
    assert head_dim(100, 5) == 20


def test_meta_tensors_split():
    """GRAAL-Research/deepparse PR 298: nothing is made on another device."""
    assert mha.split_heads(torch.zeros(2, 3, 4, device="meta"), 2).device.type == "meta"
