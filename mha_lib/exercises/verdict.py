"""What a check found, in words first; a picture is offered, not forced."""

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Status(Enum):
    """Where a learner stands with an exercise: how it is called, its sign, its colour."""

    RIGHT = "right", "✓", "#009E73"
    NOT_YET = "not yet", "✗", "#D55E00"
    NOT_TRIED = "not tried yet", "○", "#888888"

    def __init__(self, called: str, sign: str, colour: str):
        self.called, self.sign, self.colour = called, sign, colour


@dataclass(frozen=True)
class Hint:
    """What to tell somebody whose attempt is wrong.

    `mistake` is the name of the mistake in hints.toml or learning.toml; `picture`, where there
    is one, makes a widget that shows the attempt beside the right answer.
    """

    mistake: str
    text: str
    picture: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Verdict:
    """What a check found; true where the attempt is right."""

    name: str
    status: Status
    message: str
    mistake: str = ""
    picture: Callable[[], Any] | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.status is Status.RIGHT

    def __repr__(self) -> str:
        return f"{self.status.sign} {self.name}: {self.message}"

    def _repr_html_(self) -> str:
        style = f"border-left: 4px solid {self.status.colour}; padding: 4px 10px; white-space: pre-wrap"
        return f'<div style="{style}">{html.escape(repr(self))}</div>'

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        shown = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if self.picture is None:
            return shown, {}
        from ..widgets.offer import Offer  # only now: most checks need no widget

        data, metadata = Offer(self._repr_html_(), self.picture)._repr_mimebundle_()
        return {**data, **shown}, metadata
