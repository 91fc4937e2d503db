"""Checks for the notebooks' exercises: any right way passes, a wrong one gets a hint.

An attempt comes in, a Verdict goes out. A module named like a topic holds the exercises of
that topic: splitting.merge is "splitting.merge". `exercise` runs an attempt on fresh inputs of
several sizes and holds it against the right way and against known mistakes; `compare` says
whether two results are the same, whatever form they have. The hints are in text/en/hints.toml;
where a number or a word is asked for, text/en/exercises.toml says it all.
"""

from importlib import import_module
from typing import Any

from ..errors import value_error
from ..text import read, sentences
from .exercise import Checked, Value
from .standing import note
from .stub import is_untouched
from .verdict import Status, Verdict

text = sentences("learning")
TOPICS = (
    "one_head",
    "many_heads",
    "splitting",
    "masks",
    "reading_heads",
    "merging",
    "documents",
    "bug_clinic",
    "specialising",
    "real_model",
    "cost",
)


def find(name: str) -> Checked:
    """Return the exercise of this full name.

    Raises:
        ValueError: if there is no such exercise.
    """
    values = read("exercises")
    if name in values:
        return Value(**values[name])
    topic, _, what = name.partition(".")
    if topic in TOPICS:
        exercise = getattr(import_module(f".{topic}", __name__), what, None)
        if isinstance(exercise, Checked):
            return exercise
    raise value_error("name", "the name of an exercise in the notebooks", repr(name))


def check(name: str, attempt: Any) -> Verdict:
    """Hold a learner's attempt against the exercise `name`.

    Nothing that the attempt raises escapes: it becomes the hint.

    Raises:
        ValueError: if there is no such exercise.

    Example:
        >>> check("splitting.split", ...)
        ○ splitting.split: Not tried yet: replace the … and run the cell again.
    """
    exercise = find(name)
    if is_untouched(attempt):
        return Verdict(name, Status.NOT_TRIED, text.not_tried)
    hint = exercise.hint(name, attempt)
    if hint is None:
        note(name)
        return Verdict(name, Status.RIGHT, text.right)
    sentence = text.not_yet.format(hint=hint.text)
    return Verdict(name, Status.NOT_YET, sentence, hint.mistake, hint.picture)
