"""The layer against torch's own nn.MultiheadAttention with copied weights."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import ROUTES, make_layer, randn, run, torch_layer
from torch import nn

import mha_lib as mha
from mha_lib.heads import heads_apart, heads_together

both_routes = pytest.mark.parametrize("need_weights", ROUTES)
KINDS = ("none", "causal", "(Lq, Lk)", "(B, Lq, Lk)", "(B·h, Lq, Lk)", "(B, h, Lq, Lk)")


@st.composite
def cases(draw):
    """A layer's sizes, its inputs, lengths and mask, and the mask both amount to."""
    B, h, d, Lq, Lk = (draw(st.integers(1, top)) for top in (3, 4, 4, 5, 5))
    D, seed = h * d, draw(st.integers(0, 2**16))
    itself = draw(st.booleans())
    kdim, vdim = (D, D) if itself else (draw(st.integers(1, 6)), draw(st.integers(1, 6)))
    Lk = Lq if itself else Lk
    dtype = draw(st.sampled_from((torch.float64, torch.float64, torch.float32)))
    layer = make_layer(kdim, D, vdim, D, h, bias=draw(st.booleans()), seed=seed, dtype=dtype)
    layer.train(draw(st.booleans()))
    q = randn(B, Lq, D, seed=seed + 10, dtype=dtype)
    k = q if itself else randn(B, Lk, kdim, seed=seed + 11, dtype=dtype)
    v = q if itself else randn(B, Lk, vdim, seed=seed + 12, dtype=dtype)
    full = randn(B, h, Lq, Lk, seed=seed + 13) > draw(st.sampled_from((-1.0, 0.0, 1.0)))
    kind = draw(st.sampled_from(KINDS))
    mask, keep = {
        "none": (None, torch.ones_like(full)),
        "causal": (mha.causal_mask(Lq, Lk),) * 2,
        "(Lq, Lk)": (full[0, 0],) * 2,
        "(B, Lq, Lk)": (full[:, 0], full[:, :1]),
        "(B·h, Lq, Lk)": (full.flatten(0, 1), full),
        "(B, h, Lq, Lk)": (full, full),
    }[kind]
    if kind == "(B, Lq, Lk)" and B == 1:
        mask = mask[:, None]
    lens = None
    if draw(st.booleans()):
        lens = torch.tensor([draw(st.integers(0, Lk)) for _ in range(B)])
        keep = keep & mha.length_mask(lens, Lk)[:, None]
    return layer, (q, k, v), lens, mask, keep.expand(B, h, Lq, Lk)


def theirs_with_policy(layer, inputs, keep):
    """torch's layer, with what mha_lib promises for a row that may attend to nothing.

    torch answers such a row with NaN, so it is opened for torch and its weights are set to
    0; the values and W_o then make the output from the weights.
    """
    module = torch_layer(layer)
    alive = keep.any(-1, keepdim=True)
    shut_out = ~(keep | ~alive)
    output, weights = module(
        *inputs, attn_mask=shut_out.flatten(0, 1), need_weights=True, average_attn_weights=False
    )
    weights = weights * alive
    W_v, b_v = (
        (module.in_proj_weight.chunk(3)[2] if module.v_proj_weight is None else module.v_proj_weight),
        (None if module.in_proj_bias is None else module.in_proj_bias.chunk(3)[2]),
    )
    values = heads_apart(nn.functional.linear(inputs[2], W_v, b_v), layer.num_heads)
    from_weights = module.out_proj(heads_together(weights @ values))
    whole = alive.all(1)  # rows that no head leaves empty: there torch's own output stands
    return torch.where(whole, output, from_weights), weights, module


def gradients(output, inputs, module):
    tensors = [*dict.fromkeys(inputs), *module.parameters()]
    loss = (output * torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)).sum()
    return torch.autograd.grad(loss, tensors, materialize_grads=True)


@settings(deadline=None, derandomize=True, max_examples=120)
@given(cases())
def test_layer_equals_torch(case):
    """KyanChen/MakeMultiHeadNaive#2, pytorch/pytorch#32590: output, weights and every gradient, over random
    sizes, widths, lengths, masks and dtypes, on both routes."""
    layer, inputs, lens, mask, keep = case
    close = (
        {"atol": 1e-10, "rtol": 1e-10} if inputs[0].dtype == torch.float64 else {"atol": 1e-4, "rtol": 1e-4}
    )
    for tensor in inputs:
        tensor.requires_grad_()
    right, right_weights, module = theirs_with_policy(layer, inputs, keep)
    right_grads = gradients(right, inputs, module)
    given = len(set(inputs))
    for need_weights in ROUTES:
        output, weights = run(layer, *inputs, lens, attn_mask=mask, need_weights=need_weights)
        torch.testing.assert_close(output, right, **close)
        grads = gradients(output, inputs, layer)
        torch.testing.assert_close(grads[:given], right_grads[:given], **close)
        theirs = dict(zip((name for name, _ in module.named_parameters()), right_grads[given:], strict=True))
        ours = dict(zip((name for name, _ in layer.named_parameters()), grads[given:], strict=True))
        torch.testing.assert_close(ours["W_o.weight"], theirs["out_proj.weight"], **close)
        for at, name in enumerate(("W_q", "W_k", "W_v")):
            packed = theirs.get("in_proj_weight")
            want = theirs[f"{name[-1]}_proj_weight"] if packed is None else packed.chunk(3)[at]
            torch.testing.assert_close(ours[f"{name}.weight"], want, **close)
            if "in_proj_bias" in theirs:
                torch.testing.assert_close(ours[f"{name}.bias"], theirs["in_proj_bias"].chunk(3)[at], **close)
        if need_weights:
            torch.testing.assert_close(weights, right_weights, **close)
            assert (weights[~keep] == 0).all()


@both_routes
@pytest.mark.parametrize("kdim, vdim", [(8, 8), (5, 7)])
def test_keys_and_values_have_maps_of_their_own(kdim, vdim, need_weights):
    """KyanChen/MakeMultiHeadNaive#2 (document 002's full listing): W_k and W_v each count."""
    layer = make_layer(kdim, 8, vdim, 8, 2, bias=True)
    q, k, v = randn(2, 3, 8), randn(2, 5, kdim, seed=1), randn(2, 5, vdim, seed=2)
    right, weights = torch_layer(layer)(q, k, v, average_attn_weights=False)
    output, ours = run(layer, q, k, v, need_weights=need_weights)
    torch.testing.assert_close(output, right)
    assert ours is None or torch.testing.assert_close(ours, weights) is None
    for linear in (layer.W_k, layer.W_v):
        with torch.no_grad():
            linear.weight.add_(1 + torch.arange(8.0)[:, None] / 8)
        changed = run(layer, q, k, v, need_weights=need_weights)[0]
        assert not torch.allclose(changed, output)
        output = changed


@pytest.mark.parametrize("D, kdim, packed", [(4, 4, True), (4, 5, False), (6, 6, True), (6, 2, False)])
def test_conversion_copies_the_weights_in_their_order(D, kdim, packed):
    """pytorch/pytorch#32590: chunks in the order q, k, v, no transpose; with kdim nothing is packed."""
    layer = make_layer(kdim, D, D, D, 2, bias=True)
    converted, by_hand = mha.to_torch(layer), torch_layer(layer)
    assert (converted.in_proj_weight is not None) is packed
    if packed:
        q, k, v = converted.in_proj_weight.chunk(3)
        assert torch.equal(q, layer.W_q.weight) and torch.equal(k, layer.W_k.weight)
        assert torch.equal(v, layer.W_v.weight)
    assert list(converted.state_dict()) == list(by_hand.state_dict())
    for name, value in by_hand.state_dict().items():
        assert torch.equal(converted.state_dict()[name], value)
    back = mha.from_torch(converted)
    for name, value in layer.state_dict().items():
        assert torch.equal(back.state_dict()[name], value)


def test_fresh_layers_differ_and_copied_ones_agree():
    """pytorch/pytorch#166378: packed weights are initialised otherwise, so only copies can be compared."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        ours = mha.MultiHeadAttention(64, 64, 64, 64, 4)
        torch.manual_seed(0)
        theirs = nn.MultiheadAttention(64, 4, bias=False, batch_first=True)
    X = randn(2, 3, 64)
    assert not torch.allclose(ours(X, X, X), theirs(X, X, X)[0], atol=1e-3)
    torch.testing.assert_close(ours(X, X, X), torch_layer(ours)(X, X, X)[0])


@both_routes
def test_the_polarity_is_the_opposite_of_nn_multiheadattention(need_weights):
    """rasbt/LLMs-from-scratch#1061, pytorch/pytorch PR 170415: True keeps here, and shuts out there."""
    layer = make_layer(8, 8, 8, 8, 2)
    module = torch_layer(layer)
    X, causal = randn(2, 4, 8), mha.causal_mask(4, 4)
    output, _ = run(layer, X, X, X, attn_mask=causal, need_weights=need_weights)
    torch.testing.assert_close(output, module(X, X, X, attn_mask=~causal)[0])
    same_letter = module(X, X, X, attn_mask=causal | torch.eye(4, dtype=torch.bool).logical_not())[0]
    assert not torch.allclose(output, same_letter)
    lens = torch.tensor([4, 2])
    padded = ~mha.length_mask(lens, 4)[:, 0]
    output, _ = run(layer, X, X, X, lens, need_weights=need_weights)
    torch.testing.assert_close(output, module(X, X, X, key_padding_mask=padded)[0])


def test_a_forgotten_batch_first_gives_the_same_shape_and_other_numbers():
    """pytorch/pytorch#122959: nn.MultiheadAttention reads (L, B, D) unless told otherwise."""
    layer = make_layer(4, 4, 4, 4, 2)
    theirs = nn.MultiheadAttention(4, 2, bias=False)
    theirs.load_state_dict(torch_layer(layer).state_dict())
    X = randn(2, 3, 4)
    forgotten = theirs(X, X, X)[0]
    assert forgotten.shape == layer(X, X, X).shape
    assert not torch.allclose(forgotten, layer(X, X, X), atol=1e-3)
    turned = X.transpose(0, 1)
    torch.testing.assert_close(theirs(turned, turned, turned)[0].transpose(0, 1), layer(X, X, X))


def test_torch_averages_the_heads_unless_told():
    """pytorch/pytorch#34537, #47583: our weights are per head; their mean is what torch shows."""
    layer = make_layer(8, 8, 8, 8, 4)
    X = randn(2, 3, 8)
    _, weights = layer(X, X, X, need_weights=True)
    torch.testing.assert_close(weights.mean(1), torch_layer(layer)(X, X, X)[1])


@both_routes
@pytest.mark.parametrize("causal", [False, True])
def test_attention_equals_the_fused_kernel(causal, need_weights):
    """The bare weighted sum against torch.nn.functional, head axis and all."""
    q, k, v = (randn(2, 3, n, 4, seed=n, dtype=torch.float64) for n in (5, 6, 6))
    right = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    mask = mha.causal_mask(5, 6) if causal else None
    output, _ = run(mha.DotProductAttention(), q, k, v, attn_mask=mask, need_weights=need_weights)
    torch.testing.assert_close(output, right, atol=1e-10, rtol=1e-10)
