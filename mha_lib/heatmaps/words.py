"""The words of queries and keys: one list for each sentence, and one word for each row."""

from collections.abc import Sequence

from ..errors import type_error, value_error
from ..look.unseen import visible

Words = Sequence[str] | Sequence[Sequence[str]] | None


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
