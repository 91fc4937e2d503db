"""What the cells of a recording look like: colours, corners, numbers. Where they stand is not known here."""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context
from math import isnan
from typing import NamedTuple

import numpy as np
import torch

from ..errors import type_error, value_error
from ..look.colours import cell_colour, ink
from ..text import sentences
from .axes import Cells, coordinates
from .recording import Recording, Step

text = sentences("moves")
EACH_CELL = 500  # up to here a cell is drawn with its number; beyond, only in its colour
MOST_CELLS = 100_000
MOST_NUMBERS = 20 * EACH_CELL  # over all steps
ROUNDING = 1e-6  # what is smaller is rounding noise, which differs between machines
TICKS = 4  # so many heads differ by their ticks: none, one, two, three
SHADES = ("word", "query", "feature", "b", "a")  # what a cell's lightness tells: the first that there is


class Paint(NamedTuple):
    """A cell's colour, and the colour in which its number can be read on it."""

    background: str
    ink: str


@dataclass(frozen=True, eq=False)
class Looks:
    """The looks of all cells of one recording."""

    palette: tuple[Paint, ...]
    colours: Cells  # for each cell, by its number over all origins, a place in the palette
    corners: Cells  # for each cell the shape of its corners, which tells the sentence: 0, 1 or 2
    ticks: Cells  # for each cell how many ticks it has: heads A to D are told apart in grey, too
    numbers: tuple[tuple[str, ...], ...]  # for each step its cells' numbers in reading order; () if too many


def looks(recording: Recording) -> Looks:
    """Return the looks of a recording's cells: hue and ticks tell the head, lightness the word."""
    total = sum(origin.stop - origin.start for origin in recording.origins)
    colours, corners, ticks = (np.zeros(total, dtype=np.int64) for _ in range(3))
    palette: dict[Paint, int] = {}
    for origin in recording.origins:
        ids = np.arange(origin.start, origin.stop)
        places = {factor.name: (place, factor.size) for factor, place in coordinates(ids, [origin]).items()}
        none = (np.zeros_like(ids), 1)
        head, _ = places.get("head", none)
        shade, many = next((places[name] for name in SHADES if name in places), none)
        corners[ids] = places.get("sentence", none)[0] % 3
        ticks[ids] = head % TICKS
        kinds = head * many + shade
        for kind in np.unique(kinds):
            colour = cell_colour(*divmod(int(kind), many), many)
            paint = Paint(colour, ink(colour))
            colours[ids[kinds == kind]] = palette.setdefault(paint, len(palette))
    few = sum(step.ids.numel() for step in recording.steps) <= MOST_NUMBERS
    numbers = tuple(numbers_of(step) if few else () for step in recording.steps)
    return Looks(tuple(palette), colours, corners, ticks, numbers)


def check_size(recording: Recording) -> int:
    """Return the number of cells of the largest frame; raise if no picture can hold them."""
    if not isinstance(recording, Recording):
        raise type_error("recording", "what watch(fn, X) gives back", type(recording).__name__)
    largest = max(sum(step.ids.numel() for step in frame.steps) for frame in recording.frames)
    most = max([largest, *(step.memory.numel() for step in recording.steps)])
    if most > MOST_CELLS:
        expected, got, mend = text.too_many
        raise value_error("recording", expected, got.format(most), mend)
    return largest


def numbers_of(step: Step) -> tuple[str, ...]:
    """Return the numbers of a step's cells in reading order, as text."""
    values = step.values.flatten()
    if values.dtype == torch.bfloat16 or values.dtype == torch.float16:
        values = values.float()
    return tuple(map(short, values.tolist()))


def short(value: complex) -> str:
    """Write a number in about four characters: 37, 1.25, -.25, 1e-5, 2+3i."""
    if isinstance(value, complex):
        if not value.imag:
            return short(value.real)
        plus = "" if value.imag <= -ROUNDING else "+"  # else its sign is there already
        return f"{short(value.real)}{plus}{short(value.imag)}i"
    number = float(value)
    if abs(number) < ROUNDING:
        return "0"
    if abs(number) == float("inf"):
        return "∞" if number > 0 else "-∞"
    for digits in (0,) if number.is_integer() else (2, 1, 0) if abs(number) >= 0.005 else ():
        size = f"{abs(number):.{digits}f}"
        below_one = digits > 0 and round(abs(number), digits) < 1
        shown = ("-" if number < 0 else "") + (size[1:] if below_one else size)
        if len(shown) <= 4:
            return shown
    if isnan(number):
        return "nan"
    rounded = Context(prec=1, rounding=ROUND_HALF_EVEN).create_decimal(number)
    power = rounded.adjusted()
    return f"{rounded.scaleb(-power)}e{power}"
