"""An operation as the learner wrote it, cut out of the source that is being run."""

import ast
import linecache
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .calls import Call

_LIBRARY = Path(__file__).parent.parent
_TORCH = Path(torch.__file__).parent
_RECORDER = Path(__file__).parent
_STATEMENTS = ("copy_", "__setitem__")
_LONGEST = 72


class Written(NamedTuple):
    """An operation as written, whether it stands in mha_lib, and the library call it happened in."""

    operation: str
    ours: bool
    within: str


class _Place(NamedTuple):
    """Where a file belongs."""

    between: bool  # torch, or what records it: the frames that stand between us and the writer
    ours: bool
    foreign: bool  # a library that is neither torch nor ours


@cache
def _place(file: str) -> _Place:
    path = Path(file)
    ours = path.is_relative_to(_LIBRARY)
    between = path.is_relative_to(_TORCH) or path.is_relative_to(_RECORDER)
    return _Place(between, ours, not ours and "site-packages" in path.parts)


def as_written(frame: FrameType, call: Call, owner: str) -> Written:
    """Cut the operation out of the source; rebuild it, after its `owner`'s name, where there is none."""
    frame = outwards(frame, lambda file: _place(file).between)
    # Where a library other than torch made the call, its source is not the learner's.
    inside = _place(frame.f_code.co_filename).foreign
    frame = outwards(frame, lambda file: _place(file).between or _place(file).foreign)
    source = _source(frame, statement=call.name in _STATEMENTS)
    ours = _place(frame.f_code.co_filename).ours
    if source and not inside and len(source) <= _LONGEST:
        return Written(source, ours, "")
    return Written(_rebuilt(call, owner), ours, (source or "") if inside else "")


def outwards(frame: FrameType, between: Callable[[str], bool]) -> FrameType:
    """Go out to the innermost frame whose file does not stand between the recorder and the writer."""
    while frame.f_back and between(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def lines_of(frame: FrameType) -> list[str]:
    """Return the source that a frame is running: also a notebook's cell."""
    return linecache.getlines(frame.f_code.co_filename, frame.f_globals)


def _source(frame: FrameType, statement: bool) -> str | None:
    """Cut the expression that is being evaluated out of the frame's source."""
    unknown = (None, None, None, None)
    first, last, start, end = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), unknown)
    lines = lines_of(frame)
    if first is None or last is None or start is None or end is None or not 0 < last <= len(lines):
        return None
    before = lines[first - 1].encode()[:start].decode()
    if statement:  # an assignment's own place is only its left side
        return lines[first - 1][len(before) :].split(";")[0].strip()
    marked = ast.Constant(None, lineno=1, end_lineno=last - first + 1, col_offset=start, end_col_offset=end)
    written = ast.get_source_segment("".join(lines[first - 1 : last]), marked) or ""
    whole = f"({written})"
    try:
        node = ast.parse(whole, mode="eval").body
    except SyntaxError:
        return " ".join(written.split())
    called = node.func if isinstance(node, ast.Call) else node
    chained = ast.Call | ast.Subscript
    if isinstance(called, ast.Attribute | ast.Subscript) and isinstance(called.value, chained):
        earlier = ast.get_source_segment(whole, called.value) or ""  # has a step of its own
        written = whole.partition(earlier)[2][:-1].lstrip(" \t\r\n)")
    elif before.rstrip().endswith("."):  # a chain over several lines: Python marks it from the name on
        written = "." + written
    return " ".join(written.split())


def _rebuilt(call: Call, owner: str) -> str:
    """Write an operation down from its call."""
    args, name = call.args, call.name
    if name == "__getitem__":
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        return f"{owner}[{', '.join(map(_shown, index))}]"
    method = bool(args) and isinstance(args[0], Tensor)
    if method and len(args) == 1 and name in ("T", "mT", "H", "mH", "data"):
        return f"{owner}.{name}"
    shown = [_shown(arg) for arg in (args[1:] if method else args)]
    shown += [f"{name}={_shown(value)}" for name, value in call.kwargs.items()]
    written, start = ", ".join(shown), f"{owner if method else 'torch'}.{name}"
    return f"{start}({written if len(start) + len(written) < _LONGEST else '…'})"


def _shown(value: Any) -> str:
    if isinstance(value, Tensor) or getattr(value, "ndim", None):  # an array, too
        return "…"
    if isinstance(value, list | tuple):
        inside = ", ".join(map(_shown, value))
        alone = "," if len(value) == 1 else ""
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{alone})"
    if isinstance(value, slice):
        parts = ["" if part is None else str(part) for part in (value.start, value.stop, value.step)]
        return ":".join(parts[: 2 if value.step is None else 3])
    return "..." if value is Ellipsis else str(value)
