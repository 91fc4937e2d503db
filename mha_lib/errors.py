"""The one exception family of mha_lib: what was wrong, and how to mend it."""


class MhaError(Exception):
    """Base of every error that mha_lib raises about what it was given."""


class InputValueError(MhaError, ValueError):
    """A value that is out of range, of the wrong shape or at odds with another one."""


class InputTypeError(MhaError, TypeError):
    """A value of a kind that is not accepted."""


def _message(name: str, expected: str, got: object, mend: str) -> str:
    return f"{name}: expected {expected}, got {got}. {mend}".strip()


def value_error(name: str, expected: str, got: object, mend: str = "") -> InputValueError:
    """Build the error for a wrong value of the parameter `name`."""
    return InputValueError(_message(name, expected, got, mend))


def type_error(name: str, expected: str, got: object, mend: str = "") -> InputTypeError:
    """Build the error for a parameter `name` of the wrong kind."""
    return InputTypeError(_message(name, expected, got, mend))
