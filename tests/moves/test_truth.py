"""An independent check of every recording: what a cell claims is what it holds.

Nothing of the recorder is used here: the numbers that torch computed are all there is.
"""

import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import is_dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from moves.corpus_of_moves import ATTENTION, CORPUS, MERGES, MOVES, SPLITS, X
from moves.corpus_of_oddities import SEEN

import mha_lib as mha
from mha_lib.moves.compare import Verdict, compare
from mha_lib.moves.layout import pictures, place
from mha_lib.moves.looks import looks, short
from mha_lib.moves.recorder import watch
from mha_lib.moves.recording import Kind


def numbers_of(tensor):
    kind = torch.complex128 if tensor.is_complex() else torch.float64
    return tensor.detach().flatten().to(kind).numpy()


def check(recording):
    """Return how many cells of all steps claim an origin in which another number stood."""
    false = 0
    steps = recording.steps
    for step in steps:
        assert step.values.shape == step.shape == tuple(step.ids.shape)
        ids, own = step.ids.flatten().numpy(), numbers_of(step.values)
        for origin in recording.origins:
            inside = (ids >= origin.start) & (ids < origin.stop)
            if not inside.any():
                continue
            born = steps[origin.step]
            home = {int(i): v for i, v in zip(born.ids.flatten(), numbers_of(born.values), strict=True)}
            wanted = np.array([home[i] for i in ids[inside].tolist()])
            same = (wanted == own[inside]) | (np.isnan(wanted) & np.isnan(own[inside]))
            false += int((~same).sum())
        walked = step.memory.as_strided(step.shape, step.stride, step.offset) if step.shares_memory else None
        if walked is not None and step.memory.numel() and step.origin == recording.origins[0].name:
            assert walked.equal(step.ids) or not step.values.is_floating_point()
    return false


@pytest.fixture(scope="module")
def recorded():
    torch.manual_seed(0)
    made = {}
    for name, fn in CORPUS.items():
        given = X.clone().requires_grad_("gradient" in name)
        torch.manual_seed(1)
        recording = watch(fn, given)
        torch.manual_seed(1)
        made[name] = recording, fn(X.clone().requires_grad_("gradient" in name))
    return made


def parts(result):
    leaves = torch.utils._pytree.tree_leaves(result)
    held = [part for leaf in leaves for part in (vars(leaf).values() if is_dataclass(leaf) else [leaf])]
    return [leaf for leaf in held if isinstance(leaf, torch.Tensor)]


def test_there_are_enough_functions():
    assert len(CORPUS) >= 290


@pytest.mark.parametrize("name", CORPUS)
def test_every_cell_holds_the_number_of_its_origin(recorded, name):
    assert check(recorded[name][0]) == 0


@pytest.mark.parametrize("name", CORPUS)
def test_watching_changes_nothing_and_the_result_is_what_is_shown_last(recorded, name):
    recording, unwatched = recorded[name]
    watched = parts(recording.result)
    assert len(recording.result_steps) == len(watched) == len(parts(unwatched))
    for step, one, other in zip(recording.result_steps, watched, parts(unwatched), strict=True):
        near = 1e-5 if name == "new: torch's layer" else 0  # it has a faster way when nobody watches
        torch.testing.assert_close(one, other, equal_nan=True, rtol=near, atol=near)
        torch.testing.assert_close(step.values, one.detach().resolve_conj(), equal_nan=True, rtol=0, atol=0)
        assert any(step is each for each in recording.frames[-1].steps)


OF_ITS_OWN_TYPE = {  # functions on whose way numbers change because their type does
    f"move: {name}"
    for name in [
        "view as integers",
        "complex",
        "complex, conjugated",
        "view_as_real",
        "long",
        "half of too much",
        "bfloat16",
    ]
}
MOVING = [
    f"{kind}: {n}"
    for kind, d in [("split", SPLITS), ("merge", MERGES), ("move", MOVES), ("seen", SEEN)]
    for n in d
]


@pytest.mark.parametrize("name", sorted(set(MOVING) - OF_ITS_OWN_TYPE))
def test_a_move_is_a_move(recorded, name):
    """No cell starts anew on a way that only moves numbers; a comparison with them is new."""
    for frame in recorded[name][0].frames:
        new = frame.kind in (Kind.NEW_VALUES, Kind.OUTSIDE)
        assert not new or all(step.values.dtype == torch.bool for step in frame.steps), frame.operation


def test_every_operation_is_written_as_code_would_be_without_numbers_from_tensors(recorded):
    for name, (recording, _) in recorded.items():
        for frame in recording.frames:
            assert len(frame.operation) <= 72 and "\n" not in frame.operation, name
            assert not re.search(r"(?<![.\w])tensor\(", frame.operation), name


@pytest.mark.parametrize("name", CORPUS)
def test_every_drawn_number_is_the_tensors_own(recorded, name):
    recording, _ = recorded[name]
    for step, shown in zip(recording.steps, looks(recording).numbers, strict=True):
        values = step.values.flatten()
        assert list(shown) == [
            short(v)
            for v in (values.float() if values.dtype in (torch.half, torch.bfloat16) else values).tolist()
        ]


@pytest.mark.parametrize("name", CORPUS)
def test_every_name_beside_a_row_is_that_of_all_its_cells(recorded, name):
    """Read off the numbers of X, which are their addresses and a quarter; only X's own cells are judged."""
    recording, _ = recorded[name]
    for frame, drawn in zip(recording.frames, pictures(recording), strict=True):
        for step, piece in zip(frame.steps, drawn.pieces, strict=True):
            if step.origin != recording.origins[0].name or not step.ids.numel() or not step.shape:
                continue
            x, y = (
                np.broadcast_to(side, (step.ids.numel(),))
                for side in place(piece, list(np.indices(step.shape).reshape(len(step.shape), -1)))
            )
            addresses = step.addresses.flatten().numpy()
            for label in drawn.rows:
                text = label.parts[0].text
                right = [other.x for other in drawn.rows if other.y == label.y and other.x > label.x]
                row = addresses[(y == label.y) & (x > label.x) & (x < min(right, default=1e9))]
                row = row[row >= 0]
                if text.startswith("word ") and len(label.parts) == 1:
                    assert {f"word {n // 10 % 4 + 1}" for n in row} <= {text}, step.operation
                if text.startswith("sentence ") and len(label.parts) == 1:
                    assert {f"sentence {n // 40 + 1}" for n in row} <= {text}, step.operation


REFUSED = {
    "numpy": (lambda X: torch.from_numpy(X.numpy() * 1), "leave torch"),
    "tolist": (lambda X: torch.tensor(X.tolist()), "leave torch"),
    "item": (lambda X: torch.full((2,), X[0, 0, 0].item()), "leave torch"),
    "a tensor from outside": (lambda X: torch.ones(3), "outside"),
    "its shape alone": (lambda X: torch.zeros_like(X), "outside"),
    "vmap": (lambda X: torch.vmap(lambda x: x * 2)(X), "hide their tensors"),
    "a gradient transform": (lambda X: torch.func.grad(lambda x: (x**2).sum())(X), "hide their tensors"),
    "sparse": (lambda X: X.to_sparse().to_dense(), "Sparse, nested, quantized"),
    "nested": (lambda X: torch.nested.nested_tensor([X[0], X[1, :2]]).to_padded_tensor(0.0), "nested"),
    "quantized": (lambda X: torch.quantize_per_tensor(X, 0.25, 0, torch.qint32).dequantize(), "quantized"),
    "pickled": (lambda X: pickle.loads(pickle.dumps(X)), "pickle leave torch"),
    "traced": (lambda X: torch.jit.trace(lambda x: x.mT.flip(0), X)(X), "torch.jit"),
    "another thread": (lambda X: in_a_thread(lambda: X.mT.contiguous()), "another thread"),
}


def in_a_thread(run):
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(run).result()


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_its_true_reason(name):
    fn, reason = REFUSED[name]
    with pytest.raises(mha.InputValueError, match=reason):
        watch(fn, X)


NUMBERS = torch.arange(80).reshape(2, 4, 10)
GIVEN = {  # inputs of every kind
    "uint8": NUMBERS.to(torch.uint8),
    "uint16": NUMBERS.to(torch.uint16),
    "uint32": NUMBERS.to(torch.uint32),
    "uint64": (NUMBERS + 2**60).to(torch.uint64),
    "beyond floats": NUMBERS + 2**60,
    "boolean": NUMBERS % 3 == 0,
    "complex": torch.complex(NUMBERS.float(), -NUMBERS.float()),
    "conjugated": torch.complex(NUMBERS.float(), -NUMBERS.float()).conj(),
    "negated": torch._neg_view(NUMBERS.float()),
    "bfloat16": NUMBERS.to(torch.bfloat16) / 7,
    "eight bits": (NUMBERS / 10).to(torch.float8_e4m3fn),
    "expanded": torch.arange(10.0).expand(2, 4, 10),
    "not contiguous": torch.arange(320.0).reshape(4, 8, 10)[::2, ::2],
    "with an offset": torch.arange(200.0)[33:113].view(2, 4, 10),
    "all alike": torch.ones(2, 4, 10),
    "no numbers": torch.full((2, 4, 10), torch.nan),
    "a parameter": torch.nn.Parameter(NUMBERS.float()),
    "within a graph": NUMBERS.float().requires_grad_() * 2,
}
DONE = {
    "split": lambda X: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5),
    "nothing": lambda X: X,
    "joined": lambda X: torch.cat([X.flatten(), X.flatten()]),
    "cast": lambda X: X.mT.to(torch.complex64),
    "written": lambda X: X.clone().zero_(),
}


@pytest.mark.parametrize("given_", GIVEN)
def test_numbers_of_every_type_and_layout_are_followed(given_):
    for fn in DONE.values():
        recording = watch(fn, GIVEN[given_])
        assert check(recording) == 0 and looks(recording).numbers
        one, other = recording.result_steps[0].values, recording.result.detach()
        torch.testing.assert_close(one, other.resolve_conj().resolve_neg(), equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize(
    "hidden", [X.to_sparse(), X.to("meta"), torch.nested.nested_tensor([X[0], X[1, :2]])]
)
def test_what_has_no_numbers_in_memory_is_refused_as_that(hidden):
    with pytest.raises(mha.InputTypeError, match="dense tensor.*sparse, nested, quantized or meta"):
        watch(lambda X: X, hidden)


def test_a_part_of_every_number_stands_at_its_own_address():
    """The imaginary parts lie between the real ones: the strides lead to them, and to nothing beyond."""
    step = watch(lambda X: torch.complex(X, X).imag, X).steps[-1]
    assert step.memory.numel() == 160 and (step.memory[::2] < 0).all()
    assert step.memory.as_strided(step.shape, step.stride, step.offset).equal(step.ids)


def test_a_compiled_function_is_watched_as_it_was_written():
    recording = watch(torch.compile(lambda X: (X.mT * 2).flip(0), backend="eager"), X)
    assert check(recording) == 0
    assert [frame.kind.name for frame in recording.frames] == ["INPUT", "MOVE", "NEW_VALUES", "MOVE"]


@pytest.mark.parametrize(
    "fn",
    [
        lambda X: X.put(torch.tensor([5, 5]), X[0, 0, :2], True),
        lambda X: X.clone().put_(torch.tensor([5, 5]), X[0, 0, :2], accumulate=True),
        lambda X: X.index_put((torch.tensor([1, 1]),), X[:1], True),
        lambda X: X.clone().scatter_(0, torch.zeros(1, 4, 10, dtype=torch.int64), X[:1], reduce="add"),
    ],
)
def test_numbers_that_are_added_up_come_from_nowhere_even_where_the_sums_are_numbers_of_the_input(fn):
    given_ = torch.arange(1.0, 81).reshape(2, 4, 10)  # 1 + 2 + 6 is 9, and so is a cell of X
    recording = watch(fn, given_)
    changed = recording.result != given_
    assert changed.any() and (recording.result_steps[0].ids[changed] >= recording.origins[0].stop).all()


def test_a_tensor_that_is_given_twice_is_one_tensor():
    """In-place code must give what it gives when nobody watches."""

    def add(a, b):
        a += 1
        return a + b

    recording = watch(add, (X, X))
    torch.testing.assert_close(recording.result, 2 * (X + 1))
    base = torch.arange(20.0)
    recording = watch(lambda a, b: (a.mul_(2), b.clone())[1], (base[:10], base[5:15]))
    torch.testing.assert_close(recording.result, torch.cat([2 * base[5:10], base[10:15]]))
    assert check(recording) == 0 and base.equal(torch.arange(20.0))


def test_results_of_several_tensors_are_compared_each():
    one = watch(lambda X: {"a": X.mT, "b": X.flip(0)}, X)
    two = watch(lambda X: {"a": X.mT, "b": X.flip(1)}, X)
    comparison = compare(one, two)
    wrong = [int(pair.wrong.sum()) for pair in comparison.pairs]
    assert wrong == [0, int((X.flip(0) != X.flip(1)).sum())] and comparison.verdict is Verdict.MISPLACED
    assert compare(one, watch(lambda X: X.mT, X)).verdict is Verdict.COUNT


def test_what_is_printed_before_the_return_is_not_compared():
    def printed(split):
        def fn(X):
            Y = split(X)
            float(Y.sum())
            return Y

        return fn

    right = watch(printed(SPLITS["reshape, permute, reshape"]), X)
    wrong = watch(printed(SPLITS["wrong: straight"]), X)
    comparison = compare(right, wrong)
    assert comparison.wrong == 60 and right.frames[-1].steps[0].shape == (4, 4, 5)
    (pair,) = comparison.pairs
    belongs = pair.belongs[pair.wrong]
    assert (pair.right.values.flatten()[belongs] == pair.beside.values[torch.from_numpy(pair.wrong)]).all()


def test_added_cells_are_compared_by_their_numbers():
    one, two = (watch(lambda X, v=v: torch.nn.functional.pad(X, (1, 0), value=v), X) for v in (0.0, 7.0))
    assert compare(one, two).wrong == 8 and compare(one, one).verdict is Verdict.SAME


def test_names_that_stand_twice_or_hold_braces_are_names():
    weights = torch.rand(2, 3, 3)
    step = watch(lambda w: w.mT, weights, axes=("head", "word", "word")).steps[-1]
    assert step.axis_names == ("head", "word", "word")
    odd = watch(lambda X: X.reshape(4, 4, 5), X, axes=("{a}", "{}", "{0!r}"))
    assert "{a}" in odd.frames[-1].sentence and odd.steps[0].axis_names == ("{a}", "{}", "{0!r}")


def test_the_input_is_called_as_the_function_calls_it():
    assert watch(lambda Q: Q.mT, X).steps[0].operation == "Q"
    assert [s.operation for s in watch(lambda a, b: a + b, (X, X + 1)).steps[:2]] == ["a", "b"]
    assert watch(torch.nn.Flatten(), X).steps[0].operation


def test_words_that_do_not_fit_are_refused():
    with pytest.raises(mha.InputValueError, match="words: expected 2 lists of 4 words"):
        watch(lambda X: X.mT, X, words=[["one", "two"]])
    assert watch(lambda X: X.mT, X[0], words=["a", "b", "c", "d"]).words == (("a", "b", "c", "d"),)


def test_attention_that_is_many_operations_shows_each():
    """torch's own layer hands itself over whole; what it calls is heard one by one."""
    recording = watch(lambda X: ATTENTION(X, X, X)[0], X)
    assert len(recording.frames) > 8 and {frame.within for frame in recording.frames[1:-1]} != {""}
    assert any("sum to 1" in frame.sentence for frame in recording.frames)


def test_an_axis_of_ranges_is_told_slice_by_slice():
    """What a learner who forgets to permute gets: half the words in each slice."""
    sentence = watch(lambda X: X.reshape(2, 2, 4, 5), X, num_heads=2).frames[-1].sentence
    assert "Axis 1 is now words 1–2, then words 3–4, axis 2 mixes word and head." in sentence
    sentence = watch(lambda X: X.reshape(4, 4, 5), X, num_heads=2).frames[-1].sentence
    assert "Axis 0 mixes sentence and word" in sentence


OPERATIONS = {  # name → what it does to any tensor of at least one axis, drawn parameters apart
    "transpose": lambda X, i: X.transpose(i % X.ndim, -1),
    "flatten": lambda X, i: X.flatten(i % X.ndim),
    "unsqueeze": lambda X, i: X.unsqueeze(i % (X.ndim + 1)),
    "flip": lambda X, i: X.flip(i % X.ndim),
    "roll": lambda X, i: X.roll(1 + i, i % X.ndim),
    "half of it": lambda X, i: X.narrow(i % X.ndim, 0, -(-X.shape[i % X.ndim] // 2)),
    "twice": lambda X, i: torch.cat([X, X.flip(0)], i % X.ndim) if X.numel() < 200 else X,
    "clone": lambda X, i: X.clone(),
    "stack": lambda X, i: torch.stack(X.unbind(i % X.ndim), 0),
    "pad": lambda X, i: torch.nn.functional.pad(X, (i % 2, 1), value=float(i)),
    "add": lambda X, i: X + i,
    "scale": lambda X, i: X * (i - 1),
    "relu": lambda X, i: torch.relu(X - 3 * i),
    "in place": lambda X, i: X.clone().mul_(i),
    "row written": lambda X, i: written(X.clone(), i),
    "numpy": lambda X, i: by_numpy(X.clone(), i),
    "where": lambda X, i: torch.where(X > i, X, X.flip(0)),
    "softmax": lambda X, i: X.softmax(-1),
    "index": lambda X, i: X[torch.tensor([0, X.shape[0] - 1, 0])],
}


def written(X, i):
    X[-1] = X[0] * i
    X[0] = i
    return X


def by_numpy(X, i):
    if X.numel():
        X.numpy().flat[0] = i + 0.125
    return X


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 4)), min_size=1, max_size=6),
)
def test_any_chain_is_told_truly(shape, chain):
    def fn(X):
        for name, i in chain:
            X = OPERATIONS[name](X, i)
        return X

    given_ = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    recording = watch(fn, given_)
    assert check(recording) == 0
    torch.testing.assert_close(recording.result, fn(given_.clone()), rtol=0, atol=0)
    torch.testing.assert_close(recording.result_steps[0].values, recording.result, rtol=0, atol=0)


def test_what_was_computed_is_named_only_where_the_numbers_bear_it_out():
    said = lambda fn, *given: watch(fn, given[0] if len(given) == 1 else given).frames[-1].sentence  # noqa: E731
    small = X / 80
    assert "softmax over the keys" in said(lambda X: (X @ X.mT).softmax(-1), small)
    assert said(lambda X: X.softmax(1), small) == "New values: along word they are positive and sum to 1."
    assert said(lambda X: X.softmax(0), small) == "New values: along sentence they are positive and sum to 1."
    assert "same factor" in said(lambda X: X * 3, X) and "same factor" in said(lambda X: X / 7, X)
    assert "same factor" not in said(lambda X: X * torch.arange(10.0), X)
    assert "same factor" not in said(lambda a, b: a * b, X, X + 1)
    assert "attended" not in said(lambda X: X.masked_fill(X > 31, 0.0), X)
    assert "attended" in said(lambda X: (X @ X.mT).masked_fill(torch.eye(4).bool(), 0.0), X)
    assert "the scores" in said(lambda q, k: q @ k.mT, X, X[:, :3])
    assert "the context" in said(lambda q, v: (q @ q.mT).softmax(-1) @ v, small, small)
