"""In which form a layer takes a mask; or, where it is right in none, which known mistake explains it."""

from .calling import Outcome
from .choice import Choice, Seen
from .faulty import Faults
from .findings import Note, Remark
from .forms import Axes, Code, Route, padding_forms, square_forms
from .names import Takes
from .probes import Probe, padding_probes, rows_probe, square_probe
from .running import Runner
from .twins import BASES, RIGHT

_WITH_ROWS = (Axes.ROWS, Axes.ROWS_OF_HEADS, Axes.EACH_HEAD, Axes.STACK)


class Masking:
    """Tries the forms of masks on a layer whose projections are settled."""

    def __init__(self, runner: Runner):
        self.runner = runner
        self.caller = runner.caller

    def settle(self, choice: Choice) -> None:
        """Find the form in which the layer takes lengths; or what is wrong with it, in some form."""
        cross = self.runner.cross(choice.words)
        probes = padding_probes(choice.words, choice.sizes, cross, choice.fixed)
        if not self.caller.options or not probes:
            choice.fitting = choice.half
            choice.half = []
            return
        tried: list[tuple[Route, Seen]] = []
        effect = False
        for name, kind in self.caller.options.items():
            routes = [Route(name, form) for form in padding_forms(kind)]
            of_this = [(route, self.runner.on_all(probes, route)) for route in routes]
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
        bare = self.runner.run(Probe(probe.kind, probe.inputs))
        return not choice.twins.same(outcome, bare)

    def _right_form(self, choice: Choice, tried: list[tuple[Route, Seen]]) -> bool:
        best = 0
        rows = rows_probe(choice.words, choice.sizes) if len(set(choice.reading.widths)) == 1 else None
        for route, seen in tried:
            if rows and route.form.axes in _WITH_ROWS and choice.twins.fit(seen, choice.base):
                seen = [*seen, (rows, self.runner.run(rows, route))]
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
        choice.fitting = choice.half or choice.fitting
        choice.half = []
        first = {id(probes[0])} if probes else set()
        if any(not o.raised for _, seen in tried or () for p, o in seen if id(p) in first):
            return False
        widths_alike = len(set(choice.reading.widths)) == 1
        for name, kind in self.caller.options.items() if choice.right and widths_alike else ():
            probe = square_probe(choice.words, choice.sizes.Lk, choice.sizes.B)
            for form in square_forms(kind):
                outcome = self.runner.run(probe, Route(name, form))
                if choice.twins.same(outcome, choice.twins.outcome(probe, RIGHT)):
                    choice.notes.append(form_note(Route(name, form)))
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


def _both(base: Faults) -> tuple[Faults, ...]:
    """Return what a layer is by itself without a mask, then the other: with one it may be another thing."""
    return (base, *(other for other in BASES if other is not base)) if base else (base,)


def form_note(route: Route) -> Note:
    """Return the remark that says in which form a layer took its mask."""
    usual = route.form.code is Code.MAY and route.form.axes in (Axes.ROWS, Axes.KEYS)
    about = (
        ("parameter", route.parameter),
        ("axes", route.form.axes),
        ("code", route.form.code),
        ("usual", usual),
    )
    return Note(Remark.FORM, about)


def kind_of_square(choice: Choice, options: dict[str, Takes]) -> str | None:
    """Return the parameter that may take a mask (L, L), or None."""
    if choice.padding and choice.padding.form.axes in (Axes.ROWS, Axes.ROWS_OF_HEADS):
        return choice.padding.parameter
    return next((name for name, kind in options.items() if kind is Takes.MASK), None)
