"""Why a result could not be followed, in the words of the one who wrote the function."""

from enum import Enum

from ..errors import InputValueError, value_error
from ..text import sentences

text = sentences("moves")


class Reason(Enum):
    """What hid the cells; the value is its name among the texts."""

    TRANSFORM = "transform"
    NOT_DENSE = "not_dense"
    LEFT_TORCH = "left_torch"
    FROM_OUTSIDE = "from_outside"


def not_followed(reasons: list[Reason]) -> InputValueError:
    """Return the error for a result in which no cell of the input is left."""
    reason = reasons[0] if reasons else Reason.FROM_OUTSIDE
    expected, got = text.refused
    return value_error("fn", expected, got, text.refusals[reason.value])
