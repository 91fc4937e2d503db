"""Whether an attempt is still the … that stands in the notebook."""

import dis
import inspect
from types import FunctionType
from typing import Any

from torch import nn

_EMPTY = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}


def is_untouched(attempt: Any) -> bool:
    """Return whether the attempt is … or None, or a function, class or module of which nothing is written."""
    if attempt is None or attempt is ...:
        return True
    if isinstance(attempt, nn.Module) or inspect.isclass(attempt):
        attempt = getattr(attempt, "forward", attempt)
    function = getattr(attempt, "__func__", attempt)
    if not isinstance(function, FunctionType):
        return False
    steps = list(dis.get_instructions(function))
    constants = [step.argval for step in steps if "CONST" in step.opname]
    return {step.opname for step in steps} <= _EMPTY and all(value in (None, ...) for value in constants)
