"""Each bug is wrong in the way its entry says, and only in that way."""

import dataclasses
import inspect
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

import mha_lib as mha
from mha_lib.clinic.bugs import Shows, bugs
from mha_lib.clinic.faulty import FaultyAttention
from mha_lib.convert import projections_of

SAME_NUMBERS = {name for name, bug in bugs.items() if bug.shows is not Shows.OUTPUT} | {"fill_minus_1e9"}


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def layer(D=12, h=3, bias=True, dropout=0.0, seed=0):
    made = mha.MultiHeadAttention(D, D, D, D, h, dropout=dropout, bias=bias).double()
    with torch.no_grad():
        for i, parameter in enumerate(made.parameters()):
            parameter.copy_(0.4 * random(*parameter.shape, seed=100 * seed + i))
    return made


def identity(D, h):
    """A layer whose projections do nothing, so that numbers can be worked out by hand."""
    made = mha.MultiHeadAttention(D, D, D, D, h).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.eye(D))
    return made


def test_the_mapping():
    assert mha.bugs is bugs and len(bugs) >= 28 and len(set(bugs)) == len(bugs)
    assert all(bugs[name] is bug and bug.name == name for name, bug in bugs.items())
    for bug in bugs.values():
        assert bug.sentence.endswith(".") and bug.symptom.endswith(".") and bug.source and bug.look
    with pytest.raises(KeyError, match="lengths_tiled"):
        bugs["no such thing"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        bugs["no_scale"].name = "other"
    with pytest.raises(TypeError):
        bugs["no_scale"].faults["scale"] = "d"
    assert len({(tuple(b.faults.items())) for b in bugs.values()}) == len(bugs)


def test_no_fault_is_the_right_layer():
    for given in (layer(), mha.documents.gpt.MultiHeadAttention(12, 3).double()):
        plain = FaultyAttention(projections_of(given), 3, 0.0, {})
        q, k = random(3, 4, 12), random(3, 5, 12, seed=1)
        lengths = torch.tensor([0, 2, 5])
        if isinstance(given, mha.MultiHeadAttention):
            assert_close(plain(q, k, k, lengths), given(q, k, k, lengths), rtol=1e-12, atol=1e-12)
        right = given(q, q, q) if isinstance(given, mha.MultiHeadAttention) else given(q)
        assert_close(plain(q, q, q), right, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="faults"):
        FaultyAttention(projections_of(layer()), 3, 0.0, {"skale": 1})


@pytest.mark.parametrize("name", bugs)
def test_each_bug_shows(name):
    """B = h = 3 brings out the mask on the head axis, too."""
    right, x, lengths = layer().eval(), random(3, 4, 12), torch.tensor([1, 2, 3])
    faulty = bugs[name].make(right)
    assert faulty.W_q is right.W_q and "forward" in type(faulty).__dict__
    outputs = [(faulty(x, x, x, vl), right(x, x, x, vl)) for vl in (None, lengths)]
    equal = all(got is not None and torch.allclose(got, expected, atol=1e-6) for got, expected in outputs)
    assert equal == (name in SAME_NUMBERS)


def test_make_without_a_layer():
    X, bert = torch.ones(2, 4, 10), mha.documents.bert.SelfAttention(2, 10, 10)
    assert bugs["no_scale"].make()(X, X, X).shape == (2, 4, 10)
    assert bugs["merge_without_permute"].make(bert)(X, X, X).shape == X.shape
    with pytest.raises(TypeError, match="layer"):
        bugs["no_scale"].make(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="additive"):
        bugs["no_scale"].make(mha.MultiHeadAttention(4, 4, 4, 4, 2, scoring="additive"))
    with pytest.raises(ValueError, match=r"queries.*\(B, L, D\)"):
        bugs["no_scale"].make()(X[0], X[0], X[0])


# ---- the same mistakes as a reader would type them


def typed(given, x, *, split=None, merge=None, scale=None, softmax=-1, mask=None, k="k", v="v"):
    B, L, D = x.shape
    h, d = given.num_heads, D // given.num_heads
    split = split or (lambda X: X.view(B, L, h, d).transpose(1, 2))
    merge = merge or (lambda X: X.transpose(1, 2).reshape(B, L, D))
    projections = {"q": given.W_q, "k": given.W_k, "v": given.W_v}
    q, k, v = (split(projections[name](x)) for name in ("q", k, v))
    scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(d) if scale is None else scale)
    scores = scores if mask is None else mask(scores)
    return given.W_o(merge(torch.softmax(scores, dim=softmax) @ v))


LISTINGS = {
    "straight_view_to_heads": {"split": lambda X: X.view(2, 3, 4, 4)},
    "merge_without_permute": {"merge": lambda X: X.reshape(2, 4, 12)},
    "straight_view_and_merge": {
        "split": lambda X: X.view(2, 3, 4, 4),
        "merge": lambda X: X.reshape(2, 4, 12),
    },
    "permute_wrong_axes": {
        "split": lambda X: X.view(2, 4, 2, 6).permute(0, 3, 1, 2),
        "scale": 2**-0.5,
        "merge": lambda X: X.permute(0, 2, 3, 1).reshape(2, 4, 12),
    },
    "no_scale": {"scale": 1.0},
    "scale_sqrt_width": {"scale": 12**-0.5},
    "scale_sqrt_heads": {"scale": 3**-0.5},
    "scale_by_head_dim": {"scale": 1 / 4},
    "scale_multiplied": {"scale": 1 / 4**-1},
    "softmax_over_queries": {"softmax": 2},
    "softmax_over_heads": {"softmax": 1},
    "keys_through_W_q": {"k": "q"},
    "values_through_W_k": {"v": "k"},
    "keys_and_values_through_W_q": {"k": "q", "v": "q"},
    "heads_share_one_map": {
        "split": lambda X: X.view(2, 4, 3, 4).transpose(1, 2)[:, :1].expand(2, 3, 4, 4),
    },
    "causal_sees_next_word": {
        "mask": lambda s: s.masked_fill(torch.ones(4, 4, dtype=torch.bool).triu(2), -math.inf)
    },
}


@pytest.mark.parametrize("name", LISTINGS)
def test_bugs_are_what_people_type(name):
    given, x, how = layer(), random(2, 4, 12), dict(LISTINGS[name])
    if name == "permute_wrong_axes":
        given = layer(h=2)
    if name in ("scale_sqrt_heads",):
        assert how["scale"] != 4**-0.5
    assert_close(bugs[name].make(given)(x, x, x), typed(given, x, **how), rtol=1e-12, atol=1e-12)


# ---- numbers of the public reports


def test_lengths_tiled():
    """line/lighthouse PR 77: B = h = 2, zero queries and keys, lengths [1, 3]."""
    given = identity(4, 2)
    zeros, v = torch.zeros(2, 3, 4).double(), torch.arange(24).double().view(2, 3, 4)
    lengths = torch.tensor([1, 3])
    assert given(zeros, zeros, v, lengths)[:, 0].tolist() == [[0, 1, 2, 3], [16, 17, 18, 19]]
    wrong = bugs["lengths_tiled"].make(given)(zeros, zeros, v, lengths)[:, 0]
    assert wrong.tolist() == [[0, 1, 6, 7], [12, 13, 18, 19]]


def seen_weights(name, lengths, L=4, **kwargs):
    """The weights of a layer whose values are unit vectors and whose scores are all 0."""
    given = identity(L, 1)
    zeros = torch.zeros(1, L, L, dtype=torch.float64)
    return bugs[name].make(given)(zeros, zeros, torch.eye(L, dtype=torch.float64)[None], lengths, **kwargs)[0]


def test_masks_of_the_reports():
    three, L3 = torch.tensor([3]), {"L": 3}
    # NVIDIA/Megatron-LM PR 731: no second normalisation.
    assert seen_weights("mask_after_softmax", three)[0].tolist() == [0.25, 0.25, 0.25, 0]
    # bentrevett/pytorch-seq2seq#96: the query axis.
    assert_close(seen_weights("mask_on_query_axis", three), torch.full((4, 4), 0.25, dtype=torch.float64))
    # pytorch/pytorch#141018: a 0/1 mask that is added.
    wrong = seen_weights("mask_added", torch.tensor([2]), **L3)[0]
    assert [round(w, 2) for w in wrong.tolist()] == [0.42, 0.42, 0.16]
    # hyunwoongko/transformer#10: a fill of about 0 is a score like any other.
    assert_close(seen_weights("fill_too_small", three)[0], torch.full((4,), 0.25, dtype=torch.float64))
    # rasbt/LLMs-from-scratch#1061: only the padding is seen.
    assert seen_weights("mask_polarity_flipped", three)[0].tolist() == [0, 0, 0, 1]
    # d2l-ai/d2l-en PR 2423: a length of 0 averages the padding.
    none = torch.tensor([0])
    assert seen_weights("fill_minus_1e9", none)[0].tolist() == [0.25] * 4
    assert torch.equal(seen_weights("fill_minus_1e9", three), seen_weights("none_without_lengths", three))
    # Document 000: nothing is returned without lengths.
    assert seen_weights("none_without_lengths", none) is not None
    x = torch.zeros(1, 4, 4, dtype=torch.float64)
    assert bugs["none_without_lengths"].make(identity(4, 1))(x, x, x) is None


def test_mask_on_the_head_axis():
    """lucidrains/graph-transformer-pytorch PR 2: silent where B = h, an error elsewhere."""
    given = identity(4, 2)
    x, keep = torch.zeros(2, 2, 4, dtype=torch.float64), torch.ones(2, 2, 2, dtype=torch.bool)
    keep[0, :, 1] = False
    v = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1]], dtype=torch.float64).expand(2, 2, 4)
    assert given(x, x, v, attn_mask=keep)[0, 0].tolist() == [1, 0, 1, 0]
    faulty = bugs["mask_on_head_axis"].make(given)
    assert faulty(x, x, v, attn_mask=keep)[0, 0].tolist() == [1, 0, 0.5, 0.5]
    with pytest.raises(ValueError, match="attn_mask"):
        faulty(*(X.repeat(2, 1, 1)[:3] for X in (x, x, v)), torch.tensor([1, 1, 2]))


def test_scales_of_the_reports():
    """esceptico/perceiver-io#9: logits [4, 0] before the scale; / d ** -1 saturates."""
    given = identity(4, 1)
    q = torch.tensor([[[2.0, 0, 0, 0]]], dtype=torch.float64)
    k = torch.tensor([[[2.0, 0, 0, 0], [0, 2, 0, 0]]], dtype=torch.float64)
    v = torch.eye(4, dtype=torch.float64)[None, :2]
    expected = {"scale_multiplied": 1.0, "scale_by_head_dim": 0.731059, "no_scale": 0.982014}
    assert round(given(q, k, v)[0, 0, 0].item(), 6) == 0.880797
    for name, weight in expected.items():
        assert round(bugs[name].make(given)(q, k, v)[0, 0, 0].item(), 6) == weight


def test_heads_summed_and_no_output_map_and_batch_mixed():
    given, x = layer(), random(2, 4, 12)
    q, k, v = (linear(x).split(4, -1) for linear in (given.W_q, given.W_k, given.W_v))
    context = torch.cat([F.scaled_dot_product_attention(q[i], k[i], v[i]) for i in range(3)], -1)
    assert_close(bugs["no_output_map"].make(given)(x, x, x), context)
    summed = context.unflatten(-1, (3, 4)).sum(2)
    expected = F.linear(summed, given.W_o.weight[:, :4], given.W_o.bias)
    assert_close(bugs["heads_summed"].make(given)(x, x, x), expected)
    theirs = mha.to_torch(given)
    theirs.batch_first = False
    assert_close(bugs["batch_mixed"].make(given)(x, x, x), theirs(x, x, x)[0])


def test_values_detached():
    given, x = layer(), random(2, 4, 12)
    bugs["values_detached"].make(given)(x, x, x).sum().backward()
    assert given.W_v.weight.grad is None and given.W_q.weight.grad is not None


def test_dropout_bugs():
    """pytorch/pytorch#124464 and nikhilbarhate99/min-decision-transformer#2."""
    given, x = layer(dropout=0.5), random(1, 4, 12)
    always = bugs["dropout_in_eval"].make(given).eval()
    one = torch.tensor([[[1.0, 2.0]]], dtype=torch.float64)
    small = identity(2, 1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert not torch.equal(always(x, x, x), always(x, x, x))
        outcomes = {
            name: {tuple(bugs[name].make(small).train()(one, one, one)[0, 0].tolist()) for _ in range(60)}
            for name in ("dropout_on_output", "dropout_on_scores", "dropout_in_eval")
        }
    assert outcomes["dropout_on_output"] == {(0.0, 0.0), (2.0, 4.0), (2.0, 0.0), (0.0, 4.0)}
    assert outcomes["dropout_on_scores"] == {(1.0, 2.0)}
    assert outcomes["dropout_in_eval"] == {(0.0, 0.0), (2.0, 4.0)}


def test_signature_is_the_layers():
    ours = list(inspect.signature(mha.MultiHeadAttention.forward).parameters)
    assert list(inspect.signature(FaultyAttention.forward).parameters) == ours[: ours.index("need_weights")]
