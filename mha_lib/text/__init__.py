"""Every sentence that the library shows, one file a picture, so that another language is another set.

Plain constants and format strings in modules, or tables in .toml files.
"""

import tomllib
from functools import cache
from pathlib import Path


@cache
def read(name: str) -> dict:
    """Return what the file NAME.toml of this package holds."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
