"""AttentionPlane: drag a query among its keys, and see whom it chooses and what it takes home."""

import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
import traitlets
from torch import Tensor

from ..errors import value_error
from ..look.style import head_colour
from ..look.unseen import visible
from ..masks import masked_softmax
from ..scoring import dot_product_scores
from ..text import read, sentences
from .base import STATIC, BrowserPicture, style

text = sentences("attention_plane")
Point = tuple[float, float]
SIDE = 270  # pixels: the height of both drawings
STEP = 0.25  # what one press of an arrow key adds to a number of the query
_HEAD = head_colour(0)


@dataclass(frozen=True)
class Attended:
    """What attention makes of one query: a score, the same scaled, and a weight a key; and the context."""

    scores: tuple[float, ...]
    scaled: tuple[float, ...]
    weights: tuple[float, ...]
    context: Point


@dataclass(frozen=True)
class Box:
    """A drawing of a part of the plane: its size, where [0, 0] lies, and the pixels to 1."""

    width: float
    height: float
    x: float
    y: float
    unit: float

    def place(self, point: Sequence[float]) -> Point:
        """Return where a point of the plane lies in the drawing, in pixels."""
        return self.x + point[0] * self.unit, self.y - point[1] * self.unit


def _fitting(low: Sequence[float], high: Sequence[float]) -> Box:
    """Return the drawing, SIDE pixels high, that holds the plane from `low` to `high`."""
    unit = SIDE / (high[1] - low[1])
    return Box((high[0] - low[0]) * unit, SIDE, -low[0] * unit, high[1] * unit, unit)


class AttentionPlane(BrowserPicture):
    """Query, keys and values of two numbers each, drawn in the plane; the query can be moved.

    weights = softmax(q · keys / √2), context = weights · values. Drag the query, use the arrow
    keys, or take the query of a word; scores, weights and context follow.

    Shapes: queries (3, 2), keys (3, 2), values (3, 2).

    Args:
        words: the three words, whose queries, keys and values these are.
        asks: which word's query is shown first. `query`, two numbers, can be read and set.

    Raises:
        ValueError: tensors of another shape, other than three words, or a query out of the picture.

    Example:
        >>> keys, values = torch.tensor([[0.0, 1], [2, 0], [0, 1]]), torch.tensor([[1.0, 0], [0, 4], [2, 2]])
        >>> queries = torch.tensor([[1.0, 1], [0, 1], [2, 1]])
        >>> AttentionPlane(queries, keys, values, ["small", "cats", "sleep"]).attended.scores
        (1.0, 4.0, 1.0)
    """

    module = "attention_plane"
    _esm = STATIC / "attention_plane.js"
    _css = style("attention_plane")

    query = traitlets.List(traitlets.Float()).tag(sync=True)
    query_points = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    key_points = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    value_points = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    scale = traitlets.Float(1 / math.sqrt(2)).tag(sync=True)
    limit = traitlets.Int().tag(sync=True)
    step = traitlets.Float(STEP).tag(sync=True)
    plane = traitlets.Dict().tag(sync=True)
    triangle = traitlets.Dict().tag(sync=True)
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    still = traitlets.Unicode().tag(sync=True)
    text = traitlets.Dict().tag(sync=True)

    def __init__(
        self, queries: Tensor, keys: Tensor, values: Tensor, words: Sequence[str], *, asks: int = -1
    ) -> None:
        inputs = {"queries": queries, "keys": keys, "values": values}
        for name, points in inputs.items():
            if points.shape != (3, 2):
                raise value_error(name, "three words with two numbers each, (3, 2)", tuple(points.shape))
        if len(words) != 3:
            raise value_error("words", "three words", len(words))
        farthest = max(float(queries.abs().max()), float(keys.abs().max()))
        limit = math.floor(farthest) + 1
        beside = torch.tensor([0.9, 0.4])  # room for the words at the corners
        low, high = (
            (values.amin(0).clamp(max=0) - beside).tolist(),
            (values.amax(0).clamp(min=0) + beside).tolist(),
        )
        super().__init__(
            query_points=queries.tolist(),
            key_points=keys.tolist(),
            value_points=values.tolist(),
            words=[visible(word) for word in words],
            limit=limit,
            plane=asdict(_fitting((-limit, -limit), (limit, limit))),
            triangle=asdict(_fitting(low, high)),
            text=read("attention_plane"),
        )
        self.query = queries[asks].tolist()
        self.still = self._still()

    @traitlets.validate("query")
    def _inside(self, proposal: dict[str, list[float]]) -> list[float]:
        query = proposal["value"]
        if query and (len(query) != 2 or not all(abs(number) <= self.limit for number in query)):
            raise value_error("query", f"two numbers from {-self.limit} to {self.limit}", query)
        return query

    @property
    def attended(self) -> Attended:
        """Scores, weights and context of the query as it is now, computed by torch."""
        q, k, v = (
            torch.tensor(part, dtype=torch.float64)
            for part in ([self.query], self.key_points, self.value_points)
        )
        scores = dot_product_scores(q, k, scale=1.0)
        scaled = dot_product_scores(q, k, scale=self.scale)
        weights = masked_softmax(scaled)
        context = (weights @ v)[0].tolist()
        return Attended(
            scores=tuple(scores[0].tolist()),
            scaled=tuple(scaled[0].tolist()),
            weights=tuple(weights[0].tolist()),
            context=(context[0], context[1]),
        )

    @property
    def status(self) -> str:
        """Everything that the picture shows now, in a sentence."""
        now = self.attended
        rows = {"query": self.query, **asdict(now)}
        return text.status.format(**{name: ", ".join(map(_number, row)) for name, row in rows.items()})

    def __repr__(self) -> str:
        return text.repr.format(status=self.status)

    def fallback(self) -> str:
        """Return the picture as it stands now, as SVG and a table."""
        return f"<div>{self._still()}<p>{self.status}</p><p><em>{text.hint}</em></p></div>"

    def _still(self) -> str:
        parts = (self._draw_plane(), self._table(), self._draw_triangle())
        return f'<div class="mha-plane-body">{"".join(parts)}</div>'

    def _draw_plane(self) -> str:
        box = Box(**self.plane)
        limit = self.limit
        names: dict[Point, str] = {}
        for word, (x, y) in zip(self.words, self.key_points, strict=True):
            names[x, y] = ", ".join(filter(None, (names.get((x, y)), word)))
        drawn = [_grid(box, range(1 - limit, limit), range(1 - limit, limit))]
        for key, name in names.items():
            drawn += [_arrow(box, key, "mha-plane-key", _HEAD), _label(box, key, name)]
        x, y = box.place(self.query)
        drawn.append(_arrow(box, self.query, "mha-plane-query", "currentColor"))
        drawn.append(
            f'<g class="mha-plane-handle" transform="translate({x:.1f} {y:.1f})"><circle r="14" '
            'fill="currentColor" fill-opacity=".1" stroke="currentColor"/>'
            '<text x="18" y="-6" font-weight="bold" fill="currentColor">q</text></g>'
        )
        return _figure(
            text.plane_title, text.plane_help, box, text.plane.format(keys=self._said(self.key_points)), drawn
        )

    def _draw_triangle(self) -> str:
        box = Box(**self.triangle)
        now = self.attended
        corners = [box.place(value) for value in self.value_points]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        (low_x, low_y), (high_x, high_y) = (
            [pick(value[axis] for value in [*self.value_points, [0, 0]]) for axis in (0, 1)]
            for pick in (min, max)
        )
        drawn = [
            _grid(box, range(math.ceil(low_x), int(high_x) + 1), range(math.ceil(low_y), int(high_y) + 1)),
            f'<polygon points="{points}" fill="{_HEAD}" fill-opacity=".15" stroke="{_HEAD}"/>',
        ]
        x, y = box.place(now.context)
        for (to_x, to_y), weight in zip(corners, now.weights, strict=True):
            drawn.append(
                f'<line class="mha-plane-share" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" '
                f'stroke="{_HEAD}" stroke-width="{1 + 7 * weight:.1f}"/>'
            )
        centre = [sum(numbers) / 3 for numbers in zip(*self.value_points, strict=True)]
        named = zip(self.words, self.value_points, strict=True)
        drawn += [_label(box, value, word, centre) for word, value in named]
        drawn.append(
            f'<circle class="mha-plane-context" cx="{x:.1f}" cy="{y:.1f}" r="7" fill="currentColor"/>'
        )
        spoken = text.values.format(values=self._said(self.value_points))
        return _figure(text.values_title, text.values_help, box, spoken, drawn)

    def _said(self, points: Sequence[Sequence[float]]) -> str:
        named = zip(self.words, points, strict=True)
        spoken = (text.point.format(word=word, x=f"{x:g}", y=f"{y:g}") for word, (x, y) in named)
        return ", ".join(spoken)

    def _table(self) -> str:
        now = self.attended
        columns = (text.word, text.score, text.scaled, text.weight)
        head = "".join(f'<th scope="col">{name}</th>' for name in columns)
        rows = [f"<thead><tr>{head}</tr></thead>"]
        for word, *numbers in zip(self.words, now.scores, now.scaled, now.weights, strict=True):
            cells = (f'<td class="mha-plane-bar">{_number(number)}</td>' for number in numbers)
            rows.append(f'<tr><th scope="row">{html.escape(word)}</th>{"".join(cells)}</tr>')
        total = f'<th scope="row">{text.sum}</th><td></td><td></td><td>{_number(sum(now.weights))}</td>'
        context = ", ".join(map(_number, now.context))
        taken = f'<th scope="row">{text.context}</th><td class="mha-plane-taken" colspan="3">[{context}]</td>'
        rows.append(f"<tfoot><tr>{total}</tr><tr>{taken}</tr></tfoot>")
        return f"<figure><figcaption>{text.rows_title}</figcaption><table>{''.join(rows)}</table></figure>"


def _number(value: float) -> str:
    return f"{value + 0.0:.2f}"


def _figure(title: str, how: str, box: Box, spoken: str, drawn: Sequence[str]) -> str:
    size = f'width="{box.width:.0f}" height="{box.height:.0f}" viewBox="0 0 {box.width:.1f} {box.height:.1f}"'
    svg = f'<svg {size} role="img" aria-label="{html.escape(spoken)}" font-size="14">{"".join(drawn)}</svg>'
    return f"<figure><figcaption>{title}</figcaption>{svg}<p>{how}</p></figure>"


def _grid(box: Box, columns: range, rows: range) -> str:
    lines = []
    for x in columns:
        at = box.place((x, 0))[0]
        lines.append(_line(at, 0, at, box.height, x == 0))
        lines.append(f'<text x="{at + 3:.1f}" y="{box.y + 14:.1f}" {_SMALL}>{x}</text>' * (x != 0))
    for y in rows:
        at = box.place((0, y))[1]
        lines.append(_line(0, at, box.width, at, y == 0))
        lines.append(f'<text x="{box.x + 4:.1f}" y="{at - 3:.1f}" {_SMALL}>{y}</text>' * (y != 0))
    return f'<g class="mha-plane-grid">{"".join(lines)}</g>'


_SMALL = 'font-size="12" fill="currentColor" fill-opacity=".75"'


def _line(x1: float, y1: float, x2: float, y2: float, axis: bool) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="currentColor" stroke-opacity="{0.6 if axis else 0.18}"/>'


def _arrow(box: Box, tip: Sequence[float], name: str, colour: str) -> str:
    """Draw an arrow from [0, 0]; its head is the marker at the line's end."""
    x, y = box.place(tip)
    head = (
        f'<marker id="{name}-head" orient="auto" markerUnits="userSpaceOnUse" markerWidth="12" '
        f'markerHeight="12" refX="11" refY="6"><path d="M0 1L12 6L0 11z" fill="{colour}"/></marker>'
    )
    ends = f'x1="{box.x:.1f}" y1="{box.y:.1f}" x2="{x:.1f}" y2="{y:.1f}"'
    line = f'<line class="{name}" {ends} stroke="{colour}" stroke-width="3" marker-end="url(#{name}-head)"/>'
    return head + line


def _label(box: Box, point: Sequence[float], word: str, centre: Sequence[float] = (0, 0)) -> str:
    """Write a word beside a point, on the side that looks away from `centre`."""
    x, y = box.place(point)
    right, up = point[0] - centre[0], point[1] - centre[1]
    if up > abs(right):
        anchor, dx, dy = "end", -9, 4
    else:  # below a point stand the numbers of the axis
        anchor, dx, dy = ("start", 9, -6) if right >= 0 else ("end", -9, -6)
    at = f'x="{x + dx:.1f}" y="{y + dy:.1f}" text-anchor="{anchor}"'
    return f'<text {at} fill="currentColor">{html.escape(word)}</text>'
