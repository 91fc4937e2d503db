"""What a layer takes itself for: which reading of its maps, which order of axes, which form of mask.

Of all the ways in which a layer may be meant, one that makes it right is taken; where there is
none, one with which a known mistake explains it.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from .bugs import Bug
from .calling import Inputs, Outcome
from .faulty import Faults
from .findings import Note, Remark
from .forms import Axes, Code, Route, padding_forms, square_forms
from .names import Takes
from .patient import Patient, words_come_first
from .probes import Probe, Sizes, Words, padding_probes, plain_probes, rows_probe, square_probe, telling_sizes
from .reading import Reading
from .recorder import Recorder
from .twins import BASES, RIGHT, Twins, tolerance

Cross = Callable[[Sizes], tuple[Tensor, Tensor, Tensor]]
Seen = list[tuple[Probe, Outcome]]
_MOST_SENTENCES, _MOST_WORDS = 8, 16
_WITH_ROWS = (Axes.ROWS, Axes.ROWS_OF_HEADS, Axes.EACH_HEAD, Axes.STACK)


@dataclass(eq=False)
class Choice:
    """How a layer was understood, and what fits it so understood."""

    reading: Reading
    twins: Twins
    words: Words
    sizes: Sizes
    fixed: bool  # it runs for few sizes only
    base: Faults = field(default_factory=dict)  # what it is by itself, without a mask
    masked_base: Faults = field(default_factory=dict)  # and with one
    plain: Seen = field(default_factory=list)
    padded: Seen = field(default_factory=list)
    padding: Route | None = None
    right: bool = False
    fitting: list[Bug] = field(default_factory=list)
    half: list[Bug] = field(default_factory=list)  # what fits as long as there is no mask
    notes: list[Note] = field(default_factory=list)

    @property
    def seen(self) -> list[tuple[Probe, Outcome, Faults]]:
        """Every probe with its outcome, and what the layer is by itself there."""
        return [(p, o, self.base) for p, o in self.plain] + [(p, o, self.masked_base) for p, o in self.padded]


class Chooser:
    """Tries the ways in which a layer may be meant."""

    def __init__(self, patient: Patient, seed: int):
        self.patient, self.caller, self.seed = patient, patient.caller, seed

    @property
    def _is_torch(self) -> bool:
        return isinstance(self.patient.layer, nn.MultiheadAttention)

    # ---- calls

    def run(self, probe: Probe, route: Route | None = None, recorder: Recorder | None = None) -> Outcome:
        """Call the layer on a probe, its mask handed over by the route."""
        masks: dict[str, Tensor] = {}
        route, mask = (route, probe.mask) if probe.mask is not None else (self.caller.blank, None)
        if route:
            B, Lq, Lk = probe.sizes
            visible = torch.ones(B, 1, Lk, dtype=torch.bool) if mask is None else mask
            h = self.patient.readings[0].num_heads
            encoded = route.form.encode(visible, (B, h, Lq, Lk), probe.inputs[0].dtype)
            if encoded is None:
                return Outcome(None, ValueError("this mask has no such form"))
            masks[route.parameter] = encoded
        return self.caller(probe.inputs, masks, recorder)

    def cross(self, words: Words) -> Cross | None:
        """Return how to draw queries and keys that differ, or None where the layer has one input."""
        if self.caller.inputs is Inputs.ONE:
            return None
        return words.apart if self.caller.inputs is Inputs.THREE else words.context

    # ---- without a mask

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
        self._masks(best)
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
        choice.plain = self._seen(plain_probes(words, choice.sizes, self.cross(words)))
        if all(outcome.raised for _, outcome in choice.plain):
            self._find_blank(choice)
            choice.plain = self._seen([probe for probe, _ in choice.plain])
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
        self.run(probe, None, recorder)
        coarsest = max((step.dtype for step in recorder.steps), key=tolerance, default=self.patient.dtype)
        choice.twins.tolerance = max(choice.twins.tolerance, tolerance(coarsest))
        if tolerance(coarsest) > tolerance(self.patient.dtype):
            choice.notes.append(Note(Remark.INSIDE, (("dtype", coarsest),)))

    def _set(self, choice: Choice) -> None:
        self.caller.batch_second = any(note.remark is Remark.BATCH for note in choice.notes)

    def _seen(self, probes: Iterable[Probe], route: Route | None = None) -> Seen:
        return [(probe, self.run(probe, route)) for probe in probes]

    def _one_input_by_call(self) -> None:
        """A call= has room for three inputs; the layer may look at the first alone."""
        if not self.caller.call or self.caller.inputs is not Inputs.THREE:
            return
        reading = self.patient.readings[0]
        if len(set(reading.widths)) > 1:
            return
        words, sizes = Words(reading, self.patient.dtype, self.seed), telling_sizes(reading)
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
                if any(not self.run(probe).raised for probe, _ in choice.plain):
                    return
        self.caller.blank = None

    def _find_sizes(self, choice: Choice) -> None:
        """Where a layer refuses the sizes, find some that it takes."""
        reading = choice.reading
        taken = {reading.num_heads, reading.head_dim, reading.num_groups}
        own = _own_numbers(self.patient.layer)
        lengths = sorted({*range(1, _MOST_WORDS + 1), *own}, key=lambda L: (L in taken, L < 3, abs(L - 5)))
        batches = sorted({*range(1, _MOST_SENTENCES + 1), *own}, key=lambda B: (B == 1, B in taken, B))
        best = (-1, False)
        for B, L in itertools.product(batches[:20], lengths[:30]):
            sizes = Sizes(B, L, L)
            seen = self._seen(plain_probes(choice.words, sizes, self.cross(choice.words)))
            if all(outcome.raised for _, outcome in seen):
                continue
            rank = (max(choice.twins.fit(seen, base) for base in BASES), {B, L} <= own)
            if rank > best and (rank[0] or rank[1]):
                best = rank
                choice.plain, choice.sizes, choice.fixed = seen, sizes, True
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

    # ---- with one

    def _masks(self, choice: Choice) -> None:
        """Find the form in which the layer takes lengths; or what is wrong with it, in some form."""
        probes = padding_probes(choice.words, choice.sizes, self.cross(choice.words), choice.fixed)
        if not self.caller.options or not probes:
            choice.fitting = choice.half
            choice.half = []
            return
        tried: list[tuple[Route, Seen]] = []
        effect = False
        for name, kind in self.caller.options.items():
            routes = [Route(name, form) for form in padding_forms(kind)]
            of_this = [(route, self._seen(probes, route)) for route in routes]
            answered = [(r, seen) for r, seen in of_this if any(not o.raised for _, o in seen)]
            moved = any(
                self._differs(choice, probe, outcome) for _, seen in answered for probe, outcome in seen
            )
            tried += answered
            effect |= moved
            if moved or (answered and kind is not Takes.UNKNOWN):
                break
        if not tried or (not effect and self._unknown_only()):
            refused = not tried
            self._square_only(choice, refused)
            return
        if choice.right and self._right_form(choice, tried):
            return
        if choice.right and self._square_only(choice, False, probes, tried):
            return
        self._faulty_form(choice, tried, effect)

    def _unknown_only(self) -> bool:
        return all(kind is Takes.UNKNOWN for kind in self.caller.options.values())

    def _differs(self, choice: Choice, probe: Probe, outcome: Outcome) -> bool:
        """Whether a mask changes anything."""
        if outcome.raised:
            return False
        bare = self.run(Probe(probe.kind, probe.inputs))
        return not choice.twins.same(outcome, bare)

    def _right_form(self, choice: Choice, tried: list[tuple[Route, Seen]]) -> bool:
        best = 0
        rows = rows_probe(choice.words, choice.sizes) if len(set(choice.reading.widths)) == 1 else None
        for route, seen in tried:
            if rows and route.form.axes in _WITH_ROWS and choice.twins.fit(seen, choice.base):
                seen = [*seen, (rows, self.run(rows, route))]
            for base in _both(choice.base):
                fit = choice.twins.fit(seen, base)
                if fit > best:
                    best = fit
                    choice.padding, choice.padded, choice.masked_base = route, seen, base
            if best == 2:
                break
        return best > 0

    def _square_only(
        self,
        choice: Choice,
        refused: bool,
        probes: list[Probe] | None = None,
        tried: list[tuple[Route, Seen]] | None = None,
    ) -> bool:
        """See whether the layer takes one mask (L, L) for all sentences, and nothing else."""
        choice.fitting, choice.half = choice.half or choice.fitting, []
        first = {id(probes[0])} if probes else set()
        if any(not o.raised for _, seen in tried or () for p, o in seen if id(p) in first):
            return False
        widths_alike = len(set(choice.reading.widths)) == 1
        for name, kind in self.caller.options.items() if choice.right and widths_alike else ():
            probe = square_probe(choice.words, choice.sizes.Lk, choice.sizes.B)
            for form in square_forms(kind):
                outcome = self.run(probe, Route(name, form))
                if choice.twins.same(outcome, choice.twins.outcome(probe, RIGHT)):
                    choice.notes.append(_form_note(Route(name, form)))
                    choice.notes.append(Note(Remark.MASK_UNTESTED))
                    return True
        choice.notes.append(Note(Remark.MASK_REFUSED if refused else Remark.MASK_UNTESTED))
        return refused

    def _faulty_form(self, choice: Choice, tried: list[tuple[Route, Seen]], effect: bool) -> None:
        """Find a known mistake that explains all outcomes, with and without lengths."""
        among = (
            [bug for bug, _ in choice.twins.search(choice.plain, choice.base)]
            if choice.right
            else choice.half
        )
        best = 0
        for (route, seen), base in ((way, base) for way in tried for base in _both(choice.base)):
            fits = choice.twins.search(seen, base, among)
            fits = [(bug, fit) for bug, fit in fits if not (effect and bug.name == "lengths_ignored")]
            level = max((fit for _, fit in fits), default=0)
            if level > best:
                best = level
                choice.fitting = [bug for bug, fit in fits if fit == level]
                choice.padding, choice.padded, choice.masked_base = route, seen, base
        if best:
            choice.half = []
        else:
            choice.padding, choice.padded = min(tried, key=lambda pair: self._wrong(choice, pair[1]))
        choice.right = False

    def _wrong(self, choice: Choice, seen: Seen) -> float:
        """Return the share of numbers that are wrong, errors last."""
        total = 0.0
        for probe, outcome in seen:
            expected = choice.twins.outcome(probe, choice.masked_base).result
            if outcome.result is None or expected is None or outcome.result.shape != expected.shape:
                total += 2.0
            else:
                total += float(choice.twins.wrong(outcome.result, expected).double().mean())
        return total

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
            notes.append(_form_note(choice.padding))
            if choice.padding.form.code.shuts_out and not self._is_torch:
                notes.append(Note(Remark.OTHER_POLARITY))
        if reading.maps[3] is None:
            notes.append(Note(Remark.NO_OUTPUT_MAP))
        for probe, outcome, base in choice.seen if choice.right else ():
            if outcome.raised and not choice.twins.outcome(probe, base).raised:
                about = (("probe", probe), ("error", outcome.error))
                notes.append(Note(Remark.RAISES, about))


def _both(base: Faults) -> tuple[Faults, ...]:
    """Return what a layer is by itself without a mask, then the other: with one it may be another thing."""
    return (base, *(other for other in BASES if other is not base)) if base else (base,)


def _form_note(route: Route) -> Note:
    usual = route.form.code is Code.MAY and route.form.axes in (Axes.ROWS, Axes.KEYS)
    about = (
        ("parameter", route.parameter),
        ("axes", route.form.axes),
        ("code", route.form.code),
        ("usual", usual),
    )
    return Note(Remark.FORM, about)


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


def kind_of_square(choice: Choice, options: dict[str, Takes]) -> str | None:
    """Return the parameter that may take a mask (L, L), or None."""
    if choice.padding and choice.padding.form.axes in (Axes.ROWS, Axes.ROWS_OF_HEADS):
        return choice.padding.parameter
    return next((name for name, kind in options.items() if kind is Takes.MASK), None)
