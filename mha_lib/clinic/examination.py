"""Run a learner's layer on telling inputs and name the mistake, if there is one."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..errors import type_error, value_error
from ..scoring import AdditiveAttention
from .afterwards import Afterwards, Verdict, difference
from .bugs import Bug, bugs
from .choice import Choice
from .choosing import Chooser
from .findings import Diagnosis, Finding, Line, Note, Question, Remark, Report, What
from .milestones import right_tensors
from .patient import admit, heads_missing
from .pointing import line_of, point
from .questions import Asking, calls_differ
from .recorder import Recorder
from .running import Runner
from .words import difference_of, message


def diagnose(
    layer: nn.Module | Callable[..., Any],
    *,
    weights: object = None,
    num_heads: int | None = None,
    call: Callable[..., Any] | None = None,
    seed: int = 0,
) -> Diagnosis:
    """Say whether a layer is multi-head attention, or which mistake it makes, and in which line.

    Its output is compared with that of the right layer and of every bug in `mha_lib.bugs`,
    all with the layer's own weights, and the tensors on its way with the right layer's. A
    module is copied, taken to float64 and eval mode; nothing of yours is changed.

    Args:
        layer: a module, or a function of (queries, keys, values), of these and a mask or
            lengths, or of one input x and a mask or lengths, in whatever order. A mask may have
            any form that people use; the message says in which it was handed over.
        weights: where the projections are, if not under a usual name: a module that has them, or four
            nn.Linear or (out, in) tensors in the order q, k, v, o (o may be None). Needed for a
            function.
        num_heads: h, if the layer does not have it under a usual name.
        call: how to call it, if it is unusual: call(layer, queries, keys, values, mask), where
            mask comes in the form that the layer takes, lengths among them.
        seed: for the random inputs.

    Raises:
        TypeError, ValueError: where the projections or the number of heads cannot be found.

    Example:
        >>> from mha_lib import MultiHeadAttention, diagnose
        >>> diagnose(MultiHeadAttention(10, 10, 10, 10, 2)).name
        'right'
        >>> diagnose(bugs["merge_without_permute"].make()).name
        'merge_without_permute'
    """
    if not callable(layer) or isinstance(layer, type):
        got = layer.__name__ if isinstance(layer, type) else type(layer).__name__
        raise type_error("layer", "a module or a function", got, "Of a class, make a layer first.")
    is_module = isinstance(layer, nn.Module)
    if isinstance(layer, nn.Module) and any(isinstance(m, AdditiveAttention) for m in layer.modules()):
        raise value_error("layer", "scaled dot-product scoring", "additive scoring")
    with torch.random.fork_rng(devices=[]), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = _examine(layer, weights, num_heads, call, torch.float64 if is_module else None, seed)
        own = (
            next((p.dtype for p in layer.parameters() if p.is_floating_point()), None)
            if isinstance(layer, nn.Module)
            else None
        )
        if own not in (None, torch.float64) and report.name != "right" and report.may_be_rounding:
            second = _examine(layer, weights, num_heads, call, own, seed)
            if second.name == "right" or report.raised or report.name == "unknown":
                report = second
    return Diagnosis(
        report.name,
        message(report),
        tuple(bug.name for bug in report.bugs),
        difference_of(report),
        report.untested,
        report.line,
        tuple(bug.name for bug in report.half),
        report.questions,
        report.from_length,
        tuple(report.notes),
    )


def _examine(
    layer: Callable[..., Any],
    weights: object,
    num_heads: int | None,
    call: Callable[..., Any] | None,
    dtype: torch.dtype | None,
    seed: int,
) -> Report:
    patient = admit(layer, weights, num_heads, call, dtype)
    runner = Runner(patient)
    choice = Chooser(runner, seed).choose()
    if not patient.heads_known and not choice.right and not choice.fitting:
        raise heads_missing()
    report = _Examination(runner, choice).report()
    if patient.dtype != torch.float64:
        report.notes.append(Note(Remark.PRECISION, (("dtype", patient.dtype),)))
    return report


class _Examination:
    """From a layer that is understood to what is to be said of it."""

    def __init__(self, runner: Runner, choice: Choice):
        self.runner = runner
        self.choice = choice
        self.patient = runner.patient

    def report(self) -> Report:
        """Return the findings: the layer's randomness first, then its outputs, then all else."""
        choice = self.choice
        if (recorder := calls_differ(self.runner, choice)) is not None:
            acting = next((one for one in recorder.dropped if one.active), None)
            line = line_of(acting.place, "dropout") if acting else None
            verdict = Verdict(Finding(What.RANDOM), (bugs["dropout_in_eval"],), line)
            return self._wrong(verdict, (Question.CALLS,))
        if not choice.right:
            return self._wrong(self._of_outputs())
        afterwards = Afterwards(self.patient, self.runner, choice)
        afterwards.look_at_square()
        for verdict in afterwards.verdicts():
            failed = (Question.LEARNING,) if verdict.finding.what is What.NOT_LEARNING else ()
            return self._wrong(verdict, failed)
        untested = tuple(bug.name for bug in bugs.values() if self._cannot_show(bug))
        probes = sum(not outcome.raised for _, outcome, _ in choice.seen)
        return Report("right", notes=choice.notes, untested=untested, probes=probes)

    def _of_outputs(self) -> Verdict:
        """Name the mistake that fits, the first difference, and the line that makes it."""
        choice = self.choice
        changed = next((p for p, o, _ in choice.seen if o.changed), None)
        finding, line = self._first_difference()
        named = tuple(choice.fitting)
        if changed is not None:
            recorder = Recorder()
            self.runner.run(changed, choice.padding, recorder)
            if recorder.written_inputs:
                line = line_of(recorder.written_inputs[0])
            named = (*named, bugs["inputs_changed"])
        return Verdict(finding, named, line)

    def _first_difference(self) -> tuple[Finding, Line | None]:
        finding: Finding | None = None
        for probe, outcome, base in self.choice.seen:
            if self.choice.twins.same(outcome, self.choice.twins.outcome(probe, base)):
                continue
            finding = finding or difference(self.choice, probe, outcome, base)
            recorder = Recorder()
            again = self.runner.run(probe, self.choice.padding, recorder)
            if outcome.raised:
                continue
            rights = right_tensors(self.choice.reading, probe, bool(base))
            if line := point(recorder, again.result, rights, self.choice.twins.tolerance):
                return finding, line
        return finding or Finding(What.DIFFERS), None

    def _wrong(self, verdict: Verdict, failed: tuple[Question, ...] = ()) -> Report:
        choice = self.choice
        asking = Asking(self.runner, choice)
        by_output = verdict.finding.what in (What.DIFFERS, What.SHAPE, What.NONE, What.RAISED)
        if by_output:
            failed = asking.failed()
        diffs = [self._size_of(outcome, p, b) for p, outcome, b in choice.seen]
        return Report(
            verdict.bugs[0].name if verdict.bugs else "unknown",
            verdict.bugs,
            verdict.finding,
            verdict.line,
            choice.half,
            failed,
            asking.from_length() if by_output else None,
            choice.notes,
            raised=any(outcome.raised for _, outcome, _ in choice.seen),
            largest=max(diffs, default=0.0),
        )

    def _size_of(self, outcome: Any, probe: Any, base: Any) -> float:
        """Return how far an outcome is from the right one."""
        expected = self.choice.twins.outcome(probe, base).result
        if outcome.result is None or expected is None or outcome.result.shape != expected.shape:
            return 0.0 if outcome.raised else 1.0
        gap = (outcome.result.to(expected.dtype) - expected).abs().nan_to_num(1.0).max()
        return float(gap) / (1 + float(expected.abs().nan_to_num().max()))

    def _cannot_show(self, bug: Bug) -> bool:
        """Whether a bug would have shown nowhere in what was tried."""
        choice = self.choice
        remarks = {note.remark for note in self.choice.notes}
        no_dropout = not self.patient.dropout or Remark.DROPOUT in remarks or self.patient.module is None
        no_masks = choice.padding is None
        looked_at_apart = {
            "dropout_in_eval": False,
            "dropout_on_scores": no_dropout,
            "dropout_on_output": no_dropout,
            "dropout_never_used": no_dropout,
            "mask_not_in_training": no_masks or self.patient.module is None,
            "fill_minus_1e9": no_masks,
            "values_detached": Remark.NO_GRADIENT in remarks,
            "scores_detached": Remark.NO_GRADIENT in remarks,
            "inputs_changed": False,
        }
        if bug.name in looked_at_apart:
            return looked_at_apart[bug.name]
        return all(self._hidden(bug, probe, base) for probe, _, base in choice.seen)

    def _hidden(self, bug: Bug, probe: Any, base: Any) -> bool:
        twins = self.choice.twins
        faulty = twins.outcome(probe, base, bug.faults)
        return faulty.raised or twins.same(faulty, twins.outcome(probe, base))
