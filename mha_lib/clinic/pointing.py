"""Which line makes the first number that is not right."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from .findings import Clue, Line, Milestone
from .milestones import Recogniser, Right
from .recorder import Made, Place, Recorder

_PROJECTED = (Milestone.QUERIES, Milestone.KEYS, Milestone.VALUES)
_SOFTMAX = ("softmax", "exp", "exp_", "softmax_", "_softmax", "log_softmax")
_SHIFTS = ("sub", "sub_", "subtract", "__sub__", "__isub__")
_OF_ROWS = ("sum", "amax", "max", "logsumexp")  # what a softmax by hand takes of each row
_FUSED = ("scaled_dot_product_attention", "multi_head_attention_forward")


def line_of(place: Place, operation: str = "") -> Line:
    """Return a place as a line without milestones."""
    return Line(place.file, place.number, place.source, operation)


@dataclass(frozen=True, eq=False)
class _Trail:
    """The steps of one run, and what each was recognised as."""

    steps: Sequence[Made]
    known: Sequence[Right | None]
    rights: Sequence[Right]
    numerators: set[int] = field(default_factory=set)  # the scores on their way through a softmax by hand

    def role(self, step: int) -> Milestone | None:
        if step in self.numerators:
            masked = any(right.milestone is Milestone.MASKED for right in self.rights)
            return Milestone.MASKED if masked else Milestone.SCORES
        right = self.known[step]
        return right.milestone if right else None

    def origin(self, step: int) -> int:
        """Return the step that first made what a step only holds in another shape."""
        role = self.role(step)
        while earlier := [p for p in self.steps[step].parents if p < step and self.role(p) is role]:
            step = earlier[0]
        return step


def point(
    recorder: Recorder, output: Tensor | None, rights: Sequence[Right], tolerance: float
) -> Line | None:
    """Return the line after which nothing is right any more; None where none can be told.

    It makes a number that is no right tensor's, the output comes of it, and no right tensor does.
    """
    recogniser = Recogniser(rights, tolerance)
    steps = recorder.steps
    trail = _Trail(steps, [recogniser.find(step) for step in steps], rights)
    last = None if output is None else recorder.step_of(output)
    matters = _ancestors(steps, last) if last is not None else set(range(len(steps)))
    leads_on: set[int] = set()
    for step in range(len(steps) - 1, -1, -1):
        if trail.known[step] is not None or step in leads_on:
            leads_on.update(steps[step].parents)
    lost = []
    for step in sorted(matters):
        if trail.known[step] is not None or step in leads_on:
            continue
        if _goes_into_softmax(steps[step], recogniser):
            trail.numerators.add(step)
        else:
            lost.append(step)
    if not lost:
        return None
    return _line(trail, next((step for step in lost if not _is_of_rows(trail, step)), lost[0]))


def _is_of_rows(trail: _Trail, step: int) -> bool:
    """Whether it is the maximum or the sum of scores or exponentials: what is made with it tells."""
    before = {trail.role(parent) for parent in trail.steps[step].parents}
    return trail.steps[step].name in _OF_ROWS and bool(before & {Milestone.SCORES, Milestone.MASKED})


def _goes_into_softmax(made: Made, recogniser: Recogniser) -> bool:
    """Whether a softmax by hand goes through this: scores less one number a row, or their exponentials."""
    values = made.values
    if made.name not in (*_SOFTMAX, *_SHIFTS):
        return False
    for axis in range(values.dim()):
        weights = values.softmax(axis) if made.name in _SHIFTS else values / values.sum(axis, keepdim=True)
        right = recogniser.find(replace(made, values=weights))
        if right is not None and right.milestone is Milestone.WEIGHTS:
            return True
    return False


def _ancestors(steps: Sequence[Made], last: int) -> set[int]:
    ancestors = set()
    waiting = [last]
    while waiting:
        step = waiting.pop()
        if step not in ancestors:
            ancestors.add(step)
            waiting.extend(p for p in steps[step].parents if p != step)
    return ancestors


def _line(trail: _Trail, step: int) -> Line:
    made = trail.steps[step]
    reached = tuple(m for m in Milestone if any(right and right.milestone is m for right in trail.known))
    present = {right.milestone for right in trail.rights}
    roles = [trail.role(p) for p in made.parents]
    wanted = _wanted(roles, made.name, present, reached)
    clue, factor, operand, at = _clue(trail, step, wanted)
    if clue is Clue.OPERAND:
        wanted = _needed(roles, made.name)
    place = trail.steps[at].place
    unseen: tuple[Milestone, ...] = ()
    if any(one.name in _FUSED for one in trail.steps):
        inner = (Milestone.SCORES, Milestone.MASKED, Milestone.WEIGHTS)
        unseen = tuple(m for m in inner if m in present and m not in reached)
    return Line(
        place.file,
        place.number,
        place.source,
        trail.steps[at].name,
        tuple(m for m in reached if m is not wanted),
        wanted,
        unseen,
        clue,
        factor,
        operand,
    )


def _wanted(
    roles: Sequence[Milestone | None],
    name: str,
    present: set[Milestone | None],
    reached: Sequence[Milestone],
) -> Milestone | None:
    """Say what the right layer makes of tensors in these roles."""
    if Milestone.CONTEXT in roles:
        return Milestone.OUTPUT if Milestone.OUTPUT in present else Milestone.CONTEXT
    if Milestone.WEIGHTS in roles:
        return Milestone.CONTEXT
    scored = {Milestone.PRODUCTS, Milestone.SCORES, Milestone.MASKED} & set(roles)
    if scored and (name in _SOFTMAX or Milestone.MASKED in scored):
        return Milestone.WEIGHTS
    if Milestone.SCORES in scored:
        return Milestone.MASKED if Milestone.MASKED in present else Milestone.WEIGHTS
    if Milestone.PRODUCTS in scored:
        return Milestone.SCORES
    if set(roles) & set(_PROJECTED):
        return Milestone.CONTEXT if name in _FUSED else Milestone.SCORES
    return next((m for m in _PROJECTED if m not in reached), None)


def _needed(roles: Sequence[Milestone | None], name: str) -> Milestone | None:
    if Milestone.WEIGHTS in roles:
        return Milestone.VALUES
    projected = [role for role in roles if role in _PROJECTED]
    expected = _PROJECTED if name in _FUSED else _PROJECTED[:2]
    if name in _FUSED:
        return next((e for e, role in zip(expected, projected, strict=False) if e is not role), None)
    return next((e for e in expected if e not in projected), None)


def _clue(trail: _Trail, step: int, wanted: Milestone | None) -> tuple[Clue, float, Milestone | None, int]:
    """Say what is wrong with the number, and at which step to look."""
    made = trail.steps[step]
    if made.values.isnan().any():
        return Clue.NOT_A_NUMBER, 1.0, None, step
    wrong = _wrong_operand(trail, step)
    if wrong is not None:
        at = trail.origin(wrong)
        return Clue.OPERAND, 1.0, trail.role(wrong), at
    for parent in made.parents:
        if trail.known[parent] is not None and _same_numbers(made.values, trail.steps[parent].values):
            return Clue.OTHER_PLACES, 1.0, None, step
    if wanted is Milestone.WEIGHTS:
        powers = [p for p in made.parents if p in trail.numerators and trail.steps[p].name in _SOFTMAX]
        if powers and Milestone.VALUES in map(trail.role, made.parents):
            return Clue.UNDIVIDED, 1.0, None, powers[0]
        return _sums(trail, step), 1.0, None, step
    scores = next((r.values for r in trail.rights if r.milestone is Milestone.SCORES), None)
    if wanted in (Milestone.SCORES, Milestone.MASKED) and scores is not None:
        factor = _factor(made.values, scores)
        if factor is not None:
            return Clue.FACTOR, factor, None, step
    return Clue.NOTHING, 1.0, None, step


def _wrong_operand(trail: _Trail, step: int) -> int | None:
    """Return the parent that should be another tensor: queries twice, keys in the place of values."""
    made = trail.steps[step]
    roles = [(p, trail.role(p)) for p in made.parents]
    projected = [(p, role) for p, role in roles if role in _PROJECTED]
    if any(role is Milestone.WEIGHTS for _, role in roles):
        return next((p for p, role in projected if role is not Milestone.VALUES), None)
    if made.name in _FUSED:
        pairs = zip(projected, _PROJECTED, strict=False)
        return next((p for (p, role), expected in pairs if role is not expected), None)
    if len(projected) == 2 and {role for _, role in projected} != set(_PROJECTED[:2]):
        values = [p for p, role in projected if role is Milestone.VALUES]
        return values[0] if values else projected[1][0]
    return None


def _same_numbers(a: Tensor, b: Tensor) -> bool:
    if a.numel() != b.numel():
        return False
    return torch.allclose(a.flatten().sort()[0], b.flatten().sort()[0], rtol=0, atol=1e-6)


def _sums(trail: _Trail, step: int) -> Clue:
    """Say over what the weights sum to 1."""
    made = trail.steps[step]
    roles = [trail.role(p) for p in trail.steps[step].parents]
    weights = made.values
    right = next(r.values for r in trail.rights if r.milestone is Milestone.WEIGHTS)
    if weights.dim() < 2 or made.name.startswith("exp") or Milestone.VALUES in roles:
        return Clue.NOTHING

    def ones(axis: int) -> bool:
        sums = weights.sum(axis)
        return bool((((sums - 1).abs() < 1e-5) | (sums.abs() < 1e-9)).all())

    if ones(-1):
        if Milestone.PRODUCTS in roles:
            return Clue.UNSCALED
        masked = any(r.milestone is Milestone.MASKED for r in trail.rights)
        return Clue.UNMASKED if masked and Milestone.SCORES in roles else Clue.NOTHING
    if ones(-2):
        return Clue.COLUMNS
    if weights.dim() > 2 and weights.numel() == right.numel() and ones(1 if weights.dim() == 4 else 0):
        return Clue.HEADS
    return Clue.SHORT_ROWS if float(weights.sum(-1).max()) < 1 + 1e-5 else Clue.NOTHING


def _factor(values: Tensor, scores: Tensor) -> float | None:
    """Return by what the scores are multiplied, if that is all that was done to them."""
    if values.numel() != scores.numel() or not values.isfinite().all() or not float(scores.std()) > 0:
        return None
    factor = float(values.std() / scores.std())
    same = torch.allclose(
        values.flatten().sort()[0], factor * scores.flatten().sort()[0], rtol=0, atol=1e-5 * (1 + factor)
    )
    return factor if same else None
