"""What a layer takes itself for: which reading of its projections, which order of axes, which sizes.

Of all the ways in which a layer may be meant, one that makes it right is taken; where there is
none, one with which a known mistake explains it.
"""

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from .calling import Inputs
from .choice import Choice
from .findings import Note, Remark
from .forms import Code, Route, padding_forms
from .masking import Masking, form_note
from .patient import words_come_first
from .probes import Sizes, Words, plain_probes, telling_sizes
from .reading import Reading
from .recorder import Recorder
from .running import Runner
from .twins import BASES, Twins, tolerance

_MOST_SENTENCES, _MOST_WORDS = 8, 16


class Chooser:
    """Tries the ways in which a layer may be meant."""

    def __init__(self, runner: Runner, seed: int):
        self.runner = runner
        self.patient = runner.patient
        self.caller = runner.caller
        self.seed = seed

    @property
    def _is_torch(self) -> bool:
        return isinstance(self.patient.layer, nn.MultiheadAttention)

    def choose(self) -> Choice:
        """Return how the layer is understood best."""
        self._one_input_by_call()
        choices = list(self._ways())
        best: Choice | None = None
        level = 0
        for choice, base in ((choice, base) for choice in choices for base in BASES):
            fit = choice.twins.fit(choice.plain, base)
            if fit > level:
                level, best = fit, choice
                choice.base = choice.masked_base = base
            if level == 2:
                break
        if best is None:
            best = self._with_a_bug(choices)
        else:
            best.right = True
        self._set(best)
        Masking(self.runner).settle(best)
        self._remarks(best)
        return best

    def _ways(self) -> Iterator[Choice]:
        turned = self.caller.batch_second
        orders = [turned] if turned else [True, False] if words_come_first(self.patient.layer) else [False]
        for order in orders:
            self.caller.batch_second = order
            for reading in self.patient.readings:
                yield self._way(reading, order)

    def _way(self, reading: Reading, order: bool) -> Choice:
        words = Words(reading, self.patient.dtype, self.seed)
        twins = Twins(reading, self.patient.dropout, self.patient.dtype)
        choice = Choice(reading, twins, words, telling_sizes(reading), False)
        choice.plain = self.runner.on_all(plain_probes(words, choice.sizes, self.runner.cross(words)))
        if all(outcome.raised for _, outcome in choice.plain):
            self._find_blank(choice)
            choice.plain = self.runner.on_all([probe for probe, _ in choice.plain])
        if all(outcome.raised for _, outcome in choice.plain):
            self._find_sizes(choice)
        choice.notes += [Note(Remark.BATCH, (("torch", self._is_torch),))] if order else []
        self._mind_precision(choice)
        return choice

    def _mind_precision(self, choice: Choice) -> None:
        """Where a layer computes in a coarser dtype inside, allow for its rounding."""
        probe = next((probe for probe, outcome in choice.plain if not outcome.raised), None)
        if probe is None:
            return
        recorder = Recorder()
        self.runner.run(probe, None, recorder)
        coarsest = max((step.dtype for step in recorder.steps), key=tolerance, default=self.patient.dtype)
        choice.twins.tolerance = max(choice.twins.tolerance, tolerance(coarsest))
        if tolerance(coarsest) > tolerance(self.patient.dtype):
            choice.notes.append(Note(Remark.INSIDE, (("dtype", coarsest),)))

    def _set(self, choice: Choice) -> None:
        self.caller.batch_second = any(note.remark is Remark.BATCH for note in choice.notes)

    def _one_input_by_call(self) -> None:
        """A call= has room for three inputs; the layer may look at the first alone."""
        if not self.caller.call or self.caller.inputs is not Inputs.THREE:
            return
        reading = self.patient.readings[0]
        if len(set(reading.widths)) > 1:
            return
        words = Words(reading, self.patient.dtype, self.seed)
        sizes = telling_sizes(reading)
        X, Y, Z = (words.draw(sizes.B, sizes.Lk, reading.widths[0]) for _ in range(3))
        outcomes = [self.caller(inputs, {}) for inputs in ((X, X, X), (X, Y, Z))]
        results = [outcome.result for outcome in outcomes]
        if results[0] is not None and results[1] is not None and torch.equal(results[0], results[1]):
            self.caller.only_first = True
            self.caller.inputs = Inputs.ONE

    def _find_blank(self, choice: Choice) -> None:
        """Where a layer has to be given a mask, find one that hides nothing."""
        for name, kind in self.caller.options.items():
            for form in padding_forms(kind):
                self.caller.blank = Route(name, form)
                if any(not self.runner.run(probe).raised for probe, _ in choice.plain):
                    return
        self.caller.blank = None

    def _find_sizes(self, choice: Choice) -> None:
        """Where a layer refuses the sizes, find some that it takes; of one word nothing can be told."""
        reading = choice.reading
        taken = {reading.num_heads, reading.head_dim, reading.num_groups}
        own = _own_numbers(self.patient.layer)
        lengths = sorted(
            {*range(2, _MOST_WORDS + 1), *own} - {1}, key=lambda L: (L in taken, L < 3, abs(L - 5))
        )
        batches = sorted({*range(1, _MOST_SENTENCES + 1), *own}, key=lambda B: (B == 1, B in taken, B))
        best = (-1, False)
        for B, L in itertools.product(batches[:20], lengths[:30]):
            sizes = Sizes(B, L, L)
            seen = self.runner.on_all(plain_probes(choice.words, sizes, self.runner.cross(choice.words)))
            if all(outcome.raised for _, outcome in seen):
                continue
            rank = (max(choice.twins.fit(seen, base) for base in BASES), {B, L} <= own)
            if rank > best and (rank[0] or rank[1]):
                best = rank
                choice.plain = seen
                choice.sizes = sizes
                choice.fixed = True
            if rank[0]:
                return

    def _with_a_bug(self, choices: list[Choice]) -> Choice:
        level, best = 0, choices[0]
        for choice, base in ((choice, base) for choice in choices for base in BASES):
            self._set(choice)
            for bug, fit in choice.twins.search(choice.plain, base):
                if fit > level:
                    level, best = fit, choice
                    choice.base = choice.masked_base = base
                if fit == level and best is choice and choice.base is base:
                    choice.half = [*(choice.half if fit == level else []), bug]
        if level:
            fits = best.twins.search(best.plain, best.base)
            best.half = [bug for bug, fit in fits if fit == level]
        return best

    # ---- what to say besides

    def _remarks(self, choice: Choice) -> None:
        notes, caller, reading = choice.notes, self.caller, choice.reading
        if choice.fixed:
            notes.append(Note(Remark.FIXED, (("B", choice.sizes.B), ("L", choice.sizes.Lk))))
        if caller.inputs is Inputs.ONE:
            notes.append(Note(Remark.SELF))
        if not caller.options:
            notes.append(Note(Remark.NO_MASK))
        if reading.num_groups < reading.num_heads:
            notes.append(Note(Remark.GROUPS, (("groups", reading.num_groups), ("heads", reading.num_heads))))
        if choice.base:
            differs = choice.padding is not None and not choice.masked_base
            notes.append(Note(Remark.CAUSAL_UNMASKED if differs else Remark.CAUSAL))
        if choice.padding and choice.padding.form.code is not Code.COUNT:
            notes.append(form_note(choice.padding))
            if choice.padding.form.code.shuts_out and not self._is_torch:
                notes.append(Note(Remark.OTHER_POLARITY))
            lets_in = choice.padding.form.code in (Code.MAY, Code.ONES, Code.INTEGERS)
            if lets_in and choice.padding.parameter == "key_padding_mask":
                notes.append(Note(Remark.PADDING_POLARITY))
        if reading.projections[3] is None:
            notes.append(Note(Remark.NO_OUTPUT_PROJECTION))
        for probe, outcome, base in choice.seen if choice.right else ():
            if outcome.raised and not choice.twins.outcome(probe, base).raised:
                about = (("probe", probe), ("error", outcome.error))
                notes.append(Note(Remark.RAISES, about))


def _own_numbers(layer: object) -> set[int]:
    """Return the whole numbers that a module keeps, and the sizes of what it keeps: a length may be one."""
    numbers: set[int] = set()
    for module in layer.modules() if isinstance(layer, nn.Module) else ():
        for value in vars(module).values():
            if isinstance(value, int) and not isinstance(value, bool):
                numbers.add(value)
            if isinstance(value, Tensor):
                numbers.update(value.shape)
        for buffer in module.buffers(recurse=False):
            numbers.update(buffer.shape)
    return {number for number in numbers if 0 < number <= 256}
