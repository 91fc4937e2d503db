"""Checks for the lab on a real model: a relation, a head's score, a head's name."""

import torch

from ..labs.minilm import relation_score
from . import compare, exercise


@exercise("real_model.next")
def following(attempt):
    """A function of words (L) → bool (L, L), True where the key is the piece after the query."""
    for sentence in ("a b a", "one two three four five"):
        words = ["[CLS]", *sentence.split(), "[SEP]"]
        L = len(words)
        after = torch.eye(L, dtype=torch.bool).roll(1, 1).triu()
        want = after.clone()
        want[0], want[:, -1] = False, False
        got = attempt(words)
        if isinstance(got, torch.Tensor) and got.shape == (L, L) and got.dtype != torch.bool:
            return f"A boolean map is expected, yours is {got.dtype}. Compare, or add .bool()."
        for wrong, hint in (
            (want.T, "That is the piece before. Rows are queries, columns are keys."),
            (after, "The marks ask or are asked for. Leave out row 0, [CLS], and the last column, [SEP]."),
            (torch.eye(L, dtype=torch.bool).roll(1, 1), "roll goes round: the last query sees the first key."),
        ):
            if isinstance(got, torch.Tensor) and torch.equal(got, wrong):
                return hint
        if isinstance(got, torch.Tensor) and got.shape == (L, L) and not torch.equal(got, want):
            query, key = (got != want).nonzero()[0].tolist()
            right = bool(want[query, key])
            return f"At query {query}, key {key} ({words[query]} → {words[key]}) it should be {right}."
        if problem := compare(got, want):
            return problem
    return None


@exercise("real_model.score")
def score(attempt):
    """A function of weights (…, L, L) and relation bool (L, L) → (…)."""
    generator = torch.Generator().manual_seed(0)
    for shape in ((3, 4, 5, 5), (2, 6, 6)):
        weights = torch.rand(shape, generator=generator).softmax(-1)
        L = shape[-1]
        relation = torch.zeros(L, L, dtype=torch.bool)
        relation[1, 0], relation[3, 0], relation[3, 2] = True, True, True
        on_keys = (weights * relation).sum(-1)
        got = attempt(weights, relation)
        for wrong, hint in (
            (on_keys.mean(-1), "You averaged over all queries. Only those with a True in their row count."),
            (on_keys.sum(-1), "That is the sum over the queries. Divide by how many have such a key."),
            (on_keys.sum(-1) / relation.sum(),
             "You divided by the number of pairs. A query with two such keys still counts once."),
            (relation_score(weights.mT, relation), "Rows are queries, columns are keys."),
            (relation_score(weights, relation).mean(), "Keep the axes in front, block and head: shape (…)."),
        ):  # fmt: skip
            if compare(got, wrong) is None:
                return hint
        if problem := compare(got, relation_score(weights, relation)):
            return problem
    return None


@exercise("real_model.find")
def find(attempt):
    """A function of scores (blocks, heads) → (block from 1, letter)."""
    for blocks, heads, block, head in ((6, 12, 2, 9), (3, 4, 1, 3), (2, 5, 1, 0)):
        scores = torch.zeros(blocks, heads)
        scores[block, head] = 0.5
        want, got = (block + 1, "ABCDEFGHIJKL"[head]), attempt(scores)
        if not isinstance(got, tuple) or len(got) != 2:
            return 'Return a pair: the block, counted from 1, and the letter, like (3, "J").'
        if got == want:
            continue
        if tuple(got) == (block, want[1]):
            return "The letter is right. Blocks are counted from 1."
        if not isinstance(got[1], str):
            return 'The second of the pair is a letter: "ABCDEFGHIJKL"[head].'
        place = block * heads + head
        return f"With {heads} heads a block, place {place} of the flat scores is {want}; yours is {got}."
    return None
