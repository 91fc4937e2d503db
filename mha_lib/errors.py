"""The one exception family of mha_lib: what was wrong, and how to mend it."""

from typing import TypeVar


class MhaError(Exception):
    """Base of every error that mha_lib raises about what it was given."""

    parameter = ""  # what it is about
    reason = ""  # the rest of the message, for a page on which the parameter has another name


class InputValueError(MhaError, ValueError):
    """A value that is out of range, of the wrong shape or at odds with another one."""


class InputTypeError(MhaError, TypeError):
    """A value of a kind that is not accepted."""


_Error = TypeVar("_Error", bound=MhaError)


def _about(kind: type[_Error], name: str, expected: str, got: object, mend: str) -> _Error:
    message = f"expected {expected}, got {got}. {mend}".strip()
    error = kind(f"{name}: {message}")
    error.parameter = name
    error.reason = message
    return error


def value_error(name: str, expected: str, got: object, mend: str = "") -> InputValueError:
    """Build the error for a wrong value of the parameter `name`."""
    return _about(InputValueError, name, expected, got, mend)


def type_error(name: str, expected: str, got: object, mend: str = "") -> InputTypeError:
    """Build the error for a parameter `name` of the wrong kind."""
    return _about(InputTypeError, name, expected, got, mend)
