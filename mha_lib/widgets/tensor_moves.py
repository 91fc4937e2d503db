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
from torch import Tensor

from ..errors import MhaError, type_error, value_error
from ..moves_axes import Axis, axis_name, coordinates
from ..moves_layout import CELL, NARROW, TONES, WIDE, index_words, picture, tone
from ..style import cell_colour, head_letter, ink
from ..text import moves as words
from ..watch import Recording, Step, watch
from .base import BrowserPicture

STATIC = Path(__file__).parent / "static"
EACH_CELL = 500  # up to here a cell is an element of its own; beyond, the picture is painted
MOST_CELLS = 100_000
SIZES = {"sentences": 2, "words": 4, "features": 10, "heads": 2}
CHAIN = "X.reshape(B, L, h, d).permute(0, 2, 1, 3).reshape(B * h, L, d)"


class TensorMoves(BrowserPicture):
    """The recording of any function, every cell on screen, travelling from step to step.

    `recording` comes from `watch`; `beside` is a second one, shown in step with the first
    and compared with it at the end. `edit=True` adds fields for the sizes and for a chain
    of the learner's own, which Python evaluates in the kernel as it would a cell, when
    the learner says so; `TensorMoves.playground()` is the short way to that.

    Synchronised: `step` (which operation), `followed` (the number of the followed cell,
    -1 for none), `pictures` (layouts, words, colours), `numbers` (int32: every frame's
    cells and memory), `trouble` (what went wrong with the learner's chain).
    Raises: InputTypeError for anything but recordings; InputValueError beyond 100,000 cells.

    >>> TensorMoves(watch(lambda X: X.mT, torch.arange(6.).reshape(1, 2, 3)))
    TensorMoves: X (1, 2, 3) → X.mT (1, 3, 2)
    """

    _esm = STATIC / "tensor_moves.js"
    _css = STATIC / "tensor_moves.css"

    step = traitlets.Int(0).tag(sync=True)
    followed = traitlets.Int(-1).tag(sync=True)
    pictures = traitlets.Dict().tag(sync=True)
    numbers = traitlets.Bytes().tag(sync=True)
    trouble = traitlets.Unicode("").tag(sync=True)

    def __init__(self, recording: Recording, beside: Recording | None = None, *, edit: bool = False,
                 chain: str = "", **kwargs: Any) -> None:
        pictures, numbers = _state(recording, beside)
        if edit:
            shape = recording.steps[0].shape
            sizes = dict(SIZES, heads=recording.num_heads or 2)
            if len(shape) == 3:
                sizes.update(zip(("sentences", "words", "features"), shape, strict=True))
            pictures["edit"] = {"chain": chain or CHAIN, "sizes": sizes}
        self.recording, self.beside = recording, beside
        super().__init__(pictures=pictures, numbers=numbers, **kwargs)
        self.on_msg(self._message)

    @classmethod
    def playground(cls, chain: str = CHAIN, **sizes: int) -> "TensorMoves":
        """Return the widget with editable sizes and chain, for example `features=12, heads=3`.

        The chain may use X, B, L, D, h, d (its width), torch, and the notebook's own names.
        """
        sizes = {**SIZES, **sizes}
        widget = cls(_evaluate(chain, sizes), edit=True, chain=chain)
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
        shown = [f"TensorMoves: {_path(self.recording)}"]
        if self.beside:
            shown += [f"beside: {_path(self.beside)}", self.pictures["compare"]["sentence"]]
        return "\n".join(shown)

    def fallback(self) -> str:
        """Return every step with its numbers as HTML tables."""
        lanes = [self.recording, *([self.beside] if self.beside else [])]
        body = "".join(_tables(lane) for lane in lanes)
        compare = f"<p>{html.escape(self.pictures['compare']['sentence'])}</p>" if self.beside else ""
        return f'<div class="mha-fallback"><p>{words.FALLBACK}</p>{body}{compare}</div>'


def compare(right: Recording, beside: Recording) -> tuple[Tensor, str]:
    """Return which cells of `beside`'s result are in a wrong place, and the sentence about it."""
    good, other = right.frames[-1][0], beside.frames[-1][0]
    if good.shape != other.shape:
        shapes = words.COMPARE["shape"].format(right=good.shape, beside=other.shape)
        return torch.zeros(other.shape, dtype=torch.bool), shapes
    wrong = good.addresses != other.addresses
    if not wrong.any():
        return wrong, words.COMPARE["same"]
    sentence = words.COMPARE["wrong"].format(wrong=int(wrong.sum()), total=wrong.numel())
    return wrong, f"{sentence} {_mixed(good, other, wrong)}".strip()


def _mixed(good: Step, other: Step, wrong: Tensor) -> str:
    """Say of the first place whose contents differ in kind what it should hold and what it does."""
    here, there = (coordinates(step.ids.numpy(), step.origins) for step in (good, other))
    if not here or set(here) != set(there):
        return ""
    named = [factor for factor in here if factor[0] != "feature"] or list(here)
    for depth in range(1, good.ids.ndim + 1):
        for index in wrong.flatten(depth).any(-1).nonzero().tolist() if depth < wrong.ndim else wrong.nonzero().tolist():
            at = tuple(index)
            sets = [{f: sorted(set(c[f][at].flatten().tolist())) for f in named} for c in (here, there)]
            if sets[0] != sets[1]:
                place = " · ".join(w for a, i in zip(good.axes, at, strict=False) for w, _ in index_words(a, i))
                return words.COMPARE["mixed"].format(place=place, right=_things(sets[0], sets[1]),
                                                     found=_things(sets[1], sets[0]))
    return ""


def _things(held: dict, other: dict) -> str:
    parts = []
    for (name, _), values in sorted(held.items(), key=lambda item: item[0][0] != "head"):
        if values != other[(name, _)] or name == "head":
            shown = [head_letter(v) if name == "head" else str(v + 1) for v in values if v >= 0]
            many = "s" if len(shown) > 1 else ""
            listed = ", ".join(shown[:-1]) + words.AND + shown[-1] if len(shown) > 1 else "".join(shown)
            parts.append(f"{name}{many} {listed}")
    return words.OF.join(parts)


def _state(recording: Recording, beside: Recording | None) -> tuple[dict, bytes]:
    """Return what the browser needs: words and layouts as JSON, and the cells' numbers."""
    lanes = [recording] if beside is None else [recording, beside]
    for lane in lanes:
        if not isinstance(lane, Recording):
            raise type_error("recording", "what watch(fn, X) gives back", type(lane).__name__)
        largest = max(sum(step.ids.numel() for step in frame) for frame in lane.frames)
        if largest > MOST_CELLS or max(step.memory.numel() for step in lane.steps) > MOST_CELLS:
            raise value_error("recording", words.TOO_MANY[0], words.TOO_MANY[1].format(largest), words.TOO_MANY[2])
    numbers: list[np.ndarray] = []
    shown: dict[str, Any] = {"lanes": [], "cell": CELL, "words": {**words.CONTROLS, **words.LABELS},
                             "each": EACH_CELL}
    palette: dict[tuple[str, str], int] = {}
    for lane in lanes:
        small = max(sum(s.ids.numel() for s in frame) for frame in lane.frames) <= EACH_CELL
        frames = []
        for frame in lane.frames:
            tensors = [(_title(lane, frame, step), step.shape, step.axes) for step in frame]
            memory, starts = _memory(frame)
            frames.append({
                "memory": len(memory), "operation": _operation(frame), "within": frame[0].within, "sentence": frame[0].sentence,
                "kind": frame[0].kind, "steps": [{**_facts(step), "start": start} for step, start in zip(frame, starts, strict=True)],
                "pictures": [picture(tensors, width, small) for width in (WIDE, NARROW)],
                "tape": _tape_says(lane, frame),
            })
            numbers += [step.ids.numpy().ravel() for step in frame] + [memory]
        colours, shapes = _colours(lane, palette)
        values = _values(lane)
        shown["lanes"].append({"frames": frames, "origins": [
            [o.name, o.start] for o in lane.origins], "shapes": shapes, "values": values,
            "total": len(colours), "title": words.LABELS["right" if lane is recording else "beside"]})
        numbers.append(colours)
    shown["palette"] = [list(colour) for colour in palette]
    if beside is not None:
        wrong, sentence = compare(recording, beside)
        shown["compare"] = {"sentence": sentence}
        numbers.append(wrong.numpy().ravel())
    return shown, np.concatenate(numbers).astype("<i4").tobytes()


def _facts(step: Step) -> dict:
    return {
        "shape": step.shape, "stride": step.stride, "offset": step.offset,
        "contiguous": step.is_contiguous, "blank": _short(next(iter(step.values[step.ids < 0].flatten()), 0)),
        "axes": [[[name, tone(name)] for name in axis_name(axis, number).split("·")]
                 for number, axis in enumerate(step.axes)],
    }


def _memory(frame: list[Step]) -> tuple[np.ndarray, list[int]]:
    """Return the frame's memory, end to end if there are several, and where each step's begins."""
    kept: list[Tensor] = []
    starts = []
    for step in frame:
        same = next((i for i, memory in enumerate(kept) if memory.equal(step.memory)), len(kept))
        if same == len(kept):
            kept.append(step.memory)
        starts.append(sum(len(memory) for memory in kept[:same]))
    return torch.cat(kept).numpy(), starts


def _operation(frame: list[Step]) -> str:
    if len(frame) == 1 or frame[0].kind == "input":
        return ", ".join(step.operation for step in frame)
    return re.sub(r"\[0\]$", "", frame[0].operation)


def _title(lane: Recording, frame: list[Step], step: Step) -> str:
    if len(frame) == 1:
        return ""
    return step.operation if step.kind == "input" else f"[{frame.index(step)}]"


def _tape_says(lane: Recording, frame: list[Step]) -> str:
    step = frame[0]
    if step.kind == "input":
        return ""
    if step.shares_memory and step.kind == "move":
        return words.LABELS["tape_same"]
    return words.LABELS["tape_moved" if step.kind == "move" else "tape_new"]


def _colours(lane: Recording, palette: dict[tuple[str, str], int]) -> tuple[np.ndarray, list[int]]:
    """Return each cell's number in the palette, and the corner shape that tells its sentence."""
    total = sum(len(origin.places) for origin in lane.origins)
    chosen, corner = np.zeros((2, total), dtype=np.int64)
    for origin in lane.origins:
        ids = np.arange(origin.start, origin.start + len(origin.places))
        found = {name: (place, size) for (name, size), place in coordinates(ids, [origin]).items()}
        none = (np.zeros_like(ids), 1)
        head = found.get("head", none)[0]
        word, many = next((found[name] for name in ("word", "query", "feature", "b") if name in found), none)
        corner[ids] = found.get("sentence", none)[0] % 3
        pairs = head * many + word
        for pair in np.unique(pairs):
            colour = cell_colour(int(pair // many), int(pair % many), many)
            chosen[ids[pairs == pair]] = palette.setdefault((colour, ink(colour)), len(palette))
    return chosen, corner.tolist() if total <= 20 * EACH_CELL else []


def _values(lane: Recording) -> list[str]:
    """Return each cell's number as text of at most four characters."""
    total = sum(len(o.places) for o in lane.origins)
    if total > 20 * EACH_CELL:
        return []
    values = torch.zeros(total, dtype=torch.float64)
    for step in reversed(lane.steps):
        inside = step.ids >= 0
        values[step.ids[inside]] = step.values[inside].to(torch.float64)
    return [_short(v) for v in values.tolist()]


def _short(value: float) -> str:
    """Write a number in at most four characters: 37, 1.25, -.25, 1e-5."""
    value = float(value)
    if value != value or abs(value) == float("inf"):
        return {"nan": "nan", "inf": "∞", "-inf": "-∞"}[str(value)]
    if value == int(value) and abs(value) < 10_000 - 9000 * (value < 0):
        return str(int(value))
    for digits in (2, 1, 0):
        shown = f"{value:.{digits}f}"
        shown = shown.replace("0.", ".", 1) if shown.lstrip("-").startswith("0.") else shown
        if len(shown) <= 4:
            return shown.rstrip(".")
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def _path(recording: Recording) -> str:
    return " → ".join(f"{_operation(frame)} {', '.join(str(s.shape) for s in frame)}" for frame in recording.frames)


def _tables(recording: Recording) -> str:
    found = []
    for step in recording.steps:
        rows = step.addresses.reshape(-1, step.shape[-1] if step.shape and step.shape[-1] else 1)[:40].tolist()
        cells = "".join("<tr>" + "".join(f"<td>{a}</td>" for a in row[:40]) + "</tr>" for row in rows)
        names = html.escape(", ".join(step.axis_names))
        found.append(f"<h4><code>{html.escape(step.operation)}</code></h4><p>{step.shape} = ({names}), "
                     f"strides {step.stride}. {html.escape(step.sentence)}</p><table>{cells}</table>")
    return "".join(found)


def _evaluate(chain: str, sizes: Mapping[str, int]) -> Recording:
    """Run the learner's text on an X of these sizes, in the notebook's namespace."""
    B, L, D, h = (sizes[name] for name in SIZES)
    if min(B, L, D, h) < 1 or D % h:
        choices = ", ".join(str(k) for k in range(1, D + 1) if D % k == 0)
        raise ValueError(words.NO_DIVIDE.format(features=D, heads=h, choices=choices))
    if B * L * D > MOST_CELLS:
        raise value_error("sizes", words.TOO_MANY[0], words.TOO_MANY[1].format(B * L * D), words.TOO_MANY[2])
    try:
        from IPython import get_ipython
        space = dict(get_ipython().user_ns) if get_ipython() else {}
    except ImportError:
        space = {}
    name = "<your chain>"
    linecache.cache[name] = (len(chain), None, chain.splitlines(keepends=True), name)
    tree = ast.parse(chain, name)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise ValueError(words.NOT_TENSOR.format(words.NOTHING))
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
    for pattern, hint in words.HINTS:
        found = re.search(pattern, said)
        if found:
            parts = found.groupdict()
            if "shape" in parts:
                parts["product"] = prod(int(n) for n in re.findall(r"-?\d+", parts["shape"]))
            return f"{said}\n{hint.format(**parts)}"
    return said
