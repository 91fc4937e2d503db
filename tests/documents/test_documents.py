"""The documents' layers: right where their listings are wrong."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import mha_lib as mha
from mha_lib.documents import bert, gpt

LAYERS = {
    "gpt": lambda D=30, h=5, dtype=torch.float64: gpt.MultiHeadAttention(D, h).to(dtype),
    "bert": lambda D=30, h=5, dtype=torch.float64: bert.SelfAttention(h, D, D).to(dtype),
}
both = pytest.mark.parametrize("kind", LAYERS)


def random(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@both
def test_equals_torch_with_the_same_weights(kind):
    """Weights of K and V reach the result, unlike document 002's listing (KyanChen/MakeMultiHeadNaive#2)."""
    layer, x = LAYERS[kind](), random(2, 4, 30)
    mask = mha.causal_mask(4, 4)
    output, weights = layer(x, attn_mask=mask, need_weights=True)
    theirs, their_weights = mha.to_torch(layer)(x, x, x, attn_mask=~mask, average_attn_weights=False)
    assert_close(output, theirs, rtol=1e-12, atol=1e-12)
    assert_close(weights, their_weights, rtol=1e-12, atol=1e-12)
    assert_close(layer(x, attn_mask=mask), output, rtol=1e-12, atol=1e-12)


@both
def test_each_map_learns(kind):
    layer, x = LAYERS[kind](), random(2, 4, 30)
    layer(x).square().sum().backward()
    for name, parameter in layer.named_parameters():
        # A key's bias adds the same to all scores of a query: softmax does not see it.
        vanishes = name in ("k_project.bias", "key_layer.bias")
        assert (parameter.grad.abs().max() < 1e-10) == vanishes, name


def test_parameter_names_and_counts():
    """Kyubyong/transformer#117: four maps, and three for BERT's inner block, for any number of heads."""
    for h in (1, 2, 5):
        assert sum(p.numel() for p in gpt.MultiHeadAttention(30, h).parameters()) == 4 * (30 * 30 + 30)
        assert sum(p.numel() for p in bert.SelfAttention(h, 30, 30).parameters()) == 3 * (30 * 30 + 30)
    assert [n for n, _ in gpt.MultiHeadAttention(4, 2).named_children() if n != "attention"] == [
        "q_project",
        "k_project",
        "v_project",
        "o_project",
    ]
    assert set(bert.SelfAttention(2, 4, 4).state_dict()) == {
        f"{n}_layer.{k}" for n in ("query", "key", "value") for k in ("weight", "bias")
    }


@pytest.mark.parametrize("sizes", [(12, 5), (10, 3), (4, 0), (10, -2)])
def test_heads_that_do_not_divide(sizes):
    """facebookresearch/detr#499; document 002 does not check, document 003 does."""
    D, h = sizes
    for make in (lambda: gpt.MultiHeadAttention(D, h), lambda: bert.SelfAttention(h, 7, D)):
        with pytest.raises(ValueError, match=f"(?s){D}.*{h}"):
            make()


@both
def test_masks_of_two_three_and_four_axes(kind):
    """hyunwoongko/transformer#32: an (L, L) mask means (L, L), also where h = L or B = h."""
    for B, h, L in ((2, 3, 4), (3, 3, 3), (2, 2, 4)):
        layer, x = LAYERS[kind](h * 4, h), random(B, L, h * 4)
        causal = mha.causal_mask(L, L)
        by_sentence = torch.ones(B, L, L, dtype=torch.bool)
        by_sentence[0, :, 1:] = False
        for mask, four in ((causal, causal[None, None]), (by_sentence, by_sentence[:, None])):
            weights = layer(x, attn_mask=mask, need_weights=True)[1]
            assert_close(weights > 0, four.expand(B, h, L, L))
            assert_close(layer(x, attn_mask=mask), layer(x, attn_mask=four.expand(B, h, L, L)))


def test_bert_takes_boolean_masks_only():
    """pytorch/pytorch#141018: a 0/1 mask must not be taken for something to add."""
    layer, x = LAYERS["bert"](), random(2, 4, 30)
    for mask in (torch.ones(4, 4), torch.ones(4, 4, dtype=torch.int64)):
        with pytest.raises(TypeError, match="attn_mask.*boolean.*bool()"):
            layer(x, attn_mask=mask)


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int8, torch.int64, torch.float16, torch.bfloat16, torch.float64]
)
def test_gpt_takes_the_document_s_masks(dtype):
    """Document 002 fills where the mask equals 0; people write torch.tril(torch.ones(L, L))."""
    layer, x = LAYERS["gpt"](), random(2, 4, 30)
    mask = torch.tril(torch.ones(4, 4)).to(dtype)
    assert_close(layer(x, mask), layer(x, mha.causal_mask(4, 4)), rtol=0, atol=0)
    by_sentence = torch.stack([mask, torch.ones(4, 4).to(dtype)])
    assert_close(layer(x, by_sentence)[1], layer(x)[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("other", [2, -1, 0.5, float("-inf"), float("nan")])
def test_gpt_refuses_other_numbers(other):
    """pytorch/pytorch#141018, the kind: a mask to be added is no mask of 0 and 1."""
    layer, x = LAYERS["gpt"](), random(2, 4, 30)
    mask = torch.zeros(4, 4)
    mask[1, 2] = other
    with pytest.raises(ValueError, match=f"attn_mask: .*0 = may not attend, got {float(other)}.*== 0"):
        layer(x, mask)


@both
def test_masks_of_another_shape_are_refused(kind):
    layer, x = LAYERS[kind](), random(2, 4, 30)
    with pytest.raises(ValueError, match="attn_mask"):
        layer(x, attn_mask=torch.ones(5, 4, dtype=torch.bool))


@both
def test_wrong_inputs_are_named(kind):
    layer = LAYERS[kind]()
    with pytest.raises(ValueError, match="x: .*30 features"):
        layer(random(2, 4, 10))
    with pytest.raises(ValueError, match="x: .*axes.*unsqueeze"):
        layer(random(4, 30))
    with pytest.raises(TypeError, match="x: "):
        layer([[1.0]])


@both
def test_nothing_to_attend_to_and_half_precision(kind):
    """−1e9 does not fit float16 (bentrevett/pytorch-seq2seq#191); a dead row has weights 0."""
    layer, x = LAYERS[kind](dtype=torch.float16), random(2, 4, 30, dtype=torch.float16)
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[1] = False
    output, weights = layer(x, attn_mask=mask, need_weights=True)
    assert output.isfinite().all() and not weights[:, :, 1].any()
    bias = layer.o_project.bias if kind == "gpt" else torch.zeros(30, dtype=torch.float16)
    assert_close(output[:, 1], bias.expand(2, 30))


@pytest.mark.parametrize(
    "options, outcomes",
    [
        ({"attention_dropout": 0.5}, {(0.0, 0.0), (2.0, 4.0)}),
        ({"dropout": 0.5, "attention_dropout": 0.0}, {(0.0, 0.0), (2.0, 0.0), (0.0, 4.0), (2.0, 4.0)}),
        ({"dropout": 0.5}, {(0.0, 0.0), (4.0, 0.0), (0.0, 8.0), (4.0, 8.0)}),
    ],
)
def test_dropout_on_the_weights_on_the_output_and_on_both(options, outcomes):
    """nikhilbarhate99/min-decision-transformer#2: on the weights the one visible value goes whole or
    not at all, on the output each feature for itself; the document does the second, GPT-2 both."""
    layer = gpt.MultiHeadAttention(2, 1, **options).double()
    with torch.no_grad():
        for name, linear in layer.named_children():
            if name != "attention":
                linear.weight.copy_(torch.eye(2))
                linear.bias.zero_()
    x = torch.tensor([[[1.0, 2.0]]], dtype=torch.float64)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert {tuple(layer(x)[0, 0].tolist()) for _ in range(120)} == outcomes
    layer.eval()
    assert torch.equal(layer(x), x)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, float("nan")])
def test_a_dropout_that_is_no_probability(dropout):
    with pytest.raises(ValueError, match="dropout"):
        gpt.MultiHeadAttention(2, 1, dropout, attention_dropout=0.1)


@both
def test_values_are_held_to_and_not_only_shapes(kind):
    """Document 003's only test looks at a shape, which every wrong split and merge passes."""
    layer, x = LAYERS[kind](), random(2, 4, 30)
    q, k, v, o = (
        (*layer.children(),)[:4]
        if kind == "gpt"
        else (layer.query_layer, layer.key_layer, layer.value_layer, nn.Identity())
    )
    heads = []
    for i in range(5):
        part = slice(6 * i, 6 * i + 6)
        weights = torch.softmax(q(x)[..., part] @ k(x)[..., part].mT / 6**0.5, -1)
        heads.append(weights @ v(x)[..., part])
    assert_close(layer(x), o(torch.cat(heads, -1)), rtol=1e-12, atol=1e-12)


@both
def test_empty_batch_deepcopy_and_input_kept(kind):
    layer, x = LAYERS[kind](), random(2, 4, 30)
    before = x.clone()
    assert torch.equal(copy.deepcopy(layer)(x), layer(x)) and torch.equal(x, before)
    assert layer(x[:0]).shape == (0, 4, 30)
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[:, 3] = False
    spoiled = x.clone()
    spoiled[:, 3] = float("nan")
    assert_close(layer(spoiled, attn_mask=mask)[:, :3], layer(x, attn_mask=mask)[:, :3])


def test_berts_example():
    """Document 003: features (32, 20, 10), two heads, hidden 20."""
    layer = bert.SelfAttention(2, input_size=10, hidden_size=20)
    output, weights = layer(random(32, 20, 10, dtype=torch.float32), need_weights=True)
    assert output.shape == (32, 20, 20) and weights.shape == (32, 2, 20, 20)
