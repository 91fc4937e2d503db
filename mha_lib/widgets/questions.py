"""Predictions before a reveal, and the quiz: questions with a small control.

The questions are data, in text/en/questions/TOPIC.toml; what a learner chose is kept for
the session only.
"""

import html
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import ipywidgets
import traitlets

from ..errors import value_error
from ..text import read, sentences, topics
from .base import Fallback
from .own_keys import OwnKeys

text = sentences("learning")
RUN = f"<p><i>{text.run_to_answer}</i></p>"


class Prediction(traitlets.HasTraits):
    """What was chosen for a question in this session: the index of an option, None before."""

    option = traitlets.Int(None, allow_none=True)


_predictions: defaultdict[str, Prediction] = defaultdict(Prediction)


@dataclass(frozen=True)
class Question:
    """One question: `wrong[i]` says what those who choose option i probably think.

    `tells` are words that would give the answer away if they stood anywhere before it is asked.
    """

    name: str
    ask: str
    options: Sequence[str]
    right: int
    because: str
    wrong: Sequence[str] = ()
    tells: Sequence[str] = ()

    def feedback(self, chosen: int) -> str:
        """Return what to tell someone who chose the option with this index."""
        if chosen == self.right:
            return str(text.chose_right.format(because=self.because))
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


def question(name: str) -> Question:
    """Return the question of this full name.

    Raises:
        ValueError: if there is no such question.
    """
    questions = load(name.partition(".")[0])
    if name not in questions:
        raise value_error("name", f"one of {sorted(questions)}", repr(name))
    return questions[name]


def _asked(question: Question) -> str:
    """Return the question and its options, for where nobody can choose."""
    options = "".join(f"<li>{html.escape(option)}</li>" for option in question.options)
    return f"<p><b>{html.escape(question.ask)}</b></p><ol>{options}</ol>"


class Ask(Fallback, ipywidgets.VBox):
    """A question with its options; `feedback` tells at once whether the choice is right."""

    def __init__(self, question: Question, feedback: bool = False):
        self.question = question
        self._feedback = feedback
        self.choice = ipywidgets.RadioButtons(
            options=[(f"{index + 1}. {option}", index) for index, option in enumerate(question.options)],
            value=_predictions[question.name].option,
            layout=ipywidgets.Layout(width="100%"),
        )
        self.answer = ipywidgets.HTML()
        asked = ipywidgets.HTML(f"<b>{html.escape(question.ask)}</b>")
        self.choice.add_class(OwnKeys.WHERE)
        super().__init__([asked, self.choice, self.answer, OwnKeys()])
        self.choice.observe(self._chosen, names="value")
        if self.choice.value is not None:
            self._chosen({"new": self.choice.value})

    def _chosen(self, change: dict[str, Any]) -> None:
        chosen = change["new"]  # None where a choice is taken back
        _predictions[self.question.name].option = chosen
        if self._feedback:
            self.answer.value = "" if chosen is None else html.escape(self.question.feedback(chosen))

    def __repr__(self) -> str:
        return f"Ask({self.question.name!r})"

    def fallback(self) -> str:
        """Return the question and its options."""
        return _asked(self.question) + RUN


class Quiz(Fallback, ipywidgets.VBox):
    """Several questions, a tab for each; an answer is judged at once and marks its tab."""

    def __init__(self, questions: Iterable[Question]):
        self.asks = [Ask(question, feedback=True) for question in questions]
        self.tabs = ipywidgets.Tab(self.asks)
        self.tabs.add_class(OwnKeys.WHERE)
        super().__init__([self.tabs])
        for ask in self.asks:
            ask.choice.observe(self._mark, names="value")
        self._mark()

    def _mark(self, _change: object = None) -> None:
        for number, ask in enumerate(self.asks):
            chosen, right = ask.choice.value, ask.question.right
            sign = "" if chosen is None else " ✓" if chosen == right else " ✗"
            self.tabs.set_title(number, f"{number + 1}{sign}")

    def __repr__(self) -> str:
        return f"Quiz({len(self.asks)} questions)"

    def fallback(self) -> str:
        """Return all questions with their options, one below the other."""
        return "".join(_asked(ask.question) for ask in self.asks) + RUN


class Reveal(Fallback, ipywidgets.VBox):
    """What was predicted, what is so, and why; closed where no kernel is at hand.

    Whoever changes the prediction afterwards is judged anew, here, without running the cell again.
    """

    def __init__(self, question: Question, prediction: Prediction):
        self.question, self.prediction = question, prediction
        self.said = ipywidgets.HTML()
        super().__init__([self.said])
        self._judge()
        prediction.observe(self._judge, names="option")

    def _judge(self, _change: object = None) -> None:
        style = "border-left: 4px solid #0072B2; padding: 4px 10px; white-space: pre-wrap"
        answer = html.escape(f"{self._judged()}\n{self._answer()}")
        self.said.value = f'<div role="status" style="{style}">{answer}</div>'

    def _judged(self) -> str:
        question = self.question
        predicted = self.prediction.option
        if predicted is None:
            return str(text.no_prediction)
        agrees = predicted == question.right
        sentences = [text.predicted.format(option=question.options[predicted])]
        sentences.append(text.agrees if agrees else text.differs)
        if question.wrong and not agrees:
            sentences.append(question.wrong[predicted])
        return " ".join(sentences)

    def _answer(self) -> str:
        answer = text.answer.format(option=self.question.options[self.question.right])
        return f"{answer} {self.question.because}"

    def __repr__(self) -> str:
        return f"Reveal({self.question.name!r})"

    def fallback(self) -> str:
        """Return the answer, folded, so that nobody reads it before choosing."""
        answer = html.escape(self._answer())
        return f"<details><summary>{html.escape(text.folded)}</summary><p>{answer}</p></details>"


def predict(name: str) -> Ask:
    """Show the question `name` and record what the learner chooses, for `reveal`.

    Raises:
        ValueError: if there is no such question.

    Example:
        >>> predict("start.numbers")
        Ask('start.numbers')
    """
    return Ask(question(name))


def reveal(name: str) -> Reveal:
    """Say what was predicted for the question `name`, what is so, and why.

    Raises:
        ValueError: if there is no such question.

    Example:
        >>> reveal("start.numbers")
        Reveal('start.numbers')
    """
    return Reveal(question(name), _predictions[name])


def quiz_questions(topic: str = "quiz", only: Iterable[str] | None = None) -> list[Question]:
    """Return the questions of a topic, or `only` those of these short names, in their order.

    Raises:
        ValueError: if there is no such topic, or no such question in it.
    """
    questions = load(topic)
    if only is None:
        return list(questions.values())
    short = dict(zip(read(f"questions/{topic}"), questions.values(), strict=True))
    for name in (names := list(only)):
        if name not in short:
            raise value_error("only", f"names out of {list(short)}", repr(name))
    return [short[name] for name in names]


def quiz(topic: str = "quiz", only: Iterable[str] | None = None) -> Quiz:
    """Show the questions of a topic, or `only` some; each choice is answered at once.

    Raises:
        ValueError: if there is no such topic, or no such question in it.

    Example:
        >>> quiz(only=["reshape", "slice"])
        Quiz(2 questions)
    """
    return Quiz(quiz_questions(topic, only))
