"""The learner's own chain in TensorMoves' playground: run in the kernel, and never for long.

A step that would make too many cells is refused before torch makes them, and a chain that
works longer than SECONDS is stopped: it runs in a thread of its own, so the kernel goes on.
"""

import ast
import ctypes
import linecache
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from math import prod
from types import CodeType
from typing import Any, TypeVar

import torch
from IPython import get_ipython
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..errors import MhaError
from ..moves.looks import MOST_CELLS
from ..moves.recorder import watch
from ..moves.recording import Recording
from ..text import sentences

text = sentences("chain")
SIZES = {"sentences": 2, "words": 4, "features": 10, "heads": 2}
CHAIN = "X.reshape(B, L, h, d).permute(0, 2, 1, 3).reshape(B * h, L, d)"
SECONDS = 5.0  # of work; a machine that is shared with others may take longer for them
WAITING = 4  # times as long a chain may take on the clock
_FILE = "<your chain>"
_Made = TypeVar("_Made")


class ChainError(ValueError):
    """What is wrong with a chain or its sizes, in words for the one who wrote it."""


class _Stop(BaseException):
    """Raised inside a chain that has run too long; no `except Exception` of its own catches it."""


@dataclass(frozen=True)
class Trouble:
    """What a learner is told about a chain: which chain, the error, and what to do about it."""

    chain: str
    error: str
    hint: str = ""


class _Guard(TorchFunctionMode):
    """Asks torch for the size of every result, on tensors without cells, before it is made."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        size = _size(func, args, kwargs)
        if size > MOST_CELLS:
            raise ChainError(text.step_too_many.format(cells=size, most=MOST_CELLS))
        return func(*args, **kwargs)


def _size(func: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> int:
    """Return how many cells the largest tensor of the result will have; 0 if torch cannot tell."""
    hollow = {name: _hollow(value) for name, value in kwargs.items()}
    if not any(isinstance(value, Tensor) for value in (*args, *kwargs.values())) and "size" not in hollow:
        hollow["device"] = "meta"  # a function that makes a tensor from nothing, such as zeros
    try:
        made = func(*map(_hollow, args), **hollow)
    except Exception:  # the true call says what is wrong, or works without this
        return 0
    results = made if isinstance(made, tuple | list) else [made]
    return max((result.numel() for result in results if isinstance(result, Tensor)), default=0)


def _hollow(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().to("meta")
    return type(value)(map(_hollow, value)) if type(value) in (tuple, list) else value


def limited(run: Callable[[], _Made], seconds: float = SECONDS) -> _Made:
    """Return what `run` returns, or raise what it raises; ChainError if it takes too long.

    `seconds` of its own work are counted, and WAITING times as many on the clock.
    """
    made: list[_Made] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            made.append(run())
        except BaseException as error:  # handed on to the caller
            raised.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    end = time.monotonic() + WAITING * seconds
    try:
        while thread.is_alive() and time.monotonic() < end and _worked(thread) < seconds:
            thread.join(0.05)
    except KeyboardInterrupt:
        _stop(thread)
        raise ChainError(text.interrupted) from None
    if thread.is_alive():
        _stop(thread)
        raise ChainError(text.too_long.format(seconds=f"{seconds:g}"))
    if raised:
        raise raised[0]
    return made[0]


def _worked(thread: threading.Thread) -> float:
    """Return the seconds that a thread has worked; 0 where the system does not count them."""
    if thread.ident is None or not hasattr(time, "pthread_getcpuclockid"):
        return 0.0
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
    except OSError:  # it has just ended
        return 0.0


def _stop(thread: threading.Thread) -> None:
    """Raise _Stop in the thread, as soon as it runs Python again and is not importing.

    A module that is stopped in the midst of its import, as torch does while it works, stays half loaded
    for the rest of the kernel's life.
    """
    while thread.is_alive() and _imports(thread):
        thread.join(0.05)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Stop))


def _imports(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    while frame and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def evaluate(chain: str, sizes: Mapping[str, int], guard: bool = True) -> Recording:
    """Run the learner's text on an X of these sizes, in the notebook's namespace.

    With `guard` no step may make more cells than a picture holds.
    Raises: ChainError for what cannot be shown; whatever the text itself raises.
    """
    B, L, D, h = (sizes[name] for name in SIZES)
    _check_sizes(B, L, D, h)
    before, last = _compiled(chain)
    space = dict(get_ipython().user_ns) if get_ipython() else {}
    space |= {"B": B, "L": L, "D": D, "h": h, "d": D // h, "torch": torch}

    def learners(X: Tensor) -> Any:
        space["X"] = X
        exec(before, space)
        result = eval(last, space)
        if not _tensors(result):
            raise ChainError(text.not_tensor.format(type(result).__name__))
        return result

    X = torch.arange(float(B * L * D)).reshape(B, L, D)
    try:
        with _Guard() if guard else nullcontext():
            return watch(learners, X, num_heads=h)
    except MhaError as error:
        raise ChainError(text.not_followed.format(reason=error.reason or error)) from error


def _check_sizes(B: int, L: int, D: int, h: int) -> None:
    if min(B, L, D, h) < 1:
        raise ChainError(text.at_least_one)
    if D % h:
        choices = ", ".join(str(k) for k in range(1, D + 1) if D % k == 0)
        raise ChainError(text.no_divide.format(features=D, heads=h, choices=choices))
    if B * L * D > MOST_CELLS:
        raise ChainError(text.sizes_too_many.format(cells=B * L * D, most=MOST_CELLS))


def _compiled(chain: str) -> tuple[CodeType, CodeType]:
    """Compile all lines but the last, and the last, whose value is shown."""
    linecache.cache[_FILE] = (len(chain), None, chain.splitlines(keepends=True), _FILE)
    tree = ast.parse(chain, _FILE)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise ChainError(text.not_tensor.format(text.nothing))
    before = compile(ast.Module(tree.body[:-1], []), _FILE, "exec")
    return before, compile(ast.Expression(tree.body[-1].value), _FILE, "eval")


def _tensors(result: Any) -> bool:
    if isinstance(result, Mapping):
        result = tuple(result.values())
    parts = result if isinstance(result, tuple | list) else (result,)
    return any(isinstance(part, Tensor) for part in parts)


def explain(error: BaseException, chain: str) -> Trouble:
    """Return torch's own words, and what to do about them."""
    if isinstance(error, ChainError):
        return Trouble(chain, str(error))
    message = f"{type(error).__name__}: {error}".strip()
    misfit = re.search(text.shape_message, message)
    if misfit:
        return Trouble(chain, message, _about_sizes(misfit["shape"], int(misfit["size"])))
    for pattern, hint in text.hints:
        match = re.search(pattern, message)
        if match:
            return Trouble(chain, message, hint.format(**match.groupdict()))
    return Trouble(chain, message)


def _about_sizes(shape: str, size: int) -> str:
    """Say why the sizes in torch's message do not fit."""
    sizes = [int(number) for number in re.findall(text.size_in_it, shape)]
    known = [number for number in sizes if number != -1]
    if len(known) == len(sizes):
        return str(text.other_product.format(size=size, product=prod(sizes)))
    parts = " × ".join(map(str, known))
    return str(text.no_share.format(size=size, parts=parts, product=prod(known)))
