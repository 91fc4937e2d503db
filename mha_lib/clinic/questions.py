"""The six questions that a layer can be asked without knowing its insides."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from .calling import Outcome
from .choice import Choice
from .findings import Question
from .probes import Kind, Probe
from .recorder import Recorder
from .running import Runner

_LONGEST = 8


class Asking:
    """Puts the questions to a layer, and finds the shortest sentence that shows what is wrong."""

    def __init__(self, runner: Runner, choice: Choice):
        self.runner = runner
        self.choice = choice
        self.twins = choice.twins

    def failed(self) -> tuple[Question, ...]:
        """Return the questions that the layer fails; one that cannot be put is not among them."""
        asked = {
            Question.PADDING: self._sees_padding,
            Question.SENTENCES: self._mixes_sentences,
            Question.SHUFFLE: self._minds_the_order,
            Question.ROWS: self._rows_fall_short,
            Question.LEARNING: self._does_not_learn,
        }
        return tuple(question for question, fails in asked.items() if fails())

    def from_length(self) -> int | None:
        """Return the least number of words that shows it; None where one word does, or none up to 8."""
        if len(set(self.choice.reading.widths)) > 1 or self.choice.fixed:
            return None
        for L in range(1, _LONGEST + 1):
            probe = Probe(Kind.SELF, self.choice.words.alike(self.choice.sizes.B, L))
            got = self._run(probe)
            if got.raised:
                return None
            if not self.twins.same(got, self.twins.outcome(probe, self.choice.base)):
                return L if L > 1 else None
        return None

    def _run(self, probe: Probe) -> Outcome:
        return self.runner.run(probe, self.choice.padding)

    def _same(self, a: Tensor | None, b: Tensor | None) -> bool:
        if a is None or b is None or a.shape != b.shape:
            return True  # no answer is no failure
        return not self.twins.wrong(a, b).any()

    def _plain(self) -> Probe | None:
        return next((p for p, o in self.choice.plain if o.result is not None and p.kind is Kind.SELF), None)

    def _sees_padding(self) -> bool:
        for probe, outcome in self.choice.padded:
            if outcome.result is None or probe.lengths is None or probe.kind is not Kind.LENGTHS:
                continue
            X = probe.inputs[0].clone()
            padded = torch.arange(X.shape[1]) >= probe.lengths[:, None]
            X[padded] += 1.0
            other = self._run(Probe(probe.kind, (X, X, X), probe.lengths)).result
            if other is not None and other.shape == outcome.result.shape and other.shape[:2] == padded.shape:
                return not self._same(outcome.result[~padded], other[~padded])
        return False

    def _mixes_sentences(self) -> bool:
        probe = self._plain()
        if probe is None or probe.sizes[0] < 2:
            return False
        X = probe.inputs[0].clone()
        X[1:] += 1.0
        before, after = self._run(probe).result, self._run(Probe(probe.kind, (X, X, X))).result
        return before is not None and after is not None and not self._same(before[0], after[0])

    def _minds_the_order(self) -> bool:
        """Shuffle the words: the output has to be shuffled alike."""
        probe = self._plain()
        if probe is None or self.choice.base:
            return False
        X = probe.inputs[0]
        order = torch.arange(X.shape[1]).roll(1)
        Y = X[:, order]
        before, after = self._run(probe).result, self._run(Probe(probe.kind, (Y, Y, Y))).result
        if before is None or after is None or before.shape[:2] != X.shape[:2]:
            return False
        return not self._same(before[:, order], after)

    def _rows_fall_short(self) -> bool:
        """Make all words alike: whatever the weights, a row that sums to 1 gives the word's value back."""
        sizes = self.choice.padded[0][0] if self.choice.padded else self._plain()
        if sizes is None or len(set(self.choice.reading.widths)) > 1:
            return False
        X = sizes.inputs[0][:, :1].expand(-1, sizes.sizes[2], -1).contiguous()
        got = self._run(Probe(sizes.kind, (X, X, X), sizes.lengths)).result
        *_, W_v, W_o = self.choice.reading.projections
        value = F.linear(X, W_v.weight, W_v.bias)
        return not self._same(got, value if W_o is None else F.linear(value, W_o.weight, W_o.bias))

    def _does_not_learn(self) -> bool:
        probe = self._plain()
        parameters = list(self.runner.patient.parameters.values())
        if probe is None or not parameters or self.runner.patient.module is None:
            return False
        with torch.enable_grad():
            recorder = Recorder()
            output = self.runner.run(probe, None, recorder).result
            if output is None or recorder.left_torch:
                return False
            if not output.requires_grad:
                return True
            twin = self.twins.make(self.choice.base)(*probe.inputs)
            try:
                pairs = zip(self._learning(output, parameters), self._learning(twin, parameters), strict=True)
                return any(right and not own for own, right in pairs)
            except RuntimeError:  # backward itself raises
                return False

    @staticmethod
    def _learning(output: Tensor | None, parameters: list[Tensor]) -> Iterator[bool]:
        assert output is not None
        total = (output * torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)).sum()
        gradients = torch.autograd.grad(total, parameters, retain_graph=True, allow_unused=True)
        for gradient in gradients:
            yield gradient is not None and float(gradient.abs().max()) > 1e-12


def calls_differ(runner: Runner, choice: Choice) -> Recorder | None:
    """Return the recording of a call that gives another output than the one before, or None."""
    for probe, outcome in choice.plain:
        if outcome.result is None:
            continue
        recorder = Recorder()
        again = runner.run(probe, None, recorder)
        return None if choice.twins.same(again, outcome) else recorder
    return None
