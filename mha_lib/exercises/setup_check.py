"""Is everything here that the notebooks need? And if not, what mends it?"""

import sys
from dataclasses import dataclass
from importlib import import_module

import torch

from ..example import example
from ..text import read

_NEEDED = ("matplotlib", "ipywidgets", "anywidget", "einops")


@dataclass(frozen=True)
class SetupCheck:
    """What was looked at: (what, whether it is well, how to mend it)."""

    findings: tuple[tuple[str, bool, str], ...]

    def __bool__(self) -> bool:
        return all(well for _, well, _ in self.findings)

    def __repr__(self) -> str:
        return "\n".join(f"✓ {what}" if well else f"✗ {what}: {mend}" for what, well, mend in self.findings)


def _importable(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def _example_is_right() -> bool:
    ex = example()
    _, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    return [round(w, 2) for w in weights[0, 0, 2].tolist()] == [0.04, 0.92, 0.04, 0.0]


def check_setup() -> SetupCheck:
    """Look at Python, the packages and the example's numbers, and say what to mend.

    Example:
        >>> bool(check_setup())
        True
    """
    well = {
        "python": sys.version_info >= (3, 11),
        "torch": tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 6),
        **{package: _importable(package) for package in _NEEDED},
        "example": _example_is_right(),
    }
    what, mend = read("setup")["what"], read("setup")["mend"]
    return SetupCheck(tuple((what.get(n, n), well[n], mend.get(n, mend["package"])) for n in well))
