"""Make or renew the learner's own notebooks in notebooks/mine, without outputs.

What was typed there stays. Where a notebook has changed since it was copied: if nothing was
typed in the copy, the new one takes its place; else it comes beside it, as NAME.new.ipynb.
Prints a line only where something arrived.
"""

import json
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ("*.ipynb", "solutions/*.ipynb")
BESIDE = ("images/*", "rise.css")  # what the notebooks' pages need; nobody writes in them
RECORD = ".copied.json"  # for each notebook, the digest of the version that the learner got last
STANDING = "standing.json"  # where `mha.check` notes what is done, for `mha.progress`


@dataclass
class Arrived:
    """The names that are new in notebooks/mine, and those that came beside a learner's own."""

    new: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        news = [f"{len(self.new)} notebooks came to notebooks/mine, for you to write in"] * bool(self.new)
        if self.beside:
            news.append(f"there is a new version beside what you wrote: {', '.join(self.beside)}")
        line = "; ".join(news)
        return line[:1].upper() + line[1:] + "." * bool(line)


def typed(notebook: dict[str, Any]) -> str:
    """Return a digest of what stands in a notebook's cells; outputs do not count."""
    cells = [[cell["cell_type"], "".join(cell["source"])] for cell in notebook["cells"]]
    return sha256(json.dumps(cells).encode()).hexdigest()


def emptied(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook without outputs."""
    cells = [
        {**cell, "outputs": [], "execution_count": None} if cell["cell_type"] == "code" else cell
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}


def _digest(path: Path) -> str | None:
    """Return the digest of a learner's file, or None where it is no notebook (any more)."""
    try:
        return typed(json.loads(path.read_text("utf-8")))
    except (ValueError, KeyError, TypeError):
        return None


def _place(copy: Path, published: str, delivered: str | None) -> Path | None:
    """Return where a notebook goes; None where the learner has this version already.

    `delivered` is the digest of the version that the learner got last.
    """
    if not copy.exists():
        return copy
    own = _digest(copy)
    if published in (own, delivered):
        return None
    if own == delivered:
        return copy
    for number in count(1):
        beside = copy.with_suffix(f".new{number if number > 1 else ''}.ipynb")
        if not beside.exists() or _digest(beside) == delivered:
            return beside
    return None


def copy_to_mine(root: Path = ROOT) -> Arrived:
    """Bring notebooks/mine up to date, and say what arrived."""
    folder, mine, arrived = root / "notebooks", root / "notebooks" / "mine", Arrived()
    mine.mkdir(exist_ok=True)
    kept = mine / RECORD
    record = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    for source in sorted(path for part in NOTEBOOKS for path in folder.glob(part)):
        name = source.relative_to(folder).as_posix()
        notebook = json.loads(source.read_text("utf-8"))
        published = typed(notebook)
        if target := _place(mine / name, published, record.get(name)):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(emptied(notebook), ensure_ascii=False, indent=1) + "\n", "utf-8")
            (arrived.new if target == mine / name else arrived.beside).append(target.name)
        record[name] = published
    for source in sorted(path for part in BESIDE for path in folder.glob(part)):
        target = mine / source.relative_to(folder)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    kept.write_text(json.dumps(record, indent=1), "utf-8")
    if not (mine / STANDING).exists():
        (mine / STANDING).write_text("{}\n", "utf-8")
    return arrived


if __name__ == "__main__":
    try:
        line = str(copy_to_mine())
    except OSError as error:
        sys.exit(f"notebooks/mine cannot be written ({error}): copy this folder to where you may write.")
    if line:
        print(line)
