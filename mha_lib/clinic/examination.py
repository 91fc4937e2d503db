"""Run a learner's layer on telling inputs and name the mistake, if there is one."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import type_error, value_error
from ..masks import causal_mask
from ..scoring import AdditiveAttention
from ..text import read
from .bugs import Bug, FaultyAttention, bugs
from .foreign import Caller, find_dropout, find_heads, find_maps

TEXT = read("diagnose")
NOTES = TEXT["notes"]
RIGHT: dict = {}  # no faults
BASES: tuple[dict, ...] = ({}, {"causal": 0})  # a layer may be causal by itself


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
        return TEXT["probes"][self.kind].format(lengths=lengths, **sizes)


class _Examination:
    """One layer, its maps, the inputs, and what is seen and said."""

    def __init__(self, layer, source, num_heads, call, seed: int):
        self.layer = layer
        self.num_heads = find_heads(layer, source) if num_heads is None else num_heads
        self.maps = find_maps(source, self.num_heads)
        if isinstance(layer, nn.Module) and source is not layer:  # as the layer's own copy
            self.maps = copy.deepcopy(self.maps)
            for linear in filter(None, self.maps):
                linear.double()
        self.dtype = self.maps[0].weight.dtype
        self.tolerance = 1e-8 if self.dtype == torch.float64 else 1e-4
        self.call, self.dropout = Caller(layer, call), find_dropout(layer)
        self.base = RIGHT
        remarks = {
            self.call.note: bool(self.call.note),
            NOTES["self"]: self.call.takes_one,
            NOTES["no_mask"]: not self.call.lengths,
            NOTES["no_output_map"]: self.maps[3] is None,
            NOTES["other_dtype"].format(dtype=self.dtype): self.dtype != torch.float64,
        }
        self.notes = [note for note, holds in remarks.items() if holds]
        self.probes = self._probes(torch.Generator().manual_seed(seed))

    def _probes(self, generator: torch.Generator) -> list[_Probe]:
        h, widths = self.num_heads, [linear.in_features for linear in self.maps[:3]]
        d, B = self.maps[0].out_features // h, 2 if h == 3 else 3
        Lq, Lk = [n for n in (4, 5, 6, 7) if n not in (h, d)][:2]
        scale, masks = self._telling_scale(), self.call.lengths

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

    def _telling_scale(self) -> float:
        """Size the inputs so that scores are neither all alike nor saturated."""
        W_q, W_k = (linear.weight for linear in self.maps[:2])
        spread = (W_q.mT @ W_k).norm().item() / len(W_q) ** 0.5
        if not spread > 0:
            raise value_error("weights", "maps that are not all zero", "scores that are all alike")
        return min(max((1.2 / spread) ** 0.5, 0.05), 20.0)

    # What the layer and its twins give.

    def got(self, probe: _Probe) -> Tensor | Exception | None:
        return _outcome(lambda: self.call(*probe.inputs, probe.valid_lens, probe.attn_mask))

    def twin(self, faults: Mapping) -> FaultyAttention:
        """Return the right layer with these faults, and causal if the learner's is by itself."""
        return FaultyAttention(self.maps, self.num_heads, self.dropout, {**self.base, **faults}).eval()

    def expected(self, probe: _Probe, faults: Mapping = RIGHT) -> Tensor | Exception | None:
        twin = self.twin(faults)
        return _outcome(lambda: twin(*probe.inputs, probe.valid_lens, attn_mask=probe.attn_mask))

    def wrong(self, got: Tensor, expected: Tensor) -> Tensor:
        """Say which numbers differ by more than rounding does; NaN is like NaN."""
        limit = self.tolerance * (1 + float(expected.nan_to_num().abs().amax()))
        return ~torch.isclose(got.to(expected.dtype), expected, rtol=0, atol=limit, equal_nan=True)

    def same(self, got, expected) -> bool:
        if not isinstance(got, Tensor) or not isinstance(expected, Tensor):
            return got is None and expected is None
        return got.shape == expected.shape and not self.wrong(got, expected).any()

    def fit(self, probes: list[_Probe], outcomes: list, faults: Mapping) -> int:
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
        for self.base in BASES:
            fits = {
                name: max(self.fit(probes, outcomes, faults) for faults in (bug.faults, *bug.also))
                for name, bug in bugs.items()
            }
            if best := max(fits.values()):
                return [bugs[name] for name, fit in fits.items() if fit == best]
        self.base = {}
        return []

    # What is said.

    def run(self) -> Diagnosis:
        outcomes = [self.got(probe) for probe in self.probes]
        again = self.got(self.probes[0])
        if isinstance(again, Tensor) and not self.same(again, outcomes[0]):
            return self._named([bugs["dropout_in_eval"]], None, TEXT["random"])
        for self.base in BASES:
            if self.fit(self.probes, outcomes, RIGHT) == 2:
                self.notes += [NOTES["causal"]] if self.base else []
                checks = (self._empty, self._square_mask, self._gradient, self._training)
                return next(filter(None, (check() for check in checks)), None) or self._right()
        if fitting := self.search(self.probes, outcomes):
            return self._named(fitting, *self._difference(self.probes, outcomes))
        difference, words = self._difference(self.probes, outcomes)
        said, first = [TEXT["unknown"], words], self.probes[0]
        if first.kind == "self" and not self.same(outcomes[0], self.expected(first)):
            half = " or ".join(bug.name for bug in self.search([first], outcomes[:1]))
            said += [TEXT["half"].format(name=half)] if half else []
        return Diagnosis("unknown", "\n".join([*said, *self.notes]), (), difference)

    def _right(self) -> Diagnosis:
        said = [TEXT["right"].format(probes=len(self.probes)), *self.notes]
        right = [self.expected(probe) for probe in self.probes]
        untested = tuple(bug.name for bug in bugs.values() if self._cannot_show(bug, right))
        said += [TEXT["untested"].format(names=", ".join(untested))] if untested else []
        return Diagnosis("right", "\n".join(said), untested=untested)

    def _cannot_show(self, bug: Bug, right: list) -> bool:
        no_dropout = not self.dropout or NOTES["dropout"] in self.notes
        looked_at_apart = {
            "dropout_in_eval": False,
            "dropout_on_scores": no_dropout,
            "dropout_on_output": no_dropout,
            "fill_minus_1e9": not self.call.lengths,
            "values_detached": NOTES["no_gradient"] in self.notes,
        }
        if bug.name in looked_at_apart:
            return looked_at_apart[bug.name]
        faulty = [self.expected(probe, bug.faults) for probe in self.probes]
        return all(isinstance(a, Exception) or self.same(a, b) for a, b in zip(faulty, right, strict=True))

    def _named(self, found: list[Bug], difference: Difference | None, words: str) -> Diagnosis:
        names = tuple(bug.name for bug in found)
        two = [TEXT["two"].format(names=", ".join(names))] if len(found) > 1 else []
        said = [TEXT["found"].format(**vars(found[0])), *two, words, *self.notes]
        return Diagnosis(names[0], "\n".join(line for line in said if line), names, difference)

    def _difference(self, probes: list[_Probe], outcomes: list) -> tuple[Difference | None, str]:
        for probe, got in zip(probes, outcomes, strict=True):
            expected: Any = self.expected(probe)  # a tensor, since the right layer raises nothing
            if self.same(got, expected):
                continue
            if isinstance(got, Exception):
                return None, TEXT["raised"].format(probe=probe, error=f"{type(got).__name__}: {got}")
            if got is None:
                return None, TEXT["none"].format(probe=probe)
            if got.shape != expected.shape:
                sizes = {"got": tuple(got.shape), "expected": tuple(expected.shape)}
                return None, TEXT["shape"].format(probe=probe, **sizes)
            wrong = self.wrong(got, expected)
            index = tuple(wrong.nonzero()[0].tolist())
            values = {"expected": float(expected[index]), "got": float(got[index])}
            count = {"wrong": int(wrong.sum()), "count": wrong.numel()}
            words = TEXT["differs"].format(probe=probe, index=", ".join(map(str, index)), **values, **count)
            return Difference(str(probe), index, **values), words
        return None, ""

    # What can be wrong although every number is right.

    def _empty(self) -> Diagnosis | None:
        """Look at a sentence of length 0."""
        with_lengths = next((probe for probe in self.probes if probe.valid_lens is not None), None)
        if with_lengths is None or with_lengths.valid_lens is None:
            return None
        lengths = with_lengths.valid_lens.clone()
        lengths[0] = 0
        probe, bug = _Probe("empty", with_lengths.inputs, lengths), bugs["fill_minus_1e9"]
        got = self.got(probe)
        if isinstance(got, Tensor) and not self.same(got, self.expected(probe)):
            if self.same(got, self.expected(probe, bug.faults)):
                self.notes.append(TEXT["all_else"])
                return self._named([bug], *self._difference([probe], [got]))
            self.notes.append(NOTES["empty"] if got.isfinite().all() else NOTES["nan"])
        return None

    def _square_mask(self) -> None:
        """Look at a mask (L, L) where L equals h; a layer may refuse it, or read it as it should.

        A layer that adds a head axis to (B, L, L) is right for what it takes: a note will do.
        """
        if self.call.mask and len({linear.in_features for linear in self.maps[:3]}) == 1:
            got = self.got(self.square)
            if isinstance(got, Tensor) and not self.same(got, self.expected(self.square)):
                self.notes.append(NOTES["square"])

    @torch.enable_grad()
    def _gradient(self) -> Diagnosis | None:
        """Compare the inputs' gradients."""

        def gradients(function) -> list[Tensor]:
            probe = next(probe for probe in self.probes if probe.kind in ("cross", "self"))
            leaves = {id(X): X.clone().requires_grad_() for X in probe.inputs}
            output = function(*(leaves[id(X)] for X in probe.inputs), probe.valid_lens)
            if not output.requires_grad:
                return []
            tilt = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
            found = torch.autograd.grad((output * tilt).sum(), [*leaves.values()], materialize_grads=True)
            return [*found] if any(gradient.any() for gradient in found) else []

        got = gradients(self.call)
        if not got:
            self.notes.append(NOTES["no_gradient"])
            return None
        for bug in (None, bugs["values_detached"]):
            expected = gradients(self.twin(bug.faults if bug else RIGHT))
            if len(expected) == len(got) and all(map(self.same, got, expected)):
                return self._named([bug], None, TEXT["gradient"]) if bug else None
        return Diagnosis("unknown", f"{TEXT['unknown']} {TEXT['gradient']}")

    def _training(self) -> Diagnosis | None:
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
        for bug in (None, bugs["dropout_on_scores"], bugs["dropout_on_output"]):
            twin = self.twin(bug.faults if bug else RIGHT)
            if all(map(self.same, got, in_training(twin, twin))):
                return self._named([bug], None, TEXT["in_training"]) if bug else None
        self.notes.append(NOTES["dropout"])
        return None


def _outcome(run: Callable) -> Tensor | Exception | None:
    """Return what a call gives: a tensor, None, or the error it raises."""
    try:
        output = run()
    except Exception as error:  # whatever a learner's code raises is a finding
        return error
    fine = output is None or isinstance(output, Tensor)
    return output if fine else TypeError(f"the output is a {type(output).__name__}, not a tensor")
