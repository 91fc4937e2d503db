"""A message, and a button for the picture that goes with it."""

from collections.abc import Callable
from typing import Any

import ipywidgets

from ..text import sentences
from .base import Fallback
from .own_keys import OwnKeys

text = sentences("learning")


class Offer(Fallback, ipywidgets.VBox):
    """Shows the message at once, and the widget that `picture` makes when the button is pressed."""

    def __init__(self, message: str, picture: Callable[[], Any]):
        self._message, self._picture = message, picture
        narrow = ipywidgets.Layout(width="auto", align_self="flex-start")
        self.button = ipywidgets.Button(description=text.offer, layout=narrow)
        self.button.add_class(OwnKeys.WHERE)
        self.button.on_click(self._toggle)
        self._said = [ipywidgets.HTML(message), self.button, OwnKeys()]
        self._drawn: Any = None
        self._shown = False
        super().__init__(self._said)

    def _toggle(self, _button: object) -> None:
        """Show the picture or hide it; the button stays, so that the keyboard keeps its place."""
        if self._drawn is None:
            self._drawn = self._picture()
        self._shown = not self._shown
        self.children = [*self._said, self._drawn] if self._shown else self._said
        self.button.description = text.withdraw if self._shown else text.offer

    def fallback(self) -> str:
        """Return the message."""
        return self._message
