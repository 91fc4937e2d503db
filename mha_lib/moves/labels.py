"""What is written beside cells: names of rows, blocks and heads, read off the cells themselves.

A name stands only where all cells share it; otherwise the index does, in brackets, as code
counts it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..look.colours import head_letter
from ..text import read
from .axes import MIXED, TENSOR, Axis, Cells, Factor

NAMES: Mapping[str, str] = read("moves")["names"]
CHARACTER = 7.4  # pixels of a label, on average

_TONES = {"sentence": 0, "word": 1, "query": 1, "head": 2, "feature": 3, "key": 4}
PLAIN_TONE = 5
_COUNTED_FROM_ONE = frozenset(("sentence", "word", "query", "key"))  # as a reader counts them

Words = Sequence[Sequence[str]]


class Part(NamedTuple):
    """A piece of a label, with the tone of the axis that it speaks of."""

    text: str
    tone: int


Parts = tuple[Part, ...]


def tone(name: str) -> int:
    """Return the number of the colour in which an axis of this name is written."""
    return _TONES.get(name, PLAIN_TONE)


def mark(factor: Factor, index: int) -> str:
    """Return the letter or number of the index-th of a factor: "B" for head 1."""
    if factor.name == "head":
        return head_letter(index)
    return str(index + 1 if factor.name in _COUNTED_FROM_ONE else index)


def named(factor: Factor, index: int) -> Part:
    """Return the name of the index-th of a factor: "head B"."""
    return Part(f"{NAMES.get(factor.name, factor.name)} {mark(factor, index)}", tone(factor.name))


def bracketed(index: int) -> Part:
    """Return an index that has no name, as code counts it."""
    return Part(f"[{index}]", PLAIN_TONE)


def shared(places: Mapping[Factor, Cells], at: tuple[int, ...]) -> dict[Factor, int]:
    """Return what all cells of a part of the tensor have in common; cells from nowhere do not count."""
    common: dict[Factor, int] = {}
    for factor, coordinate in places.items():
        here = coordinate[at]
        known = here[here >= 0]
        if known.size and (known == known.flat[0]).all():
            common[factor] = int(known.flat[0])
    return {} if any(f.name == TENSOR and f not in common for f in places) else common


def axis_factors(axis: Axis, common: Mapping[Factor, int]) -> tuple[Factor, ...]:
    """Return those of the common factors that the axis counts and that its indices name."""
    named_by = {f.thing: f for f in common if f.whole and f.name not in (MIXED, "copy")}
    return tuple(named_by[factor.thing] for factor in axis if factor.thing in named_by)


def row_parts(axis: Axis, index: int, common: Mapping[Factor, int], words: Words) -> Parts:
    """Return the name of a row: the word itself where it is known, else "word 2", else its index."""
    factors = [factor for factor in axis_factors(axis, common) if factor.size > 1 or len(axis) == 1]
    if not factors:
        return (bracketed(index),)
    told = [place for factor, place in common.items() if factor.name == "sentence" and factor.whole]
    sentence = told[0] if told else 0 if len(words) == 1 else len(words)  # one that is not known
    for factor in factors:
        known = words[sentence] if sentence < len(words) else ()
        if factor.name in ("word", "query", "key") and factor.size == len(known):
            return (Part(known[common[factor]], tone(factor.name)),)
    if len(factors) == 1:
        return (named(factors[0], common[factors[0]]),)
    return tuple(Part(mark(factor, common[factor]), tone(factor.name)) for factor in factors)


def shortened(parts: Parts, room: float) -> Parts:
    """Leave parts out, from the first, until the rest fits."""
    while parts and width(parts) > room:
        parts = parts[1:]
    return parts


def width(parts: Parts) -> float:
    """Return about how wide a label is, in pixels."""
    return CHARACTER * (sum(len(part.text) for part in parts) + 3 * max(len(parts) - 1, 0))
