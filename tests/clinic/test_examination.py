"""`diagnose` names every mistake, accuses no right layer, and calls no two mistakes right."""

import copy
import functools
import itertools
import math
import os

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import mha_lib as mha
from mha_lib import ladder
from mha_lib.clinic.bugs import bugs
from mha_lib.clinic.examination import diagnose
from mha_lib.clinic.faulty import FaultyAttention
from mha_lib.clinic.probes import Kind, Words, padding_probes, plain_probes, telling_sizes
from mha_lib.clinic.projections import find_readings
from mha_lib.convert import projections_of
from mha_lib.documents import bert, gpt

SIZES = ((10, 2), (12, 3), (20, 4), (14, 2), (30, 5))


def seeded(make, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()


def layer(D=12, h=3, seed=0, **kwargs):
    return seeded(lambda: mha.MultiHeadAttention(D, D, D, D, h, **kwargs), seed)


@pytest.mark.parametrize("turn, name", list(enumerate(bugs)))
def test_every_bug_is_named_over_twenty_seeds(turn, name):
    """Each bug at every size, by 5 of the 20 seeds in turn; MHA_ALL_SEEDS=1 runs all 20 of each."""
    seeds = range(20) if os.environ.get("MHA_ALL_SEEDS") else [(turn + 6 * n) % 20 for n in range(5)]
    for seed in seeds:
        D, h = SIZES[seed % len(SIZES)]
        faulty = bugs[name].make(layer(D, h, seed, bias=seed % 2 == 0))
        found = diagnose(faulty, seed=seed)
        assert found.name == name and found.candidates == (name,), f"seed {seed}: {found}"
        assert bugs[name].sentence in found.message and bugs[name].look in found.message


@pytest.mark.parametrize("name", bugs)
def test_other_settings_of_a_bug_have_its_name(name):
    for faults in bugs[name].also:
        if faults.get("pairs") == "tiled":
            continue  # shows where heads are grouped, see the corpus
        assert diagnose(FaultyAttention(projections_of(layer()), 3, 0.0, faults)).name == name, faults


def right_layers():
    yield "ours", layer()
    yield "ours, biases and dropout", layer(bias=True, dropout=0.3).train()
    yield "cross widths", mha.MultiHeadAttention(7, 8, 9, 12, 3, bias=True)
    yield "one head", layer(6, 1)
    yield "as many heads as features", layer(4, 4)
    yield "d = h", layer(9, 3)
    yield "wide", layer(256, 8, bias=True)
    yield "torch", nn.MultiheadAttention(12, 3, batch_first=True, dropout=0.1)
    yield "torch, no bias", nn.MultiheadAttention(12, 3, batch_first=True, bias=False)
    yield "torch, batch second", nn.MultiheadAttention(12, 3)
    yield "torch, kdim", nn.MultiheadAttention(12, 3, kdim=5, vdim=7, batch_first=True)
    yield "gpt", gpt.MultiHeadAttention(12, 3, dropout=0.2)
    yield "bert", bert.SelfAttention(2, 12, 12)
    yield "bert, other width", bert.SelfAttention(3, 7, 12)
    yield "no fault", FaultyAttention(projections_of(layer()), 3, 0.5, {})


@pytest.mark.parametrize("name", [name for name, _ in right_layers()])
def test_no_right_layer_is_accused(name):
    for seed in range(2):
        given = seeded(lambda: dict(right_layers()), seed)[name]
        state, training = copy.deepcopy(given.state_dict()), given.training
        found = diagnose(given, seed=seed)
        assert found.name == "right" and found.difference is None, found
        assert all(torch.equal(state[name], value) for name, value in given.state_dict().items())
        assert given.training == training
    assert ("batch_first=False" in found.message) == (name == "torch, batch second")


@pytest.mark.parametrize("name", ladder.RUNGS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_rung_is_accused(name, dtype):
    ours, rung = layer(bias=True).to(dtype), ladder.RUNGS[name]
    assert diagnose(functools.partial(rung, ours), weights=ours).name == "right"

    def with_lengths(q, k, v, valid_lens):
        return rung(ours, q, k, v, None if valid_lens is None else mha.length_mask(valid_lens, k.shape[1]))

    assert diagnose(with_lengths, weights=ours).name == "right"


def test_two_mistakes_are_never_right():
    """Pairs of bugs whose switches differ, every 24th of them; all 676 were tried once."""
    pairs = [
        (a, b) for a, b in itertools.combinations(bugs.values(), 2) if not a.faults.keys() & b.faults.keys()
    ]
    for i, (a, b) in enumerate(pairs[::24]):
        D, h = SIZES[i % len(SIZES)]
        faults = {**a.faults, **b.faults}
        dropout = 0.5 if "dropout" in faults else 0.0
        found = diagnose(FaultyAttention(projections_of(layer(D, h, seed=i)), h, dropout, faults))
        assert found.name != "right", (a.name, b.name)


def test_message_has_the_first_number_that_differs():
    given = layer()
    found = diagnose(bugs["no_scale"].make(given))
    where = found.difference
    assert where.index == (0, 0, 0) and abs(where.expected - where.got) > 1e-6
    assert f"output[0, 0, 0] is {where.got:.4f}, expected {where.expected:.4f}" in found.message
    assert repr(found) == found.message


def test_what_sizes_cannot_show_is_said():
    assert "scale_sqrt_heads" in diagnose(layer(9, 3)).untested
    assert "scale_sqrt_heads" not in diagnose(layer(12, 3)).untested
    one_head = diagnose(layer(6, 1))
    assert {"straight_view_to_heads", "merge_without_permute"} <= set(one_head.untested)
    assert "merge_without_permute" in one_head.message
    same = diagnose(bugs["scale_by_head_dim"].make(layer(4, 4)))
    assert same.name == "right" and "scale_by_head_dim" in same.untested
    two = diagnose(bugs["no_scale"].make(layer(16, 1)))
    assert two.name == "no_scale"
    two = diagnose(bugs["scale_sqrt_heads"].make(layer(16, 1)))  # √1 is no scale at all
    assert set(two.candidates) == {"no_scale", "scale_sqrt_heads"} and "scale_sqrt_heads" in two.message


# ---- learners' own code


class Listing(nn.Module):
    """Document 002's class, with its faults to be switched on."""

    def __init__(self, d_model=12, num_heads=3, *, fault="", fill=-math.inf, dropout=0.0):
        super().__init__()
        self.num_heads, self.d_k, self.fault, self.fill = num_heads, d_model // num_heads, fault, fill
        self.q_project, self.k_project = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_project, self.o_project = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, attn_mask=None):
        B, L, D = x.shape
        through_q = self.fault == "q for all"
        projections = (self.q_project,) * 3 if through_q else (self.q_project, self.k_project, self.v_project)
        q, k, v = (m(x).view(B, L, self.num_heads, self.d_k).transpose(1, 2) for m in projections)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.d_k)
        if attn_mask is not None:
            square = attn_mask.dim() == 2 and self.fault != "unsqueeze always"
            if not square and self.fault != "no unsqueeze":
                attn_mask = attn_mask.unsqueeze(1)
            scores = scores.masked_fill(attn_mask == 0, self.fill)
        context = torch.matmul(scores.softmax(-1), v).transpose(1, 2).contiguous().view(B, L, D)
        return self.dropout(self.o_project(context))


@pytest.mark.parametrize(
    "kwargs, name",
    [
        ({}, "right"),
        ({"fault": "q for all", "fill": -1e9}, "keys_and_values_through_W_q"),
        ({"fault": "unsqueeze always"}, "right"),  # for (B, L, L); see below
        ({"fault": "no unsqueeze"}, "right"),  # for a mask of four axes
        ({"fill": -1e9}, "fill_minus_1e9"),
        ({"fill": 1e-9}, "fill_too_small"),
        ({"dropout": 0.3}, "dropout_on_output"),
    ],
)
def test_document_002(kwargs, name):
    found = seeded(lambda: diagnose(Listing(**kwargs)))
    assert found.name == name
    assert ("misreads a mask (L, L)" in found.message) == (kwargs.get("fault") == "unsqueeze always")


class Folded(nn.Module):
    """Document 000's class: the stack (B·h, L, d) and lengths."""

    def __init__(self, *, repeat=torch.repeat_interleave, axis=2, fold=True, small=False, summed=False):
        super().__init__()
        D, h = 12, 3
        self.h, self.repeat, self.axis, self.fold, self.summed = h, repeat, axis, fold, summed
        width = D // h if small else D
        self.W_q, self.W_k, self.W_v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.W_o = nn.Linear(D // h if summed else D, D, bias=False)

    def split(self, X):
        stack = (-1, X.shape[1], X.shape[2] // self.h)
        if not self.fold:
            return X.reshape(stack)
        return X.reshape(*X.shape[:2], self.h, -1).permute(0, 2, 1, 3).reshape(stack)

    def project(self, W, X):
        small = W.in_features != X.shape[-1]
        return W(X.unflatten(-1, (self.h, -1))).flatten(2) if small else W(X)

    def forward(self, queries, keys, values, valid_lens=None):
        inputs = zip((self.W_q, self.W_k, self.W_v), (queries, keys, values), strict=True)
        q, k, v = (self.split(self.project(W, X)) for W, X in inputs)
        scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
        if valid_lens is not None:
            lengths = self.repeat(valid_lens, self.h)[:, None, None]
            shape = [1, 1, 1]
            shape[self.axis] = scores.shape[self.axis]
            scores = scores.masked_fill(torch.arange(scores.shape[self.axis]).view(shape) >= lengths, -1e6)
        heads = (scores.softmax(-1) @ v).unflatten(0, (-1, self.h))
        if self.summed:
            return self.W_o(heads.sum(1))
        return self.W_o(heads.permute(0, 2, 1, 3).flatten(2))


@pytest.mark.parametrize(
    "kwargs, name",
    [
        ({}, "fill_minus_1e9"),  # right but for a sentence of length 0
        ({"repeat": lambda lengths, h: lengths.repeat(h)}, "lengths_tiled"),
        ({"axis": 1}, "mask_on_query_axis"),
        ({"fold": False}, "straight_view_to_heads"),
        ({"small": True}, "split_before_projecting"),
        ({"summed": True}, "heads_summed"),
    ],
)
def test_document_000(kwargs, name):
    found = seeded(lambda: diagnose(Folded(**kwargs)))
    assert found.name == name, found


def test_the_inputs_are_telling():
    """B ≥ 2, unequal lengths, no length that is a number of heads or a width, scores of about 1."""
    for D, h in (*SIZES, (20, 5), (24, 4)):
        reading = find_readings(layer(D, h).double(), h)[0]
        words, sizes = Words(reading, torch.float64, 0), telling_sizes(reading)
        probes = [*plain_probes(words, sizes, words.apart), *padding_probes(words, sizes, words.apart, False)]
        for probe in probes:
            q, k, _ = probe.inputs
            assert {q.shape[1], k.shape[1]}.isdisjoint({h, D // h}) and q.shape[0] >= 2
            assert (q.shape[1] != k.shape[1]) == (probe.kind in (Kind.CROSS, Kind.CROSS_LENGTHS))
            if probe.lengths is not None:
                assert len(set(probe.lengths.tolist())) > 1 and 0 < probe.lengths.min()
                assert probe.lengths.max() < k.shape[1]
            weights = layer(D, h).double()(*probe.inputs, need_weights=True)[1]
            assert 0.02 < weights.std() < 0.35 and weights.max(-1).values.mean() < 0.9


def test_ways_to_call():
    ours = layer(bias=True).double()
    for function in (
        lambda x: ours(x, x, x),
        lambda x, lens: ours(x, x, x, lens),
        lambda q, k, v, n: ours(q, k, v, n),
        lambda q, k, v, mask=None: (ours(q, k, v, attn_mask=mask), None),
        lambda *args: ours(*args),
    ):
        assert diagnose(function, weights=ours).name == "right"
    assert diagnose(lambda q, k, v: ours(q, k, v), weights=projections_of(ours), num_heads=3).name == "right"
    tensors = [linear.weight.detach() for linear in projections_of(layer())]
    assert diagnose(layer(), weights=tensors).name == "right"

    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = layer(bias=True)

        def forward(self, batch):
            return self.inner(batch["q"], batch["k"], batch["v"], batch["n"])

    def call(module, q, k, v, n):
        return module({"q": q, "k": k, "v": v, "n": n})

    assert diagnose(Odd(), call=call).name == "right"
    found = diagnose(lambda x: ours(x, x, x, attn_mask=mha.causal_mask(x.shape[1], x.shape[1])), weights=ours)
    assert found.name == "right" and "causal by itself" in found.message


class Annotated(nn.Module):
    """Four projections in a list, a mask (B, Lq, Lk) that is 0 or 1."""

    def __init__(self, fill):
        super().__init__()
        self.h, self.fill = 3, fill
        self.linears, self.dropout = nn.ModuleList([nn.Linear(12, 12) for _ in range(4)]), nn.Dropout(0.1)

    def forward(self, query, key, value, mask=None):
        n = query.size(0)
        projections = zip(self.linears, (query, key, value), strict=False)
        query, key, value = [linear(x).view(n, -1, self.h, 4).transpose(1, 2) for linear, x in projections]
        scores = query @ key.transpose(-2, -1) / 2
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, self.fill)
        context = self.dropout(scores.softmax(-1)) @ value
        return self.linears[-1](context.transpose(1, 2).contiguous().view(n, -1, 12))


class Packed(nn.Module):
    """One matrix for all three projections, causal by itself."""

    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj, self.n_head = nn.Linear(12, 36, bias=False), nn.Linear(12, 12), 3

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (3, 4)).transpose(1, 2) for part in self.c_attn(x).split(12, 2))
        return self.c_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


def test_layers_as_they_are_written_elsewhere():
    right, finite = seeded(lambda: Annotated(-math.inf)), seeded(lambda: Annotated(-1e9))
    assert diagnose(right, weights=right.linears).name == "right"
    found = diagnose(finite, weights=finite.linears)
    assert found.name == "fill_minus_1e9" and "All else is right" in found.message
    packed = seeded(Packed)
    found = diagnose(packed, weights=(*packed.c_attn.weight.chunk(3), packed.c_proj))
    assert found.name == "right" and "causal by itself" in found.message


def test_wrappers_of_torchs_layer():
    """pytorch/pytorch#122959: a forgotten batch_first keeps the shape."""
    theirs = nn.MultiheadAttention(12, 3).double()
    found = diagnose(lambda q, k, v: theirs(q, k, v)[0], weights=theirs)
    assert found.name == "batch_mixed" and "batch_first=True" in found.message
    theirs = nn.MultiheadAttention(12, 3, batch_first=True).double()

    def flipped(q, k, v, valid_lens=None):
        keep = None if valid_lens is None else mha.length_mask(valid_lens, k.shape[1])[:, 0]
        return theirs(q, k, v, key_padding_mask=keep)[0]

    assert diagnose(flipped, weights=theirs).name == "mask_polarity_flipped"


def test_what_is_wrong_and_unknown():
    ours = layer().double()
    found = diagnose(lambda q, k, v: 2 * ours(q, k, v), weights=ours)
    assert found.name == "unknown" and "not a mistake that I know" in found.message and found.difference
    found = diagnose(lambda q, k, v: ours(q, k, v)[:, :1], weights=ours)
    assert found.name == "unknown" and "shape is" in found.message
    found = diagnose(lambda q, k, v: q @ k, weights=ours)
    assert found.name == "unknown" and "raises RuntimeError" in found.message
    found = diagnose(lambda q, k, v: ours(q.detach(), k, v), weights=ours)
    assert found.name == "unknown" and "gradient" in found.message
    two = FaultyAttention(projections_of(ours), 3, 0.0, {"scale": "none", "mask": "tiled"})
    found = diagnose(two)
    assert found.name == "unknown" and "no_scale" in found.message


def test_without_an_output_map():
    class NoOutputMap(nn.Module):
        num_heads = 3

        def __init__(self):
            super().__init__()
            self.W_q, self.W_k, self.W_v = (nn.Linear(12, 12) for _ in range(3))

        def forward(self, x):
            q, k, v = (W(x).unflatten(-1, (3, 4)).transpose(1, 2) for W in (self.W_q, self.W_k, self.W_v))
            return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    assert "no output projection" in diagnose(NoOutputMap()).message


def test_wrong_input_is_named():
    cases = [
        (TypeError, "layer", lambda: diagnose("layer")),
        (TypeError, "make a layer first", lambda: diagnose(mha.MultiHeadAttention)),
        (ValueError, "additive", lambda: diagnose(layer(scoring="additive"))),
        (ValueError, "num_heads", lambda: diagnose(nn.Linear(4, 4))),
        (ValueError, "weights.*Say where", lambda: diagnose(lambda q, k, v: q, num_heads=2)),
        (TypeError, "weights", lambda: diagnose(layer(), weights=("q", "k", "v", "o"))),
        (ValueError, "h = 5", lambda: diagnose(layer(), num_heads=5)),
        (ValueError, "not all zero", lambda: diagnose(layer(), weights=[torch.zeros(12, 12)] * 4)),
    ]
    for kind, words, act in cases:
        with pytest.raises(kind, match=words):
            act()


def test_the_global_generator_is_left_alone():
    before = torch.random.get_rng_state()
    diagnose(layer(dropout=0.5))
    diagnose(bugs["dropout_in_eval"].make(layer()))
    assert torch.equal(torch.random.get_rng_state(), before)
