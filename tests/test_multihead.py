"""The layer: every policy on both routes, in every mode."""

import copy
import math

import pytest
import torch
from oracle import FLOATS, ROUTES, make_layer, randn, run, slow_attention

import mha_lib as mha
from mha_lib.heads import heads_apart

T, F = True, False
both_routes = pytest.mark.parametrize("need_weights", ROUTES)
both_scorings = pytest.mark.parametrize("scoring", ["dot", "additive"])


def identity_layer(D, h, **options):
    layer = mha.MultiHeadAttention(D, D, D, D, h, **options)
    with torch.no_grad():
        for linear in (layer.W_q, layer.W_k, layer.W_v, layer.W_o):
            linear.weight.copy_(torch.eye(D))
    return layer


# ---- worked by hand


@both_routes
def test_the_worked_oracle(need_weights):
    """Identity maps, two heads, two words: every number by hand."""
    X = torch.tensor([[[1.0, 0, 0, 2], [0, 1, 2, 0]]])
    a, b = 0.669762, 0.944193
    layer = identity_layer(4, 2)
    output, weights = run(layer, X, X, X, need_weights=need_weights)
    right = torch.tensor([[[a, 1 - a, 2 * (1 - b), 2 * b], [1 - a, a, 2 * b, 2 * (1 - b)]]])
    torch.testing.assert_close(output, right, atol=2e-6, rtol=0)
    if need_weights:
        right = torch.tensor([[[[a, 1 - a], [1 - a, a]], [[b, 1 - b], [1 - b, b]]]])
        torch.testing.assert_close(weights, right, atol=1e-6, rtol=0)
    output, _ = run(layer, X, X, X, torch.tensor([1]), need_weights=need_weights)
    assert output.tolist() == [[[1, 0, 0, 2], [1, 0, 0, 2]]]


@both_routes
def test_against_a_loop_over_sentences_and_heads(need_weights):
    """fchollet/deep-learning-with-python-notebooks#261: each head has the query to itself."""
    B, h, Lq, Lk, d = 2, 3, 4, 5, 6
    layer = make_layer(7, 9, 8, h * d, h, bias=True, dtype=torch.float64)
    q = randn(B, Lq, 9, dtype=torch.float64)
    k, v = randn(B, Lk, 7, seed=1, dtype=torch.float64), randn(B, Lk, 8, seed=2, dtype=torch.float64)
    keep = randn(B, h, Lq, Lk, seed=3) > -0.3
    keep[1, 2, 3] = False
    output, weights = run(layer, q, k, v, attn_mask=keep, need_weights=need_weights)
    Q, K, V = layer.W_q(q), layer.W_k(k), layer.W_v(v)
    for b in range(B):
        contexts = []
        for i in range(h):
            cut = slice(i * d, (i + 1) * d)
            context, slow = slow_attention(Q[b, :, cut], K[b, :, cut], V[b, :, cut], keep[b, i])
            contexts.append(context)
            assert weights is None or torch.testing.assert_close(weights[b, i], slow) is None
        torch.testing.assert_close(output[b], layer.W_o(torch.cat(contexts, -1)))


# ---- rows with nothing to attend to


@both_scorings
@both_routes
@pytest.mark.parametrize("mode", ["train", "eval", "no_grad", "inference"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_length_0_gives_the_bias_of_W_o_in_every_mode(mode, dtype, need_weights, scoring):
    """d2l-ai/d2l-en PR 2423, NVIDIA/apex#1390, pytorch/pytorch PR 190486: not the average of the padding,
    not NaN, and the same whether training, evaluating, with weights or without."""
    layer = make_layer(6, 6, 6, 6, 3, bias=True, dtype=dtype, scoring=scoring).train(mode == "train")
    X = randn(2, 4, 6, dtype=dtype)
    contexts = {"no_grad": torch.no_grad, "inference": torch.inference_mode}
    with contexts.get(mode, torch.enable_grad)():
        output, weights = run(layer, X, X, X, torch.tensor([0, 3]), need_weights=need_weights)
    assert torch.equal(output[0], layer.W_o.bias.expand(4, 6))
    assert output.isfinite().all() and not torch.equal(output[1], output[0])
    if need_weights:
        assert (weights[0] == 0).all() and (weights[1, :, :, 3] == 0).all()
        tolerance = 4 * torch.finfo(dtype).eps
        torch.testing.assert_close(
            weights[1].sum(-1), torch.ones(3, 4, dtype=dtype), rtol=tolerance, atol=tolerance
        )


@both_routes
def test_a_head_that_may_see_nothing(need_weights):
    """pytorch/pytorch#160064: heads 0 and 1 of three fully masked; the third goes on."""
    X = torch.ones(1, 5, 3, requires_grad=True)
    layer = make_layer(3, 3, 3, 3, 3)
    keep = torch.tensor([F, F, T])[None, :, None, None].expand(1, 3, 5, 5)
    output, weights = run(layer, X, X, X, attn_mask=keep, need_weights=need_weights)
    output.sum().backward()
    assert output.isfinite().all() and X.grad.isfinite().all()
    third = layer.W_o.weight[:, 2:] @ layer.W_v.weight[2:] @ torch.ones(3)
    torch.testing.assert_close(output[0], third.expand(5, 3))
    if need_weights:
        assert (weights[0, :2] == 0).all()
        torch.testing.assert_close(weights[0, 2].sum(-1), torch.ones(5))


@both_routes
def test_a_dead_row_leaves_every_gradient_finite(need_weights):
    """pytorch/pytorch#41508: keep [[T, T, F], [F, F, F]] in the whole layer."""
    layer = make_layer(4, 4, 4, 4, 2, bias=True)
    q, kv = randn(1, 2, 4).requires_grad_(), randn(1, 3, 4, seed=1).requires_grad_()
    keep = torch.tensor([[T, T, F], [F, F, F]])
    run(layer, q, kv, kv, attn_mask=keep, need_weights=need_weights)[0].sum().backward()
    for tensor in (q, kv, *layer.parameters()):
        assert tensor.grad.isfinite().all()
    assert (kv.grad[0, 2] == 0).all() and (q.grad[0, 1] == 0).all() and (kv.grad[0, :2] != 0).any()


# ---- what no query may see


@both_scorings
@both_routes
@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("masking", ["lengths", "mask", "heads"])
def test_garbage_in_the_padding_gets_nowhere(masking, garbage, need_weights, scoring):
    """pytorch/pytorch#41508, awslabs/sockeye PR 282, the kind: self-attention whose padded words ask
    as well, and a mask a head, one of which sees nothing at all."""
    layer = make_layer(6, 6, 6, 6, 3, bias=True, scoring=scoring)
    lens = torch.tensor([2, 0])
    keep = mha.length_mask(lens, 4)
    options = {"valid_lens": lens} if masking == "lengths" else {"attn_mask": keep.expand(2, 4, 4)}
    if masking == "heads":
        options = {"attn_mask": keep[:, None] & torch.tensor([T, F, T])[None, :, None, None]}
    results = []
    for fill in (0.0, garbage):
        X = randn(2, 4, 6)
        X[0, 2:] = fill
        X[1, :] = fill
        X.requires_grad_()
        layer.zero_grad()
        output, weights = run(layer, X, X, X, need_weights=need_weights, **options)
        output.square().sum().backward()
        grads = [p.grad.clone() for p in layer.parameters()]
        results.append([output, *([] if weights is None else [weights]), X.grad[0, :2], *grads])
        assert X.grad.isfinite().all()
    for got, right in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(got, right, rtol=0, atol=0)


@both_routes
@pytest.mark.parametrize("garbage", [math.nan, math.inf])
def test_garbage_in_cross_attention_gets_nowhere(garbage, need_weights):
    """pytorch/pytorch#41508, the kind: other keys than values, and a query that sees nothing."""
    layer = make_layer(5, 6, 7, 6, 3, bias=True)
    keep = torch.tensor([[T, T, F, F], [F] * 4, [F, T, F, F]])
    results = []
    for fill in (0.0, garbage):
        q, k, v = randn(2, 3, 6), randn(2, 4, 5, seed=1), randn(2, 4, 7, seed=2)
        q[:, 1], k[:, 2:], v[:, 2:] = fill, fill, fill
        layer.zero_grad()
        output, _ = run(layer, q, k, v, attn_mask=keep, need_weights=need_weights)
        output.square().sum().backward()
        results.append([output, *(p.grad.clone() for p in layer.parameters())])
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)


# ---- lengths


@both_routes
def test_lengths_reach_the_kernel(need_weights):
    """awslabs/sockeye PR 282: they change the output, [Lk] equals None, a masked word has no say."""
    layer = make_layer(4, 4, 4, 4, 2)
    X = randn(1, 3, 4)

    def at(words, length):
        lens = None if length is None else torch.tensor([length])
        return run(layer, words, words, words, lens, need_weights=need_weights)[0]

    assert not torch.allclose(at(X, 1), at(X, 3))
    torch.testing.assert_close(at(X, 3), at(X, None))
    edited = X.clone()
    edited[0, 2] = 100.0
    torch.testing.assert_close(at(edited, 2)[0, :2], at(X, 2)[0, :2], rtol=0, atol=0)


@both_routes
def test_padded_words_still_ask(need_weights):
    """pytorch/pytorch#27968, #86120: lengths mask keys; the valid rows equal the sentence cut short."""
    layer = make_layer(8, 8, 8, 8, 2)
    X = randn(1, 5, 8)
    output, _ = run(layer, X, X, X, torch.tensor([3]), need_weights=need_weights)
    short, _ = run(layer, X[:, :3], X[:, :3], X[:, :3], need_weights=need_weights)
    torch.testing.assert_close(output[:, :3], short, atol=1e-6, rtol=1e-6)
    assert (output[:, 3:] != 0).all()


@both_routes
@pytest.mark.parametrize("heads", [2, 4])
def test_lengths_follow_the_sentence_not_the_head(heads, need_weights):
    """line/lighthouse PR 77, ArrowLuo/CLIP4Clip#22: [1, 3] becomes [1, 1, 3, 3], never [1, 3, 1, 3]."""
    layer = identity_layer(4, heads)
    zeros, v = torch.zeros(2, 3, 4), torch.arange(24.0).view(2, 3, 4)
    output, _ = run(layer, zeros, zeros, v, torch.tensor([1, 3]), need_weights=need_weights)
    torch.testing.assert_close(output[:, 0], torch.tensor([[0.0, 1, 2, 3], [16, 17, 18, 19]]))


@both_routes
def test_a_length_for_each_query(need_weights):
    layer = make_layer(4, 4, 4, 4, 2)
    X = randn(2, 3, 4)
    lens = torch.tensor([[1, 2, 3], [0, 3, 1]])
    output, _ = run(layer, X, X, X, lens, need_weights=need_weights)
    by_mask, _ = run(layer, X, X, X, attn_mask=mha.length_mask(lens, 3), need_weights=need_weights)
    assert torch.equal(output, by_mask)
    assert (output[1, 0] == 0).all()
    causal, _ = run(layer, X, X, X, attn_mask=mha.causal_mask(3, 3), need_weights=need_weights)
    torch.testing.assert_close(output[0], causal[0])


# ---- masks


@both_routes
def test_a_mask_for_each_sentence_is_not_one_for_each_head(need_weights):
    """lucidrains/graph-transformer-pytorch PR 2: B = h = L = 2, where a wrong broadcast passes unseen."""
    layer = identity_layer(2, 2)
    zeros, v = torch.zeros(2, 2, 2), torch.arange(8.0).view(2, 2, 2)
    keep = torch.tensor([[[T, F], [T, F]], [[T, T], [T, T]]])
    output, weights = run(layer, zeros, zeros, v, attn_mask=keep, need_weights=need_weights)
    torch.testing.assert_close(output[0], v[0, :1].expand(2, 2))
    torch.testing.assert_close(output[1], v[1].mean(0).expand(2, 2))
    if need_weights:
        assert weights[0].tolist() == [[[1, 0], [1, 0]]] * 2 and (weights[1] == 0.5).all()


@both_routes
def test_a_plain_causal_mask_with_as_many_heads_as_words(need_weights):
    """hyunwoongko/transformer#32 (document 002's unsqueeze): h = L = 3, the mask stays on the words."""
    layer = identity_layer(3, 3)
    zeros, v = torch.zeros(1, 3, 3), torch.tensor([1.0, 2.0, 4.0])[None, :, None].expand(1, 3, 3)
    causal = mha.causal_mask(3, 3)
    for keep in (causal, causal[None], causal[None, None], causal.expand(3, 3, 3), causal.expand(1, 3, 3, 3)):
        output, _ = run(layer, zeros, zeros, v, attn_mask=keep, need_weights=need_weights)
        torch.testing.assert_close(output[0, :, 0], torch.tensor([1.0, 1.5, 7 / 3]))


@both_routes
def test_the_folded_mask_is_sentence_by_sentence(need_weights):
    """pytorch/pytorch#64706: (B·h, L, L) by repeat_interleave matches the lengths, by repeat it does not."""
    layer = make_layer(4, 4, 4, 4, 2)
    X, lens = randn(2, 3, 4), torch.tensor([1, 3])
    right, _ = run(layer, X, X, X, lens, need_weights=need_weights)
    by_sentence = mha.length_mask(lens, 3).expand(2, 3, 3)
    folded = by_sentence.repeat_interleave(2, 0)
    tiled = by_sentence.repeat(2, 1, 1)
    torch.testing.assert_close(run(layer, X, X, X, attn_mask=folded, need_weights=need_weights)[0], right)
    assert not torch.allclose(run(layer, X, X, X, attn_mask=tiled, need_weights=need_weights)[0], right)


# ---- weights


def test_weights_only_when_asked():
    """lyuwenyu/RT-DETR#678: the output is the same, and nothing else comes back."""
    layer = make_layer(8, 8, 8, 8, 4)
    X, lens = randn(2, 5, 8), torch.tensor([5, 2])
    alone = layer(X, X, X, lens)
    assert isinstance(alone, torch.Tensor)
    output, weights = layer(X, X, X, lens, need_weights=True)
    torch.testing.assert_close(alone, output, atol=1e-6, rtol=1e-6)
    assert weights.shape == (2, 4, 5, 5) and weights.requires_grad
    assert not [name for name, value in vars(layer.attention).items() if isinstance(value, torch.Tensor)]


def test_each_head_shows_its_own_weights():
    """pytorch/pytorch#34537, #47583: heads [1, 0] and [0, 1]; their mean would say [.5, .5]."""
    layer = identity_layer(2, 2)
    q = torch.tensor([[[500.0, 500.0]]])
    kv = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    _, weights = layer(q, kv, kv, need_weights=True)
    assert weights.tolist() == [[[[1.0, 0.0]], [[0.0, 1.0]]]]
    assert weights.mean(1).tolist() == [[[0.5, 0.5]]]


def test_weights_are_shown_before_dropout_and_eval_is_still():
    """pytorch/pytorch#42929, #33360, #124464."""
    layer = make_layer(6, 6, 6, 6, 3, dropout=0.5)
    X = randn(2, 3, 6)
    _, weights = layer.train()(X, X, X, need_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 3))
    for need_weights in ROUTES:
        layer.train()
        training = run(layer, X, X, X, need_weights=need_weights)[0]
        layer.eval()
        first, second = (run(layer, X, X, X, need_weights=need_weights)[0] for _ in range(2))
        assert torch.equal(first, second) and not torch.allclose(first, training)


# ---- heads and maps


def test_heads_are_independent():
    """fchollet/deep-learning-with-python-notebooks#261: what head B learns leaves head A as it was."""
    layer = make_layer(6, 6, 6, 6, 2)
    X = randn(2, 4, 6)
    _, before = layer(X, X, X, need_weights=True)
    with torch.no_grad():
        layer.W_q.weight[3:] *= -2
    _, after = layer(X, X, X, need_weights=True)
    assert torch.equal(before[:, 0], after[:, 0]) and not torch.allclose(before[:, 1], after[:, 1])


def test_a_head_reads_all_features():
    """pbloem/former#13: project, then split: equal halves of x still give two different heads."""
    layer = make_layer(4, 4, 4, 4, 2)
    half = randn(1, 3, 2)
    X = torch.cat([half, half], -1)
    _, weights = layer(X, X, X, need_weights=True)
    assert not torch.allclose(weights[:, 0], weights[:, 1])
    assert layer.W_q.weight.numel() == 16
    X = randn(1, 3, 4).requires_grad_()
    layer(X, X, X, need_weights=True)[1][0, 0, 0, 0].backward()
    assert (X.grad[0, 0] != 0).all(), "head A depends on every feature of its word"


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 12])
def test_the_number_of_weights_does_not_depend_on_the_heads(heads):
    """Kyubyong/transformer#117: 4·D², W_o among them."""
    layer = mha.MultiHeadAttention(12, 12, 12, 12, heads)
    assert sum(p.numel() for p in layer.parameters()) == 4 * 12**2
    assert sum(p.numel() for p in mha.documents.bert.SelfAttention(2, 12, 12).parameters()) == 3 * (
        12**2 + 12
    )


def test_concatenating_is_summing_the_heads_through_their_slices_of_W_o():
    """awf/functional-transformer#8: h = 2, d = 3, W_o (6, 6)."""
    layer = make_layer(6, 6, 6, 6, 2)
    X = randn(2, 4, 6)
    output, weights = layer(X, X, X, need_weights=True)
    contexts = weights @ heads_apart(layer.W_v(X), 2)
    summed = sum(contexts[:, i] @ layer.W_o.weight[:, 3 * i : 3 * i + 3].T for i in range(2))
    torch.testing.assert_close(output, summed)


@both_routes
def test_widths_of_their_own(need_weights):
    """d2l-ai/d2l-en#2056, pytorch/pytorch#27623: the constructor is key-first, the call query-first."""
    layer = mha.MultiHeadAttention(7, 8, 9, 8, 2)
    assert [tuple(w.weight.shape) for w in (layer.W_q, layer.W_k, layer.W_v)] == [(8, 8), (8, 7), (8, 9)]
    output, weights = run(
        layer, randn(2, 3, 8), randn(2, 5, 7), randn(2, 5, 9), torch.tensor([5, 1]), need_weights=need_weights
    )
    assert output.shape == (2, 3, 8)
    assert weights is None or weights.shape == (2, 2, 3, 5)


def test_the_order_in_which_the_maps_are_made_is_frozen():
    """neetcode-gh/leetcode#5169: another order gives other numbers from the same seed."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = mha.MultiHeadAttention(4, 4, 4, 4, 2, bias=True)
        torch.manual_seed(0)
        plain = [torch.nn.Linear(4, 4) for _ in range(4)]
    for name, linear in zip(("W_q", "W_k", "W_v", "W_o"), plain, strict=True):
        assert torch.equal(getattr(layer, name).weight, linear.weight)
        assert torch.equal(getattr(layer, name).bias, linear.bias)
    assert list(layer.state_dict()) == [f"W_{m}.{p}" for m in "qkvo" for p in ("weight", "bias")]


# ---- batches


@both_routes
@pytest.mark.parametrize("shape, lens", [((0, 3, 4), []), ((2, 0, 4), [0, 0]), ((0, 0, 4), [])])
def test_empty_batch_and_empty_sentences(shape, lens, need_weights):
    """pytorch/pytorch#188765."""
    layer = make_layer(4, 4, 4, 4, 2, bias=True)
    X = torch.zeros(shape, requires_grad=True)
    B, L, _ = shape
    for lengths in (None, torch.tensor(lens, dtype=torch.long)):
        output, weights = run(layer, X, X, X, lengths, need_weights=need_weights)
        assert output.shape == shape
        assert weights is None or weights.shape == (B, 2, L, L)
        output.sum().backward()
        assert all(p.grad.isfinite().all() for p in layer.parameters())


@both_routes
def test_no_keys_at_all(need_weights):
    """pytorch/pytorch#188765, in cross-attention: nothing to attend to, so W_o's bias."""
    layer = make_layer(4, 4, 4, 4, 2, bias=True)
    X = randn(2, 3, 4)
    for lens in (None, torch.tensor([0, 0])):
        output, weights = run(layer, X, X[:, :0], X[:, :0], lens, need_weights=need_weights)
        assert torch.equal(output, layer.W_o.bias.expand(2, 3, 4))
        assert weights is None or weights.shape == (2, 2, 3, 0)


@both_routes
def test_a_sentence_alone_is_as_in_its_batch(need_weights):
    """pytorch/pytorch#34060: equal to rounding; never to the bit."""
    layer = make_layer(128, 128, 128, 128, 8)
    X, lens = randn(3, 2, 128) / 4, torch.tensor([2, 1, 2])
    whole, _ = run(layer, X, X, X, lens, need_weights=need_weights)
    for b in range(3):
        one = X[b : b + 1]
        alone, _ = run(layer, one, one, one, lens[b : b + 1], need_weights=need_weights)
        torch.testing.assert_close(alone, whole[b : b + 1], rtol=1e-5, atol=1e-5)


# ---- a layer among torch's tools


@both_scorings
def test_copy_and_state(scoring):
    layer = make_layer(4, 4, 4, 4, 2, bias=True, scoring=scoring)
    X, lens = randn(2, 3, 4), torch.tensor([3, 1])
    before = set(vars(layer)) | set(vars(layer.attention))
    right, _ = layer(X, X, X, lens, need_weights=True)
    assert set(vars(layer)) | set(vars(layer.attention)) == before, "a call leaves nothing behind"
    twin = copy.deepcopy(layer)
    other = make_layer(4, 4, 4, 4, 2, bias=True, scoring=scoring, seed=9)
    assert not torch.allclose(other(X, X, X, lens), right)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(twin(X, X, X, lens), other(X, X, X, lens))
    with torch.no_grad():
        twin.W_v.weight.zero_()
    torch.testing.assert_close(layer(X, X, X, lens), right)


def test_state_holds_the_four_maps_only():
    assert list(mha.MultiHeadAttention(4, 4, 4, 4, 2).state_dict()) == [f"W_{m}.weight" for m in "qkvo"]


@both_routes
@both_scorings
def test_nothing_passed_in_is_changed(scoring, need_weights):
    """jadore801120/attention-is-all-you-need-pytorch#16."""
    layer = make_layer(4, 4, 4, 4, 2, scoring=scoring)
    q, kv = randn(2, 3, 4).requires_grad_(), randn(2, 5, 4, seed=1).requires_grad_()
    lens, keep = torch.tensor([0, 4]), mha.causal_mask(3, 5)
    given = (q, kv, lens, keep, *layer.parameters())
    before = [X.detach().clone() for X in given]
    versions = [X._version for X in given]
    run(layer, q, kv, kv, lens, attn_mask=keep, need_weights=need_weights)[0].sum().backward()
    with torch.no_grad():  # where a kernel might be tempted to work in place
        run(layer, q, kv, kv, lens, attn_mask=keep, need_weights=need_weights)
    for now, then in zip(given, before, strict=True):
        assert torch.equal(now.detach(), then)
    assert [X._version for X in given] == versions


@both_routes
def test_meta_device(need_weights):
    """GRAAL-Research/deepparse PR 298: lengths and mask come from the CPU, the inputs live elsewhere."""
    layer = mha.MultiHeadAttention(4, 4, 4, 4, 2).to("meta")
    X = torch.zeros(2, 3, 4, device="meta")
    output, weights = run(
        layer, X, X, X, torch.tensor([1, 3]), attn_mask=mha.causal_mask(3, 3), need_weights=need_weights
    )
    assert output.is_meta and output.shape == X.shape
    assert weights is None or weights.is_meta and weights.shape == (2, 2, 3, 3)


@both_routes
@both_scorings
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype, scoring, need_weights):
    """NVIDIA/apex#1105: mixed precision, a dead row and unseen garbage among it."""
    layer = make_layer(8, 8, 8, 8, 2, bias=True, scoring=scoring)
    X, lens = randn(2, 4, 8), torch.tensor([3, 0])
    right = layer(X, X, X, lens)
    X[0, 3] = math.nan
    with torch.autocast("cpu", dtype=dtype):
        output, weights = run(layer, X, X, X, lens, need_weights=need_weights)
    assert output.dtype == dtype
    torch.testing.assert_close(output[0, :3].float(), right[0, :3], atol=0.06, rtol=0.06)
    torch.testing.assert_close(output[1].float(), layer.W_o.bias.expand(4, 8), atol=0.02, rtol=0.02)
    output.sum().backward()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_one_graph_without_breaks(backend):
    """pytorch/pytorch#97158: masks are made of tensors, not of Python branches on values."""
    torch.compiler.reset()
    layer = make_layer(4, 4, 4, 4, 2, bias=True)
    compiled = torch.compile(layer, fullgraph=True, backend=backend)
    X = randn(2, 3, 4)
    X[0, 2] = math.nan
    X.requires_grad_()
    for lens in (torch.tensor([2, 0]), torch.tensor([2, 3])):
        for options in ({"need_weights": True}, {"attn_mask": mha.causal_mask(3, 3)}):
            got, right = compiled(X, X, X, lens, **options), layer(X, X, X, lens, **options)
            torch.testing.assert_close(got, right)
            first = got[0] if "need_weights" in options else got
            (grad,) = torch.autograd.grad(first.sum(), X)
            assert grad.isfinite().all()
    torch.compiler.reset()


@both_routes
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_functional_derivatives_and_vmap(need_weights):
    layer = make_layer(4, 4, 4, 4, 2)
    X, lens = randn(2, 3, 4), torch.tensor([2, 0])

    def of(x):
        return run(layer, x, x, x, lens, need_weights=need_weights)[0]

    jacobian = torch.autograd.functional.jacobian(of, X)
    assert jacobian.shape == (2, 3, 4, 2, 3, 4) and jacobian.isfinite().all()
    torch.testing.assert_close(torch.func.jacrev(of)(X), jacobian)
    many = torch.stack([X, X * 2, -X])
    torch.testing.assert_close(torch.func.vmap(of)(many), torch.stack([of(x) for x in many]))
    parameters = dict(layer.named_parameters())

    def loss(parameters, x):
        return torch.func.functional_call(layer, parameters, (x, x, x, lens)).square().sum()

    per_sample = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, many)
    for i, x in enumerate(many):
        torch.testing.assert_close(
            per_sample["W_v.weight"][i], torch.func.grad(loss)(parameters, x)["W_v.weight"]
        )


def test_more_derivatives_by_steps():
    """torch's fused kernel on the CPU has neither of these; the route with weights has."""
    layer = make_layer(4, 4, 4, 4, 2, dtype=torch.float64)
    X, lens = randn(2, 3, 4, dtype=torch.float64), torch.tensor([2, 0])

    def of(x):
        return layer(x, x, x, lens, need_weights=True)[0]

    torch.testing.assert_close(torch.func.jacfwd(of)(X), torch.func.jacrev(of)(X))
    hessian = torch.autograd.functional.hessian(lambda x: of(x).square().sum(), X)
    assert hessian.isfinite().all() and (hessian != 0).any()
    torch.testing.assert_close(hessian, hessian.permute(3, 4, 5, 0, 1, 2))


@pytest.mark.parametrize("need_weights", ROUTES)
@pytest.mark.parametrize("garbage", [math.nan, math.inf])
def test_padding_reaches_no_gradient_however_it_is_handed_over(garbage, need_weights):
    """pytorch/pytorch#41508, the kind: x, x + 0 and a copy of x are the same padded sentence."""
    for ask in (lambda x: x, lambda x: x + 0, lambda x: x.clone()):
        layer, x = make_layer(6, 6, 6, 6, 3, bias=True), randn(2, 4, 6)
        x[0, 3:] = x[1, 2:] = garbage
        output, _ = run(layer, ask(x), x, x, torch.tensor([3, 2]), need_weights=need_weights)
        (output[0, :3].sum() + output[1, :2].sum()).backward()
        for name, parameter in layer.named_parameters():
            assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("other", [torch.int64, torch.float64, torch.float16])
def test_an_input_of_another_dtype_is_named(other):
    layer, x = make_layer(6, 6, 6, 6, 3), torch.ones(1, 2, 6)
    with pytest.raises(TypeError, match=f"keys: expected torch.float32.*got {other}.*keys.to"):
        layer(x, x.to(other), x)


def test_vmap_over_lengths():
    layer, x = make_layer(6, 6, 6, 6, 3), randn(2, 4, 6)
    lengths = torch.tensor([[1, 3], [4, 0]])
    outputs = torch.vmap(lambda each: layer(x, x, x, each, need_weights=True)[0])(lengths)
    torch.testing.assert_close(outputs, torch.stack([layer(x, x, x, each) for each in lengths]))
