"""TensorMoves: a recording whose cells travel, step by step, in the browser."""

import ast
import html
import linecache
import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
import traitlets
from IPython import get_ipython
from torch import Tensor

from ..errors import MhaError, value_error
from ..moves.axes import axis_name, is_mixed, tone_names
from ..moves.compare import compare, verdict_sentence
from ..moves.layout import CELL, NARROW, WIDE, frame_picture, index_words, tone
from ..moves.looks import EACH_CELL, MOST_CELLS, check_size, looks, numbers_of
from ..moves.recorder import watch
from ..moves.recording import Recording, Step
from ..moves.tape import tape_words
from ..text import sentences
from .base import BrowserPicture

words = sentences("moves")
STATIC = Path(__file__).parent / "static"
SIZES = {"sentences": 2, "words": 4, "features": 10, "heads": 2}
CHAIN = "X.reshape(B, L, h, d).permute(0, 2, 1, 3).reshape(B * h, L, d)"


class TensorMoves(BrowserPicture):
    """The recording of any function, every cell on screen, travelling from step to step.

    `recording` comes from `watch`; `beside` is a second one, shown in step with the first
    and compared with it at the end. `TensorMoves.playground()` has fields for the sizes and
    for a chain of the learner's own, which Python evaluates in the kernel as it would a
    cell, when the learner says so.

    Synchronised: `step` (which operation), `followed` (the number of the followed cell,
    -1 for none), `pictures` (layouts, words, colours), `numbers` (int32: every frame's
    cells and memory), `trouble` (what went wrong with the learner's chain).
    Raises: InputTypeError for anything but recordings; InputValueError beyond 100,000 cells.

    >>> TensorMoves(watch(lambda X: X.mT, torch.arange(6.).reshape(1, 2, 3)))
    TensorMoves: X (1, 2, 3) → X.mT (1, 3, 2)
    """

    module = "tensor_moves"
    _esm = STATIC / "tensor_moves.js"
    _css = STATIC / "tensor_moves.css"

    step = traitlets.Int(0).tag(sync=True)
    followed = traitlets.Int(-1).tag(sync=True)
    pictures = traitlets.Dict().tag(sync=True)
    numbers = traitlets.Bytes().tag(sync=True)
    trouble = traitlets.Unicode("").tag(sync=True)

    def __init__(self, recording: Recording, beside: Recording | None = None, **kwargs: Any) -> None:
        pictures, numbers = _state(recording, beside)
        self.recording, self.beside = recording, beside
        super().__init__(pictures=pictures, numbers=numbers, **kwargs)
        self.on_msg(self._message)

    @classmethod
    def playground(cls, chain: str = CHAIN, **sizes: int) -> "TensorMoves":
        """Return the widget with editable sizes and chain, for example `features=12, heads=3`.

        The chain may use X, B, L, D, h, d (its width), torch, and the notebook's own names.
        """
        sizes = {**SIZES, **sizes}
        widget = cls(_evaluate(chain, sizes))
        widget.pictures = {**widget.pictures, "edit": {"chain": chain, "sizes": sizes}}
        return widget

    def run(self, chain: str, sizes: Mapping[str, int]) -> None:
        """Evaluate the learner's chain and show it; on a mistake say why and keep the picture."""
        try:
            recording = _evaluate(chain, sizes)
            pictures, numbers = _state(recording, self.beside)
        except Exception as error:  # the learner's code may raise anything, and is told what
            self.trouble = _explain(error)
            return
        pictures["edit"] = {"chain": chain, "sizes": dict(sizes)}
        self.recording = recording
        with self.hold_sync():
            self.trouble, self.step, self.followed = "", 0, -1
            self.pictures, self.numbers = pictures, numbers

    def _message(self, _, content, buffers) -> None:
        if isinstance(content, dict) and content.get("kind") == "run" and "edit" in self.pictures:
            sizes = {name: int(content["sizes"][name]) for name in SIZES}
            self.run(str(content["chain"]), sizes)
            self.send({"kind": "done"})

    def __repr__(self) -> str:
        shown = [f"TensorMoves: {self.recording.path}"]
        if self.beside:
            shown += [f"beside: {self.beside.path}", self.pictures["compare"]["sentence"]]
        return "\n".join(shown)

    def fallback(self) -> str:
        """Return every step with its numbers as HTML tables."""
        lanes = [self.recording, *([self.beside] if self.beside else [])]
        body = "".join(_tables(lane) for lane in lanes)
        compare = f"<p>{html.escape(self.pictures['compare']['sentence'])}</p>" if self.beside else ""
        return f'<div class="mha-fallback"><p>{words.fallback}</p>{body}{compare}</div>'


def _state(recording: Recording, beside: Recording | None) -> tuple[dict, bytes]:
    """Return what the browser needs: words and layouts as JSON, and the cells' numbers."""
    lanes = [recording] if beside is None else [recording, beside]
    numbers: list[np.ndarray] = []
    shown: dict[str, Any] = {
        "lanes": [],
        "cell": CELL,
        "words": {**words.controls, **words.labels},
        "each": EACH_CELL,
    }
    palette: dict[tuple[str, str], int] = {}
    for name, lane in zip(("right", "beside"), lanes, strict=False):
        small = check_size(lane) <= EACH_CELL
        frames = []
        for frame in lane.frames:
            memory, starts = frame.memory, frame.starts
            numbers += [step.ids.numpy().ravel() for step in frame.steps] + [memory]
            frames.append(
                {
                    "operation": frame.operation,
                    "within": frame.within,
                    "sentence": frame.sentence,
                    "tape": tape_words(frame),
                    "memory": len(memory),
                    "steps": [_facts(step, start) for step, start in zip(frame.steps, starts, strict=True)],
                    "pictures": [frame_picture(frame, width, small) for width in (WIDE, NARROW)],
                }
            )
        look = looks(lane)
        places = [palette.setdefault(paint, len(palette)) for paint in look.palette]
        chosen = np.array([places[colour] for colour in look.colours], dtype=np.int64)
        numbers.append(chosen)
        shown["lanes"].append(
            {
                "title": words.labels[name],
                "frames": frames,
                "total": len(chosen),
                "shapes": look.corners.tolist() if len(chosen) <= 20 * EACH_CELL else [],
                "values": _values(lane),
                "origins": [[o.name, o.start] for o in lane.origins],
            }
        )
    shown["palette"] = list(palette)
    if beside is not None:
        comparison = compare(recording, beside)
        shown["compare"] = {"sentence": verdict_sentence(comparison)}
        numbers += [pair.wrong.ravel().astype(np.int64) for pair in comparison.pairs]
    return shown, np.concatenate(numbers).astype("<i4").tobytes()


def _facts(step: Step, start: int) -> dict:
    return {
        "shape": step.shape,
        "stride": step.stride,
        "offset": step.offset,
        "start": start,
        "contiguous": step.is_contiguous,
        "blank": next((t for t, i in zip(numbers_of(step), step.ids.flatten(), strict=True) if i < 0), "")
        if step.ids.numel() <= EACH_CELL
        else "",
        "axes": [
            [[axis_name(axis, number), 5]]
            if is_mixed(axis)
            else [[name, tone(name)] for name in tone_names(axis)]
            for number, axis in enumerate(step.axes)
        ],
    }


def _values(lane: Recording) -> list[str]:
    """Return each cell's number as text, where it was new."""
    total = sum(origin.stop - origin.start for origin in lane.origins)
    if total > 20 * EACH_CELL:
        return []
    texts = [""] * total
    for step in reversed(lane.steps):
        for cell, shown in zip(step.ids.flatten().tolist(), numbers_of(step), strict=True):
            if cell >= 0:
                texts[cell] = shown
    return texts


def _tables(recording: Recording) -> str:
    """Return every step as a table, at most 40 by 40: rows with their names, cells in their colours."""
    look = looks(recording)
    paints, chosen, texts, found = look.palette, look.colours, _values(recording), []
    for step, sentence in [(step, frame.sentence) for frame in recording.frames for step in frame.steps]:
        width = step.shape[-1] if step.shape else 1
        lines = step.ids.numpy().reshape(-1, width)[:40, :40].tolist() if width else []
        rows = []
        for line, index in zip(lines, np.ndindex(*step.shape[:-1]), strict=False):
            parts = (index_words(axis, i) for axis, i in zip(step.axes, index, strict=False))
            row = " · ".join(word for part in parts for word, _ in part)
            row = f"<th>{html.escape(row)}</th>"
            for i in line:
                background, front = paints[chosen[i]] if i >= 0 else ("#fff", "#57606a")
                shown = texts[i] if texts and i >= 0 else ""
                row += f'<td style="background:{background};color:{front}">{shown}</td>'
            rows.append(f"<tr>{row}</tr>")
        names = html.escape(", ".join(step.axis_names))
        found.append(
            f"<h4><code>{html.escape(step.operation)}</code></h4><p>{step.shape} = ({names}), "
            f"strides {step.stride}. {html.escape(sentence)}</p><table>{''.join(rows)}</table>"
        )
    return "".join(found)


def _evaluate(chain: str, sizes: Mapping[str, int]) -> Recording:
    """Run the learner's text on an X of these sizes, in the notebook's namespace."""
    B, L, D, h = (sizes[name] for name in SIZES)
    if min(B, L, D, h) < 1:
        raise ValueError(words.at_least_one)
    if D % h:
        choices = ", ".join(str(k) for k in range(1, D + 1) if D % k == 0)
        raise ValueError(words.no_divide.format(features=D, heads=h, choices=choices))
    if B * L * D > MOST_CELLS:
        raise value_error("sizes", words.too_many[0], words.too_many[1].format(B * L * D), words.too_many[2])
    space = dict(get_ipython().user_ns) if get_ipython() else {}
    name = "<your chain>"
    linecache.cache[name] = (len(chain), None, chain.splitlines(keepends=True), name)
    tree = ast.parse(chain, name)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise ValueError(words.not_tensor.format(words.nothing))
    before = compile(ast.Module(tree.body[:-1], []), name, "exec")
    last = compile(ast.Expression(tree.body[-1].value), name, "eval")
    space.update(B=B, L=L, D=D, h=h, d=D // h, torch=torch)

    def learners(X: Tensor) -> Any:
        space["X"] = X
        exec(before, space)
        return eval(last, space)

    return watch(learners, torch.arange(float(B * L * D)).reshape(B, L, D), num_heads=h)


def _explain(error: Exception) -> str:
    """Return torch's own words, and what to do about them."""
    said = str(error).strip() if isinstance(error, MhaError) else f"{type(error).__name__}: {error}".strip()
    for pattern, hint in words.hints:
        found = re.search(pattern, said)
        if found:
            parts = found.groupdict()
            if "shape" in parts:
                parts["product"] = prod(int(n) for n in re.findall(r"-?\d+", parts["shape"]))
            return f"{said}\n{hint.format(**parts)}"
    return said
