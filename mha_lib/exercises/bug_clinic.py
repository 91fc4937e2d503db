"""The bug clinic: name the patients, mend a listing, write a test that kills mutants."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from ..clinic.bugs import Shows, bugs
from ..clinic.faulty import FaultyAttention
from ..convert import projections_of
from ..multihead import MultiHeadAttention
from ..text import read
from .documents import examine, named
from .exercise import Rule, hint_of
from .inputs import random_layer
from .verdict import Hint

_WARD = read("bug_clinic")["ward"]
# The listing's fill is allowed: it differs from ours only in a sentence of length 0.
ALLOWED_FILL = "fill_minus_1e9"
# What a test of outputs in eval mode cannot see, however good its inputs are.
UNSEEN = frozenset(name for name, bug in bugs.items() if bug.shows is not Shows.OUTPUT)


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


def kills(test: Callable[..., Any]) -> Kills:
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
    return FaultyAttention(projections_of(layer), layer.num_heads, 0.0, {}).eval()


def _accepts(test: Callable[..., Any], layer: nn.Module, right: nn.Module) -> bool:
    with torch.random.fork_rng(devices=[]):
        try:
            return test(layer, right) in (None, True)  # a test of asserts returns nothing
        except Exception:  # a failed assertion is how a test says no
            return False


def _names(attempt: Any) -> Iterator[Hint | None]:
    """Judge {"A": …, "B": …, "C": …, "D": …}: the name of a bug, or "right"."""
    hint = partial(hint_of, "bug_clinic.names")
    if not isinstance(attempt, dict) or set(attempt) != set(_WARD):
        yield hint("form")
        return
    for letter, name in attempt.items():
        ill = _WARD[letter]
        if name in (None, ...):
            yield hint("no_name", letter=letter)
        elif name not in bugs and name != "right":
            yield hint("no_such_bug", letter=letter, name=name)
        elif name != ill:
            mistake = "not_well" if name == "right" else "well" if ill == "right" else "other_bug"
            symptom = bugs[name].symptom if name in bugs else ""
            yield hint(mistake, letter=letter, name=name, symptom=symptom)


def _mend(attempt: Callable[..., Any]) -> Iterator[Hint | None]:
    """Judge a function (layer, X, lengths) → output (B, L, D): the listing without its three mistakes."""
    layer = random_layer(12, 3, seed=2).double()
    lengths = (None,), (torch.tensor([3, 2]),)
    diagnosis, called = examine(layer, lambda x, n: attempt(layer, x, n), *lengths)
    if diagnosis.name != ALLOWED_FILL or called:
        yield named("bug_clinic.mend", diagnosis, called)


def _test(attempt: Callable[..., Any]) -> Iterator[Hint | None]:
    """Judge a test(layer, right): it accepts right layers and catches what outputs in eval mode show."""
    fate = kills(attempt)
    facts = {"caught": len(fate.caught), "all": len(bugs)}
    if fate.refused:
        yield hint_of("bug_clinic.test", "refuses", refused=", ".join(fate.refused))
    if alive := [name for name in fate.missed if name not in UNSEEN]:
        mends = read("hints")["bug_clinic.test"]
        bug = next((name for name in mends if name in alive), "no_scale")
        yield hint_of("bug_clinic.test", bug, alive=", ".join(alive[:4]), **facts)


names = Rule(_names, of_function=False)
mend = Rule(_mend)
test = Rule(_test)
