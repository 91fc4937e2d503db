"""The still picture: a recording as HTML that needs no script, no kernel and no style sheet.

Each panel is one table, a line of the picture a row of it, so that it reads where styles are
stripped as well, and a change shows in a diff as the line that changed.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from ..look.colours import MARK
from ..text import sentences
from .compare import Comparison, compare, verdict_sentence
from .labels import Parts
from .layout import CELL, WIDE, Label, Picture, pictures, place
from .looks import EACH_CELL, Looks, Paint, check_size, looks
from .recording import Frame, Recording
from .tape import moved, tape_words

text = sentences("moves")
PANELS = 4
_WIRES = "border-collapse:separate;border-spacing:1px;font:12px/1.3 ui-monospace,monospace;margin:2px 0"
_PANEL = "max-width:min(480px,100%);overflow-x:auto"  # two stand side by side in a notebook
_LABEL = "white-space:nowrap;font-weight:600;padding:0 4px;border-bottom:1px solid;background:none"
_NAME = "text-align:right;font-weight:400;padding:0 6px;background:none"
_WRONG = f"outline:2px solid {MARK.light};outline-offset:-2px"


class _Entry(NamedTuple):
    """One entry of a panel's table: what stands there, and how many columns it spans."""

    html: str
    columns: int = 1


def still(recording: Recording, beside: Recording | None = None) -> str:
    """Return a recording as at most four panels of HTML; the same text on every machine.

    Shapes: any recording; beyond 500 cells a panel has its facts and no cells. With `beside`,
    what the second returned stands last, and each wrong number has a ×.

    >>> import torch
    >>> from mha_lib import watch
    >>> html = still(watch(lambda X: X.mT, torch.arange(6.).reshape(1, 2, 3)))
    >>> html.count("<table"), html.count(">5</td>")
    (2, 2)
    """
    comparison = compare(recording, beside) if beside else None
    most = PANELS if beside is None else 2
    panels = _panels(recording, None, most)
    if beside is not None:
        panels += _panels(beside, comparison, 1)
    sentence = f"<p><strong>{escape(verdict_sentence(comparison))}</strong></p>\n" if comparison else ""
    row = "display:flex;flex-wrap:wrap;gap:8px 14px;align-items:flex-start"
    return f'<div style="{row}">\n' + "\n".join(panels) + f"\n</div>\n{_left_out(recording, most)}{sentence}"


def _left_out(recording: Recording, most: int) -> str:
    """Name the steps that have no panel."""
    chosen = _chosen(recording, most)
    left = [f"{k}. {f.operation}" for k, f in enumerate(recording.frames) if k not in chosen]
    return f"<p>{escape(text.still.format(steps='; '.join(left)))}</p>\n" if left else ""


def _panels(recording: Recording, against: Comparison | None, most: int) -> list[str]:
    labels = check_size(recording) <= EACH_CELL
    look = looks(recording)
    drawn = pictures(recording, WIDE, labels, against)
    chosen = _chosen(recording, most)
    panels = []
    for number in chosen:
        before = recording.frames[max(number - 1, 0)]
        frame = recording.frames[number]
        first = sum(len(each.steps) for each in recording.frames[:number])
        cells = _table(frame, drawn[number], look, first, against) if labels else ""
        panels.append(f'<div style="{_PANEL}">{_facts(number, before, frame)}{cells}</div>')
    return panels


def _chosen(recording: Recording, most: int) -> list[int]:
    """Return the frames to be shown: the last, the first, and those in which most cells move."""
    frames = recording.frames
    if most == 1:
        return [len(frames) - 1]
    between = range(1, len(frames) - 1)
    most_moved = sorted(between, key=lambda k: -_movement(frames[k - 1], frames[k]))[: most - 2]
    return sorted({0, *most_moved, len(frames) - 1})


def _movement(before: Frame, frame: Frame) -> int:
    """How many cells change their place in memory or in the order of reading."""
    old = np.concatenate([step.ids.numpy().ravel() for step in before.steps])
    new = np.concatenate([step.ids.numpy().ravel() for step in frame.steps])
    read = int((old != new).sum()) if old.shape == new.shape else new.size
    return read + moved(before, frame)


def _facts(number: int, before: Frame, frame: Frame) -> str:
    step = frame.steps[0]
    lines = [
        f"<strong><code>{number}. {escape(frame.operation)}</code></strong>",
        escape(f"{step.shape} = ({', '.join(step.axis_names)}), {text.labels['stride']} {step.stride}"),
        escape(" ".join(filter(None, [frame.sentence, _tape(before, frame)]))),
    ]
    return "<br>\n".join(lines) + "\n"


def _tape(before: Frame, frame: Frame) -> str:
    words = tape_words(before, frame)
    return f"({text.labels['memory']}: {words})" if words else ""


def _table(frame: Frame, picture: Picture, look: Looks, first: int, against: Comparison | None) -> str:
    """Set a picture as a table: its places become rows and columns, its labels span theirs."""
    entries: dict[tuple[float, float], _Entry] = {}
    wrong = {id(pair.beside.ids): pair.wrong.ravel() for pair in against.pairs} if against else {}
    for number, (step, piece) in enumerate(zip(frame.steps, picture.pieces, strict=True)):
        count = step.ids.numel()
        sides = place(piece, list(np.indices(step.shape).reshape(len(step.shape), count)))
        x, y = (np.broadcast_to(np.asarray(side, dtype=float), (count,)).tolist() for side in sides)
        marks = wrong.get(id(step.ids), np.zeros(count, dtype=bool))
        shown = look.numbers[first + number] or ("",) * count
        for k, cell in enumerate(step.ids.flatten().tolist()):
            paint = look.palette[look.colours[cell]] if cell >= 0 else None
            entries[y[k], x[k]] = _Entry(_cell(shown[k], paint, bool(marks[k])))
    places = sorted({x for _, x in entries})
    names = {label.x for label in picture.rows}
    gaps = [
        a + CELL[0] for a, b in zip(places, places[1:], strict=False) if CELL[0] + 1 < b - a < 2 * CELL[0]
    ]
    cells = sorted({*places, *gaps})  # where the tensor is cut, an empty column
    columns = sorted({*cells, *names})
    for label in picture.rows:
        entries[label.y, label.x] = _Entry(f'<th style="{_NAME}">{_said(label.parts)}</th>')
    for label in (*picture.blocks, *picture.brackets):
        if spanned := [x for x in cells if label.x - 1 <= x < label.x + label.width - 1]:
            entries[label.y, spanned[0]] = _Entry(_heading(label, len(spanned)), len(spanned))
    rows = sorted({y for y, _ in entries})
    return (
        f'<table style="{_WIRES}" cellpadding="1">\n'
        + "\n".join(_row(entries, y, columns) for y in rows)
        + "\n</table>"
    )


def _row(entries: dict[tuple[float, float], _Entry], y: float, columns: Sequence[float]) -> str:
    parts = []
    skip = 0
    empty = 0
    for x in columns:
        if skip:
            skip -= 1
            continue
        entry = entries.get((y, x))
        if entry is None:
            empty += 1
            continue
        if empty:
            parts.append(f'<td colspan="{empty}" style="background:none"></td>')
        parts.append(entry.html)
        skip = entry.columns - 1
        empty = 0
    return f'<tr align="center">{"".join(parts)}</tr>'


def _cell(number: str, paint: Paint | None, wrong: bool) -> str:
    look = f"background:{paint.background};color:{paint.ink}" if paint else "border:1px dashed"
    mark = f";{_WRONG}" if wrong else ""
    return f'<td style="{look}{mark}">{escape(number)}{"×" * wrong}</td>'


def _heading(label: Label, columns: int) -> str:
    return f'<th colspan="{columns}" style="{_LABEL}">{_said(label.parts)}</th>'


def _said(parts: Parts) -> str:
    return escape(" · ".join(part.text for part in parts))
