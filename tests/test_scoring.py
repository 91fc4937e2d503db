"""Two ways to score, and what both attentions do with lengths, masks, dropout and NaN."""

import math

import pytest
import torch
from oracle import FLOATS, ROUTES, randn, run, slow_attention

import mha_lib as mha

T, F = True, False
both_routes = pytest.mark.parametrize("need_weights", ROUTES)
DOT = mha.DotProductAttention()


def additive(dq=4, dk=4, dtype=torch.float32):
    layer = mha.AdditiveAttention(dk, dq, 6).to(dtype)
    with torch.no_grad():
        for i, parameter in enumerate(layer.parameters()):
            parameter.copy_(randn(*parameter.shape, seed=i))
    return layer


both_scorings = pytest.mark.parametrize("attention", [DOT, additive()], ids=["dot", "additive"])


# ---- scores


def test_scores_are_divided_by_the_root_of_the_head_width():
    """esceptico/perceiver-io#9: d ** -1 inverts the scale; Graylab/DL4Proteins-notebooks#12,
    lucidrains/vit-pytorch#65: √D is not √d."""
    q = torch.tensor([[2.0, 0, 0, 0]])
    keys = torch.tensor([[2.0, 0, 0, 0], [0, 2.0, 0, 0]])
    scores = mha.dot_product_scores(q, keys)
    assert scores.tolist() == [[2.0, 0.0]]
    right = torch.tensor([[0.880797, 0.119203]])
    torch.testing.assert_close(mha.masked_softmax(scores), right, atol=1e-6, rtol=0)
    _, weights = DOT(q[None], keys[None], keys[None], need_weights=True)
    torch.testing.assert_close(weights[0], right, atol=1e-6, rtol=0)
    twice = torch.cat([q, torch.zeros(1, 4)], 1), torch.cat([keys, torch.zeros(2, 4)], 1)  # D=8, h=2
    heads = [mha.split_heads(X[None], 2) for X in twice]
    torch.testing.assert_close(
        mha.masked_softmax(mha.dot_product_scores(*heads))[0], right, atol=1e-6, rtol=0
    )


@both_routes
def test_the_fused_route_has_the_same_scale(need_weights):
    """esceptico/perceiver-io#9, on both routes: the value of key 0 shows its weight."""
    q = torch.tensor([[[2.0, 0, 0, 0]]])
    keys = torch.tensor([[[2.0, 0, 0, 0], [0, 2.0, 0, 0]]])
    output, _ = run(DOT, q, keys, torch.tensor([[[1.0], [0.0]]]), need_weights=need_weights)
    torch.testing.assert_close(output, torch.tensor([[[0.880797]]]), atol=1e-6, rtol=0)


@both_routes
@pytest.mark.parametrize("dtype", FLOATS)
def test_float16_does_not_overflow_before_the_scaling(dtype, need_weights):
    """pytorch/pytorch#60939: 40 · 40 · 64 is above float16's 65504; the scaled score is not."""
    q = torch.full((1, 1, 64), 40.0, dtype=dtype)
    keys = torch.stack([q[0, 0], q[0, 0] / 2])[None]
    assert mha.dot_product_scores(q, keys).tolist() == [[[12800.0, 6400.0]]]
    output, weights = run(DOT, q, keys, keys, need_weights=need_weights)
    assert torch.equal(output, q)
    assert weights is None or weights.tolist() == [[[1.0, 0.0]]]


def test_a_scale_of_ones_own():
    q, k = randn(2, 3, 4), randn(2, 5, 4, seed=1)
    torch.testing.assert_close(mha.dot_product_scores(q, k, scale=1.0), q @ k.mT)
    torch.testing.assert_close(mha.dot_product_scores(q, k), q @ k.mT / 2)
    assert mha.dot_product_scores(q[..., :0], k[..., :0]).tolist() == [[[0.0] * 5] * 3] * 2


def test_additive_scores_by_hand():
    """Bahdanau's score: w · tanh(q + k), here one number at a time."""
    q, k, w = randn(3, 2), randn(4, 2, seed=1), randn(2, seed=2)
    right = [[sum(w[n] * math.tanh(q[i, n] + k[j, n]) for n in range(2)) for j in range(4)] for i in range(3)]
    torch.testing.assert_close(mha.additive_scores(q, k, w), torch.tensor(right))


def test_additive_attention_takes_keys_and_queries_of_other_widths():
    layer = additive(dq=3, dk=7)
    assert (layer.W_q.in_features, layer.W_k.in_features) == (3, 7)
    q, k, v = randn(2, 4, 3), randn(2, 5, 7, seed=1), randn(2, 5, 6, seed=2)
    output, weights = layer(q, k, v, torch.tensor([5, 2]), need_weights=True)
    scores = torch.tanh(layer.W_q(q)[:, :, None] + layer.W_k(k)[:, None]) @ layer.w_v.weight[0]
    right = scores.masked_fill(~mha.length_mask(torch.tensor([5, 2]), 5), -math.inf).softmax(-1)
    torch.testing.assert_close(weights, right)
    torch.testing.assert_close(output, right @ v)
    assert [name for name, _ in layer.named_parameters()] == ["W_q.weight", "W_k.weight", "w_v.weight"]


# ---- attention


@both_routes
@pytest.mark.parametrize("heads", [(), (3,)])
def test_against_a_loop_anyone_can_read(heads, need_weights):
    B, Lq, Lk, d, dv = 2, 4, 5, 6, 7
    q, k = randn(B, *heads, Lq, d, dtype=torch.float64), randn(B, *heads, Lk, d, seed=1, dtype=torch.float64)
    v = randn(B, *heads, Lk, dv, seed=2, dtype=torch.float64)
    keep = randn(B, *heads, Lq, Lk, seed=3) > 0
    keep[0, ..., 1, :] = False
    lens = torch.tensor([5, 3])
    output, weights = run(DOT, q, k, v, lens, attn_mask=keep, need_weights=need_weights)
    seen = keep & mha.length_mask(lens, Lk).view(B, *[1] * len(heads), 1, Lk)
    shape = (-1, heads[0] if heads else 1)
    for b in range(B):
        for i in range(shape[1]):
            at = (b, i) if heads else b
            context, slow = slow_attention(q[at], k[at], v[at], seen[at])
            torch.testing.assert_close(output[at], context)
            assert weights is None or torch.testing.assert_close(weights[at], slow) is None


@both_routes
@pytest.mark.parametrize("Lk, lens", [(4, [0]), (4, [[0, 0, 0]]), (0, None), (0, [0])])
@both_scorings
def test_nothing_to_attend_to_gives_nothing(attention, Lk, lens, need_weights):
    """d2l-ai/d2l-en PR 2423, NVIDIA/apex#1390: neither the average of the padding nor NaN."""
    q, k = randn(1, 3, 4), randn(1, Lk, 4, seed=1)
    lens = None if lens is None else torch.tensor(lens)
    output, weights = run(attention, q, k, k, lens, need_weights=need_weights)
    assert output.shape == (1, 3, 4) and (output == 0).all()
    assert weights is None or weights.shape == (1, 3, Lk) and (weights == 0).all()


@both_routes
@both_scorings
@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf, 1e30])
def test_what_has_no_part_reaches_nothing(garbage, attention, need_weights):
    """pytorch/pytorch#41508, the kind: an unseen key and its value, a query that sees no key, and
    a score of NaN reach neither the result nor a gradient."""
    keep = torch.tensor([[T, T, F, F, F], [T, F, T, F, F], [F] * 5, [T, T, T, F, F]])
    clean, dirty = [], []
    for at, (shape, no_part) in enumerate([((2, 4, 4), [2]), ((2, 5, 4), [3, 4]), ((2, 5, 4), [3, 4])]):
        for inputs, fill in ((clean, 0.0), (dirty, garbage)):
            X = randn(*shape, seed=at)
            X[:, no_part] = fill
            inputs.append(X.requires_grad_())
    results, grads = [], []
    for inputs in (clean, dirty):
        attention.zero_grad()
        output, weights = run(attention, *inputs, attn_mask=keep, need_weights=need_weights)
        (output.sum() + output.square().sum()).backward()
        results.append([output, *([] if weights is None else [weights])])
        grads.append([X.grad for X in inputs] + [p.grad.clone() for p in attention.parameters()])
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)
    torch.testing.assert_close(grads[1], grads[0], rtol=0, atol=0)
    assert (
        (grads[1][0][:, 2] == 0).all() and (grads[1][1][:, 3:] == 0).all() and (grads[1][2][:, 3:] == 0).all()
    )
    assert (results[1][0][:, 2] == 0).all()


@both_routes
def test_a_dead_row_has_finite_gradients_everywhere(need_weights):
    """pytorch/pytorch#41508: keep [[T, T, F], [F, F, F]]."""
    q, k, v = (randn(1, n, 4, seed=i).requires_grad_() for i, n in enumerate((2, 3, 3)))
    keep = torch.tensor([[T, T, F], [F, F, F]])
    output, _ = run(DOT, q, k, v, attn_mask=keep, need_weights=need_weights)
    output.sum().backward()
    for X in (q, k, v):
        assert X.grad.isfinite().all()
    assert (k.grad[:, 2] == 0).all() and (v.grad[:, 2] == 0).all() and (q.grad[:, 1] == 0).all()
    assert (v.grad[:, :2] != 0).all()


@both_routes
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_dtype_by_both_routes(dtype, need_weights):
    """NVIDIA/apex#1105: half precision has no place for −1e9."""
    q, k, v = (randn(2, n, 8, seed=i, dtype=dtype) for i, n in enumerate((3, 4, 4)))
    lens = torch.tensor([4, 0])
    output, weights = run(DOT, q, k, v, lens, need_weights=need_weights)
    assert output.dtype == dtype
    right, right_weights = DOT(q.double(), k.double(), v.double(), lens, need_weights=True)
    tolerance = 16 * torch.finfo(dtype).eps
    torch.testing.assert_close(output.double(), right, rtol=tolerance, atol=tolerance)
    assert (output[1] == 0).all()
    if need_weights:
        assert weights.dtype == dtype
        torch.testing.assert_close(weights.double(), right_weights, rtol=tolerance, atol=tolerance)


@both_routes
def test_causal_by_value(need_weights):
    """rasbt/LLMs-from-scratch#1061, pytorch/pytorch PR 170415: True means "may attend"."""
    zeros, values = torch.zeros(1, 3, 1), torch.tensor([[[1.0], [2.0], [4.0]]])
    output, _ = run(DOT, zeros, zeros, values, attn_mask=mha.causal_mask(3, 3), need_weights=need_weights)
    torch.testing.assert_close(output.flatten(), torch.tensor([1.0, 1.5, 7 / 3]))


@both_routes
def test_lengths_and_causal_both_apply(need_weights):
    """pytorch/pytorch#99282: neither is dropped for the other."""
    zeros, values = torch.zeros(1, 3, 1), torch.tensor([[[1.0], [2.0], [4.0]]])
    causal = mha.causal_mask(3, 3)
    output, _ = run(DOT, zeros, zeros, values, torch.tensor([2]), attn_mask=causal, need_weights=need_weights)
    assert output.flatten().tolist() == [1.0, 1.5, 1.5]


# ---- dropout


@both_routes
def test_dropout_falls_on_the_weights(need_weights):
    """nikhilbarhate99/min-decision-transformer#2: on the weights a value falls or stays whole; on the
    output its features would fall one by one."""
    layer = mha.DotProductAttention(dropout=0.5)
    x, v = torch.ones(1, 1, 2), torch.tensor([[[1.0, 2.0]]])
    seen = set()
    for seed in range(40):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            output, weights = run(layer, x, x, v, need_weights=need_weights)
        seen.add(tuple(output.flatten().tolist()))
        assert weights is None or weights.item() == 1.0, "shown before dropout"
    assert seen == {(0.0, 0.0), (2.0, 4.0)}


@both_scorings
def test_shown_weights_are_taken_before_dropout(attention):
    """pytorch/pytorch#42929, #33360: while training, rows still sum to 1."""
    layer = type(attention)(0.5) if attention is DOT else mha.AdditiveAttention(4, 4, 6, dropout=0.5)
    X = randn(2, 3, 4)
    output, weights = layer.train()(X, X, X, need_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))
    assert not torch.allclose(output, weights @ X), "dropout did act on the output"


@both_routes
def test_the_routes_drop_alike_on_the_average(need_weights):
    """pytorch/pytorch#149726: one seed, two kernels: no equality is promised; the mean is."""
    layer = mha.DotProductAttention(dropout=0.5)
    q = k = torch.zeros(1, 1, 2).expand(2000, 3, 2)
    v = torch.tensor([1.0, 2.0, 6.0])[:, None].expand(2000, 3, 1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        output, _ = run(layer, q, k, v, need_weights=need_weights)
    assert abs(float(output.mean()) - 3.0) < 0.15


@both_routes
def test_no_dropout_after_eval(need_weights):
    """pytorch/pytorch#124464: two calls in eval are the same to the bit."""
    layer = mha.DotProductAttention(dropout=0.5).eval()
    X = randn(2, 3, 4)
    first, second = (run(layer, X, X, X, need_weights=need_weights)[0] for _ in range(2))
    assert torch.equal(first, second)
    torch.testing.assert_close(first, DOT(X, X, X))


# ---- what does not change


@both_routes
@both_scorings
def test_nothing_passed_in_is_changed(attention, need_weights):
    """jadore801120/attention-is-all-you-need-pytorch#16."""
    given = [randn(2, 3, 4, seed=i).requires_grad_() for i in range(3)]
    lens, keep = torch.tensor([2, 0]), mha.causal_mask(3, 3)
    before = [X.detach().clone() for X in (*given, lens, keep)]
    output, _ = run(attention, *given, lens, attn_mask=keep, need_weights=need_weights)
    output.sum().backward()
    for now, then in zip((*given, lens, keep), before, strict=True):
        assert torch.equal(now.detach(), then) and now._version == 0


@both_routes
def test_meta_device(need_weights):
    """GRAAL-Research/deepparse PR 298: masks from the CPU follow the inputs."""
    X = torch.zeros(2, 3, 4, device="meta")
    lens, keep = torch.tensor([1, 2]), mha.causal_mask(3, 3)
    output, _ = run(DOT, X, X, X, lens, attn_mask=keep, need_weights=need_weights)
    assert output.device.type == "meta" and output.shape == X.shape


@both_routes
@both_scorings
def test_gradients_are_right(attention, need_weights):
    """The derivative of both routes against finite differences, with a dead row and an unseen key."""
    layer = DOT if attention is DOT else additive(dtype=torch.float64)
    q, k, v = (randn(1, n, 4, seed=i, dtype=torch.float64).requires_grad_() for i, n in enumerate((3, 4, 4)))
    keep = torch.tensor([[T, T, F, F], [F] * 4, [T, T, T, F]])
    assert torch.autograd.gradcheck(
        lambda *x: run(layer, *x, attn_mask=keep, need_weights=need_weights)[0], (q, k, v)
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("masked", [False, True])
def test_scores_beyond_half_precision(dtype, masked):
    """pytorch/pytorch#60939, the kind: 80,000 is no float16, but 1 and 0 are the weights of 80,000 and
    40,000; the fused kernel keeps them in float32, and so does the way by steps."""
    q = torch.tensor([[[400.0, 0, 0, 0]]], dtype=dtype)
    k = torch.tensor([[[400.0, 0, 0, 0], [200.0, 0, 0, 0], [0, 0, 0, 0]]], dtype=dtype)
    v = torch.eye(3, 4, dtype=dtype)[None]
    lens = torch.tensor([2]) if masked else None
    attend = mha.DotProductAttention()
    context, weights = attend(q, k, v, lens, need_weights=True)
    assert context.dtype == weights.dtype == dtype
    assert weights.tolist() == [[[1.0, 0.0, 0.0]]]
    assert torch.equal(attend(q, k, v, lens), context)


@pytest.mark.parametrize("need_weights", ROUTES)
@pytest.mark.parametrize("garbage", [math.nan, math.inf])
def test_a_padded_query_reaches_no_gradient(garbage, need_weights):
    """pytorch/pytorch#41508, the kind: in self-attention a padded word asks, too, under whatever name."""
    for ask in (lambda x: x, lambda x: x + 0, lambda x: x.clone()):
        x = randn(2, 4, 6)
        x[0, 3:] = x[1, 2:] = garbage
        x.requires_grad_()
        context, _ = run(
            mha.DotProductAttention(), ask(x), x, x, torch.tensor([3, 2]), need_weights=need_weights
        )
        (context[0, :3].sum() + context[1, :2].sum()).backward()
        assert x.grad.isfinite().all()
        assert not x.grad[0, 3:].any() and not x.grad[1, 2:].any()


def test_a_query_that_is_not_a_number_is_shown():
    """NaN in a query of its own is a fault that must be seen, in that query's row and in no other."""
    q, k = randn(1, 3, 4), randn(1, 5, 4, seed=1)
    q[0, 1, 2] = math.nan
    context, weights = mha.DotProductAttention()(q, k, k, torch.tensor([4]), need_weights=True)
    assert context.isnan().any(-1).tolist() == weights.isnan().any(-1).tolist() == [[False, True, False]]


def test_numbers_of_another_kind():
    x = torch.ones(1, 2, 4)
    for wrong in ((x.long(),) * 3, (x, x.double(), x)):
        with pytest.raises(TypeError, match="queries, keys, values: .*floating-point.*float"):
            mha.DotProductAttention()(*wrong)
