"""What people answer to the exercises: right in their own way, wrong in the usual ways, and cheats.

One module a topic, one table an exercise. `wrong` names the mistake whose hint is due.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Attempts:
    right: Sequence[Any]
    wrong: Sequence[tuple[Any, str]]
    cheats: Sequence[Any]


def listed(function: Callable) -> Callable:
    """The function, which returns lists instead of a tensor."""
    return lambda *args: function(*args).tolist()


def as_array(function: Callable) -> Callable:
    """The function, which returns an array of numpy instead of a tensor."""
    return lambda *args: function(*args).numpy()


def shifted(function: Callable, by: float = 0.01) -> Callable:
    """The function, a little off."""
    return lambda *args: function(*args) + by


def rounded(function: Callable, digits: int = 2) -> Callable:
    """The function, rounded."""
    return lambda *args: function(*args).round(decimals=digits)


def constant(value: Any) -> Callable:
    """A function that looks at nothing."""
    return lambda *args: value


def only(fits: Callable[..., bool], function: Callable) -> Callable:
    """The function for arguments like the notebook's, zeros for others."""
    return lambda *args: function(*args) if fits(*args) else torch.zeros_like(function(*args))
