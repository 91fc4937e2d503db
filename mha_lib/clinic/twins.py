"""What the right layer, and each faulty one, gives for a probe with the learner's own projections."""

from collections.abc import Iterable

import torch
from torch import Tensor

from .bugs import Bug, bugs
from .calling import Outcome
from .faulty import Faults, FaultyAttention
from .probes import Probe
from .reading import Reading

RIGHT: Faults = {}
CAUSAL: Faults = {"causal": 0}  # a layer may be causal by itself
BASES = (RIGHT, CAUSAL)


def tolerance(dtype: torch.dtype) -> float:
    """Return how far results may differ by rounding alone, relative to their size."""
    return 1e-8 if dtype == torch.float64 else 200 * torch.finfo(dtype).eps


_OF_MASKS = ("mask", "fill", "empty", "nan")


def _acts(switch: str, setting: object, probe: Probe, causal: bool) -> bool:
    """Whether a switch can change an output in eval mode: those of masks do where there is one."""
    if switch in _OF_MASKS:
        return setting != "not_in_training" and (probe.mask is not None or causal)
    return switch not in ("detach", "inputs") and (switch != "dropout" or setting == "always")


class Twins:
    """The right layer and its faulty twins; what they give is kept, since many calls are held against it."""

    def __init__(self, reading: Reading, dropout: float, dtype: torch.dtype):
        self.reading, self.dropout = reading, dropout
        self.tolerance = tolerance(dtype)
        self._known: dict[tuple[int, str], Outcome] = {}
        self._probes: list[Probe] = []  # kept, so that their ids stay theirs

    def make(self, base: Faults, faults: Faults = RIGHT) -> FaultyAttention:
        """Return the right layer with these faults, causal if `base` says so."""
        reading = self.reading
        switches = {**base, **faults}
        return FaultyAttention(
            reading.projections, reading.num_heads, self.dropout, switches, reading.num_groups
        ).eval()

    def outcome(self, probe: Probe, base: Faults, faults: Faults = RIGHT) -> Outcome:
        """Return what the twin gives."""
        faults = {
            switch: setting
            for switch, setting in faults.items()
            if _acts(switch, setting, probe, bool(base) or "causal" in faults)
        }
        key = (id(probe), repr(sorted({**base, **faults}.items())))
        if key not in self._known:
            self._probes.append(probe)
            twin = self.make(base, faults)
            try:
                output = twin(*probe.inputs, probe.lengths, attn_mask=probe.attn_mask)
                self._known[key] = Outcome(output)
            except Exception as error:  # some mistakes raise for most sizes
                self._known[key] = Outcome(None, error)
        return self._known[key]

    def wrong(self, got: Tensor, expected: Tensor) -> Tensor:
        """Say which numbers differ by more than rounding does; NaN is like NaN."""
        limit = self.tolerance * (1 + float(expected.nan_to_num().abs().max()) if expected.numel() else 1)
        return ~torch.isclose(got.to(expected.dtype), expected, rtol=0, atol=limit, equal_nan=True)

    def same(self, got: Outcome, expected: Outcome) -> bool:
        """Whether two outcomes are the same tensor, or both None."""
        if got.raised or expected.raised:
            return False
        if got.result is None or expected.result is None:
            return got.result is expected.result
        fitting = got.result.shape == expected.result.shape and got.result.is_floating_point()
        return fitting and not self.wrong(got.result, expected.result).any()

    def fit(self, seen: Iterable[tuple[Probe, Outcome]], base: Faults, faults: Faults = RIGHT) -> int:
        """Say how faults explain outcomes: 0 not, 1 but for errors, 2 altogether."""
        told, errors_too = False, True
        for probe, got in seen:
            expected = self.outcome(probe, base, faults)
            if not got.raised and not self.same(got, expected):
                return 0
            told, errors_too = told or not got.raised, errors_too and got.raised == expected.raised
        return told + (told and errors_too)

    def search(
        self, seen: list[tuple[Probe, Outcome]], base: Faults, among: Iterable[Bug] | None = None
    ) -> list[tuple[Bug, int]]:
        """Return the bugs that explain the outcomes, each in any of its settings, with how well they do."""
        fits = []
        for bug in bugs.values() if among is None else among:
            level = max(self.fit(seen, base, faults) for faults in bug.settings)
            if level:
                fits.append((bug, level))
        return fits
