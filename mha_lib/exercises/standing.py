"""Which exercises are done: kept beside the learner's copies, and nowhere else."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..text import read, sentences

text = sentences("learning")
STANDING = "standing.json"  # made with the learner's copies; where it is not, nothing is kept


@dataclass(frozen=True)
class Progress:
    """For each notebook, its exercises and whether they are done.

    `kept` is false where nothing is noted: away from the learner's own copies.
    """

    notebooks: Mapping[str, Mapping[str, bool]]
    kept: bool = True

    @property
    def done(self) -> int:
        """How many exercises are done."""
        return sum(sum(exercises.values()) for exercises in self.notebooks.values())

    def __repr__(self) -> str:
        if not self.kept:
            return str(text.not_kept)
        lines = []
        for notebook, exercises in self.notebooks.items():
            marks = "  ".join(f"{'✓' if done else '○'} {name}" for name, done in exercises.items())
            line = text.of_notebook.format(
                notebook=notebook, done=sum(exercises.values()), all=len(exercises)
            )
            lines.append(f"{line}  {marks}")
        everything = sum(map(len, self.notebooks.values()))
        return "\n".join([*lines, text.in_all.format(done=self.done, all=everything)])


def _noted() -> dict[str, bool]:
    try:
        noted = json.loads(Path(STANDING).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def note(name: str) -> None:
    """Note that an exercise is done, where a learner's standing is kept."""
    if not Path(STANDING).is_file():
        return
    noted = {**_noted(), name: True}
    with suppress(OSError):  # a folder that cannot be written to is no reason to fail an exercise
        Path(STANDING).write_text(json.dumps(noted, indent=1) + "\n", "utf-8")


def progress() -> Progress:
    """Say which exercises of which notebook are done.

    It is known in your own copies (notebooks/mine), where `check` notes what was right in
    standing.json, and it never leaves the machine.

    Example:
        >>> progress()
        Nothing is kept here. Your standing is kept with your own copies: open those in notebooks/mine.
    """
    noted = _noted()
    notebooks = {
        notebook: {name: bool(noted.get(name)) for name in names}
        for notebook, names in read("learning")["notebooks"].items()
    }
    return Progress(notebooks, Path(STANDING).is_file())
