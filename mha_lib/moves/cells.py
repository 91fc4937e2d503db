"""What the drawn cells of a recording look like: numbers, colours, titles, wrong places.

Shared by the browser widget and plot_moves.
"""

import re

import numpy as np
import torch
from torch import Tensor

from ..errors import type_error, value_error
from ..look.style import cell_colour, head_letter, ink
from ..text import sentences
from .axes import coordinates
from .layout import Picture, index_words, picture
from .recording import Recording, Step

words = sentences("moves")
EACH_CELL = 500  # up to here a cell is drawn with its number; beyond, only in its colour
MOST_CELLS = 100_000
SHADES = ("word", "query", "feature", "b", "a")  # the axis that a cell's lightness tells, if there is one


def check_size(recording: Recording) -> int:
    """Return the number of cells of the largest frame; raise if no picture can hold them."""
    if not isinstance(recording, Recording):
        raise type_error("recording", "what watch(fn, X) gives back", type(recording).__name__)
    largest = max(sum(step.ids.numel() for step in frame) for frame in recording.frames)
    most = max([largest, *(step.memory.numel() for step in recording.steps)])
    if most > MOST_CELLS:
        raise value_error("recording", words.too_many[0], words.too_many[1].format(most), words.too_many[2])
    return largest


def compare(right: Recording, beside: Recording) -> tuple[Tensor, str]:
    """Return which cells of `beside`'s result are in a wrong place, and the sentence about it."""
    good, other = right.frames[-1][0], beside.frames[-1][0]
    if good.shape != other.shape:
        shapes = words.compare["shape"].format(right=good.shape, beside=other.shape)
        return torch.zeros(other.shape, dtype=torch.bool), shapes
    if _followed(right) and _followed(beside):
        wrong, said = good.addresses != other.addresses, "wrong"
    else:  # arithmetic came in between: compare its results
        wrong = ~torch.isclose(good.values.double(), other.values.double(), rtol=1e-5, atol=1e-6)
        said = "values"
    if not wrong.any():
        return wrong, words.compare["same"]
    sentence = words.compare[said].format(wrong=int(wrong.sum()), total=wrong.numel())
    return wrong, f"{sentence} {_mixed(good, other, wrong) if said == 'wrong' else ''}".strip()


def _followed(recording: Recording) -> bool:
    """Tell whether every cell of the result comes from the input itself."""
    inputs, *_, (result, *_) = recording.frames
    return all(origin.step < len(inputs) for origin in result.origins)


def _mixed(good: Step, other: Step, wrong: Tensor) -> str:
    """Say of the first place whose contents differ in kind what it should hold and what it does."""
    here, there = (coordinates(step.ids.numpy(), step.origins) for step in (good, other))
    if not here or set(here) != set(there):
        return ""
    named = [factor for factor in here if factor[0] != "feature"] or list(here)
    for depth in range(1, good.ids.ndim + 1):
        somewhere = wrong.reshape(*wrong.shape[:depth], -1).any(-1)
        for at in map(tuple, somewhere.nonzero().tolist()):
            right, found = ({f: np.unique(c[f][at]).tolist() for f in named} for c in (here, there))
            if right != found:
                place = " · ".join(
                    word for axis, i in zip(good.axes, at, strict=False) for word, _ in index_words(axis, i)
                )
                return words.compare["mixed"].format(
                    place=place[:1].upper() + place[1:],
                    right=_things(right, found),
                    found=_things(found, right),
                )
    return ""


def _things(held: dict, other: dict) -> str:
    parts = []
    for (name, _), values in sorted(held.items(), key=lambda item: item[0][0] != "head"):
        if values != other[(name, _)] or name == "head":
            shown = [head_letter(v) if name == "head" else str(v + 1) for v in values if v >= 0]
            *before, last = shown or [""]
            parts.append(f"{name}s {', '.join(before)}{words.both}{last}" if before else f"{name} {last}")
    return words.of.join(parts)


def frame_memory(frame: list[Step]) -> tuple[np.ndarray, list[int]]:
    """Return the frame's memory, end to end if there are several, and where each step's begins."""
    kept: list[Tensor] = []
    starts = []
    for step in frame:
        if not kept or not kept[-1].equal(step.memory):  # views of one tensor share their memory
            kept.append(step.memory)
        starts.append(sum(map(len, kept[:-1])))
    return torch.cat(kept).numpy(), starts


def frame_operation(frame: list[Step]) -> str:
    """Return the frame's operation as written, once for all its tensors."""
    if len(frame) == 1 or frame[0].kind == "input":
        return ", ".join(step.operation for step in frame)
    return re.sub(r"\[0\]$", "", frame[0].operation)


def frame_picture(frame: list[Step], width: float, labels: bool) -> Picture:
    """Lay the frame out; where it shows several tensors, each has its name or number as title."""
    titles = [step.operation if step.kind == "input" else f"[{k}]" for k, step in enumerate(frame)]
    return picture(
        [
            (title if len(frame) > 1 else "", step.shape, step.axes)
            for title, step in zip(titles, frame, strict=True)
        ],
        width,
        labels,
    )


def added(step: Step) -> str:
    """Return the number in the cells that come from nowhere, such as padding."""
    return short(next(iter(step.values[step.ids < 0].flatten()), 0))


def tape_words(frame: list[Step]) -> str:
    """Say what the step did to the memory."""
    kind, shares = frame[0].kind, frame[0].shares_memory
    if kind == "input":
        return ""
    return words.labels["tape_new" if kind != "move" else "tape_same" if shares else "tape_moved"]


def colours(lane: Recording, palette: dict[tuple[str, str], int]) -> tuple[np.ndarray, list[int]]:
    """Return each cell's number in the palette, and the corner shape that tells its sentence."""
    total = sum(len(origin.places) for origin in lane.origins)
    chosen, corner = np.zeros((2, total), dtype=np.int64)
    for origin in lane.origins:
        ids = np.arange(origin.start, origin.start + len(origin.places))
        found = {name: (place, size) for (name, size), place in coordinates(ids, [origin]).items()}
        none = (np.zeros_like(ids), 1)
        head, _ = found.get("head", none)
        word, many = next((found[name] for name in SHADES if name in found), none)
        corner[ids] = found.get("sentence", none)[0] % 3
        looks = head * many + word
        for look in np.unique(looks):
            colour = cell_colour(*divmod(int(look), many), many)
            chosen[ids[looks == look]] = palette.setdefault((colour, ink(colour)), len(palette))
    return chosen, corner.tolist() if total <= 20 * EACH_CELL else []


def values(lane: Recording) -> list[str]:
    """Return each cell's number as text of at most four characters."""
    total = sum(len(origin.places) for origin in lane.origins)
    if total > 20 * EACH_CELL:
        return []
    found = torch.zeros(total, dtype=torch.float64)
    for step in reversed(lane.steps):
        inside = step.ids >= 0
        found[step.ids[inside]] = step.values[inside].to(torch.float64)
    return [short(value) for value in found.tolist()]


def short(value: float) -> str:
    """Write a number in at most four characters: 37, 1.25, -.25, 1e-5."""
    value = float(value)
    if abs(value) < 1e-6:  # rounding noise differs between machines
        return "0"
    for digits in (0,) if value.is_integer() else (2, 1, 0) if abs(value) >= 0.005 else ():
        shown = re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}").replace("inf", "∞")
        if len(shown) <= 4:
            return shown
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def path(recording: Recording) -> str:
    """Return the whole way in one line: X (2, 4, 10) → X.mT (2, 10, 4)."""
    return " → ".join(
        f"{frame_operation(frame)} {', '.join(str(step.shape) for step in frame)}"
        for frame in recording.frames
    )
