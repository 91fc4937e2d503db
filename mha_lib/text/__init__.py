"""Every sentence that the library shows, one .toml a picture, so that another language is another set."""

import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace


@cache
def read(name: str) -> dict:
    """Return what the file NAME.toml of this package holds."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text("utf-8"))


def sentences(name: str) -> SimpleNamespace:
    """Return what `read` does, to be written as text.hint."""
    return SimpleNamespace(**read(name))


def counted(**sizes: int) -> dict[str, str]:
    """Return {"heads": "1 head", …} or {"heads": "2 heads", …} for heads=1 or heads=2."""
    counts = read("heads")["counts"]
    return {what: counts[what][n != 1].format(n=n) for what, n in sizes.items()}
