"""Weights to nn.MultiheadAttention, to the documents' listings, and back."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import mha_lib as mha
from mha_lib import convert
from mha_lib.documents import bert, gpt


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def spread(module, seed=1):
    """Random weights everywhere, biases too: torch starts some at zero, which would hide faults."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return module


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("widths", [(6, 6), (5, 7), (6, 7)])
def test_both_ways_with_separate_widths(widths, bias):
    """pytorch/pytorch#32590: chunks in the order q, k, v; with kdim there is no packed matrix."""
    kdim, vdim = widths
    layer = spread(mha.MultiHeadAttention(kdim, 6, vdim, 6, 3, bias=bias).double())
    theirs = mha.to_torch(layer)
    assert (theirs.in_proj_weight is None) == (widths != (6, 6))
    q, k, v = random(2, 3, 6), random(2, 5, kdim, seed=1), random(2, 5, vdim, seed=2)
    lengths = torch.tensor([5, 2])
    output, weights = layer(q, k, v, lengths, need_weights=True)
    shut = ~mha.length_mask(lengths, 5)[:, 0]
    expected = theirs(q, k, v, key_padding_mask=shut, average_attn_weights=False)
    assert_close(output, expected[0], rtol=1e-12, atol=1e-12)
    assert_close(weights, expected[1], rtol=1e-12, atol=1e-12)
    back = mha.from_torch(theirs)
    assert back.state_dict().keys() == layer.state_dict().keys()
    assert all(torch.equal(back.state_dict()[name], value) for name, value in layer.state_dict().items())


@pytest.mark.parametrize("batch_first", [False, True])
def test_from_torch_made_elsewhere(batch_first):
    theirs = spread(nn.MultiheadAttention(6, 3, dropout=0.25, batch_first=batch_first).double()).eval()
    for into in (mha.MultiHeadAttention, gpt.MultiHeadAttention):
        ours = mha.from_torch(theirs, into)
        assert type(ours) is into and ours.attention.dropout == 0.25 and not ours.training
        x = random(2, 4, 6)
        given = x if batch_first else x.transpose(0, 1)
        expected = theirs(given, given, given)[0]
        got = ours(x) if into is gpt.MultiHeadAttention else ours(x, x, x)
        assert_close(got, expected if batch_first else expected.transpose(0, 1), rtol=1e-12, atol=1e-12)
    gpt_without_biases = mha.from_torch(nn.MultiheadAttention(6, 3, bias=False), gpt.MultiHeadAttention)
    assert not any(p.any() for n, p in gpt_without_biases.named_parameters() if n.endswith("bias"))


def test_copies_do_not_share_memory_and_keep_mode_and_dtype():
    layer = mha.MultiHeadAttention(6, 6, 6, 6, 3, dropout=0.1).double().eval()
    theirs = mha.to_torch(layer)
    assert not theirs.training and theirs.dropout == 0.1 and theirs.out_proj.weight.dtype == torch.float64
    before = layer.W_q.weight.clone()
    with torch.no_grad():
        theirs.in_proj_weight.zero_()
    assert torch.equal(layer.W_q.weight, before)
    assert all(p.requires_grad for p in theirs.parameters())


def test_bert_round_trip():
    layer = spread(bert.SelfAttention(3, 6, 6).double())
    theirs, x = mha.to_torch(layer), random(2, 4, 6)
    assert_close(theirs(x, x, x)[0], layer(x), rtol=1e-12, atol=1e-12)
    assert_close(mha.from_torch(theirs, bert.SelfAttention)(x), layer(x))


def test_what_cannot_be_converted_says_why():
    Theirs, additive = nn.MultiheadAttention, mha.MultiHeadAttention(4, 4, 4, 4, 2, scoring="additive")
    cases = [
        (ValueError, "additive", lambda: mha.to_torch(additive)),
        (ValueError, "embed_dim", lambda: mha.to_torch(mha.MultiHeadAttention(6, 5, 6, 6, 3))),
        (ValueError, "embed_dim", lambda: mha.to_torch(bert.SelfAttention(2, 10, 20))),
        (TypeError, "Linear", lambda: mha.to_torch(nn.Linear(4, 4))),
        (TypeError, "Linear", lambda: mha.from_torch(nn.Linear(4, 4))),
        (TypeError, "into", lambda: mha.from_torch(Theirs(4, 2), nn.Linear)),
        (ValueError, "add_bias_kv", lambda: mha.from_torch(Theirs(4, 2, add_bias_kv=True))),
        (ValueError, "add_zero_attn", lambda: mha.from_torch(Theirs(4, 2, add_zero_attn=True))),
        (ValueError, "one input", lambda: mha.from_torch(Theirs(4, 2, kdim=3), gpt.MultiHeadAttention)),
        (ValueError, "no output projection", lambda: mha.from_torch(Theirs(4, 2), bert.SelfAttention)),
    ]
    for kind, words, act in cases:
        with pytest.raises(kind, match=words):
            act()


class ListingOfDocument2(nn.Module):
    """What a reader may have typed: names and maps of document 002."""

    def __init__(self, d_model):
        super().__init__()
        self.q_project = nn.Linear(d_model, d_model)
        self.k_project = nn.Linear(d_model, d_model)
        self.v_project = nn.Linear(d_model, d_model)
        self.o_project = nn.Linear(d_model, d_model)


def test_a_listings_state_goes_in_and_out():
    typed = spread(ListingOfDocument2(6).double())
    direct = gpt.MultiHeadAttention(6, 3).double()
    direct.load_state_dict(typed.state_dict())
    ours = convert.load_listing(mha.MultiHeadAttention(6, 6, 6, 6, 3, bias=True).double(), typed.state_dict())
    x = random(2, 4, 6)
    assert_close(ours(x, x, x), direct(x))
    again = ListingOfDocument2(6).double()
    again.load_state_dict(convert.to_listing(ours, gpt.MultiHeadAttention))
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), typed.parameters(), strict=True))
    without = mha.MultiHeadAttention(6, 6, 6, 6, 3).double()
    again.load_state_dict(convert.to_listing(without, gpt.MultiHeadAttention))
    assert not again.k_project.bias.any() and torch.equal(again.k_project.weight, without.W_k.weight)
    assert len(convert.to_listing(without, mha.MultiHeadAttention)) == 4
    state = spread(bert.SelfAttention(3, 6, 6)).state_dict()
    twin = convert.load_listing(bert.SelfAttention(3, 6, 6), state)
    assert convert.to_listing(twin, bert.SelfAttention).keys() == state.keys()
    assert all(torch.equal(twin.state_dict()[name], state[name]) for name in state)


def test_a_wrong_state_is_named_entry_by_entry_and_nothing_is_loaded():
    layer = spread(mha.MultiHeadAttention(6, 6, 6, 6, 3, bias=True))
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    state = dict(ListingOfDocument2(6).state_dict())
    del state["k_project.weight"]
    state["v_project.bias"] = torch.zeros(5)
    state["extra.weight"] = torch.zeros(1)
    with pytest.raises(ValueError) as caught:
        convert.load_listing(layer, state)
    said = ("k_project.weight is missing", "v_project.bias is (5,), not (6,)", "extra.weight has no place")
    for words in said:
        assert words in str(caught.value)
    assert all(torch.equal(before[name], value) for name, value in layer.state_dict().items())
    with pytest.raises(ValueError, match="output projection.weight is missing"):
        convert.load_listing(layer, bert.SelfAttention(3, 6, 6).state_dict())
    with pytest.raises(ValueError, match="no place"):
        convert.load_listing(bert.SelfAttention(3, 6, 6), ListingOfDocument2(6).state_dict())
    with pytest.raises(ValueError, match="no W_o"):
        convert.to_listing(layer, bert.SelfAttention)
    with pytest.raises(TypeError, match="like"):
        convert.to_listing(layer, nn.Linear)


def test_packed_and_interleaved_layouts():
    for shape in ((18, 4), (18,)):
        packed = torch.arange(18 * (4 if len(shape) == 2 else 1)).view(shape)
        interleaved = convert.packed_to_interleaved(packed, 2)
        assert interleaved.shape == packed.shape and not torch.equal(interleaved, packed)
        assert torch.equal(convert.interleaved_to_packed(interleaved, 2), packed)
    # Head B of 2 has its query rows 3–5 of the packed matrix, its keys at 9–11, its values at 15–17.
    assert convert.packed_to_interleaved(torch.arange(18), 2)[9:].tolist() == [3, 4, 5, 9, 10, 11, 15, 16, 17]
    with pytest.raises(ValueError, match=r"3 · num_heads = 12"):
        convert.packed_to_interleaved(torch.zeros(18, 4), 4)
    with pytest.raises(ValueError, match="num_heads"):
        convert.interleaved_to_packed(torch.zeros(18, 4), 0)
    layer = mha.MultiHeadAttention(6, 6, 6, 6, 3)
    packed = torch.cat([layer.W_q.weight, layer.W_k.weight, layer.W_v.weight])
    assert torch.equal(packed, mha.to_torch(layer).in_proj_weight)
