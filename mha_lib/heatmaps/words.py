"""Words as they are shown: nothing in them stays unseen, and none can turn its neighbours round."""

import unicodedata
from collections.abc import Sequence

from ..errors import type_error, value_error

Words = Sequence[str] | Sequence[Sequence[str]] | None

# What Unicode has no picture for, by the short names that people know.
NAMES = {
    "\n": "⏎",
    "\t": "⇥",
    "\u00a0": "[NBSP]",
    "\u00ad": "[SHY]",
    "\u200b": "[ZWSP]",
    "\u200c": "[ZWNJ]",
    "\u200d": "[ZWJ]",
    "\u200e": "[LRM]",
    "\u200f": "[RLM]",
    "\u202a": "[LRE]",
    "\u202b": "[RLE]",
    "\u202c": "[PDF]",
    "\u202d": "[LRO]",
    "\u202e": "[RLO]",
    "\u2060": "[WJ]",
    "\u2066": "[LRI]",
    "\u2067": "[RLI]",
    "\u2068": "[FSI]",
    "\u2069": "[PDI]",
    "\ufeff": "[BOM]",
}
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # controls, formats, half characters, no characters
JOINER = "\u200d"


def _sign(sign: str, before: str) -> str:
    if sign == JOINER and unicodedata.category(before or " ") in ("So", "Sk", "Mn"):
        return sign  # it makes one emoji of two
    if sign in NAMES:
        return NAMES[sign]
    category = unicodedata.category(sign)
    if category in UNSEEN or (category == "Zs" and sign != " "):
        return f"[U+{ord(sign):04X}]"
    return sign


def visible(word: object) -> str:
    """Return the word with everything in it that cannot be seen made visible.

    >>> visible("a\\u200bb"), visible(" a"), visible("")
    ('a[ZWSP]b', '␣a', '∅')
    """
    signs = str(word)
    shown = "".join(_sign(sign, before) for sign, before in zip(signs, " " + signs, strict=False))
    return (shown if shown.strip() and shown == shown.strip() else shown.replace(" ", "␣")) or "∅"


def words_of(name: str, words: Words, rows: int, sample: int, batch: int) -> tuple[str, ...]:
    """Return the words of one sample as they are shown, one for each of `rows`; numbers for None.

    Raises:
        TypeError, ValueError: a text instead of words, or another number of them.
    """
    if words is None:
        return tuple(str(i) for i in range(rows))
    if isinstance(words, str):
        raise type_error(name, "a list of words", f"the text {words!r}", f"Cut it up: {words!r}.split().")
    words = list(words)
    if are_nested(words):
        if len(words) != batch:
            raise value_error(name, f"one list of words for each of {batch} samples", len(words))
        words = list(words[sample])
    if len(words) != rows:
        line = "row" if name == "queries" else "column"
        raise value_error(name, f"{rows} words, one for each {line}", f"{len(words)} words")
    return tuple(visible(word) for word in words)


def are_nested(words: Words) -> bool:
    """Say whether these are lists of words, one list a sample."""
    return bool(words) and all(isinstance(word, (list, tuple)) for word in words or ())
