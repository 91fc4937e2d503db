"""Run a learner's layer on telling inputs and name the mistake, if there is one."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .bugs import Bug, FaultyAttention, bugs
from .errors import type_error, value_error
from .learner import Caller, find_dropout, find_heads, find_maps
from .masks import causal_mask
from .scoring import AdditiveAttention
from .text import diagnose as text


@dataclass(frozen=True)
class Difference:
    """The first number that differs: on which input, where, what was expected, what came."""

    probe: str
    index: tuple[int, ...]
    expected: float
    got: float


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found.

    Attributes:
        name: "right", a bug's name, or "unknown".
        message: the finding in words: what it means, where to look, what was not tested.
        candidates: the names of all bugs that fit; more than one if the sizes do not tell.
        difference: the first number that differs from the right layer's, if one does.
        untested: names of bugs that this layer's sizes and weights cannot show.
    """

    name: str
    message: str
    candidates: tuple[str, ...] = ()
    difference: Difference | None = None
    untested: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.message


def diagnose(
    layer: nn.Module | Callable,
    *,
    weights: object = None,
    num_heads: int | None = None,
    call: Callable | None = None,
    seed: int = 0,
) -> Diagnosis:
    """Say whether a layer is multi-head attention, or which mistake it makes.

    Its output is compared with that of the right layer and of every bug in `mha_lib.bugs`,
    all with the layer's own weights. A module is copied, taken to float64 and eval mode;
    nothing of yours is changed.

    Args:
        layer: a module, or a function of (queries, keys, values), of these and lengths, or of
            one input x and a mask or lengths. A mask is boolean, True = may attend.
        weights: where the maps are, if not under a name of the documents' or of
            nn.MultiheadAttention's: a module that has them, or four nn.Linear or (out, in)
            tensors in the order q, k, v, o (o may be None). Needed for a function.
        num_heads: h, if the layer does not have it under a usual name.
        call: how to call it, if it is unusual: call(layer, queries, keys, values, valid_lens).
        seed: for the random inputs.

    Raises:
        TypeError, ValueError: where the maps or the number of heads cannot be found.

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
    if isinstance(layer, nn.Module) and any(isinstance(m, AdditiveAttention) for m in layer.modules()):
        raise value_error("layer", "scaled dot-product scoring", "additive scoring")
    if isinstance(layer, nn.Module):
        layer = copy.deepcopy(layer).double().eval()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        return _Examination(layer, layer if weights is None else weights, num_heads, call, seed).run()


@dataclass(frozen=True)
class _Probe:
    """An input that tells mistakes apart."""

    kind: str
    inputs: tuple[Tensor, Tensor, Tensor]
    valid_lens: Tensor | None = None
    attn_mask: Tensor | None = None

    def __str__(self) -> str:
        lengths = None if self.valid_lens is None else self.valid_lens.tolist()
        sizes = {"Lq": self.inputs[0].shape[1], "Lk": self.inputs[1].shape[1]}
        return text.PROBES[self.kind].format(lengths=lengths, **sizes)


class _Examination:
    """One layer, its maps, the inputs, and what is seen and said."""

    def __init__(self, layer, source, num_heads, call, seed: int):
        self.layer = layer
        self.notes: list[str] = []
        self.num_heads = find_heads(layer, source) if num_heads is None else num_heads
        self.maps = find_maps(source, self.num_heads)
        if isinstance(layer, nn.Module) and source is not layer:  # as the layer's own copy
            self.maps = copy.deepcopy(self.maps)
            nn.ModuleList(self.maps).double()
        self.dtype = self.maps[0].weight.dtype
        self.tolerance = 1e-8 if self.dtype == torch.float64 else 1e-4
        self.call, self.dropout = Caller(layer, call), find_dropout(layer)
        self.probes = self._probes(torch.Generator().manual_seed(seed))

    def _probes(self, generator: torch.Generator) -> list[_Probe]:
        h, widths = self.num_heads, [linear.in_features for linear in self.maps[:3]]
        d, B = self.maps[0].out_features // h, 2 if h == 3 else 3
        Lq, Lk = [n for n in (4, 5, 6, 7) if n not in (h, d)][:2]
        scale, masks = self._telling_scale(widths), self.call.lengths

        def words(B, L, width):
            X = torch.randn(B, L, width, generator=generator, dtype=torch.float64)
            return (scale * X).to(self.dtype)

        def lengths(B):  # never 0 and never all keys: what a flipped mask then does varies
            return torch.arange(B) % (Lk - 2) + 1 if masks else None

        probes = []
        if len(set(widths)) == 1:
            probes.append(_Probe("self", (words(B, Lk, widths[0]),) * 3))
            if masks:
                probes.append(_Probe("lengths", (words(B, Lk, widths[0]),) * 3, lengths(B)))
            if masks and h > 1:
                probes.append(_Probe("coincidence", (words(h, Lk, widths[0]),) * 3, lengths(h)))
        if not self.call.takes_one:
            given = (words(B, Lq, widths[0]), words(B, Lk, widths[1]), words(B, Lk, widths[2]))
            probes.append(_Probe("cross", given, lengths(B)))
        L = max(h, 2)
        self.square = _Probe("mask", (words(B, L, widths[0]),) * 3, None, causal_mask(L, L))
        return probes

    def _telling_scale(self, widths: list[int]) -> float:
        """Size the inputs so that scores are neither all alike nor saturated."""
        generator = torch.Generator().manual_seed(1)
        q, k = (
            linear(torch.randn(1, 64, n, generator=generator).to(self.dtype))
            for linear, n in zip(self.maps, widths[:2], strict=False)
        )
        spread = (q @ k.mT).std().item() / q.shape[-1] ** 0.5
        if not spread > 0:
            raise value_error("weights", "maps that are not all zero", "scores that are all alike")
        return min(max((1.2 / spread) ** 0.5, 0.05), 20.0)

    # What the layer and its twins give.

    def got(self, probe: _Probe) -> Tensor | Exception | None:
        return _outcome(lambda: self.call(*probe.inputs, probe.valid_lens, probe.attn_mask))

    def twin(self, faults) -> FaultyAttention:
        return FaultyAttention(self.maps, self.num_heads, self.dropout, faults).eval()

    def expected(self, probe: _Probe, faults) -> Tensor | Exception | None:
        twin = self.twin(faults)
        return _outcome(lambda: twin(*probe.inputs, probe.valid_lens, attn_mask=probe.attn_mask))

    def same(self, got, expected) -> bool:
        if not isinstance(got, Tensor) or not isinstance(expected, Tensor):
            return got is None and expected is None
        limit = self._limit(expected)
        if got.shape != expected.shape:
            return False
        return torch.allclose(got.to(expected.dtype), expected, rtol=0, atol=limit, equal_nan=True)

    def _limit(self, expected: Tensor) -> float:
        return self.tolerance * (1 + float(expected.nan_to_num().abs().amax()))

    def fit(self, probes: list[_Probe], outcomes: list, faults) -> int:
        """Say how faults explain outcomes: 0 not, 1 but for errors, 2 altogether."""
        told, errors_too = False, True
        for probe, got in zip(probes, outcomes, strict=True):
            expected, failed = self.expected(probe, faults), isinstance(got, Exception)
            if not failed and not self.same(got, expected):
                return 0
            told, errors_too = told or not failed, errors_too and failed == isinstance(expected, Exception)
        return told + (told and errors_too)

    def search(self, probes: list[_Probe], outcomes: list) -> list[Bug]:
        """Return the bugs that explain the outcomes best, each in any of its settings."""
        for base in ({}, {"causal": 0}):
            fits = [
                max(self.fit(probes, outcomes, {**base, **faults}) for faults in (bug.faults, *bug.also))
                for bug in bugs.values()
            ]
            if max(fits):
                return [bug for bug, fit in zip(bugs.values(), fits, strict=True) if fit == max(fits)]
        return []

    # What is said.

    def run(self) -> Diagnosis:
        outcomes = [self.got(probe) for probe in self.probes]
        again = self.got(self.probes[0])
        if isinstance(again, Tensor) and not self.same(again, outcomes[0]):
            return self._named([bugs["dropout_in_eval"]], None, text.RANDOM)
        for base in ({}, {"causal": 0}):
            if self.fit(self.probes, outcomes, base) == 2:
                self.notes += [text.NOTE_CAUSAL] if base else []
                checks = (self._empty, self._square_mask, self._gradient, self._training)
                found = next(filter(None, (check(base) for check in checks)), None)
                return found or self._right(base)
        difference, words = self._difference(self.probes, outcomes)
        fitting = self.search(self.probes, outcomes)
        if fitting:
            return self._named(fitting, difference, words)
        half = self.search(self.probes[:1], outcomes[:1]) if self.probes[0].kind == "self" else []
        half = [] if self.fit(self.probes[:1], outcomes[:1], {}) else half
        said = [text.UNKNOWN, words]
        said += [text.HALF.format(name=" or ".join(bug.name for bug in half))] if half else []
        return Diagnosis("unknown", "\n".join([*said, *self._remarks()]), (), difference)

    def _right(self, base: dict) -> Diagnosis:
        said = [text.RIGHT.format(probes=len(self.probes)), *self._remarks()]
        right = [self.expected(probe, base) for probe in self.probes]
        untested = tuple(bug.name for bug in bugs.values() if self._cannot_show(bug, base, right))
        said += [text.UNTESTED.format(names=", ".join(untested))] if untested else []
        return Diagnosis("right", "\n".join(said), untested=untested)

    def _cannot_show(self, bug: Bug, base: dict, right: list) -> bool:
        special = {
            "dropout_in_eval": False,
            "dropout_on_scores": not self.dropout or text.NOTE_DROPOUT in self.notes,
            "dropout_on_output": not self.dropout or text.NOTE_DROPOUT in self.notes,
            "fill_minus_1e9": not self.call.lengths,
            "values_detached": text.NOTE_NO_GRADIENT in self.notes,
        }
        if bug.name in special:
            return special[bug.name]
        for probe, expected in zip(self.probes, right, strict=True):
            faulty = self.expected(probe, {**base, **bug.faults})
            if not isinstance(faulty, Exception) and not self.same(faulty, expected):
                return False
        return True

    def _remarks(self) -> list[str]:
        remarks = {
            self.call.note: bool(self.call.note),
            text.NOTE_SELF: self.call.takes_one,
            text.NOTE_NO_MASK: not self.call.lengths,
            text.NOTE_NO_OUTPUT_MAP: self.maps[3] is None,
            text.NOTE_FLOAT32.format(dtype=self.dtype): self.dtype != torch.float64,
        }
        return self.notes + [remark for remark, holds in remarks.items() if holds]

    def _named(self, found: list[Bug], difference: Difference | None, words: str) -> Diagnosis:
        bug, names = found[0], tuple(bug.name for bug in found)
        parts = {key: getattr(bug, key) for key in ("name", "sentence", "look", "symptom", "source")}
        two = [text.TWO.format(names=", ".join(names))] if len(found) > 1 else []
        said = [text.FOUND.format(**parts), *two, words, *self.notes]
        return Diagnosis(bug.name, "\n".join(line for line in said if line), names, difference)

    def _difference(self, probes: list[_Probe], outcomes: list) -> tuple[Difference | None, str]:
        for probe, got in zip(probes, outcomes, strict=True):
            expected = self.expected(probe, {})
            if isinstance(got, Exception):
                return None, text.RAISED.format(probe=probe, error=f"{type(got).__name__}: {got}")
            if got is None:
                return None, text.NONE.format(probe=probe)
            assert isinstance(expected, Tensor)  # the right layer's
            if got.shape != expected.shape:
                sizes = {"got": tuple(got.shape), "expected": tuple(expected.shape)}
                return None, text.SHAPE.format(probe=probe, **sizes)
            if not self.same(got, expected):
                wrong = ~((got - expected).abs() <= self._limit(expected))
                index = tuple(wrong.nonzero()[0].tolist())
                values = {"expected": float(expected[index]), "got": float(got[index])}
                count = {"wrong": int(wrong.sum()), "count": wrong.numel()}
                where = ", ".join(map(str, index))
                words = text.DIFFERS.format(probe=probe, index=where, **values, **count)
                return Difference(str(probe), index, **values), words
        return None, ""

    # What can be wrong although every number is right.

    def _empty(self, base: dict) -> Diagnosis | None:
        """Look at a sentence of length 0."""
        of_lengths = [(p.inputs, p.valid_lens) for p in self.probes if p.valid_lens is not None]
        if not of_lengths:
            return None
        inputs, lengths = of_lengths[0]
        probe = _Probe("empty", inputs, lengths.index_fill(0, torch.tensor([0]), 0))
        got, bug = self.got(probe), bugs["fill_minus_1e9"]
        if isinstance(got, Tensor) and not self.same(got, self.expected(probe, base)):
            if self.same(got, self.expected(probe, {**base, **bug.faults})):
                self.notes.append(text.ALL_ELSE)
                return self._named([bug], *self._difference([probe], [got]))
            self.notes.append(text.NOTE_EMPTY if got.isfinite().all() else text.NOTE_NAN)
        return None

    def _square_mask(self, base: dict) -> Diagnosis | None:
        """Look at a mask (L, L) where L equals h; a layer may refuse it, or read it as it should.

        A layer that adds a head axis to (B, L, L) is right for what it takes: a note will do.
        """
        if not self.call.mask or len({linear.in_features for linear in self.maps[:3]}) > 1:
            return None
        got = self.got(self.square)
        if isinstance(got, Tensor) and not self.same(got, self.expected(self.square, base)):
            self.notes.append(text.NOTE_SQUARE)
        return None

    @torch.enable_grad()
    def _gradient(self, base: dict) -> Diagnosis | None:
        """Compare the inputs' gradients."""

        def gradients(function) -> list[Tensor] | None:
            probe = next(probe for probe in self.probes if probe.kind in ("cross", "self"))
            leaves = {id(X): X.clone().requires_grad_() for X in probe.inputs}
            output = function(*(leaves[id(X)] for X in probe.inputs), probe.valid_lens)
            if not output.requires_grad:
                return None
            tilt = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
            found = torch.autograd.grad((output * tilt).sum(), [*leaves.values()], materialize_grads=True)
            return [*found] if any(gradient.any() for gradient in found) else None

        got, detached = gradients(self.call), bugs["values_detached"]
        if got is None:
            self.notes.append(text.NOTE_NO_GRADIENT)
            return None
        for faults in ({}, detached.faults):
            expected = gradients(self.twin({**base, **faults})) or []
            if all(self.same(a, b) for a, b in zip(got, expected, strict=True)):
                return self._named([detached], None, text.GRADIENT) if faults else None
        return Diagnosis("unknown", f"{text.UNKNOWN} {text.GRADIENT}")

    def _training(self, base: dict) -> Diagnosis | None:
        """See where dropout acts, by the numbers that the same seeds give."""
        if not self.dropout:
            return None
        given = (*self.probes[0].inputs, self.probes[0].valid_lens)

        def in_training(module: nn.Module, function: Callable) -> list:
            module.train()
            seen = []
            for seed in range(3):
                torch.manual_seed(seed)
                seen.append(_outcome(lambda: function(*given)))
            module.eval()
            return seen

        got = in_training(self.layer, self.call)
        for name in (None, "dropout_on_scores", "dropout_on_output"):
            twin = self.twin({**base, **(bugs[name].faults if name else {})})
            if all(self.same(a, b) for a, b in zip(got, in_training(twin, twin), strict=True)):
                return self._named([bugs[name]], None, text.IN_TRAINING) if name else None
        self.notes.append(text.NOTE_DROPOUT)
        return None


def _outcome(run: Callable) -> Tensor | Exception | None:
    """Return what a call gives: a tensor, None, or the error it raises."""
    try:
        output = run()
    except Exception as error:  # whatever a learner's code raises is a finding
        return error
    fine = output is None or isinstance(output, Tensor)
    return output if fine else TypeError(f"the output is a {type(output).__name__}, not a tensor")
