"""Layers as people write them: no right one is accused, and of the wrong ones most are named."""

from functools import cache

import pytest
from clinic.corpus.all import CORPUS

from mha_lib.clinic.bugs import bugs
from mha_lib.clinic.examination import diagnose

# Wrong in a way that mha.diagnose does not see yet, each with the reason.
NOT_SEEN = {
    "Weighted other": "matrices of one's own have no right way round",
    "Batched ignored True": "what a call= hands on and a layer leaves aside looks like no mask at all",
}
BY_TITLE = {case.title: case for case in CORPUS}
RIGHT = [case for case in CORPUS if "right" in case.names]
WRONG = [case for case in CORPUS if "right" not in case.names]
NAMED = [case for case in WRONG if case.names]
LEAST_NAMED = 0.7  # of the wrong layers whose mistake is in mha.bugs


@cache
def finding(title):
    layer, options = BY_TITLE[title].build()
    return diagnose(layer, **options)


def test_the_corpus_is_large_enough_to_measure_by():
    assert len(BY_TITLE) == len(CORPUS)
    assert sum(case.names == ("right",) for case in RIGHT) >= 95
    assert len(WRONG) >= 120
    assert sum("two faults" in case.title for case in WRONG) >= 40
    assert all(name in bugs for case in NAMED for name in case.names)


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.title)
def test_a_right_layer_is_not_accused(case):
    # Of a layer that fills with a large finite number, that may be said: all else is right.
    assert finding(case.title).name in case.names, finding(case.title)
    assert set(case.names) <= {"right", "fill_minus_1e9"}


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.title)
def test_a_wrong_layer_is_found_wrong_and_something_is_said_of_it(case):
    found = finding(case.title)
    assert (found.name == "right") == (case.title in NOT_SEEN), found
    if found.name == "unknown":
        shown = found.line or found.questions or found.difference
        assert shown or "backward raises" in found.message, found


def test_most_known_mistakes_are_called_by_their_names():
    others = {
        case.title: finding(case.title).name for case in NAMED if finding(case.title).name not in case.names
    }
    assert len(NAMED) - len(others) >= LEAST_NAMED * len(NAMED), others
