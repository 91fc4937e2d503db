"""What a notebook's cells show, as nbval compares it, and how two runs differ, in words."""

import difflib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.M)
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.M | re.S)
NOT_COMPARED = ("image/png", "image/jpeg", "application/vnd.jupyter.widget-view+json")
WIDTH = 96  # characters of one side of a difference
TAG = re.compile(r"<[^>]+>")


def headings(cells: Iterable) -> list[str]:
    """The heading that each cell stands under, "" before the first."""
    under, current = [], ""
    for cell in cells:
        if cell.cell_type == "markdown":
            current = ([current] + HEADING.findall(FENCE.sub("", cell.source)))[-1]
        under.append(current)
    return under


def shown(outputs: Iterable[Mapping]) -> dict[str, list[str]]:
    """The texts of a cell's outputs by their kind; streams of one name are joined."""
    texts: dict[str, list[str]] = defaultdict(list)
    streams: dict[str, str] = defaultdict(str)
    for output in outputs:
        if output["output_type"] == "stream":
            streams[output["name"]] += _joined(output["text"])
        elif output["output_type"] == "error":
            texts["error"].append(f"{output['ename']}: {output['evalue']}")
        for kind, content in output.get("data", {}).items():
            if kind not in NOT_COMPARED:
                texts[kind].append(_joined(content))
    return {**texts, **{name: [_as_left(text)] for name, text in streams.items()}}


def _as_left(stream: str) -> str:
    """A stream as one finds it: of a line that was written over, the last state."""
    return re.sub(r"^[^\n]*\r(?!\n)", "", stream, flags=re.M)


def _joined(content: object) -> str:
    if isinstance(content, Mapping):
        return json.dumps(content, sort_keys=True)
    return "".join(content) if isinstance(content, list) else str(content)


def differences(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Say in a line each what two results of `shown` do not have in common; nothing if they agree.

    What a person reads comes first, and a widget's state after it.
    """
    kinds = [*before, *(kind for kind in after if kind not in before)]
    for kind in sorted(kinds, key=lambda kind: kind.startswith("application/")):
        old, new = list(before.get(kind, ())), list(after.get(kind, ()))
        if len(old) != len(new):
            first = (new or old)[0]
            yield f"{kind}: {len(old)} before, {len(new)} now, such as {_short(_lines(first)[0])}"
            continue
        for was, now in zip(old, new, strict=True):
            if was != now:
                data = kind.startswith("application/")
                yield f"{kind}: {_first_in_data(was, now) if data else _first_difference(was, now)}"


def _first_in_data(was: str, now: str) -> str:
    """Name the first place where two JSON texts differ, and say what stands there."""
    try:
        where, old, new = next(_apart(json.loads(was), json.loads(now), ()))
    except (ValueError, StopIteration):
        return _first_difference(was, now)
    place = ".".join(map(str, where)) or "all of it"
    if all(isinstance(side, str) and len(side) > WIDTH and " " not in side for side in (old, new)):
        return f"{place}: other numbers, in bytes"
    old, new = (
        "nothing" if side is None else side if isinstance(side, str) else json.dumps(side)
        for side in (old, new)
    )
    return f"{place}: {_signs(old, new)}"


def _apart(old: object, new: object, where: tuple[str | int, ...]) -> Iterator[tuple]:
    """The places where two values read from JSON differ, each with what stands there; None for nothing."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _apart(old.get(key), new.get(key), (*where, key))
    elif isinstance(old, list) and isinstance(new, list):
        for number, (a, b) in enumerate(zip_longest(old, new)):
            yield from _apart(a, b, (*where, number))
    elif old != new:
        yield where, old, new


def _lines(text: str) -> list[str]:
    """Lines as one reads them: of HTML each element's words."""
    parts = TAG.sub("\n", text).splitlines() if text.lstrip().startswith("<") else text.splitlines()
    return [line.strip() for line in parts if line.strip()] or [""]


def _first_difference(was: str, now: str) -> str:
    old, new = _lines(was), _lines(now)
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            expected = " / ".join(old[i:j]) or "nothing"
            came = " / ".join(new[k:m]) or "nothing"
            return f"expected {_around(expected, came)}, got {_around(came, expected)}"
    return "the same words, other signs between them (tags, colours or blanks): " + _signs(was, now)


def _signs(was: str, now: str) -> str:
    return f"expected {_around(was, now)}, got {_around(now, was)}"


def _around(text: str, other: str) -> str:
    """The part of a text where it begins to differ from another."""
    same = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), 0)
    return _short(text[max(same - WIDTH // 3, 0) :] if len(text) > WIDTH else text)


def _short(text: str) -> str:
    return f"“{text}”" if len(text) <= WIDTH else f"“{text[:WIDTH]} …”"
