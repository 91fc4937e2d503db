"""A question as plain HTML: it can be answered without a kernel, and its answer is folded."""

import html
import json

from mha_lib.text import sentences
from mha_lib.widgets.questions import Question

text = sentences("learning")
LATER = "Choose; it is judged further down, where the answer is."


def _options(question: Question) -> str:
    name = html.escape(question.name, quote=True)
    rows = (
        f'<li><label><input type="radio" name="{name}" value="{index}"> {html.escape(option)}</label></li>'
        for index, option in enumerate(question.options)
    )
    return f"<ol>{''.join(rows)}</ol>"


def _said(sentences: list[str]) -> str:
    plain = json.dumps(sentences, ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json">{plain}</script><p class="mha-site-judged" role="status"></p>'


def judged(question: Question, chosen: int) -> str:
    """Return what `reveal` says of a prediction."""
    predicted = text.predicted.format(option=question.options[chosen])
    if chosen == question.right:
        return f"{predicted} {text.agrees}"
    thought = [question.wrong[chosen]] if question.wrong else []
    return " ".join([predicted, text.differs, *thought]).strip()


def _answer(question: Question) -> str:
    return f"{text.answer.format(option=question.options[question.right])} {question.because}"


def _folded(question: Question) -> str:
    right = html.escape(_answer(question))
    return f"<details><summary>{html.escape(text.folded)}</summary><p>{right}</p></details>"


def ask(question: Question, *, at_once: str = "") -> str:
    """Return a question with its options; `at_once` is its number in a quiz, which judges at once."""
    if at_once:
        tail = _said([question.feedback(i) for i in range(len(question.options))]) + _folded(question)
    else:
        tail = f'<p class="mha-site-note">{html.escape(LATER)}</p>'
    number = f"<small>{html.escape(at_once)}</small> " if at_once else ""
    legend = f"<legend>{number}{html.escape(question.ask)}</legend>"
    return f'<form class="mha-site-question"><fieldset>{legend}{_options(question)}</fieldset>{tail}</form>'


def answer(question: Question) -> str:
    """Return what was predicted, once something is chosen above, and the answer, folded."""
    judgements = _said([judged(question, i) for i in range(len(question.options))])
    name = html.escape(question.name, quote=True)
    return f'<div class="mha-site-answer" data-question="{name}">{_folded(question)}{judgements}</div>'
