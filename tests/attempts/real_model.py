import numpy as np
import torch

from attempts import Attempts, as_array, constant, listed, only, rounded

LETTERS = "ABCDEFGHIJKL"


def by_loop(words):
    keys = torch.zeros(len(words), len(words), dtype=torch.bool)
    for query in range(1, len(words) - 2):
        keys[query, query + 1] = True
    return keys


def by_marks(words):
    inner = torch.tensor([word not in ("[CLS]", "[SEP]") for word in words])
    return torch.eye(len(words)).roll(1, 1).bool() & inner[:, None] & inner


def in_lists(words):
    n = len(words)
    return [[0 < query and key == query + 1 and key < n - 1 for key in range(n)] for query in range(n)]


def by_words(words):
    """Looks for the same word instead of the place."""
    n = len(words)
    return torch.tensor([[0 < q < n - 2 and words[k] == words[q + 1] for k in range(n)] for q in range(n)])


def eye(words):
    return torch.eye(len(words), dtype=torch.bool)


def score(weights, relation):
    asking = relation.any(-1)
    return (weights * relation).sum(-1)[..., asking].mean(-1)


def by_counting(weights, relation):
    return (weights * relation).sum((-1, -2)) / relation.any(-1).sum()


def in_place(weights, relation):
    weights *= relation
    return weights.sum((-1, -2)) / len({int(q) for q, _ in relation.nonzero()})


def name(s):
    block, head = divmod(int(s.argmax()), s.shape[1])
    return block + 1, LETTERS[head]


ATTEMPTS = {
    "real_model.next": Attempts(
        right=[
            by_loop,
            by_marks,
            in_lists,
            lambda w: (
                torch.diag(torch.tensor([False] + [True] * (len(w) - 3) + [False] * (len(w) > 2)), 1)
                if len(w) > 3
                else torch.zeros(len(w), len(w)).bool()
            ),
            as_array(by_loop),
            listed(by_loop),
        ],
        wrong=[
            (lambda w: by_loop(w).float(), "not_boolean"),
            (lambda w: by_loop(w).T, "before"),
            (lambda w: eye(w).roll(1, 1).triu(), "marks_too"),
            (lambda w: eye(w).roll(1, 1), "goes_round"),
            (eye, "itself"),
            (lambda w: by_loop(w) | by_loop(w).T, "both_sides"),
            (lambda w: by_loop(w)[1:], "shape"),
        ],
        cheats=[
            by_words,
            constant(torch.eye(5).bool()),
            lambda w: by_loop(["[CLS]", "a", "b", "a", "[SEP]"]),
        ],
    ),
    "real_model.score": Attempts(
        right=[
            score,
            by_counting,
            in_place,
            lambda w, r: torch.einsum("...qk,qk->...", w, r.float()) / int(r.any(1).sum()),
            as_array(score),
            listed(score),
        ],
        wrong=[
            (lambda w, r: (w * r).sum(-1).mean(-1), "all_queries"),
            (lambda w, r: (w * r).sum((-1, -2)), "sum"),
            (lambda w, r: w[..., r].mean(-1), "by_pairs"),
            (lambda w, r: score(w.mT, r), "columns"),
            (lambda w, r: score(w, r).mean(), "axes_lost"),
            (lambda w, r: score(w, r) + 0.1, "number"),
        ],
        cheats=[rounded(score), only(lambda w, r: w.ndim == 4, score)],
    ),
    "real_model.find": Attempts(
        right=[
            name,
            lambda s: (int(s.amax(1).argmax()) + 1, LETTERS[int(s.amax(0).argmax())]),
            lambda s: [s.argmax() // s.shape[1] + 1, LETTERS[s.argmax() % s.shape[1]]],
            lambda s: (np.unravel_index(s.numpy().argmax(), s.shape)[0] + 1, name(s)[1]),
            lambda s: max(
                ((v, (b + 1, LETTERS[i])) for b, r in enumerate(s.tolist()) for i, v in enumerate(r))
            )[1],
        ],
        wrong=[
            (lambda s: (int(s.amax(1).argmax()), LETTERS[int(s.amax(0).argmax())]), "block_from_0"),
            (lambda s: (int(s.amax(1).argmax()) + 1, int(s.amax(0).argmax())), "head_as_number"),
            (lambda s: (int(s.argmax()) // 12 + 1, LETTERS[int(s.argmax()) % 12]), "twelve_heads"),
            (lambda s: name(s)[::-1], "swapped"),
            (lambda s: int(s.argmax()), "flat"),
            (lambda s: f"{name(s)[0]}{name(s)[1]}", "several"),
            (lambda s: name(s.abs()), "without_sign"),
        ],
        cheats=[constant((3, "J")), lambda s: name(s.round())],
    ),
}
