"""Checks for the bug clinic: name the patients, mend a listing, write a test that kills mutants."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from ..clinic.bugs import FaultyAttention, bugs
from ..convert import maps_of
from ..multihead import MultiHeadAttention
from ..text import read
from . import random_layer
from .documents import examine

_TEXT = read("bug_clinic")
_WARD = _TEXT["ward"]
# What a test of outputs in eval mode cannot see, however good its inputs are.
UNSEEN = frozenset({"dropout_on_scores", "dropout_on_output", "values_detached"})


def ward() -> dict[str, FaultyAttention]:
    """Return four layers (2 heads, D = 10), each with one mistake of `mha.bugs`, or with none."""
    return {
        letter: _disguised(random_layer()) if name == "right" else bugs[name].make(random_layer())
        for letter, name in _WARD.items()
    }


@dataclass(frozen=True)
class Kills:
    """What a test of layers does: which bugs it catches and misses, which right layers it refuses."""

    caught: tuple[str, ...]
    missed: tuple[str, ...]
    refused: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [f"catches {len(self.caught)} of {len(self.caught) + len(self.missed)} bugs"]
        lines += [f"lets live: {', '.join(self.missed)}"] if self.missed else []
        lines += [f"refuses right layers: {', '.join(self.refused)}"] if self.refused else []
        return "\n".join(lines)


def kills(test: Callable) -> Kills:
    """Run a test on right layers and on every bug.

    Args:
        test: test(layer, right) → True where `layer` is right, False (or an error) where not.
            Both are called like mha.MultiHeadAttention; `right` is right and has the same
            weights.
    """
    layer = random_layer()
    right = {
        "two heads": layer,
        "three heads": random_layer(12, 3),
        "with biases": random_layer(8, bias=True),
    }
    refused = [name for name, one in right.items() if not _accepts(test, _disguised(one), one)]
    fate = {name: _accepts(test, bug.make(layer), layer) for name, bug in bugs.items()}
    caught, missed = ([name for name in fate if fate[name] == accepted] for accepted in (False, True))
    return Kills(tuple(caught), tuple(missed), tuple(refused))


def _disguised(layer: MultiHeadAttention) -> FaultyAttention:
    """Return a layer that is right, of the class that the bugs have."""
    return FaultyAttention(maps_of(layer), layer.num_heads, 0.0, {}).eval()


def _accepts(test: Callable, layer: nn.Module, right: nn.Module) -> bool:
    with torch.random.fork_rng(devices=[]):
        try:
            return test(layer, right) in (None, True)  # a test of asserts returns nothing
        except Exception:  # a failed assertion is how a test says no
            return False


def check_names(attempt):
    """{"A": …, "B": …, "C": …, "D": …}: the name of a bug, or "right"."""
    if not isinstance(attempt, dict) or set(attempt) != set(_WARD):
        yield 'A dictionary is asked for, with a name (or "right") for each of A, B, C and D.'
    for letter, name in attempt.items():
        if name in (None, ...):
            yield f"Patient {letter} has no name yet."
        if name not in bugs and name != "right":
            yield f"Patient {letter}: {name!r} is no name in mha.bugs. list(mha.bugs) has them all."
        if name == _WARD[letter]:
            continue
        if name == "right":
            yield f"Patient {letter} is not well. Ask all six questions, and who can see whom."
        if _WARD[letter] == "right":
            yield f"Patient {letter} has nothing of the kind: {bugs[name].symptom}"
        yield f"Patient {letter} is ill, but not with {name}. With that you would see: {bugs[name].symptom}"


def check_mend(attempt):
    """A function (layer, X, lengths) → output (B, L, D), with the listing's three mistakes mended."""
    layer = random_layer(12, 3, seed=2).double()
    found, hint = examine(layer, lambda x, n: attempt(layer, x, n), ("right", "fill_minus_1e9"))
    if found.name == "unknown":
        said = found.message.splitlines()
        yield f"More than one is left. {next((line for line in said if 'behaves like' in line), said[1])}"
    yield f"One is left. {hint}" if found.difference else hint


def check_test(attempt):
    """A test(layer, right) that accepts right layers and catches what outputs in eval mode show."""
    found = kills(attempt)
    if found.refused:
        yield f"Your test refuses a right layer ({', '.join(found.refused)}). Rounding? Compare with a tolerance."
    if alive := [name for name in found.missed if name not in UNSEEN]:
        mends = _TEXT["mend"]
        hint = next((mends[name] for name in mends if name in alive), mends["no_scale"])
        yield f"It catches {len(found.caught)} of {len(bugs)}. Still alive: {', '.join(alive[:4])}. {hint}"
