"""Predictions and the quiz: well-formed data, recorded choices, fixed representations."""

import html
from collections import defaultdict

import pytest
import torch

import mha_lib as mha
from mha_lib.text import topics
from mha_lib.widgets import questions

TOPICS = topics()


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    monkeypatch.setattr(questions, "_predictions", defaultdict(questions.Prediction))


@pytest.mark.parametrize("topic", TOPICS)
def test_questions_are_well_formed(topic):
    for question in questions.load(topic).values():
        assert 3 <= len(question.options) == len(set(question.options))
        assert 0 <= question.right < len(question.options)
        assert question.ask.strip() and question.because.strip()
        # Each wrong option is a mistake that people make, and is told what it overlooks.
        for index, thought in enumerate(question.wrong):
            assert bool(thought) == (index != question.right), question.name
        assert len(question.wrong) == len(question.options)


def said(reveal):
    """What a learner reads who has a kernel."""
    return reveal.children[0].value


def test_reveal_without_a_prediction_still_answers():
    text = said(mha.reveal("many_heads.weights"))
    assert "no prediction" in text and "400, as before" in text


def test_a_choice_is_recorded_and_answered():
    ask = mha.predict("many_heads.weights")
    assert ask.choice.value is None
    ask.choice.value = 3
    text = said(mha.reveal("many_heads.weights"))
    assert "2000" in text and "It is not so" in text and "400, as before" in text
    ask.choice.value = 1
    assert "It is so" in said(mha.reveal("many_heads.weights"))
    # Running the cell again keeps what was chosen.
    assert mha.predict("many_heads.weights").choice.value == 1


def test_a_reveal_follows_a_prediction_that_is_changed_after_it_ran():
    ask, reveal = mha.predict("many_heads.weights"), mha.reveal("many_heads.weights")
    assert "no prediction" in said(reveal)
    ask.choice.value = 3
    assert "2000" in said(reveal) and "It is not so" in said(reveal)
    ask.choice.value = 1
    assert "It is so" in said(reveal) and "2000" not in said(reveal)
    # The cell of the question run again: its new control is followed as well.
    mha.predict("many_heads.weights").choice.value = 0
    assert "It is not so" in said(reveal)
    assert "no prediction" in said(mha.reveal("many_heads.slice"))


@pytest.mark.parametrize("topic", TOPICS)
def test_where_nothing_runs_the_answer_is_folded_and_the_text_does_not_give_it_away(topic):
    for question in questions.load(topic).values():
        for chosen in (None, 0):
            reveal = questions.Reveal(question, questions.Prediction(option=chosen))
            bundle, _ = reveal._repr_mimebundle_()
            assert bundle["text/plain"] == f"Reveal({question.name!r})"
            page = bundle["text/html"]
            assert page.startswith("<details><summary>") and page.endswith("</details>")
            answer = html.escape(question.because)
            assert answer not in page.partition("</summary>")[0] and answer in page
            assert answer in said(reveal) and "<details" not in said(reveal)


def test_live_options_are_numbered_so_that_a_class_can_raise_hands():
    ask = mha.predict("many_heads.weights")
    labels = [label for label, _ in ask.choice.options]
    assert labels == [f"{n}. {option}" for n, option in enumerate(ask.question.options, 1)]
    assert ask.fallback().count("<ol>") == 1


def test_a_quiz_of_some_questions_only():
    names = [ask.question.name for ask in mha.quiz(only=["slice", "reshape"]).asks]
    assert names == ["quiz.slice", "quiz.reshape"]
    assert len(mha.quiz().asks) == len(questions.quiz_questions()) > 2
    with pytest.raises(ValueError, match="only.*'reshape'.*'nothing'"):
        mha.quiz(only=["slice", "nothing"])


def test_the_quiz_answers_at_once_and_names_the_thought_behind_a_wrong_choice():
    quiz = mha.quiz("many_heads")
    names = [ask.question.name for ask in quiz.asks]
    place = names.index("many_heads.weights")
    ask, title = quiz.asks[place], lambda: quiz.tabs.get_title(place)
    assert title() == f"{place + 1}"
    ask.choice.value = 2
    assert ask.answer.value.startswith("No. You scaled 400") and title() == f"{place + 1} ✗"
    ask.choice.value = 1
    assert ask.answer.value.startswith("Yes.") and title() == f"{place + 1} ✓"
    # Shown again, the quiz knows what was answered.
    assert mha.quiz("many_heads").tabs.get_title(place) == f"{place + 1} ✓"


def test_a_choice_that_is_taken_back_leaves_nothing_behind():
    (ask,) = mha.quiz(only=["slice"]).asks
    ask.choice.value = 0
    assert ask.answer.value
    ask.choice.value = None
    assert not ask.answer.value and mha.quiz(only=["slice"]).tabs.get_title(0) == "1"


def test_representations_are_fixed_and_read_without_a_kernel():
    for widget in (mha.predict("many_heads.weights"), mha.quiz("many_heads")):
        bundle, _ = widget._repr_mimebundle_()
        assert bundle["text/html"] == type(widget)._repr_mimebundle_(widget)[0]["text/html"]
        assert "400, as before" in bundle["text/html"] and "0x" not in bundle["text/plain"]
        assert "application/vnd.jupyter.widget-view+json" in bundle


@pytest.mark.parametrize("call", [mha.predict, mha.reveal])
def test_unknown_names_are_named(call):
    with pytest.raises(ValueError, match="many_heads.weights"):
        call("many_heads.nothing")
    with pytest.raises(ValueError, match="topic"):
        call("nowhere.nothing")


def test_numbers_in_questions_are_so():
    """What a question says of the example and of the library is computed here."""
    questions_of = {topic: questions.load(topic) for topic in TOPICS}
    moved = questions_of["splitting"]["splitting.moved"]
    index = torch.arange(80).reshape(2, 4, 2, 5)
    swapped = index.permute(0, 2, 1, 3)
    changed = sum(place[1] != place[2] for place in (index >= 0).nonzero().tolist())
    assert moved.options[1].startswith(f"{changed}:") and swapped.data_ptr() == index.data_ptr()
    straight = questions_of["splitting"]["splitting.straight"]
    X = torch.arange(80).reshape(2, 4, 10)
    same = int((X.reshape(4, 4, 5) == mha.split_heads(X, 2)).sum())
    assert straight.options[straight.right] == str(same) and f"{80 - same} are wrong" in straight.because
    layer = mha.MultiHeadAttention(10, 10, 10, 10, 5)
    weights = questions_of["many_heads"]["many_heads.weights"]
    assert weights.options[weights.right].startswith(f"{sum(p.numel() for p in layer.parameters())},")
    scale = questions_of["quiz"]["quiz.scale"]
    q, k = torch.randn(2, 20_000, 64, generator=torch.Generator().manual_seed(0))
    beyond = ((q * k).sum(-1) / 8).abs().gt(1).float().mean()
    assert "one score in three" in scale.wrong[2] and abs(beyond - 1 / 3) < 0.03
