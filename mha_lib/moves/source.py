"""An operation as the learner wrote it, cut out of the source that is being run."""

import ast
import linecache
import os
from itertools import islice
from types import FrameType
from typing import Any

import torch
from torch import Tensor

_LIBRARY, _TORCH = os.path.dirname(__file__), os.path.dirname(torch.__file__)
_WATCH = os.path.join(_LIBRARY, "watch.py")
_STATEMENTS = ("copy_", "__setitem__")
_LONGEST = 72


def as_written(frame: FrameType, name: str, args: Any, kwargs: Any) -> tuple[str, bool, str]:
    """Return the operation as written, whether in mha_lib, and the library call it happened in."""
    inside = False  # a library other than torch made the call, so its source is not the learner's
    while frame.f_back:
        file = frame.f_code.co_filename
        between = file.startswith(_TORCH) or file == _WATCH
        if not between and (file.startswith(_LIBRARY) or "site-packages" not in file):
            break
        inside = inside or not between
        frame = frame.f_back
    source = _source(frame, statement=name in _STATEMENTS)
    rebuilt = _rebuilt(name, args, kwargs)
    ours = frame.f_code.co_filename.startswith(_LIBRARY + os.sep)
    if inside:
        return rebuilt, ours, source or ""
    return (source if source and len(source) <= _LONGEST else rebuilt), ours, ""


def _source(frame: FrameType, statement: bool) -> str | None:
    """Cut the expression that is being evaluated out of the frame's source."""
    unknown = (None, None, None, None)
    first, last, start, end = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), unknown)
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
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


def _rebuilt(name: str, args, kwargs) -> str:
    """Write an operation down from its call."""

    def show(value: Any) -> str:
        if isinstance(value, Tensor):
            return "…"
        if isinstance(value, slice):
            parts = ["" if part is None else str(part) for part in (value.start, value.stop, value.step)]
            return ":".join(parts[: 2 if value.step is None else 3])
        return "..." if value is Ellipsis else str(value)

    if name == "__getitem__":
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        return f"[{', '.join(map(show, index))}]"
    method = bool(args) and isinstance(args[0], Tensor)
    if method and len(args) == 1 and name in ("T", "mT", "data"):
        return f".{name}"
    shown = [show(a) for a in (args[1:] if method else args)] + [f"{k}={show(v)}" for k, v in kwargs.items()]
    return f"{'.' if method else 'torch.'}{name}({', '.join(shown)})"
