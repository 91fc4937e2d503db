"""Faults that are put into a copy of the library are noticed: the run of the notebooks proves something."""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import checkpoints
import pytest
from cells import Outcome
from checkpoints import Checkpoint, Lines
from faults import count_of, faults_of
from mutants import LIBRARY, ROOT, bugs_in_core
from planting import lines_on_import, living, plant

import mha_lib as mha

SOURCE = '''
"""Docstring."""
import math

def _check_size(n: int = 3) -> None:
    if n < 1:
        raise value_error("n", "1 or more", n + 1)

def scores(q, k, causal=False):
    check_axes("q", q)
    weights = (q @ k.flip(-1).mT / math.sqrt(q.shape[-1])).softmax(-1)
    return swap(q, k) if not causal and len(q) == 2 else weights
'''


def test_each_kind_of_slip_is_made_and_nothing_else_changes():
    faults = list(faults_of(SOURCE))
    kinds = {"comparison", "operator", "and/or", "not", "axis", "constant", "branches", "dropped call"}
    assert {fault.kind for fault in faults} == kinds | {"swapped arguments"}
    for fault in faults:
        assert fault.source != ast.unparse(ast.parse(SOURCE))
        assert fault.after in fault.source or fault.after == "pass"
    assert len({fault.source for fault in faults}) == len(faults)


def test_texts_of_errors_docstrings_and_types_are_left_alone():
    for fault in faults_of(SOURCE):
        assert "1 or more" not in fault.before and "Docstring" in fault.source and "n + 1" in fault.source


def test_arguments_whose_order_does_not_matter_are_not_swapped():
    kept = "a = max(m, n)\nb = torch.equal(m, n)\nc = isinstance(m, n)\n"
    assert list(faults_of(kept)) == []
    (swapped,) = faults_of("a = swap(m, n)\n")
    assert swapped.after == "swap(n, m)"


def test_what_only_checks_input_is_told_apart():
    checks = {fault.before for fault in faults_of(SOURCE) if fault.validates}
    assert {"n < 1", "check_axes('q', q)"} <= checks and "len(q) == 2" not in checks


def test_every_mistake_of_the_clinic_is_made_in_the_core_too():
    made = dict(bugs_in_core())
    assert set(made) == set(mha.bugs), "tools/bugs_in_core.toml follows mha.bugs"
    for name, sources in made.items():
        for file, source in sources.items():
            ast.parse(source)
            assert source != (LIBRARY / file).read_text("utf-8"), name


def test_a_wanted_fault_is_the_same_as_among_all():
    every = list(faults_of(SOURCE))
    assert count_of(SOURCE) == len(every)
    assert [fault for fault in faults_of(SOURCE, {2, 5}) if fault] == [every[2], every[5]]


def test_each_fault_knows_its_lines_and_leaves_all_others_where_they_were():
    for fault in faults_of(SOURCE):
        assert fault.line in fault.lines or fault.line == 0  # an operand's place may be unknown
        lines = {line for _, _, line in fault.code.co_lines() if line}
        assert max(lines) <= len(SOURCE.splitlines())
    by_text = {fault.before: fault for fault in faults_of(SOURCE)}
    assert by_text["n < 1"].lines == range(6, 7), "not the lines of what an if holds"


MODULE = """
TIMES = 3

def twice(n):
    return 2 * n

def so_often(n):
    return TIMES * n

class Box:
    def open(self):
        return [twice(k) for k in (1, 2)]
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with its file, which is not imported yet, and its faults by what stood there before."""
    file = tmp_path / "planted.py"
    file.write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    yield str(file), {fault.before: fault for fault in faults_of(MODULE, file=str(file))}
    sys.modules.pop("planted", None)


def test_a_fault_is_planted_into_a_module_that_is_still_to_come(module):
    file, faults = module
    plant("planted", file, faults["3"].code, [])
    planted = importlib.import_module("planted")
    assert planted.so_often(1) == 4 and planted.__file__ == file


def test_a_fault_is_planted_into_living_functions_by_whatever_name_they_are_known(module):
    file, faults = module
    planted = importlib.import_module("planted")
    twice, box = planted.twice, planted.Box()
    assert twice(4) == 8 and box.open() == [2, 4]
    plant("planted", file, faults["2 * n"].code, living(file))
    assert twice(4) == 0.5 and box.open() == [2.0, 1.0]
    plant("planted", file, faults["1"].code, living(file))
    assert twice(4) == 8 and box.open() == [4, 4], "and the fault before is gone"


def test_the_lines_that_run_are_told_each_once(module):
    file, _ = module
    planted = importlib.import_module("planted")
    lines = Lines(str(Path(file).parent))
    with lines:
        planted.twice(1)
    assert lines.new == {(file, 5)}
    with lines:
        planted.Box().open()
        planted.so_often(1)
    assert lines.new == {(file, 12), (file, 8)}


def test_lines_outside_functions_run_on_import(module):
    _, faults = module
    assert set(lines_on_import(faults["3"].code)) >= {2, 4, 7, 10, 11}
    assert not {5, 8, 12} & set(lines_on_import(faults["3"].code))


def test_a_checkpoint_tries_each_thing_from_the_same_state():
    state = ["before"]

    def prepare(numbers):
        assert numbers == [1, 2, 3]

        def attempt(number):
            state.append(str(number))
            if number == 2:
                os._exit(3)
            return Outcome(" ".join(state))

        return attempt

    checkpoint = Checkpoint(prepare)
    state.append("after")
    tried = [(number, noticed) for number, noticed, _ in checkpoint.attempts([1, 2, 3])]
    assert tried == [(1, "before 1"), (2, "the process ended with 768"), (3, "before 3")]
    assert state == ["before", "after"]


def test_an_endless_loop_is_noticed(monkeypatch):
    monkeypatch.setattr(checkpoints, "AT_WORK", 1)

    def endless(numbers):
        def attempt(number):
            while True:
                pass

        return attempt

    ((_, noticed, seconds),) = Checkpoint(endless).attempts([0])
    assert noticed.startswith("the process ended with") and seconds < checkpoints.SECONDS


WATCHED = (
    "heads",
    "masks",
    "scoring",
    "multihead",
    "moves/layout",
    "moves/labels",
    "moves/looks",
    "moves/page",
    "moves/figure",
    "heatmaps/figure",
    "heatmaps/draw",
)


def test_the_notebooks_alone_notice_most_of_thirty_faults(tmp_path):
    out = tmp_path / "runs.json"  # in a process of its own, which has not loaded the library
    command = [sys.executable, ROOT / "tools" / "mutants.py", *WATCHED, "--sample", "30", "--seed", "2"]
    options = ["--walk", "--no-tests", "--workers", "1", "--json", out]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    results = [run for run in json.loads(out.read_text()) if not run["validates"]]
    assert len(results) >= 15
    assert sum(bool(run["notebooks"]) for run in results) > 0.6 * len(results), done.stdout
