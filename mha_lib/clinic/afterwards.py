"""What can be wrong although every output in eval mode is right: empty sentences, gradients, training."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .bugs import Bug, Shows, bugs
from .calling import Outcome
from .choice import Choice
from .faulty import Faults
from .findings import Finding, Line, Milestone, Note, Remark, What
from .forms import Code, Route, square_forms
from .masking import kind_of_square
from .milestones import Recogniser, right_tensors
from .patient import Patient
from .pointing import line_of, point
from .probes import Kind, Probe, square_probe
from .recorder import Dropped, Recorder
from .running import Runner
from .twins import RIGHT


@dataclass(frozen=True, eq=False)
class Verdict:
    """A departure, the known mistakes that it is, and the line where it happens."""

    finding: Finding
    bugs: tuple[Bug, ...] = ()
    line: Line | None = None


class Afterwards:
    """The further examinations of a layer whose outputs are right."""

    def __init__(self, patient: Patient, runner: Runner, choice: Choice):
        self.patient = patient
        self.runner = runner
        self.choice = choice
        self.twins = choice.twins
        self.with_square: list[tuple[Probe, Outcome, Route]] = []

    def verdicts(self) -> Iterator[Verdict]:
        """Yield what is wrong, the weightiest first; notes go to the choice."""
        checks = (self._changed, self._gradient, self._training, self._empty)
        yield from filter(None, (check() for check in checks))

    def look_at_square(self) -> None:
        """Look at a mask (L, L) where L equals h; a layer may refuse it, or read it as it should.

        A layer that adds a head axis to (B, L, L) is right for what it takes: a note will do.
        """
        name = kind_of_square(self.choice, self.patient.caller.options)
        if name is None or len(set(self.choice.reading.widths)) > 1 or self.choice.fixed:
            return
        probe = square_probe(self.choice.words, max(self.choice.reading.num_heads, 2), 3)
        route = self.choice.padding
        kind = self.patient.caller.options[name]
        own = route is not None and route.parameter == name
        forms = [form for form in square_forms(kind) if not own or (route and form.code is route.form.code)]
        routes = [Route(name, form) for form in forms]
        self.with_square = [(probe, self.runner.run(probe, route), route) for route in routes]
        answered = [outcome for _, outcome, _ in self.with_square if outcome.result is not None]
        expected = self.twins.outcome(probe, self.choice.masked_base)
        if answered and not any(self.twins.same(outcome, expected) for outcome in answered):
            self.choice.notes.append(Note(Remark.SQUARE))

    def _changed(self) -> Verdict | None:
        seen = [(probe, outcome, self.choice.padding) for probe, outcome, _ in self.choice.seen]
        for probe, outcome, route in (*seen, *self.with_square):
            if outcome.changed:
                recorder = Recorder()
                self.runner.run(probe, route, recorder)
                places = recorder.written_inputs
                line = line_of(places[0]) if places else None
                return Verdict(Finding(What.CHANGED, probe), (bugs["inputs_changed"],), line)
        return None

    def _empty(self) -> Verdict | None:
        """Look at a sentence of length 0."""
        route = self.choice.padding
        with_lengths = next((p for p, o in self.choice.padded if o.result is not None), None)
        if route is None or with_lengths is None or with_lengths.lengths is None:
            return None
        if route.form.code is Code.ADDED or self.choice.masked_base:
            return (
                None  # what stands in such a mask is the caller's affair; a causal row is never empty alone
            )
        lengths = with_lengths.lengths.clone()
        lengths[0] = 0
        probe = Probe(Kind.EMPTY, with_lengths.inputs, lengths)
        bug = bugs["fill_minus_1e9"]
        recorder = Recorder()
        got = self.runner.run(probe, route, recorder)
        if got.result is None or self.twins.same(got, self.twins.outcome(probe, RIGHT)):
            return None
        if self.twins.same(got, self.twins.outcome(probe, RIGHT, bug.faults)):
            self.choice.notes.append(Note(Remark.ALL_ELSE))
            rights = right_tensors(self.choice.reading, probe, bool(self.choice.masked_base))
            line = point(recorder, got.result, rights, self.twins.tolerance)
            return Verdict(self._difference(probe, got), (bug,), line)
        self.choice.notes.append(Note(Remark.EMPTY if got.result.isfinite().all() else Remark.NAN))
        return None

    def _difference(self, probe: Probe, got: Outcome) -> Finding:
        return difference(self.choice, probe, got, self.choice.masked_base)

    # ---- gradients

    def _gradient(self) -> Verdict | None:
        """Compare the gradients of the inputs and of each parameter."""
        with torch.enable_grad():
            probe = next(p for p, o in reversed(self.choice.plain) if not o.raised)
            leaves = {id(X): X.clone().requires_grad_() for X in probe.inputs}
            q, k, v = (leaves[id(X)] for X in probe.inputs)
            again = Probe(probe.kind, (q, k, v))
            recorder = Recorder()
            got = self.runner.run(again, None, recorder)
            if got.result is None or not got.result.requires_grad:
                return self._nothing_learns(recorder)
            leaf_names = {
                "queries": q,
                **({} if k is q else {"keys": k}),
                **({} if v is k else {"values": v}),
            }
            leaves_too = leaf_names | self.patient.parameters
            right = _gradients(self.twins.make(self.choice.base)(q, k, v), leaves_too)
            wanted = {name: leaves_too[name] for name in right}  # the others have no part in the right layer
            try:
                gradients = self._found(got.result, wanted)
            except RuntimeError as error:  # a value that backward needs was written over
                line = line_of(recorder.overwritten[-1]) if recorder.overwritten else None
                return Verdict(Finding(What.NO_BACKWARD, probe, error=error), (), line)
            if recorder.left_torch or not any(gradient.any() for gradient in gradients.values()):
                return self._nothing_learns(recorder)
            parameters = self.patient.parameters.keys() & wanted.keys()
            closed = self.patient.module is None or "forward" in vars(self.patient.module)
            if closed and not any(gradients[name].any() for name in parameters):
                # A function with other copies of the projections.
                gradients = {name: gradients[name] for name in leaf_names}
            if all(self._alike(gradients[name], right[name]) for name in gradients):
                return None
            finding = self._gradient_finding(gradients, right)
            for bug, faults in (
                (b, f) for b in bugs.values() if b.shows is Shows.GRADIENT for f in b.settings
            ):
                expected = self._found(self.twins.make(self.choice.base, faults)(q, k, v), wanted)
                if all(self._alike(gradients[name], expected[name]) for name in gradients):
                    return Verdict(finding, (bug,), _cut(recorder))
            return Verdict(finding, (), _cut(recorder))

    @staticmethod
    def _found(output: Tensor | None, wanted: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the gradients of all that is wanted, 0 where none arrives."""
        arrived = _gradients(output, wanted)
        return {name: arrived.get(name, torch.zeros_like(leaf)) for name, leaf in wanted.items()}

    def _alike(self, got: Tensor, expected: Tensor) -> bool:
        return self.twins.same(Outcome(got), Outcome(expected))

    def _gradient_finding(self, gradients: dict[str, Tensor], right: dict[str, Tensor]) -> Finding:
        stopped = [n for n in gradients if not gradients[n].any() and not self._alike(gradients[n], right[n])]
        return Finding(What.NOT_LEARNING if stopped else What.GRADIENT, parameters=tuple(stopped))

    def _nothing_learns(self, recorder: Recorder) -> Verdict | None:
        if self.patient.module is None or recorder.left_torch or not self.patient.parameters:
            self.choice.notes.append(Note(Remark.NO_GRADIENT))
            return None
        return Verdict(
            Finding(What.NOT_LEARNING, parameters=tuple(self.patient.parameters)), (), _cut(recorder)
        )

    # ---- training

    def _training(self) -> Verdict | None:
        """Compare training with eval, every dropout at p = 0; and see what dropout would act on."""
        module = self.patient.module
        if module is None:
            return None
        inner = [m for m in module.modules() if isinstance(m, nn.MultiheadAttention) and m.dropout]
        kept = [m.dropout for m in inner]
        module.train()
        for one in inner:
            one.dropout = 0.0
        try:
            return self._in_training(bool(inner))
        finally:
            for one, p in zip(inner, kept, strict=True):
                one.dropout = p
            module.eval()

    def _in_training(self, inside: bool) -> Verdict | None:
        seen = [(p, base) for p, outcome, base in reversed(self.choice.seen) if not outcome.raised]
        for probe, base in seen:
            recorder = Recorder(still=True)
            got = self.runner.run(probe, self.choice.padding, recorder)
            again = self.runner.run(probe, self.choice.padding, Recorder(still=True))
            if (
                got.result is not None
                and again.result is not None
                and not torch.equal(got.result, again.result)
            ):
                self.choice.notes.append(Note(Remark.DROPOUT))  # random numbers of its own
                return None
            if not self.twins.same(got, self.twins.outcome(probe, base)):
                return self._other_mode(probe, base, got, recorder)
        return self._dropout(seen[0][0], bool(seen[0][1]), inside)

    def _other_mode(self, probe: Probe, base: Faults, got: Outcome, recorder: Recorder) -> Verdict:
        skipped = self.twins.same(got, self.twins.outcome(probe, base, {"mask": "ignored"}))
        named = (bugs["mask_not_in_training"],) if skipped and probe.mask is not None else ()
        rights = right_tensors(self.choice.reading, probe, bool(base))
        line = point(recorder, got.result, rights, self.twins.tolerance)
        finding = difference(self.choice, probe, got, base)
        return Verdict(Finding(What.MODE, probe, finding.index, finding.expected, finding.got), named, line)

    def _dropout(self, probe: Probe, causal: bool, inside: bool) -> Verdict | None:
        recorder = Recorder(still=True)
        self.runner.run(probe, self.choice.padding, recorder)
        acting = [one for one in recorder.dropped if one.active and one.p > 0]
        if not acting and not inside:
            if not self.patient.dropout:
                return None
            return Verdict(Finding(What.UNUSED), (bugs["dropout_never_used"],))
        recogniser = Recogniser(right_tensors(self.choice.reading, probe, causal), self.twins.tolerance)
        on = {self._acts_on(one, recorder, recogniser): one for one in reversed(acting)}
        if Milestone.SCORES in on:
            return self._misplaced("dropout_on_scores", on[Milestone.SCORES])
        if Milestone.OUTPUT in on and Milestone.WEIGHTS not in on and not inside:
            return self._misplaced("dropout_on_output", on[Milestone.OUTPUT])
        if Milestone.OUTPUT in on:
            self.choice.notes.append(Note(Remark.DROPOUT_TOO))
        elif Milestone.WEIGHTS not in on and not inside:
            self.choice.notes.append(Note(Remark.DROPOUT))
        return None

    def _misplaced(self, name: str, where: Dropped) -> Verdict:
        return Verdict(Finding(What.IN_TRAINING), (bugs[name],), line_of(where.place, "dropout"))

    def _acts_on(self, one: Dropped, recorder: Recorder, recogniser: Recogniser) -> Milestone | None:
        if one.on_weights:
            return Milestone.WEIGHTS
        right = None if one.step is None else recogniser.find(recorder.steps[one.step])
        if right is None:
            return None
        if right.milestone in (Milestone.PRODUCTS, Milestone.MASKED):
            return Milestone.SCORES
        merged = one.step is not None and recorder.steps[one.step].values.dim() == 3
        bare = self.choice.reading.projections[3] is None and right.milestone is Milestone.CONTEXT and merged
        return Milestone.OUTPUT if bare else right.milestone


def difference(choice: Choice, probe: Probe, got: Outcome, base: Faults) -> Finding:
    """Say how an outcome differs from the right layer's."""
    expected = choice.twins.outcome(probe, base).result
    if got.error is not None:
        return Finding(What.RAISED, probe, error=got.error)
    if got.result is None or expected is None:
        return Finding(What.NONE, probe)
    if got.result.shape != expected.shape:
        return Finding(What.SHAPE, probe, shapes=(tuple(got.result.shape), tuple(expected.shape)))
    wrong = choice.twins.wrong(got.result, expected)
    places = wrong.nonzero()
    index = tuple(places[0].tolist()) if len(places) else (0,) * expected.dim()
    return Finding(
        What.DIFFERS,
        probe,
        index,
        float(expected[index]),
        float(got.result[index]),
        len(places),
        wrong.numel(),
    )


def _gradients(output: Tensor | None, leaves: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the gradient of a tilted sum of the output for each leaf that it depends on."""
    if output is None or not output.requires_grad:
        return {}
    tilt = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    gradients = torch.autograd.grad(
        (output * tilt).sum(), list(leaves.values()), retain_graph=True, allow_unused=True
    )
    return {name: one for name, one in zip(leaves, gradients, strict=True) if one is not None}


def _cut(recorder: Recorder) -> Line | None:
    """Return the line that cuts the gradient off."""
    step = next((step for step in recorder.steps if step.cut_off), None)
    return line_of(step.place, step.name) if step else None
