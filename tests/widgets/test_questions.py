"""Predictions and the quiz: well-formed data, recorded choices, fixed representations."""

import pytest

import mha_lib as mha
from mha_lib.text import topics
from mha_lib.widgets import questions

TOPICS = topics()


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    monkeypatch.setattr(questions, "_given", {})


@pytest.mark.parametrize("topic", TOPICS)
def test_questions_are_well_formed(topic):
    for question in questions.load(topic).values():
        assert 2 <= len(question.options) == len(set(question.options))
        assert 0 <= question.right < len(question.options)
        assert question.ask.strip() and question.because.strip()
        if question.wrong:
            assert len(question.wrong) == len(question.options) and not question.wrong[question.right]


def test_reveal_without_a_prediction_still_answers():
    text = repr(mha.reveal("many_heads.weights"))
    assert "no prediction" in text and "400, as before" in text


def test_a_choice_is_recorded_and_answered():
    ask = mha.predict("many_heads.weights")
    assert ask.choice.value is None
    ask.choice.value = 2
    text = repr(mha.reveal("many_heads.weights"))
    assert "2000" in text and "It is not so" in text and "400, as before" in text
    ask.choice.value = 0
    assert "It is so" in repr(mha.reveal("many_heads.weights"))
    # Running the cell again keeps what was chosen.
    assert mha.predict("many_heads.weights").choice.value == 0


def test_the_quiz_answers_at_once_and_names_the_thought_behind_a_wrong_choice():
    quiz = mha.quiz("many_heads")
    ask, title = quiz.asks[1], lambda: quiz.tabs.get_title(1)
    assert title() == "2"
    ask.choice.value = 1
    assert ask.answer.value.startswith("No. You scaled 400") and title() == "2 ✗"
    ask.choice.value = 0
    assert ask.answer.value.startswith("Yes.") and title() == "2 ✓"
    # Shown again, the quiz knows what was answered.
    assert mha.quiz("many_heads").tabs.get_title(1) == "2 ✓"


def test_representations_are_fixed_and_read_without_a_kernel():
    for widget in (mha.predict("many_heads.weights"), mha.quiz("many_heads")):
        bundle = widget._repr_mimebundle_()
        assert bundle["text/html"] == type(widget)._repr_mimebundle_(widget)["text/html"]
        assert "400, as before" in bundle["text/html"] and "0x" not in bundle["text/plain"]
        assert "application/vnd.jupyter.widget-view+json" in bundle


@pytest.mark.parametrize("call", [mha.predict, mha.reveal])
def test_unknown_names_are_named(call):
    with pytest.raises(ValueError, match="many_heads.weights"):
        call("many_heads.nothing")
    with pytest.raises(ValueError, match="topic"):
        call("nowhere.nothing")
