"""The running example: two sentences of four words with ten features, and two heads.

Its weights are made by hand from small whole numbers, so that each head's map has a
meaning one can read and every printed digit is the same on any machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from .multihead import MultiHeadAttention

FEATURES = ("noun", "verb", "adjective", "1st", "2nd", "3rd", "4th", "plural", "animal", "loud")
PAD = "(pad)"
_WORDS = (("small", "cats", "sleep", PAD), ("dogs", "bark", PAD, PAD))
_MEANING: dict[str, dict[str, float]] = {
    "small": {"adjective": 1},
    "cats": {"noun": 1, "plural": 1, "animal": 1},
    "sleep": {"verb": 1},
    "dogs": {"noun": 1, "plural": 1, "animal": 1, "loud": 0.5},
    "bark": {"verb": 1, "loud": 1},
    PAD: {},
}
# Of each map: for each of a head's five features, which inputs it reads and how strongly.
_ASK_A = ({"noun": 3, "verb": 3, "adjective": 3}, {"verb": 1}, {"adjective": 1}, {"loud": 1}, {"noun": 1})
_SHOW_A = ({"noun": 2}, {"animal": 1}, {"plural": 1}, {"loud": 1}, {"verb": 1})
_ASK_B: tuple[dict[str, int], ...] = ({"1st": 3, "2nd": 3}, {"3rd": 3}, {"4th": 3}, {}, {})
_SHOW_B: tuple[dict[str, int], ...] = ({"1st": 2}, {"2nd": 2}, {"3rd": 2}, {"4th": 2}, {})
_GIVE = ({"noun": 1}, {"verb": 1}, {"adjective": 1}, {"animal": 1}, {"loud": 2})


@dataclass(frozen=True)
class Example:
    """The example's parts, all of them fresh: change what you like.

    Attributes:
        X: float32, (2, 4, 10) = (sentence, word, feature); rows of words and positions.
        numbers: int64, (2, 4, 10): 0 … 79, a number of its own for each place in X.
        words: for each sentence its four words, padding included.
        features: the names of the ten features.
        valid_lens: int64, (2,): the real words of each sentence, [3, 2].
        num_heads: 2; D = 10, so each head is d = 5 wide.
        layer: a MultiHeadAttention(10, 10, 10, 10, 2) with weights made by hand; in eval mode
            and without gradients, until you call layer.requires_grad_().
        heads: what head A and head B look for, in words.
    """

    X: Tensor
    numbers: Tensor
    words: tuple[tuple[str, ...], ...]
    features: tuple[str, ...]
    valid_lens: Tensor
    num_heads: int
    layer: MultiHeadAttention
    heads: tuple[str, str]

    def __repr__(self) -> str:
        return "\n".join(
            f"sentence {i}: {' '.join(words)}   ({int(n)} real words)"
            for i, (words, n) in enumerate(zip(self.words, self.valid_lens, strict=True), start=1)
        )


def _row(weights: Mapping[str, float]) -> list[float]:
    return [float(weights.get(name, 0)) for name in FEATURES]


def _layer() -> MultiHeadAttention:
    layer = MultiHeadAttention(10, 10, 10, 10, 2).eval()
    sum_of_heads = torch.eye(5).repeat(1, 2)
    difference = torch.cat([torch.eye(5), -torch.eye(5)], 1)
    with torch.no_grad():
        layer.W_q.weight.copy_(torch.tensor([_row(w) for w in _ASK_A + _ASK_B]))
        layer.W_k.weight.copy_(torch.tensor([_row(w) for w in _SHOW_A + _SHOW_B]))
        layer.W_v.weight.copy_(torch.tensor([_row(w) for w in _GIVE + _GIVE]))
        layer.W_o.weight.copy_(torch.cat([sum_of_heads, difference]))
    return layer.requires_grad_(False)


def example() -> Example:
    """Return the (2, 4, 10) example with two heads.

    Head A looks for the noun, head B at the word before. The sizes are those of the
    document "multi-head attention, in plain words".

    Example:
        >>> ex = example()
        >>> ex
        sentence 1: small cats sleep (pad)   (3 real words)
        sentence 2: dogs bark (pad) (pad)   (2 real words)
        >>> output, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
        >>> output.shape, weights.shape
        (torch.Size([2, 4, 10]), torch.Size([2, 2, 4, 4]))
    """
    places = FEATURES[3:7]
    rows = [[_row({**_MEANING[w], places[i]: 1}) for i, w in enumerate(words)] for words in _WORDS]
    return Example(
        X=torch.tensor(rows),
        numbers=torch.arange(80).view(2, 4, 10),
        words=_WORDS,
        features=FEATURES,
        valid_lens=torch.tensor([3, 2]),
        num_heads=2,
        layer=_layer(),
        heads=("looks for the noun", "looks at the word before"),
    )
