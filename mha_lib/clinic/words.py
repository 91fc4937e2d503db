"""Findings put into words: the only place where the clinic's text meets its data."""

import os
from collections.abc import Iterator
from typing import Any

from ..text import read
from .findings import Clue, Difference, Finding, Line, Note, Remark, Report, What
from .forms import Axes, Code
from .probes import Probe

_TEXT = read("diagnose")
_OF_OUTPUTS = (What.DIFFERS, What.RAISED, What.NONE, What.SHAPE)  # elsewhere no number need be wrong


def message(report: Report) -> str:
    """Say what was found, one thing a line."""
    return "\n".join(filter(None, _lines(report)))


def difference_of(report: Report) -> Difference | None:
    """Return the first number that differs, where there is one."""
    finding = report.finding
    if finding is None or finding.what not in (What.DIFFERS, What.MODE) or finding.probe is None:
        return None
    return Difference(probe_words(finding.probe), finding.index, finding.expected, finding.got)


def _lines(report: Report) -> Iterator[str]:
    if report.name == "right":
        yield _TEXT["right"].format(probes=report.probes)
        yield from map(note_words, report.notes)
        if report.untested:
            yield _TEXT["untested"].format(names=", ".join(report.untested))
        return
    if report.bugs:
        bug = report.bugs[0]
        yield (
            _TEXT["found"]
            .format(
                name=bug.name, sentence=bug.sentence, look=bug.look, symptom=bug.symptom, source=bug.source
            )
            .strip()
        )
        if len(report.bugs) > 1:
            yield _TEXT["two"].format(names=", ".join(bug.name for bug in report.bugs))
    else:
        yield _TEXT["unknown"]
    if report.finding:
        yield finding_words(report.finding)
    if report.line:
        yield line_words(report.line, report.finding is None or report.finding.what in _OF_OUTPUTS)
    elif not report.bugs:
        yield _TEXT["no_line"]
    if report.half:
        yield _TEXT["half"].format(name=_TEXT["or"].join(bug.name for bug in report.half))
    if report.questions:
        asked = [_TEXT["questions"][question.value] for question in report.questions]
        yield _TEXT["failed"].format(questions=_TEXT["and"].join(asked))
    if report.from_length:
        yield _TEXT["from_length"].format(n=report.from_length, less=report.from_length - 1)
    yield from map(note_words, report.notes)


def probe_words(probe: Probe) -> str:
    """Name an input."""
    lengths = None if probe.lengths is None else probe.lengths.tolist()
    _, Lq, Lk = probe.sizes
    return str(_TEXT["probes"][probe.kind.value].format(lengths=lengths, Lq=Lq, Lk=Lk))


def finding_words(finding: Finding) -> str:
    """Say what departs from the right layer."""
    about: dict[str, Any] = {
        "parameters": ", ".join(finding.parameters),
        "wrong": finding.wrong,
        "count": finding.count,
    }
    if finding.probe is not None:
        about["probe"] = probe_words(finding.probe)
    if finding.error is not None:
        about["error"] = _error_words(finding.error)
    if finding.shapes:
        about["got"], about["expected"] = finding.shapes
    if finding.what in (What.DIFFERS, What.MODE):
        digits = _digits(finding.got, finding.expected)
        about["index"] = ", ".join(map(str, finding.index))
        about["got"], about["expected"] = f"{finding.got:.{digits}f}", f"{finding.expected:.{digits}f}"
    return str(_TEXT["findings"][finding.what.value].format(**about))


def _digits(a: float, b: float) -> int:
    """Return how many decimals tell two numbers apart, four at least."""
    return next((n for n in range(4, 16) if f"{a:.{n}f}" != f"{b:.{n}f}"), 16)


def _error_words(error: Exception) -> str:
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0].rstrip('.')}" if first else type(error).__name__


def line_words(line: Line, of_outputs: bool = True) -> str:
    """Say which line makes the first wrong number, or does what was found, and what can be said of it."""
    words = _TEXT["line"]
    names = words["milestones"]
    parts = []
    if line.reached:
        listed = _TEXT["comma"].join(names[one.value] for one in line.reached)
        parts.append(words["reached"].format(milestones=listed))
    shown = line.source or line.operation
    where = words["cell" if _is_cell(line.file) else "file"].format(
        number=line.number, file=os.path.basename(line.file)
    )
    wanted = names[line.wanted.value] if line.wanted else ""
    opening = "next" if line.reached else "first" if of_outputs else "itself"
    parts.append(words[opening].format(source=shown, where=where))
    if line.clue is not Clue.NOTHING:
        operand = names[line.operand.value] if line.operand else ""
        parts.append(
            words["clues"][line.clue.value].format(factor=line.factor, operand=operand, wanted=wanted)
        )
    elif line.wanted:
        parts.append(words["wanted"].format(wanted=wanted))
    if line.unseen:
        listed = _TEXT["comma"].join(names[one.value] for one in line.unseen)
        parts.append(words["unseen"].format(milestones=listed))
    return str(_TEXT["space"].join(parts))


def _is_cell(file: str) -> bool:
    """Whether a file is a cell of a notebook, whose name says nothing to anybody."""
    return file.startswith("<") or "ipykernel_" in file


def note_words(note: Note) -> str:
    """Say what is worth knowing besides."""
    about = dict(note.about)
    probe, error = about.get("probe"), about.get("error")
    if isinstance(probe, Probe):
        about["probe"] = probe_words(probe)
    if isinstance(error, Exception):
        about["error"] = _error_words(error)
    if note.remark is Remark.BATCH:
        about["why"] = _TEXT["notes"]["batch_first"] if about.get("torch") else ""
    axes, code = about.get("axes"), about.get("code")
    if isinstance(axes, Axes) and isinstance(code, Code):
        if code is Code.COUNT:
            return ""
        about["axes"] = axes.value
        about["code"] = _TEXT["codes"][code.value]
    return str(_TEXT["notes"][note.remark.value].format(**about))
