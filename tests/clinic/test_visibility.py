"""Who can see whom, by Jacobian, and its picture."""

import pytest
import torch

import mha_lib as mha
from mha_lib.clinic.bugs import bugs
from mha_lib.clinic.visibility import plot_visibility, who_can_see_whom

CAUSAL = mha.causal_mask(4, 4)
LEAKS = {  # measured elsewhere, four words, two heads, a causal mask
    "merge_without_permute": ["1100", "1111", "1100", "1111"],
    "straight_view_to_heads": ["1010", "1010", "1111", "1111"],
    "straight_view_and_merge": ["1000", "1100", "0010", "0011"],
    "attends_over_heads": ["1000", "0100", "0010", "0001"],
    "batch_mixed": ["1000", "0100", "0010", "0001"],
}


def layer(seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return mha.MultiHeadAttention(10, 10, 10, 10, 2)


def rows(seen):
    return ["".join(str(int(cell)) for cell in row) for row in seen]


@pytest.mark.parametrize("name", LEAKS)
def test_wrong_splits_and_merges_leak_the_future(name):
    for seed in range(5):
        assert rows(who_can_see_whom(bugs[name].make(layer(seed)), attn_mask=CAUSAL)) == LEAKS[name]


def test_right_layers():
    gpt, bert = mha.documents.gpt, mha.documents.bert
    for one in (layer(), gpt.MultiHeadAttention(10, 2), bert.SelfAttention(2, 10, 10)):
        assert torch.equal(who_can_see_whom(one, attn_mask=CAUSAL), CAUSAL)
        assert who_can_see_whom(one).all()
    ours = layer()
    assert torch.equal(who_can_see_whom(mha.to_torch(ours), attn_mask=CAUSAL), CAUSAL)
    # The lengths hide the fourth word as a key; it still asks, so it depends on itself.
    assert rows(who_can_see_whom(ours, valid_lens=torch.tensor([3, 2]))) == ["1110"] * 3 + ["1111"]
    x = torch.randn(1, 3, 10, generator=torch.Generator().manual_seed(2))
    assert who_can_see_whom(lambda x: ours(x, x, x), x).shape == (3, 3)
    one_off = bugs["causal_sees_next_word"].make(ours)
    assert rows(who_can_see_whom(one_off)) == ["1100", "1110", "1111", "1111"]


def test_in_an_empty_sentence_nobody_sees_anybody():
    layer = mha.example().layer
    assert not mha.who_can_see_whom(layer, valid_lens=torch.tensor([0, 2])).any()
    for cut in (lambda X: X.detach(), lambda X: X.detach() @ layer.W_v.weight.float().requires_grad_()):
        with pytest.raises(ValueError, match="gradient"):
            mha.who_can_see_whom(cut, torch.ones(1, 3, 10))


def test_nothing_is_changed_and_dropout_is_off():
    given = mha.MultiHeadAttention(10, 10, 10, 10, 2, dropout=0.9).train()
    x = torch.ones(1, 4, 10, requires_grad=True)
    assert who_can_see_whom(given, x).all()
    assert given.training and given.W_q.weight.dtype == torch.float32 and x.grad is None
    assert all(p.grad is None for p in given.parameters())


def test_wrong_input():
    with pytest.raises(TypeError, match="layer"):
        who_can_see_whom("a layer")
    with pytest.raises(ValueError, match="x: .*L, D"):
        who_can_see_whom(layer(), torch.ones(4, 10))
    with pytest.raises(ValueError, match="gradient"):
        who_can_see_whom(lambda x: x.detach(), torch.ones(1, 4, 10))
    with pytest.raises(ValueError, match="weights"):
        who_can_see_whom(lambda x: x)


def test_picture():
    seen = who_can_see_whom(bugs["merge_without_permute"].make(layer()), attn_mask=CAUSAL)
    figure = plot_visibility(seen, ["the", "cat", "$the$", "猫"], allowed=CAUSAL, title="merge")
    assert figure.alt == "merge: who sees whom, row by row: 1100; 1111; 1100; 1111; 3 leaks"
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()][:3] == ["the", "cat", "$the$"]
    marks = [text.get_text() for text in axes.texts]
    assert len(marks) == 16 and marks.count("×") == 3 and marks.count("●") == 9
    assert axes.get_xlabel().startswith("input") and axes.get_ylabel().startswith("output")
    assert figure.png()[:4] == b"\x89PNG"
    with pytest.raises(ValueError, match="4 words"):
        plot_visibility(seen, ["a", "b"])
    with pytest.raises(ValueError, match="boolean"):
        plot_visibility(seen.float())
