"""TensorMoves: a recording whose cells travel, step by step, in the browser."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import traitlets

from ..moves.page import state
from ..moves.recording import Recording
from ..moves.still import still
from ..text import sentences
from .base import STATIC, BrowserPicture, style
from .chain import CHAIN, SIZES, evaluate, explain, limited

text = sentences("moves")


class TensorMoves(BrowserPicture):
    """The recording of any function, every cell on screen, travelling from step to step.

    `recording` comes from `watch`; `beside` is a second one, shown in step with the first
    and compared with it at the end; `names` are written over the two. `TensorMoves.playground()`
    has fields for the sizes and for a chain of the learner's own, which Python evaluates in the
    kernel as it would a cell, when the learner says so: for at most five seconds, and no step of
    it may make more cells than a picture holds.

    Synchronised: `step` (which operation), `followed` (the number of the followed cell,
    -1 for none), `pictures` (layouts, words, colours, and where in `numbers` each list is),
    `numbers` (int32: every frame's cells and memory), `trouble` (what went wrong with which
    chain of the learner's: chain, sizes, error, hint; empty if nothing did).
    Raises: InputTypeError for anything but recordings; InputValueError beyond 100,000 cells.

    >>> import torch
    >>> from mha_lib import watch
    >>> TensorMoves(watch(lambda X: X.mT, torch.arange(6.).reshape(1, 2, 3)))
    TensorMoves: X (1, 2, 3) → X.mT (1, 3, 2)
    """

    module = "tensor_moves"
    _esm = STATIC / "tensor_moves.js"
    _css = style("tensor_moves")

    step = traitlets.Int(0).tag(sync=True)
    followed = traitlets.Int(-1).tag(sync=True)
    pictures = traitlets.Dict().tag(sync=True)
    numbers = traitlets.Bytes().tag(sync=True)
    trouble = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        recording: Recording,
        beside: Recording | None = None,
        *,
        names: tuple[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        pictures, numbers = state(recording, beside, names)
        self.recording, self.beside = recording, beside
        super().__init__(pictures=pictures, numbers=numbers, **kwargs)
        self.on_msg(self._message)

    @classmethod
    def playground(cls, chain: str = CHAIN, **sizes: int) -> "TensorMoves":
        """Return the widget with editable sizes and chain, for example `features=12, heads=3`.

        The chain may use X, B, L, D, h, d (its width), torch, and the notebook's own names.
        """
        sizes = {**SIZES, **sizes}
        widget = cls(evaluate(chain, sizes, guard=False))  # the notebook's own chain may take its time
        widget.pictures = {**widget.pictures, "edit": {"chain": chain, "sizes": sizes}}
        return widget

    def run(self, chain: str, sizes: Mapping[str, int]) -> bool:
        """Evaluate the learner's chain and show it; on a mistake say why and keep the picture."""
        try:
            recording = limited(lambda: evaluate(chain, sizes))
            pictures, numbers = state(recording, self.beside)
        except Exception as error:  # the learner's code may raise anything, and is told what
            self.trouble = {**asdict(explain(error, chain)), "sizes": dict(sizes)}
            return False
        pictures["edit"] = {"chain": chain, "sizes": dict(sizes)}
        self.recording = recording
        with self.hold_sync():
            self.trouble = {}
            self.step = 0
            self.followed = -1
            self.pictures, self.numbers = pictures, numbers
        return True

    def _message(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and content.get("kind") == "run" and "edit" in self.pictures:
            sizes = {name: int(content["sizes"][name]) for name in SIZES}
            shown = self.run(str(content["chain"]), sizes)
            self.send({"kind": "done", "shown": shown})

    def headline(self) -> str:
        """Return what was recorded, in one line."""
        return f"TensorMoves: {self.recording.path}"

    def __repr__(self) -> str:
        shown = [self.headline()]
        if self.beside:
            shown += [f"beside: {self.beside.path}", self.pictures["compare"]["sentence"]]
        return "\n".join(shown)

    def fallback(self) -> str:
        """Return the still picture as HTML."""
        return f'<div class="mha-fallback"><p>{text.fallback}</p>{still(self.recording, self.beside)}</div>'
