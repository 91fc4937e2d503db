"""watch: every recorded address against torch's own result on an arange."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from hypothesis import given, settings
from hypothesis import strategies as st

import mha_lib as mha
from mha_lib.moves.recorder import watch
from mha_lib.moves.recording import Kind


def numbered(*shape):
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


X = numbered(2, 4, 10)


def kinds(recording):
    return [frame.kind.name for frame in recording.frames]


def split(X):
    return X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5)


def test_the_walk_of_the_example():
    steps = watch(split, X).steps
    assert [s.operation for s in steps] == [
        "X",
        "X.reshape(2, 4, 2, 5)",
        ".permute(0, 2, 1, 3)",
        ".reshape(4, 4, 5)",
    ]
    assert [s.shape for s in steps] == [(2, 4, 10), (2, 4, 2, 5), (2, 2, 4, 5), (4, 4, 5)]
    assert [s.stride for s in steps] == [(40, 10, 1), (40, 10, 5, 1), (40, 5, 10, 1), (20, 5, 1)]
    assert [s.shares_memory for s in steps] == [False, True, True, False]
    assert [s.is_contiguous for s in steps] == [True, True, False, True]
    assert steps[3].axis_names == ("sentence·head", "word", "feature")
    assert steps[2].axis_names == ("sentence", "head", "word", "feature")
    assert steps[0].addresses.dtype == torch.int64
    torch.testing.assert_close(steps[3].addresses, split(X).long())


def test_permute_moves_nothing_in_memory_and_the_copying_reshape_does():
    steps = watch(split, X).steps
    assert steps[2].memory.equal(torch.arange(80)) and not steps[3].memory.equal(torch.arange(80))
    assert steps[3].memory.equal(split(X).long().flatten())


def test_the_straight_reshape_mixes_axes_and_says_so():
    """hyunwoongko/transformer#15: a reshape straight to the heads."""
    recording = watch(lambda X: X.reshape(4, 4, 5), X)
    step, sentence = recording.steps[-1], recording.frames[-1].sentence
    assert step.axis_names == ("axis 0", "axis 1", "feature")
    assert "mixes sentence and word" in sentence and "mixes word and head" in sentence
    assert int((step.addresses != split(X).long()).sum()) == 60


MOVES = {
    "reshape": lambda X: X.reshape(4, 20),
    "torch.reshape": lambda X: torch.reshape(X, (4, 20)),
    "view": lambda X: X.view(8, 10),
    "view_as": lambda X: X.view_as(torch.empty(8, 10)),
    "permute": lambda X: torch.permute(X, (2, 0, 1)),
    "transpose": lambda X: X.transpose(0, 2),
    "mT": lambda X: X.mT,
    "T": lambda X: X[0].T,
    "swapaxes": lambda X: X.swapaxes(0, 1),
    "movedim": lambda X: torch.movedim(X, 0, -1),
    "flatten": lambda X: X.flatten(1),
    "unflatten": lambda X: X.unflatten(-1, (2, 5)),
    "torch.unflatten": lambda X: torch.unflatten(X, 2, (5, 2)),
    "squeeze": lambda X: X[:1].squeeze(0),
    "unsqueeze": lambda X: torch.unsqueeze(X, 1),
    "expand": lambda X: X.unsqueeze(0).expand(3, -1, -1, -1),
    "contiguous": lambda X: X.mT.contiguous(),
    "clone": lambda X: X.mT.clone(),
    "chunk": lambda X: X.chunk(2, -1)[1],
    "split": lambda X: X.split([3, 7], -1)[1],
    "torch.split": lambda X: torch.split(X, 2, 1)[-1],
    "unbind": lambda X: X.unbind(1)[-1],
    "iterate": lambda X: torch.stack([w.mT for w in X]),
    "stack": lambda X: torch.stack(X.chunk(2, -1), 1),
    "cat": lambda X: torch.cat([X[:, 2:], X[:, :2]], 1),
    "slices": lambda X: X[:, 1:, ::3],
    "integers": lambda X: X[1, 2],
    "negative": lambda X: X[-1, ..., None, -2:],
    "index tensor": lambda X: X[:, torch.tensor([3, 0, 0])],
    "mask": lambda X: X[X > 31],
    "narrow": lambda X: X.narrow(2, 3, 4),
    "select": lambda X: torch.select(X, 1, 2),
    "flip": lambda X: X.flip(0, 2),
    "roll": lambda X: X.roll(3, -1),
    "rot90": lambda X: torch.rot90(X, 1, (1, 2)),
    "repeat": lambda X: X.repeat(1, 2, 1),
    "repeat_interleave": lambda X: X.repeat_interleave(2, 0),
    "torch.repeat_interleave": lambda X: torch.repeat_interleave(X, torch.tensor([1, 3]), dim=0),
    "gather": lambda X: X.gather(1, torch.zeros(2, 1, 10, dtype=torch.int64)),
    "einops rearrange": lambda X: rearrange(X, "b l (h d) -> (b h) l d", h=2),
    "einops back": lambda X: rearrange(rearrange(X, "b l (h d) -> h b l d", h=2), "h b l d -> b l (h d)"),
    "einops repeat": lambda X: repeat(X, "b l d -> (b r) l d", r=2),
    "float16": lambda X: X.mT.half(),
    "in a list": lambda X: [X.mT][0],
    "our own split": lambda X: mha.split_heads(X, 2),
    "and merge": lambda X: mha.merge_heads(mha.split_heads(X, 2), 2),
}


@pytest.mark.parametrize("name", MOVES)
def test_addresses_are_torchs_own(name):
    recording = watch(MOVES[name], X)
    torch.testing.assert_close(recording.steps[-1].addresses, MOVES[name](X).long())
    assert recording.frames[-1].kind is Kind.MOVE
    assert recording.steps[-1].shape == MOVES[name](X).shape
    assert recording.steps[-1].stride == MOVES[name](X).stride()


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad_cells_come_from_nowhere_or_from_where_the_mode_says(mode):
    extra = {"value": 7.0} if mode == "constant" else {}
    (step,) = (frame := watch(lambda X: F.pad(X, (2, 1), mode=mode, **extra), X).frames[-1]).steps
    expected = F.pad(X, (2, 1), mode=mode, **({"value": -1.0} if extra else {}))
    torch.testing.assert_close(step.addresses, expected.long())
    assert ("come from nowhere" in frame.sentence) == (mode == "constant")


def test_added_cells_do_not_count_as_read_twice():
    """A walk stays a walk, though every padding cell comes from the same nowhere."""
    frame = watch(lambda X: F.pad(X, (1, 1)).permute(1, 0, 2), X).frames[-1]
    assert "walked in another order" in frame.sentence


@st.composite
def chains(draw):
    """A shape and a list of movement operations that torch accepts one after the other."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    tensor, chain = torch.zeros(shape), []
    for _ in range(draw(st.integers(1, 5))):
        n = tensor.ndim
        axis = draw(st.integers(0, n - 1)) if n else 0
        size = tensor.shape[axis] if n else 1
        factors = [k for k in range(1, size + 1) if size % k == 0]
        k = draw(st.sampled_from(factors)) if factors else 1
        options = [
            ("reshape", (tensor.numel() // k if size else -1, k) if k else (-1,)),
            ("permute", (tuple(draw(st.permutations(range(n)))),)),
            ("flatten", ()),
            ("unsqueeze", (axis,)),
            ("contiguous", ()),
            ("clone", ()),
            ("repeat", (2,) + (1,) * (n - 1 if n else 0)),
        ]
        if n:
            options += [
                ("transpose", (axis, n - 1)),
                ("movedim", (axis, 0)),
                ("unflatten", (axis, (k, -1))),
                ("squeeze", (axis,)),
                ("flip", (axis,)),
                ("roll", (1, axis)),
                ("narrow", (axis, size // 2, size - size // 2)),
                ("select", (axis, size - 1)),
                ("repeat_interleave", (2, axis)),
                ("unbind", (axis,)),
                ("chunk", (2, axis)),
            ]
        name, args = draw(st.sampled_from(options))
        chain.append((name, args))
        tensor = apply(tensor, [(name, args)])
        if tensor.numel() > 500:
            break
    return shape, chain


def apply(tensor, chain):
    for name, args in chain:
        tensor = getattr(tensor, name)(*args)
        if isinstance(tensor, tuple):
            tensor = tensor[-1]
    return tensor


@settings(max_examples=150, deadline=None)
@given(chains())
def test_random_chains_agree_with_torch_on_an_arange(case):
    shape, chain = case
    recording = watch(lambda X: apply(X, chain), numbered(*shape))
    expected = apply(numbered(*shape), chain)
    last = next(s for s in reversed(recording.steps) if s.shape == expected.shape)
    assert last.addresses.equal(expected.long()) and last.stride == expected.stride()
    assert len(last.axis_names) == expected.ndim


def test_a_view_shows_the_memory_it_really_walks():
    step = watch(lambda X: X[:, 1:, ::2], X).steps[-1]
    walked = step.memory.as_strided(step.shape, step.stride, step.offset)
    assert walked.equal(step.addresses)


def test_a_transposed_input_keeps_its_memory():
    start = watch(lambda X: X.contiguous(), numbered(3, 2).T).steps
    assert start[0].stride == (1, 2) and start[0].addresses.tolist() == [[0, 2, 4], [1, 3, 5]]
    assert start[1].memory.tolist() == [0, 2, 4, 1, 3, 5] and not start[1].shares_memory


def test_names_follow_cells_not_operations():
    names = lambda fn, **kw: watch(fn, X, **kw).steps[-1].axis_names  # noqa: E731
    assert names(lambda X: X.mT) == ("sentence", "feature", "word")
    assert names(lambda X: X.flatten(0, 1)) == ("sentence·word", "feature")
    assert names(lambda X: X.permute(1, 0, 2).flatten(0, 1)) == ("word·sentence", "feature")
    assert names(lambda X: mha.merge_heads(split(X), 2)) == ("sentence", "word", "feature")
    assert names(lambda X: X.unsqueeze(1).expand(2, 3, 4, 10))[1] == "copy"
    assert names(lambda X: X.mT, axes=("time", "place", "thing")) == ("time", "thing", "place")
    assert names(lambda X: split(X).reshape(2, 4, 10)) == ("sentence", "axis 1", "axis 2")
    assert watch(lambda X: X.permute(3, 0, 1, 2), numbered(2, 3, 4, 5)).steps[-1].axis_names == (
        "d",
        "a",
        "b",
        "c",
    )


def test_num_heads_is_read_off_or_told():
    assert watch(split, X).num_heads == 2
    assert watch(lambda X: X.mT, X).num_heads is None
    assert watch(lambda X: X.mT, X, num_heads=5).num_heads == 5


def test_q_k_and_v_are_kept_apart():
    q, k, v = X, numbered(2, 3, 10), numbered(2, 3, 6)
    recording = watch(lambda q, k, v: torch.cat([k.mT, v.mT], 1), (q, k, v))
    assert [s.origin for s in recording.frames[0].steps] == ["q", "k", "v"]
    last = recording.steps[-1]
    assert last.origin == "k and v"
    torch.testing.assert_close(last.addresses, torch.cat([k.mT, v.mT], 1).long())
    named = watch(lambda left, right: left, {"left": q, "right": k})
    assert [s.operation for s in named.steps] == ["left", "right"]


def test_several_results_of_one_operation_share_a_frame():
    recording = watch(lambda X: X.chunk(2, -1), X)
    assert len(recording.frames) == 2 and len(recording.frames[1].steps) == 2
    assert [s.operation for s in recording.frames[1].steps] == ["X.chunk(2, -1)"] * 2


def test_arithmetic_starts_new_values():
    recording = watch(lambda X: torch.softmax(X @ X.mT, -1)[:, :2], X)
    assert kinds(recording) == ["INPUT", "MOVE", "NEW_VALUES", "NEW_VALUES", "MOVE"]
    assert recording.steps[2].axis_names == ("sentence", "query", "key")
    assert "scores" in recording.frames[2].sentence and "sum to 1" in recording.frames[3].sentence
    assert recording.steps[4].addresses[1].tolist() == [[16, 17, 18, 19], [20, 21, 22, 23]]
    assert recording.steps[3].addresses.equal(torch.arange(32).reshape(2, 4, 4))


def test_a_tensor_that_only_takes_xs_shape_is_no_step():
    other = torch.zeros(80)
    recording = watch(lambda X: X + other.view_as(X) + torch.ones(10).expand_as(X).type_as(X), X)
    assert kinds(recording) == ["INPUT", "NO_CHANGE", "NEW_VALUES"]


def test_a_mask_that_takes_nothing_out_keeps_the_cells():
    nothing = torch.zeros(2, 4, 10, dtype=torch.bool)
    recording = watch(lambda X: X.masked_fill(nothing, 0.0).mT, X)
    assert kinds(recording) == ["INPUT", "NO_CHANGE", "MOVE"] and recording.steps[2].addresses.equal(
        X.mT.long()
    )


def test_random_operations_are_new_values():
    assert kinds(watch(lambda X: F.dropout(X, 0.5), X))[-1] == "NEW_VALUES"


def test_in_place_changes_are_a_kind_of_their_own_and_seen_through_other_views():
    def change(X):
        view = X.mT
        X.mul_(2)
        return view[0]

    recording = watch(change, X)
    steps = recording.steps
    assert kinds(recording) == ["INPUT", "MOVE", "IN_PLACE", "MOVE"]
    assert steps[2].shares_memory and steps[3].origin == "X.mul_(2)"


def test_an_argument_that_says_in_place_is_believed():
    def change(X):
        view = X.mT
        F.relu(X, inplace=True)
        return view[0]

    recording = watch(change, X - 40)
    steps = recording.steps
    assert kinds(recording) == ["INPUT", "MOVE", "IN_PLACE", "MOVE"]
    assert steps[3].origin == "F.relu(X, inplace=True)"


def test_writing_into_new_memory_is_followed():
    def loop(X):
        out = torch.empty(2, 2, 4, 5)
        for h in range(2):
            out[:, h] = X[..., 5 * h : 5 * h + 5]
        return out.flatten(0, 1)

    recording = watch(loop, X)
    steps = recording.steps
    torch.testing.assert_close(steps[-1].addresses, split(X).long())
    assert steps[2].operation == "out[:, h] = X[..., 5 * h : 5 * h + 5]" and kinds(recording)[2] == "IN_PLACE"
    assert steps[2].addresses.min() == -1


def test_overwritten_cells_are_new_and_the_others_stay():
    def zero(X):
        X[0] = 0
        return X

    last = watch(zero, X).steps[-1]
    assert last.operation == "X[0] = 0" and last.origin == "X and X[0] = 0"
    assert last.addresses[1].equal(X[1].long())


def test_what_is_given_is_not_changed():
    given = X.clone()
    watch(lambda X: X.mul_(0), given)
    assert given.equal(X)


def test_the_layers_whole_path_has_meanings():
    example = mha.example()
    recording = watch(lambda X: example.layer(X, X, X, example.valid_lens, need_weights=True)[0], example.X)
    said = " ".join(s.sentence for s in recording.frames)
    assert "scores" in said and "weights" in said and "context" in said
    assert recording.num_heads == 2
    assert recording.steps[-1].axis_names[-1] == "feature"
    assert any(
        s.axis_names == ("sentence·head", "query", "key")
        or s.axis_names == ("sentence", "head", "query", "key")
        for s in recording.steps
    )


def test_einops_is_named_as_the_call_it_happened_in():
    frames = watch(lambda X: rearrange(X, "b l (h d) -> (b h) l d", h=2), X).frames
    assert frames[2].operation == ".permute([0, 2, 1, 3])" and frames[2].within.startswith("rearrange(X,")


def test_without_source_the_operation_is_rebuilt():
    space = {}
    exec("fn = lambda X: X.reshape(4, 20)[1:, None].mT", space)
    assert [s.operation for s in watch(space["fn"], X).steps] == [
        "X",
        "X.reshape(4, 20)",
        "[1:, None]",
        ".mT",
    ]


@pytest.mark.parametrize(
    "bad",
    [lambda X: torch.tensor(X.tolist()), lambda X: torch.ones(3), lambda X: torch.from_numpy(X.numpy())],
)
def test_what_leaves_torch_is_refused(bad):
    with pytest.raises(mha.InputValueError, match="made from its argument"):
        watch(bad, X)


def test_wrong_arguments_are_named():
    with pytest.raises(mha.InputTypeError, match="fn"):
        watch(X, X)
    with pytest.raises(mha.InputTypeError, match="X"):
        watch(split, [[1, 2]])
    with pytest.raises(mha.InputTypeError, match="fn.*NoneType"):
        watch(lambda X: None, X)
    with pytest.raises(mha.InputValueError, match="axes"):
        watch(split, X, axes=("a", "b"))
    with pytest.raises(mha.InputValueError, match="500"):
        watch(lambda X: [X := X.mT for _ in range(600)][-1], X)


def test_torchs_own_error_comes_through():
    with pytest.raises(RuntimeError, match="invalid for input of size 80"):
        watch(lambda X: X.reshape(3, 3), X)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (1, 1, 1), (2, 1, 2, 1, 2, 1)])
def test_small_and_empty_tensors(shape):
    recording = watch(lambda X: X.reshape(-1).clone(), numbered(*shape))
    assert recording.steps[-1].addresses.equal(numbered(*shape).reshape(-1).long())
    assert len(recording.steps[0].axis_names) == len(shape)


def test_the_repr_is_a_table_that_nbval_can_compare():
    line = repr(watch(split, X)).splitlines()[2]
    assert " ".join(line.split()) == (
        ".permute(0, 2, 1, 3) (2, 2, 4, 5) strides (40, 5, 10, 1) sentence, head, word, feature"
    )


def test_watch_loads_no_plotting():
    code = "import sys, mha_lib; mha_lib.watch; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
