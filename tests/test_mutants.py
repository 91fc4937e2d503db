"""Faults that are put into a copy of the library are noticed: the run of the notebooks proves something."""

import ast
import json
import subprocess
import sys

from faults import count_of, faults_of
from mutants import LIBRARY, ROOT, bugs_in_core

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


WATCHED = (
    "heads",
    "masks",
    "scoring",
    "multihead",
    "moves/layout",
    "moves/labels",
    "moves/looks",
    "moves/page",
)


def test_the_notebooks_alone_notice_more_than_half_of_thirty_faults(tmp_path):
    out = tmp_path / "runs.json"  # in a process of its own, which has not loaded the library
    command = [sys.executable, ROOT / "tools" / "mutants.py", *WATCHED, "--sample", "30", "--seed", "2"]
    done = subprocess.run([*command, "--no-tests", "--json", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = [run for run in json.loads(out.read_text()) if not run["validates"]]
    assert len(results) >= 15
    assert sum(bool(run["notebooks"]) for run in results) > 0.5 * len(results), done.stdout
