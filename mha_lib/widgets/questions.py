"""Predictions before a reveal, and the quiz: questions with a small control.

The questions are data, in text/en/questions/TOPIC.toml; what a learner chose is kept for
the session only.
"""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import ipywidgets

from ..errors import value_error
from ..text import read, sentences, topics
from .own_keys import OwnKeys

text = sentences("learning")
_given: dict[str, int] = {}


@dataclass(frozen=True)
class Question:
    """One question: `wrong[i]` says what those who choose option i probably think."""

    name: str
    ask: str
    options: Sequence[str]
    right: int
    because: str
    wrong: Sequence[str] = ()

    def feedback(self, chosen: int) -> str:
        """Return what to tell someone who chose the option with this index."""
        if chosen == self.right:
            return text.chose_right.format(because=self.because)
        thought = self.wrong[chosen] if self.wrong else ""
        return " ".join(text.chose_wrong.format(thought=thought, because=self.because).split())


@cache
def load(topic: str) -> dict[str, Question]:
    """Return the questions of a topic by their full names, "topic.what".

    Raises:
        ValueError: if there is no such topic.
    """
    if topic not in topics():
        raise value_error("topic", f"one of {topics()}", repr(topic))
    tables = read(f"questions/{topic}")
    return {f"{topic}.{key}": Question(f"{topic}.{key}", **table) for key, table in tables.items()}


def _question(name: str) -> Question:
    questions = load(name.partition(".")[0])
    if name not in questions:
        raise value_error("name", f"one of {sorted(questions)}", repr(name))
    return questions[name]


class _Asking(ipywidgets.VBox):
    """Controls that show their `fallback` where no kernel is at hand."""

    def _repr_mimebundle_(self, **kwargs):
        data = dict(super()._repr_mimebundle_(**kwargs))
        note = f"<p><i>{text.run_to_answer}</i></p>"
        return {**data, "text/plain": repr(self), "text/html": self.fallback() + note}


class Ask(_Asking):
    """A question with its options; `feedback` tells at once whether the choice is right."""

    def __init__(self, question: Question, feedback: bool = False):
        self.question = question
        self._feedback = feedback
        self.choice = ipywidgets.RadioButtons(
            options=[(option, index) for index, option in enumerate(question.options)],
            value=_given.get(question.name),
            layout=ipywidgets.Layout(width="100%"),
        )
        self.answer = ipywidgets.HTML()
        asked = ipywidgets.HTML(f"<b>{html.escape(question.ask)}</b>")
        self.choice.add_class(OwnKeys.WHERE)
        super().__init__([asked, self.choice, self.answer, OwnKeys()])
        self.choice.observe(self._chosen, names="value")
        if self.choice.value is not None:
            self._chosen({"new": self.choice.value})

    def _chosen(self, change) -> None:
        _given[self.question.name] = change["new"]
        if self._feedback:
            self.answer.value = html.escape(self.question.feedback(change["new"]))

    def __repr__(self) -> str:
        return f"Ask({self.question.name!r})"

    def fallback(self) -> str:
        """Return the question and its options."""
        options = "".join(f"<li>{html.escape(option)}</li>" for option in self.question.options)
        return f"<p><b>{html.escape(self.question.ask)}</b></p><ol type='a'>{options}</ol>"


class Quiz(_Asking):
    """Several questions, a tab for each; an answer is judged at once and marks its tab."""

    def __init__(self, questions: Iterable[Question]):
        self.asks = [Ask(question, feedback=True) for question in questions]
        self.tabs = ipywidgets.Tab(self.asks)
        super().__init__([self.tabs])
        for ask in self.asks:
            ask.choice.observe(self._mark, names="value")
        self._mark()

    def _mark(self, _change=None) -> None:
        for number, ask in enumerate(self.asks):
            chosen, right = ask.choice.value, ask.question.right
            sign = "" if chosen is None else " ✓" if chosen == right else " ✗"
            self.tabs.set_title(number, f"{number + 1}{sign}")

    def __repr__(self) -> str:
        return f"Quiz({len(self.asks)} questions)"

    def fallback(self) -> str:
        """Return all questions with their options, one below the other."""
        return "".join(ask.fallback() for ask in self.asks)


@dataclass(frozen=True)
class Reveal:
    """What was predicted, what is so, and why."""

    question: Question
    predicted: int | None

    def __repr__(self) -> str:
        question = self.question
        if self.predicted is None:
            said = text.no_prediction
        else:
            verdict = text.agrees if self.predicted == question.right else text.differs
            said = f"{text.predicted.format(option=question.options[self.predicted])} {verdict}"
            if self.predicted != question.right and question.wrong:
                said = f"{said} {question.wrong[self.predicted]}".strip()
        answer = text.answer.format(option=question.options[question.right])
        return f"{said}\n{answer} {question.because}"

    def _repr_html_(self) -> str:
        style = "border-left: 4px solid #0072B2; padding: 4px 10px; white-space: pre-wrap"
        return f'<div style="{style}">{html.escape(repr(self))}</div>'


def predict(name: str) -> Ask:
    """Show the question `name` and record what the learner chooses, for `reveal`.

    Raises:
        ValueError: if there is no such question.

    Example:
        >>> predict("start.numbers")
        Ask('start.numbers')
    """
    return Ask(_question(name))


def reveal(name: str) -> Reveal:
    """Say what was predicted for the question `name`, what is so, and why.

    Raises:
        ValueError: if there is no such question.

    Example:
        >>> print(repr(reveal("start.numbers")).splitlines()[1][:15])
        The answer: 80.
    """
    return Reveal(_question(name), _given.get(name))


def quiz(topic: str = "quiz") -> Quiz:
    """Show all questions of a topic; each choice is answered at once.

    Raises:
        ValueError: if there is no such topic.

    Example:
        >>> quiz("start")
        Quiz(1 questions)
    """
    return Quiz(load(topic).values())
