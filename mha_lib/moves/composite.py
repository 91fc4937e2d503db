"""Functions of torch that are made of many operations, opened so that each of these is seen."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

from .calls import Call

_OPENED = frozenset({"multi_head_attention_forward"})
_HANDS_OVER = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


def opened(call: Call) -> Callable[..., Any] | None:
    """Return a copy of the function that runs its own body; None if it is not to be opened.

    Under a mode such a function hands itself over whole, before its first line; the copy is
    told that nobody is listening, and what it calls is heard one by one.
    """
    func = call.func
    if call.name not in _OPENED or not isinstance(func, FunctionType):
        return None
    names = {**func.__globals__, **dict.fromkeys(_HANDS_OVER, _nobody)}
    copy = FunctionType(func.__code__, names, func.__name__, func.__defaults__, func.__closure__)
    copy.__kwdefaults__ = func.__kwdefaults__
    return copy


def _nobody(*tensors: Any) -> bool:
    return False
