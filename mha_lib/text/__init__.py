"""Every sentence that the library shows: one folder a language, in it one .toml a picture."""

import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_LANGUAGE = Path(__file__).parent / "en"  # another language is a folder beside it


@cache
def read(name: str) -> dict[str, Any]:
    """Return what the file NAME.toml of this package holds."""
    return tomllib.loads((_LANGUAGE / f"{name}.toml").read_text("utf-8"))


def topics() -> list[str]:
    """Return the topics that have questions, in the order of the alphabet."""
    return sorted(path.stem for path in (_LANGUAGE / "questions").glob("*.toml"))


def sentences(name: str) -> SimpleNamespace:
    """Return what `read` does, to be written as text.hint."""
    return SimpleNamespace(**read(name))


def counted(**sizes: int) -> dict[str, str]:
    """Return {"heads": "1 head", …} or {"heads": "2 heads", …} for heads=1 or heads=2."""
    counts = read("heads")["counts"]
    return {what: counts[what][n != 1].format(n=n) for what, n in sizes.items()}
