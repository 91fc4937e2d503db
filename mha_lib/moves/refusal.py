"""Why a result could not be followed, in the words of the one who wrote the function."""

import sys
from collections.abc import Callable
from enum import Enum
from typing import Any

from ..errors import InputValueError, value_error
from ..text import sentences

text = sentences("moves")


class Reason(Enum):
    """What hid the cells; the value is its name among the texts."""

    COMPILED = "compiled"
    TRANSFORM = "transform"
    LEFT_TORCH = "left_torch"
    FROM_OUTSIDE = "from_outside"


def not_followed(reasons: list[Reason]) -> InputValueError:
    """Return the error for a result in which no cell of the input is left."""
    reason = reasons[0] if reasons else Reason.FROM_OUTSIDE
    expected, got = text.refused
    return value_error("fn", expected, got, text.refusals[reason.value])


def compilations(fn: Callable[..., Any]) -> int:
    """Count what torch.compile has made so far; -1 if `fn` itself is compiled."""
    if hasattr(fn, "_torchdynamo_orig_callable"):
        return -1
    counted: Any = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    return int(counted["frames"]["total"]) if counted else 0
