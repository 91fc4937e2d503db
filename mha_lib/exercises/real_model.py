"""Heads of a real model: a relation, a head's score, a head's name."""

import torch
from torch import Tensor

from .exercise import Exercise
from .inputs import randoms

LETTERS = "ABCDEFGHIJKL"


def _rolled(words: list[str]) -> Tensor:
    return torch.eye(len(words), dtype=torch.bool).roll(1, 1)


def _next(words: list[str]) -> Tensor:
    relation = _rolled(words).triu()
    relation[0], relation[:, -1] = False, False
    return relation


next = Exercise(
    right=_next,
    cases=lambda: [
        (["[CLS]", *words.split(), "[SEP]"],) for words in ("a b a", "one two three four five", "it")
    ],
    mistakes={
        "before": lambda words: _next(words).T,
        "marks_too": lambda words: _rolled(words).triu(),
        "goes_round": _rolled,
        "first_mark_too": lambda words: _rolled(words).triu() & (torch.arange(len(words)) < len(words) - 1),
        "last_mark_too": lambda words: _rolled(words).triu() & (torch.arange(len(words)) > 0)[:, None],
        "both_sides": lambda words: _next(words) | _next(words).T,
        "same_word": lambda words: torch.tensor([[a == b for a in words] for b in words]),
        "one_pair_short": lambda words: _next(words) & (torch.arange(len(words)) < len(words) - 2),
        "itself": lambda words: torch.eye(len(words), dtype=torch.bool),
        "all_after": lambda words: torch.ones(len(words), len(words)).triu(1).bool(),
        "all_after_without_marks": lambda words: (
            torch.ones(len(words), len(words)).triu(1).bool()
            & torch.tensor([0] + [1] * (len(words) - 2) + [0]).bool()
            & torch.tensor([0] + [1] * (len(words) - 2) + [0]).bool()[:, None]
        ),
    },
)


def _on_keys(weights: Tensor, relation: Tensor) -> Tensor:
    return (weights * relation).sum(-1)


def _score(weights: Tensor, relation: Tensor) -> Tensor:
    return _on_keys(weights, relation)[..., relation.any(-1)].mean(-1)


def _score_cases() -> list[tuple[Tensor, Tensor]]:
    cases = []
    for shape in ((3, 4, 5, 5), (2, 6, 6), (4, 4)):
        relation = torch.zeros(shape[-1], shape[-1], dtype=torch.bool)
        relation[1, 0] = relation[2, 0] = relation[3, 0] = relation[3, 2] = True
        cases.append((randoms(shape)[0].softmax(-1), relation))
    return cases


score = Exercise(
    right=_score,
    cases=_score_cases,
    mistakes={
        "all_queries": lambda w, r: _on_keys(w, r).mean(-1),
        "sum": lambda w, r: _on_keys(w, r).sum(-1),
        "by_pairs": lambda w, r: _on_keys(w, r).sum(-1) / r.sum(),
        "columns": lambda w, r: _score(w.mT, r),
        "axes_lost": lambda w, r: _score(w, r).mean(),
        "one_a_query": lambda w, r: _on_keys(w, r),
        "mean_of_all": lambda w, r: (w * r).mean((-2, -1)),
        "pairs_by_keys_they_have": lambda w, r: (_on_keys(w, r) / r.sum(-1).clamp(min=1))[
            ..., r.any(-1)
        ].mean(-1),
        "the_others": lambda w, r: _on_keys(w, ~r)[..., r.any(-1)].mean(-1),
        "largest": lambda w, r: (w * r).amax(-1)[..., r.any(-1)].mean(-1),
        "by_keys": lambda w, r: _on_keys(w, r).sum(-1) / r.any(-2).sum(),
    },
)


def _name(scores: Tensor) -> tuple[int, str]:
    block, head = divmod(int(scores.argmax()), scores.shape[1])
    return block + 1, LETTERS[head]


def _place(scores: Tensor) -> tuple[int, int]:
    return divmod(int(scores.argmax()), scores.shape[1])


def _score_tables() -> list[tuple[Tensor]]:
    tables = randoms((6, 12), (3, 4), (2, 5), (4, 3), (5, 2), (1, 6))
    return [(table + (0.5 if i == 0 else -0.5),) for i, table in enumerate(tables)]


find = Exercise(
    right=_name,
    cases=_score_tables,
    mistakes={
        "block_from_0": lambda s: (_place(s)[0], LETTERS[_place(s)[1]]),
        "head_as_number": lambda s: (_place(s)[0] + 1, _place(s)[1]),
        "head_from_1": lambda s: (_place(s)[0] + 1, LETTERS[_place(s)[1] + 1]),
        "swapped": lambda s: _name(s)[::-1],
        "twelve_heads": lambda s: (int(s.argmax()) // 12 + 1, LETTERS[int(s.argmax()) % 12]),
        "as_many_as_blocks": lambda s: (int(s.argmax()) // len(s) + 1, LETTERS[int(s.argmax()) % len(s)]),
        "best_mean": lambda s: (int(s.mean(1).argmax()) + 1, LETTERS[int(s.mean(0).argmax())]),
        "lowest": lambda s: _name(-s),
        "without_sign": lambda s: _name(s.abs()),
        "flat": lambda s: int(s.argmax()),
    },
)
