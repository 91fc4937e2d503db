"""An exercise: the right way, inputs of several sizes, and what people do wrong."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from importlib import import_module
from typing import Any

from torch import Tensor

from ..text import read, sentences
from .compare import Difference, Kind, difference, plain
from .verdict import Hint

text = sentences("learning")
Function = Callable[..., Any]
Cases = Callable[[], Iterable[tuple[Any, ...]]]


class Picture(Enum):
    """What can be drawn of a wrong answer, beside the right one: by which function of `pictures`."""

    SPLIT = "moves_of_split"
    MERGE = "moves_of_merge"
    HEADS_FIRST = "moves_of_heads_first"
    HEATMAPS = "heatmaps"


class Raised(Exception):
    """An attempt raised `error`; anything else that is raised in a check is the check's own fault."""

    def __init__(self, error: Exception):
        self.error = error


def guarded(attempt: Function) -> Function:
    """Return the attempt such that what it raises comes as Raised."""

    def call(*args: Any) -> Any:
        try:
            return attempt(*args)
        except Exception as error:
            raise Raised(error) from error

    return call


def hint_of(exercise: str, mistake: str, **facts: Any) -> Hint:
    """Return the hint that hints.toml has for a mistake in an exercise."""
    return Hint(mistake, read("hints")[exercise][mistake].format(**facts))


def raised(error: Exception | None) -> Hint:
    """Return the hint that says what an attempt raised."""
    return Hint("raised", text.raised.format(error=type(error).__name__, message=error))


class Checked:
    """What can judge an attempt."""

    def hint(self, name: str, attempt: Any) -> Hint | None:
        """Return None where the attempt is right, else the hint to give."""
        raise NotImplementedError


@dataclass(frozen=True)
class Value(Checked):
    """Asks for a number, a few of them or a word, as exercises.toml says it."""

    right: Any
    otherwise: str
    wrong: list[dict[str, Any]] = field(default_factory=list)
    also: list[Any] = field(default_factory=list)

    def hint(self, name: str, attempt: Any) -> Hint | None:
        """Look the value up among the right and the wrong ones, whatever form it has."""
        if inspect.isroutine(attempt):
            return Hint("not_a_value", text.not_a_value)
        got = plain(attempt)
        if any(_equal(got, want) for want in (self.right, *self.also)):
            return None
        for known in self.wrong:
            if _equal(got, known["value"]):
                return Hint("known", known["hint"])
        return Hint("other", self.otherwise)


def _equal(got: Any, want: Any) -> bool:
    return difference(got, tuple(want) if isinstance(want, list) else want) is None


@dataclass(frozen=True)
class Rule(Checked):
    """An exercise with a judgement of its own: a function of the attempt that yields hints."""

    hints: Callable[[Function], Iterator[Hint | None]]
    of_function: bool = True

    def hint(self, name: str, attempt: Any) -> Hint | None:
        """Return the first hint."""
        if self.of_function and not callable(attempt):
            return Hint("not_a_function", text.not_a_function.format(got=type(attempt).__name__))
        try:
            return next((hint for hint in self.hints(attempt) if hint), None)
        except Raised as caught:
            return raised(caught.error)


@dataclass(frozen=True)
class _Outcome:
    """What came of a function: a result, or what it raised."""

    result: Any = None
    error: Exception | None = None

    def is_like(self, other: "_Outcome", part: str | int | None = None) -> bool:
        """Return whether both gave the same (in this part, if one is named), or failed the same way."""
        if self.error or other.error:
            return type(self.error) is type(other.error) and self._reason() == other._reason()
        got, same = (_part(outcome.result, part) for outcome in (self, other))
        return difference(got, same, nan_is_nan=True) is None

    def _reason(self) -> tuple[Any, ...]:
        return self.error.args if self.error else ()


def _part(result: Any, part: str | int | None) -> Any:
    whole = part is None or not isinstance(result, (tuple, list, dict, Tensor))
    return result if whole else result[part]


@dataclass(frozen=True)
class _Failure:
    """An attempt that did not come out right: on what, what came, what was wanted, what differs."""

    args: tuple[Any, ...]
    outcome: _Outcome
    want: Any
    differs: Difference | None
    first: bool

    def otherwise(self) -> Hint:
        """Say what differs, or what was raised, without knowing why."""
        hint = (
            Hint(self.differs.kind.value, self.differs.text) if self.differs else raised(self.outcome.error)
        )
        return hint if self.first else replace(hint, text=f"{hint.text} {text.other_sizes}")


def _call(attempt: Function, *args: Any) -> Any:
    return attempt(*args)


@dataclass(frozen=True)
class Exercise(Checked):
    """Asks for a function.

    Args:
        right: one right way.
        cases: arguments of several sizes, the notebook's own first.
        mistakes: wrong ways by their names in hints.toml. An attempt that gives the same wrong
            result, or fails the same way, makes that mistake.
        ask: ask(attempt, *arguments) → result, where the result is not just what the attempt
            returns. A dict has a part for each thing that is looked at.
        picture: what is offered to be drawn where the shape is right.
    """

    right: Function
    cases: Cases
    mistakes: Mapping[str, Function]
    ask: Function = _call
    picture: Picture | None = None

    def hint(self, name: str, attempt: Any) -> Hint | None:
        """Run the attempt on fresh copies of each case's arguments; return the first hint."""
        if not callable(attempt):
            return Hint("not_a_function", text.not_a_function.format(got=type(attempt).__name__))
        for number, args in enumerate(self.cases()):
            outcome = self._outcome(attempt, args)
            want = self._outcome(self.right, args).result
            differs = None if outcome.error else difference(outcome.result, want)
            if outcome.error or differs:
                failure = _Failure(args, outcome, want, differs, first=number == 0)
                hint = self._known(name, attempt, failure) or failure.otherwise()
                drawn = self.picture and differs and differs.kind is Kind.NUMBER
                return replace(hint, picture=partial(self._draw, attempt, args)) if drawn else hint
        return None

    def _draw(self, attempt: Function, args: tuple[Any, ...]) -> Any:
        assert self.picture is not None
        pictures = import_module(f"{__package__}.pictures")  # only now: most checks need no widget
        return getattr(pictures, self.picture.value)(attempt, self.right, args)

    def _outcome(self, function: Function, args: tuple[Any, ...]) -> _Outcome:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of .T on three axes, say: the hint says it better
                return _Outcome(self.ask(guarded(function), *deepcopy(args)))
        except Raised as caught:
            return _Outcome(error=caught.error)

    def _known(self, name: str, attempt: Function, failure: _Failure) -> Hint | None:
        """Return the hint for a mistake that people make, for the part that is wrong, or for any other."""
        hints: Mapping[str, str] = read("hints")[name]
        args, outcome, differs = failure.args, failure.outcome, failure.differs
        part = differs.part if differs else None
        names = [
            mistake
            for mistake, wrong in self.mistakes.items()
            if outcome.is_like(self._outcome(wrong, args), part)
        ]
        names.sort(key=lambda mistake: not self._same_everywhere(attempt, self.mistakes[mistake]))
        if differs and differs.kind in (Kind.NUMBER, Kind.VALUE):
            names += [str(other) for other in (part, "other") if other in hints]
        if not names:
            return None
        facts = inspect.signature(self.right).bind_partial(*args).arguments
        return Hint(names[0], hints[names[0]].format(**facts, want=failure.want, got=outcome.result))

    def _same_everywhere(self, one: Function, other: Function) -> bool:
        pairs = ((self._outcome(one, args), self._outcome(other, args)) for args in self.cases())
        return all(mine.is_like(its) for mine, its in pairs)
