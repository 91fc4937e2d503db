"""Checks for the lab on a real model: a relation, a head's score, a head's name."""

import torch

from ..labs.minilm import relation_score
from . import compare, judge, known, randoms


def check_next(attempt):
    """A function of words (L) → bool (L, L), True where the key is the piece after the query."""
    for sentence in ("a b a", "one two three four five"):
        words = ["[CLS]", *sentence.split(), "[SEP]"]
        rolled = torch.eye(len(words), dtype=torch.bool).roll(1, 1)
        want = rolled.triu()
        want[0], want[:, -1] = False, False
        mistakes = {
            "That is the piece before. Rows are queries, columns are keys.": want.T,
            "The marks ask or are asked for. Leave out row 0, [CLS], and the last column, [SEP].": rolled.triu(),
            "roll goes round: the last query sees the first key.": rolled,
        }
        got = attempt(words)
        yield known(got, mistakes)
        if isinstance(got, torch.Tensor) and got.dtype == torch.bool and got.shape == want.shape:
            for query, key in (got != want).nonzero().tolist():
                right = bool(want[query, key])
                yield f"At query {query}, key {key} ({words[query]} → {words[key]}) it should be {right}."
        yield compare(got, want)


def check_score(attempt):
    """A function of weights (…, L, L) and relation bool (L, L) → (…)."""
    for shape in ((3, 4, 5, 5), (2, 6, 6)):
        weights, L = randoms(shape, dtype=torch.float32)[0].softmax(-1), shape[-1]
        relation = torch.zeros(L, L, dtype=torch.bool)
        relation[1, 0], relation[3, 0], relation[3, 2] = True, True, True
        on_keys, want = (weights * relation).sum(-1), relation_score(weights, relation)
        by_pairs = "You divided by the number of pairs. A query with two such keys still counts once."
        mistakes = {
            "You averaged over all queries. Only those with a True in their row count.": on_keys.mean(-1),
            "That is the sum over the queries. Divide by how many have such a key.": on_keys.sum(-1),
            by_pairs: on_keys.sum(-1) / relation.sum(),
            "Rows are queries, columns are keys.": relation_score(weights.mT, relation),
            "Keep the axes in front, block and head: shape (…).": want.mean(),
        }
        yield judge(attempt(weights, relation), want, mistakes)


def check_find(attempt):
    """A function of scores (blocks, heads) → (block from 1, letter)."""
    for blocks, heads, block, head in ((6, 12, 2, 9), (3, 4, 1, 3), (2, 5, 1, 0)):
        scores = torch.zeros(blocks, heads)
        scores[block, head] = 0.5
        want, got = (block + 1, "ABCDEFGHIJKL"[head]), attempt(scores)
        if not isinstance(got, tuple) or len(got) != 2:
            yield 'Return a pair: the block, counted from 1, and the letter, like (3, "J").'
        if got == want:
            continue
        if tuple(got) == (block, want[1]):
            yield "The letter is right. Blocks are counted from 1."
        if not isinstance(got[1], str):
            yield 'The second of the pair is a letter: "ABCDEFGHIJKL"[head].'
        place = block * heads + head
        yield f"With {heads} heads a block, place {place} of the flat scores is {want}; yours is {got}."
