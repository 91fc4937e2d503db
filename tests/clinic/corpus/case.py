"""One layer of the corpus: how to make it, how to hand it over, what should be said of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

D, H = 12, 3


@dataclass(frozen=True)
class Case:
    """A layer: `names` are the diagnoses that are true of it; empty where any but "right" will do."""

    title: str
    make: Callable[[], Any]
    names: tuple[str, ...] = ("right",)
    options: Callable[[Any], dict] = field(default=lambda layer: {})
    seed: int = 0

    def build(self) -> tuple[Any, dict]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            layer = self.make()
        return layer, self.options(layer)


def cases(style, faults: dict[str, tuple[str, ...] | str], title: str = "", options=None, **kwargs):
    """A style with each of its faults in turn; the fault "" is the right layer."""
    for fault, names in faults.items():
        names = (names,) if isinstance(names, str) else names
        made = Case(
            f"{title or style.__name__} {fault or 'right'}".strip(),
            lambda fault=fault: style(fault=fault, **kwargs),
            names,
            *([options] if options else []),
        )
        yield made
