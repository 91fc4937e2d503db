"""Whatever is handed in: the right value or an error of ours, and nothing that was handed in is changed.

A hundred examples a function; `make fuzz` draws ten thousand.
"""

import os

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from oracle import slow_attention

import mha_lib as mha
from mha_lib.documents import bert, gpt

EXAMPLES = int(os.environ.get("FUZZ", "100"))
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)
fuzz = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
sizes = st.integers(0, 5)
ANY_RANK = st.integers(0, 5)
other = st.sampled_from([None, 3, -1, 2.5, "words", [1, 2], (1, 2), {}, torch.nn.Linear(2, 2), float("nan")])


@st.composite
def tensors(draw, dims=ANY_RANK, dtypes=DTYPES):
    """A tensor of any shape and kind, with NaN and inf in it at times, in memory as it comes or turned."""
    shape = draw(st.lists(sizes, min_size=(n := draw(dims)), max_size=n))
    dtype = draw(st.sampled_from(dtypes))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 9)))
    X = (3 * torch.randn(shape, generator=generator)).to(dtype)
    if dtype.is_floating_point and X.numel() and draw(st.booleans()):
        X.flatten()[0] = draw(st.sampled_from([float("nan"), float("inf"), 1e4]))
    return X.mT if X.dim() > 1 and draw(st.booleans()) else X


anything = tensors() | other
three_axes = tensors(st.just(3), (torch.float32,))


def ours_or_right(function, *arguments, **options):
    """Call; return the result, or None where one of our errors came; nothing else may happen."""
    everything = [*arguments, *options.values()]
    before = [value.clone() if isinstance(value, torch.Tensor) else repr(value) for value in everything]
    try:
        result = function(*arguments, **options)
    except mha.MhaError as error:
        assert ": expected " in str(error), error
        result = None
    for was, value in zip(before, everything, strict=True):
        if isinstance(value, torch.Tensor):
            assert torch.equal(was.nan_to_num(7), value.nan_to_num(7)), "what was handed in is changed"
        else:
            assert was == repr(value)
    return result


@fuzz
@given(anything, st.integers(-1, 6) | other)
def test_split_and_merge(X, num_heads):
    stack = ours_or_right(mha.split_heads, X, num_heads)
    if stack is not None:
        B, L, D = X.shape
        assert stack.shape == (B * num_heads, L, D // num_heads)
        assert torch.equal(mha.merge_heads(stack, num_heads).nan_to_num(7), X.nan_to_num(7))
    ours_or_right(mha.merge_heads, X, num_heads)


@fuzz
@given(anything, st.integers(0, 6), st.none() | sizes)
def test_length_mask_against_sets(valid_lens, num_keys, num_queries):
    mask = ours_or_right(mha.length_mask, valid_lens, num_keys, num_queries)
    if mask is not None:
        rows = (valid_lens if valid_lens.dim() == 2 else valid_lens[:, None]).tolist()
        expected = [[set(range(int(n))) for n in row] for row in rows]
        assert [[{i for i, on in enumerate(row) if on} for row in each] for each in mask.tolist()] == expected


@fuzz
@given(st.integers(-1, 6), st.integers(-1, 6), st.sampled_from(["top-left", "bottom-right", "left", ""]))
def test_causal_mask_against_sets(Lq, Lk, align):
    mask = ours_or_right(mha.causal_mask, Lq, Lk, align)
    if mask is not None:
        late = Lk - Lq if align == "bottom-right" else 0
        expected = [{k for k in range(Lk) if k <= q + late} for q in range(Lq)]
        assert [{i for i, on in enumerate(row) if on} for row in mask.tolist()] == expected


@fuzz
@given(anything, st.none() | tensors(dtypes=(torch.bool,)) | anything)
def test_masked_softmax(scores, attn_mask):
    weights = ours_or_right(mha.masked_softmax, scores, attn_mask)
    if weights is not None:
        assert weights.shape == scores.shape and weights.dtype == scores.dtype
        if attn_mask is not None:
            mask = attn_mask.expand_as(scores)
            assert not weights[~mask].any()
            fine = scores.masked_fill(~mask, 0).isfinite().all(-1) if scores.dim() else scores.isfinite()
            sums, some = weights.double().sum(-1), mask.any(-1)
            assert (sums - some.double()).abs()[fine].le(0.02).all()


def layers():
    yield mha.DotProductAttention(), ("queries", "keys", "values")
    yield mha.AdditiveAttention(4, 4, 3), ("queries", "keys", "values")
    yield mha.MultiHeadAttention(4, 4, 4, 4, 2), ("queries", "keys", "values")
    yield gpt.MultiHeadAttention(4, 2), ("x",)
    yield bert.SelfAttention(2, 4, 4), ("x",)


sentences = st.just(torch.ones(2, 3, 4)) | three_axes | anything


@pytest.mark.parametrize("layer, names", layers(), ids=lambda value: type(value).__name__)
@fuzz
@given(st.data())
def test_layers(layer, names, data):
    inputs = [data.draw(sentences, label=name) for name in names]
    options = {"need_weights": data.draw(st.booleans())}
    if data.draw(st.booleans()):
        options["attn_mask"] = data.draw(st.none() | tensors(dtypes=(torch.bool,)) | anything)
    if len(names) == 3 and data.draw(st.booleans()):
        options["valid_lens"] = data.draw(st.none() | tensors(st.integers(1, 2), (torch.int64,)) | anything)
    result = ours_or_right(layer, *inputs, **options)
    if result is not None:
        output = result[0] if options["need_weights"] else result
        assert output.shape[:2] == inputs[0].shape[:2]


@fuzz
@given(three_axes, st.integers(0, 3), st.booleans())
def test_attention_against_the_loop(X, length, by_steps):
    B, L, d = X.shape
    X = X.nan_to_num(0, 1, 1).double()
    lens = torch.full((B,), min(length, L))
    result = mha.DotProductAttention()(X, X, X, lens, need_weights=by_steps)
    context = result[0] if by_steps else result
    mask = mha.length_mask(lens, L).expand(B, L, L)
    for b in range(B):
        expected, weights = slow_attention(X[b], X[b], X[b], mask[b])
        torch.testing.assert_close(context[b], expected.view(L, d), rtol=1e-9, atol=1e-9)
        if by_steps and L:
            torch.testing.assert_close(result[1][b], weights, rtol=1e-9, atol=1e-9)


@fuzz
@given(anything, st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_table(matrix, rows, columns):
    ours_or_right(mha.table, matrix, rows, columns)


@settings(fuzz, max_examples=max(EXAMPLES // 5, 20))
@given(tensors() | other, st.none() | st.lists(st.text(max_size=4), max_size=4))
@example(torch.empty(0, 1, 1, 0, 0), None)  # no layer at all: found by ten thousand examples
def test_plot_heads(weights, queries):
    ours_or_right(mha.plot_heads, weights, queries)


CHAINS = (
    lambda X: X.reshape(-1),
    lambda X: X.mT,
    lambda X: X[..., ::2],
    lambda X: X.flatten(),
    lambda X: X + 1,
    lambda X: X.unsqueeze(0).expand(2, *X.shape),
    lambda X: (X, X.sum()),
    lambda X: None,
    lambda X: 3,
    lambda X: torch.zeros(2),
)


@settings(fuzz, max_examples=max(EXAMPLES // 2, 20))
@given(anything, st.sampled_from(CHAINS))
def test_watch(X, function):
    try:
        recording = ours_or_right(mha.watch, function, X)
    except (RuntimeError, IndexError):
        with pytest.raises((RuntimeError, IndexError)):  # the function's own error comes through as it is
            function(X)
        return
    if recording is not None:
        for step in recording.steps:
            assert step.addresses.shape == step.shape


NAMES = st.sampled_from(["splitting.split", "masks.padding", "start.numbers", "", ".", "no.such", "quiz"])


@fuzz
@given(NAMES, anything)
def test_names_of_questions_and_exercises(name, attempt):
    ours_or_right(mha.check, name, attempt)
    ours_or_right(mha.predict, name)
    ours_or_right(mha.reveal, name)


@fuzz
@given(st.integers(-2, 9), st.integers(-1, 4), st.integers(0, 4))
def test_measure_scaling(d, keys, queries):
    ours_or_right(mha.measure_scaling, d, keys=keys, queries=queries)
