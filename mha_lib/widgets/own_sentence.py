"""A sentence of the learner's own: read by the caller's function, or the reason why not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from ..errors import MhaError
from ..heatmaps.lengths import read_lengths
from ..heatmaps.read import read_maps
from ..heatmaps.scores import Score, given_scores
from ..heatmaps.weighed import Weighed
from ..heatmaps.words import are_nested
from ..text import sentences

text = sentences("heads")


@dataclass(frozen=True)
class Sentence:
    """What became of it, with a note on a score that it has not."""

    weighed: Weighed
    scores: Mapping[str, Tensor]
    note: str = ""


def read_sentence(
    read: Callable[[str], object], sentence: str, functions: Mapping[str, Score]
) -> Sentence | str:
    """Return the sentence's weights and scores, or one sentence on what went wrong."""
    if not sentence.strip():
        return str(text.no_sentence)
    try:
        weighed = _weighed(read(sentence))
    except Exception as error:  # the caller's function: whatever it says, the page says
        return text.not_read.format(kind=type(error).__name__, error=error)
    scores: dict[str, Tensor] = {}
    notes = []
    for name, function in functions.items():
        try:
            scores |= given_scores({name: function}, weighed.maps)
        except Exception as error:  # the caller's function, too
            notes.append(text.not_scored.format(name=name, error=error))
    return Sentence(weighed, scores, " ".join(notes))


def _weighed(result: object) -> Weighed:
    if isinstance(result, tuple) and len(result) == 2:
        weights, words, values = *result, None
    elif hasattr(result, "weights") and hasattr(result, "words"):
        weights, words = result.weights, result.words
        values = getattr(result, "value_lengths", None)
    else:
        raise MhaError(text.not_readable.format(kind=type(result).__name__))
    words = [list(each) for each in words] if are_nested(words) else words
    maps = read_maps(weights, words, sample=0 if are_nested(words) else None, own=True)
    return Weighed(maps, None if values is None else read_lengths(values, maps, 0))
