"""Every exercise against what people answer: right ones pass in any form, wrong ones get their hint."""

import importlib
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
from attempts import Attempts
from attempts.further import FURTHER

import mha_lib as mha
import mha_lib.text
from mha_lib.exercises import TOPICS, find
from mha_lib.exercises.exercise import Exercise, Rule, Value
from mha_lib.text import read

TABLES = {}
for topic in TOPICS:
    TABLES |= importlib.import_module(f"attempts.{topic}").ATTEMPTS
for name, more in FURTHER.items():
    first = TABLES[name]
    TABLES[name] = Attempts(
        [*first.right, *more.right], [*first.wrong, *more.wrong], [*first.cheats, *more.cheats]
    )
VALUES = read("exercises")
GENERIC = set(read("learning"))  # hints that say what differs, not which mistake it is
NAMES = [name for names in read("learning")["notebooks"].values() for name in names]
EXERCISES = [name for name in TABLES if isinstance(find(name), Exercise)]


def test_there_is_a_table_for_each_exercise():
    assert sorted([*TABLES, *VALUES]) == sorted(NAMES) and len(NAMES) == 39
    for name, table in TABLES.items():
        assert isinstance(find(name), Exercise | Rule)
        own = {mistake for _, mistake in table.wrong} - GENERIC
        if isinstance(find(name), Exercise):
            own |= set(find(name).mistakes)
        assert len(table.right) >= 5 and len(table.cheats) >= 2 and len(table.wrong) >= 5, name
        # What `diagnose` names is as many mistakes as mha.bugs has, under one name here.
        assert len(own) >= 5 or "bug" in own, name


@pytest.mark.parametrize("name", TABLES)
def test_right_in_any_style(name):
    for number, attempt in enumerate(TABLES[name].right):
        assert mha.check(name, attempt), f"right answer {number}: {mha.check(name, attempt)}"


@pytest.mark.parametrize("name", TABLES)
def test_wrong_answers_get_the_hint_of_their_mistake(name):
    hints = read("hints")[name]
    for number, (attempt, mistake) in enumerate(TABLES[name].wrong):
        verdict = mha.check(name, attempt)
        assert not verdict and verdict.mistake == mistake, f"wrong answer {number}, {mistake}: {verdict}"
        assert mistake in hints or mistake in GENERIC
        assert verdict.picture is None or verdict.picture(), "what is offered can be drawn"


@pytest.mark.parametrize("name", TABLES)
def test_cheats_do_not_pass(name):
    for number, attempt in enumerate(TABLES[name].cheats):
        assert not mha.check(name, attempt), f"cheat {number} passes"


@pytest.mark.parametrize("name", EXERCISES)
def test_each_known_mistake_is_told_from_all_others(name):
    exercise, hints = find(name), read("hints")[name]
    assert mha.check(name, exercise.right)
    # What is no mistake is a hint for a part of the result, or for any other wrong number.
    parts = hints.keys() - exercise.mistakes.keys() - {"other"}
    wants = exercise.ask(exercise.right, *next(iter(exercise.cases()))) if parts else {}
    assert parts <= set(wants)
    for mistake, wrong in exercise.mistakes.items():
        verdict = mha.check(name, wrong)
        assert verdict.mistake == mistake, f"{mistake}: {verdict}"


def test_hints_belong_to_exercises_and_no_two_names_stand_twice():
    text = Path(mha_lib.text.__file__).parent / "en" / "hints.toml"
    assert tomllib.loads(text.read_text("utf-8")).keys() == TABLES.keys()


FORMS = (
    lambda value: value,
    str,
    np.array,
    lambda value: torch.tensor(value),
    lambda value: list(value) if isinstance(value, list) else float(value),
    lambda value: tuple(value) if isinstance(value, list) else torch.tensor([value]),
    lambda value: torch.Size(value) if isinstance(value, list) else np.float64(value),
    lambda value: [np.int64(one) for one in value] if isinstance(value, list) else f" {value}.0",
)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_right_in_any_form(name):
    right = VALUES[name]["right"]
    forms = [right, f" {right}\n", repr(right)] if isinstance(right, str) else [form(right) for form in FORMS]
    for given in [*forms, *VALUES[name].get("also", [])]:
        assert mha.check(name, given), f"{given!r}: {mha.check(name, given)}"


@pytest.mark.parametrize("name", VALUES)
def test_a_wrong_value_gets_its_hint(name):
    wrong = VALUES[name]["wrong"]
    assert len({known["hint"] for known in wrong}) >= 5
    for known in wrong:
        verdict = mha.check(name, known["value"])
        assert verdict.mistake == "known" and known["hint"] in verdict.message
    for cheat in (0, -1, "", [], "x", True, 1e9, lambda: 3, object(), float("nan"), {}):
        assert not mha.check(name, cheat)
    assert mha.check(name, 123456).mistake == "other" and isinstance(find(name), Value)


def test_a_slice_or_a_range_names_columns():
    for given in (slice(6, 9), range(6, 9), "slice(6, 9)"[5:], (6, 9), torch.arange(6, 9)):
        assert mha.check("merging.columns", given)
    assert not mha.check("merging.columns", slice(6, 8))
