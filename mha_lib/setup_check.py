"""Is everything here that the notebooks need? And if not, what mends it?"""

import sys
from dataclasses import dataclass
from importlib import import_module

import torch

from .example import example

_MEND = "Run make lab once more, or pip install -e '.[lab]' in the project's folder, and restart the kernel."
_CHANGED = "Is mha_lib changed? git status tells."
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
    newer = "Install Python 3.11 or newer, remove .venv, and run make lab."
    torch_mend = "pip install 'torch>=2.6' and restart the kernel."
    return SetupCheck(
        (
            ("Python 3.11 or newer", sys.version_info >= (3, 11), newer),
            ("torch 2.6 or newer", tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 6), torch_mend),
            *((package, _importable(package), _MEND) for package in _NEEDED),
            ("the example gives the numbers it should", _example_is_right(), _CHANGED),
        )
    )
