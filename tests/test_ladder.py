"""Each rung of the ladder is the same layer."""

import inspect

import pytest
import torch
from torch.testing import assert_close

import mha_lib as mha
from mha_lib import ladder


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def case(bias, B=2, h=3, Lq=4, Lk=5, d=6, widths=(7, 8, 9), seed=0):
    layer = mha.MultiHeadAttention(*widths, h * d, h, bias=bias).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    key, query, value = widths
    return layer, random(B, Lq, query), random(B, Lk, key, seed=1), random(B, Lk, value, seed=2)


@pytest.mark.parametrize("name", ladder.RUNGS)
@pytest.mark.parametrize("bias", [False, True])
def test_every_rung_is_the_first(name, bias):
    """Sizes all different, then the coincidences B = h, h = L, L = 3."""
    rung = ladder.RUNGS[name]
    for sizes in (dict(), dict(B=3, Lq=3, Lk=3, d=2), dict(h=1, Lq=1)):
        h, d = sizes.get("h", 3), sizes.get("d", 6)
        layer, q, k, v = case(bias, **sizes, widths=(7, h * d, 9))
        Lk = k.shape[1]
        lengths = torch.tensor([Lk, 1, 2][: len(q)])
        per_query = torch.arange(len(q) * q.shape[1]).view(len(q), -1) % Lk + 1
        for mask in (None, mha.length_mask(lengths, Lk), mha.length_mask(per_query, Lk, q.shape[1])):
            expected = ladder.plain_loop(layer, q, k, v, mask)
            assert_close(rung(layer, q, k, v, mask), expected, rtol=1e-12, atol=1e-12)


def test_one_head_is_a_slice_of_all():
    layer, q, k, v = case(True)
    seen = torch.zeros_like(layer(q, k, v))
    with torch.no_grad():
        layer.W_o.weight.copy_(torch.eye(18))
        layer.W_o.bias.zero_()
    for i in range(3):
        part = slice(6 * i, 6 * i + 6)
        seen[..., part] = ladder.one_head(
            layer.W_q(q)[..., part], layer.W_k(k)[..., part], layer.W_v(v)[..., part]
        )
    assert_close(seen, ladder.plain_loop(layer, q, k, v), rtol=1e-12, atol=1e-12)


def test_one_head_by_hand():
    """Two unit words, d = 4: logits [2, 0] / √4 after scaling, weights .7311 and .2689."""
    q = torch.tensor([[[2.0, 0, 0, 0]]])
    k = torch.tensor([[[2.0, 0, 0, 0], [0, 2.0, 0, 0]]])
    assert_close(ladder.one_head(q, k, torch.eye(2)[None])[0, 0], torch.tensor([0.880797, 0.119203]))


def test_heads_read_all_of_the_input():
    """pbloem/former#13: a change in the last feature of the input reaches every head."""
    layer, q, k, v = case(False)
    changed = q.clone()
    changed[..., -1] += 1
    for i in range(3):
        before, after = (ladder.own(layer.W_q, i, 3, x) for x in (q, changed))
        assert (before - after).abs().amax() > 1e-3


def test_a_row_with_nothing_to_see():
    layer, q, k, v = case(True)
    mask = mha.length_mask(torch.tensor([0, 5]), 5)
    for name in ("plain loop", "loop over heads", "folded", "four axes", "einsum", "einops", "our layer"):
        assert_close(ladder.RUNGS[name](layer, q, k, v, mask)[0], layer.W_o.bias.expand(4, 18))


def test_each_fits_a_notebook_cell():
    for rung in (*ladder.RUNGS.values(), ladder.one_head):
        assert len(inspect.getsource(rung).splitlines()) <= 17 and rung.__doc__


@pytest.mark.parametrize("bias", [False, True])
def test_output_is_a_sum_over_heads(bias):
    """awf/functional-transformer#8: summing is concatenating, when each head has its slice of W_o."""
    layer, q, k, v = case(bias)
    lengths = torch.tensor([3, 5])
    parts, offset = ladder.output_as_sum(layer, q, k, v, lengths)
    assert parts.shape == (3, 2, 4, 18) and offset.shape == (18,) and bool(offset.any()) == bias
    assert_close(parts.sum(0) + offset, layer(q, k, v, lengths), rtol=1e-12, atol=1e-12)
    # Without head 1 the output is what is left of the sum.
    with torch.no_grad():
        layer.W_o.weight[:, 6:12] = 0
    assert_close(parts[0] + parts[2] + offset, layer(q, k, v, lengths), rtol=1e-12, atol=1e-12)


def test_sum_for_gpt_and_not_for_bert():
    layer, x = mha.documents.gpt.MultiHeadAttention(6, 3).double(), random(2, 4, 6)
    parts, bias = ladder.output_as_sum(layer, x, x, x, attn_mask=mha.causal_mask(4, 4))
    assert_close(parts.sum(0) + bias, layer(x, mha.causal_mask(4, 4)))
    with pytest.raises(TypeError, match="output projection"):
        ladder.output_as_sum(mha.documents.bert.SelfAttention(3, 6, 6).double(), x, x, x)


def test_wrong_input_is_named():
    layer, q, k, v = case(False)
    for rung in ladder.RUNGS.values():
        with pytest.raises(TypeError, match="layer"):
            rung(mha.documents.gpt.MultiHeadAttention(6, 3), q, k, v)
        with pytest.raises(ValueError, match="mask.*length_mask"):
            rung(layer, q, k, v, torch.ones(2, 4, 5))
        with pytest.raises(ValueError, match="mask"):
            rung(layer, q, k, v, mha.causal_mask(4, 5))
