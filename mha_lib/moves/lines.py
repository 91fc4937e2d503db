"""How the tensors of a recording are set as text: how many cells a line, how many columns.

A picture is read like text, line by line. Steps that keep the order of reading form a run,
and a run keeps its lines, so that nothing but gaps moves in it where that is possible.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from .axes import is_mixed
from .recording import Kind, Recording, Step

CELL = (34, 26)
LABEL = 22  # the height of a label
GAP, SLIT = 22, 8  # between columns of text, and within a line or a column where the tensor is cut
WIDE, NARROW = 860, 400
LONGEST = 128  # cells of a line where they have no numbers
HIGH = 470  # as much of a screen as the cells should fill
_ROOM_FOR_NAMES = 45


@dataclass(frozen=True)
class Lines:
    """How one tensor is set: cells a line, columns of equally many lines, bands that share them out.

    A band is what one sentence of the input fills. Bands begin at the same heights in all frames,
    so that a sentence stays where it is while another grows. Steps of one run keep their lines.
    """

    width: int
    columns: int
    bands: int
    run: int


@dataclass
class _Run:
    """Steps that show the same cells in the same order of reading."""

    widths: set[int]  # that all of them can have
    own: set[int]  # that one of them would have by itself
    steps: list[int] = field(default_factory=list)


def set_lines(recording: Recording, room: float, labels: bool) -> tuple[Lines, ...]:
    """Return for each step of the recording how it is set in `room` pixels."""
    steps = recording.steps
    most = max(2, int((room - _ROOM_FOR_NAMES) // CELL[0])) if labels else LONGEST
    first = steps[0].shape
    wanted = first[0] if len(first) > 2 else 1
    chosen: dict[int, Lines] = {}
    for number, run in enumerate(_runs(recording, most)):
        members = [steps[k] for k in run.steps]
        votes = [natural(step, most) for step in members]
        width = max(sorted(run.widths), key=votes.count)
        columns = _columns(members, width, wanted, room, labels)
        bands = _bands(members, width, wanted, columns) if labels else columns
        chosen.update(dict.fromkeys(run.steps, Lines(width, columns, bands, number)))
    lines = tuple(chosen[k] for k in range(len(steps)))
    return _below(lines) if room < WIDE else lines


def _below(lines: tuple[Lines, ...]) -> tuple[Lines, ...]:
    """Where it is narrow, sentences stand below each other in all steps or in none."""
    if not any(1 == each.columns < each.bands for each in lines):
        return lines
    return tuple(replace(each, columns=1) if each.columns <= each.bands else each for each in lines)


def _runs(recording: Recording, most: int) -> list[_Run]:
    runs: list[_Run] = []
    home: dict[int, _Run] = {}
    steps = recording.steps
    for number, parents in enumerate(_parents(recording)):
        step = steps[number]
        widths = _widths(step, most)
        own = {natural(step, most)}
        for parent in parents:
            run = home.get(parent)
            common = run.widths & widths if run else set()
            # A line that none of them would have by itself is no line of this text: it is set anew.
            if (
                run
                and common & (run.own | own)
                and same_order(steps[parent], step)
                and _agree(run, steps, step)
            ):
                run.widths, run.own = common, run.own | own
                break
        else:
            run = _Run(widths, own)
            runs.append(run)
        run.steps.append(number)
        home[number] = run
    return runs


def _agree(run: _Run, steps: Sequence[Step], step: Step) -> bool:
    """Whether the run's columns can be the step's, too."""
    first = steps[run.steps[0]]
    outer = prod(first.shape[: -2 if len(first.shape) > 1 else None])
    return any(aligned(step.shape, step.ids.numel() // c) for c in _divisors(outer) if c > 1) or outer == 1


def _parents(recording: Recording) -> Iterator[tuple[int, ...]]:
    """For each step the steps that it may continue."""
    for frame in recording.frames:
        moves = frame.kind in (Kind.MOVE, Kind.NO_CHANGE, Kind.RESULT, Kind.OUTSIDE, Kind.IN_PLACE)
        yield from [frame.parents if moves else ()] * len(frame.steps)


def same_order(old: Step, new: Step) -> bool:
    """Whether two steps show the same cells in the same order of reading."""
    return old.ids.numel() == new.ids.numel() > 0 and old.ids.flatten().equal(new.ids.flatten())


def natural(step: Step, most: int) -> int:
    """Return the cells of a line for a tensor by itself: its last axis, and the head that is cut off it."""
    if not step.shape:
        return 1
    width = max(step.shape[-1], 1)
    names = [tuple(factor.name for factor in axis) for axis in step.axes[-2:]]
    if names == [("head",), ("feature",)]:
        width = prod(step.shape[-2:])
    if width <= most and len(step.shape) > 1:
        return width
    fits = [w for w in _divisors(width) if w <= min(most, 20)]
    return max(fits) if max(fits) > 3 else min(width, most)


def _widths(step: Step, most: int) -> set[int]:
    """Return every line that ends where an axis does, or a thing that the last axis has joined."""
    widths = {natural(step, most)}
    trailing = 1
    for size in reversed(step.shape):
        trailing *= size
        widths.add(trailing)
    last = step.axes[-1] if step.axes else ()
    if last and not is_mixed(last) and prod(factor.size for factor in last) == step.shape[-1]:
        inner = 1
        for factor, slower in zip(reversed(last), [*reversed(last[:-1]), None], strict=True):
            inner *= factor.size
            if (slower and slower.name, factor.name) != ("head", "feature"):  # a feature axis is one thing
                widths.add(inner)
    if step.shape and (len(step.shape) == 1 or step.shape[-1] > most):
        widths |= set(_divisors(max(step.shape[-1], 1)))
    return {width for width in widths if 1 <= width <= most and (width > 1 or trailing <= 1)} or {1}


def aligned(shape: Sequence[int], part: int) -> bool:
    """Whether a part of so many cells in reading order is made of whole slices of one axis."""
    weight = 1
    for size in reversed(shape):
        if weight <= part <= weight * size:
            return part % weight == 0 and size % (part // weight) == 0
        weight *= size
    return False


def _columns(steps: Sequence[Step], width: int, wanted: int, room: float, labels: bool) -> int:
    """Return how many columns of text the steps of a run are set in."""
    first = steps[0]
    outer = prod(first.shape[: outer_axes(first.shape, width)])
    cells = first.ids.numel()
    possible = [
        c for c in _divisors(outer) if cells and all(aligned(step.shape, cells // c) for step in steps)
    ] or [1]
    pitch = width * CELL[0] + (_ROOM_FOR_NAMES if labels else 0) + GAP
    lines = max(cells // width, 1)
    if not labels:  # many cells, to be shown smaller: a sheet about twice as wide as high
        return min(possible, key=lambda c: abs(2 * lines / c * CELL[1] - c * pitch))
    fitting = [c for c in possible if c * pitch - GAP <= room] or [1]
    block = max(lines // max(outer, 1), 1)
    high = {c: lines / c * (CELL[1] + LABEL / block) for c in fitting}
    few = [c for c in fitting if c <= wanted]
    best = max(few) if few else 1
    low = [c for c in fitting if c >= best and high[c] <= HIGH]
    return best if high.get(best, 0) <= HIGH else min(low) if low else max(fitting)


def _bands(steps: Sequence[Step], width: int, wanted: int, columns: int) -> int:
    """Return into how many bands the steps of a run can be shared out: one a sentence, or one a column."""
    cells = steps[0].ids.numel()
    whole = cells and cells % (wanted * width) == 0 and wanted % columns == 0
    return wanted if whole and all(aligned(step.shape, cells // wanted) for step in steps) else columns


def outer_axes(shape: Sequence[int], width: int) -> int:
    """Return how many axes stand before the rows of a block: each of their slices is one block."""
    weight = 1
    axis = len(shape)
    while axis and weight < width:  # the axes of a line
        axis -= 1
        weight *= max(shape[axis], 1)
    if weight > width:  # a line is a part of its axis: the rows are its other parts
        return axis
    while axis and shape[axis - 1] == 1:
        axis -= 1
    return max(axis - 1, 0)


def _divisors(number: int) -> Sequence[int]:
    return [k for k in range(1, max(number, 1) + 1) if number % k == 0] if number <= 4096 else [1]
