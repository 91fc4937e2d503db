"""What a finished figure holds, in plain text: for the comparison of a notebook's outputs, which skips PNGs.

Everything is read back from the artists, in the coordinates of their axes, so that it is the same
whatever fonts a machine has. A few lines say what stands where; a short number at the end of each
axes changes with anything else: a width, a size, an order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.collections import Collection, PolyCollection
from matplotlib.colors import to_hex, to_rgba, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text
from matplotlib.typing import ColorType
from numpy.typing import ArrayLike

from .fonts import LATIN, drawable

MIME = "application/vnd.mha.drawn"
Points = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class _Drawn:
    """One artist: what kind, where, and everything else about it that a reader could see."""

    kind: str
    points: Points
    look: tuple[object, ...]


def inventory(figure: Figure) -> str:
    """Say what stands where in a figure that has been drawn; the same text on every machine.

    >>> from .style import Drawing
    >>> figure = Drawing((2, 1))
    >>> _ = figure.add_axes((0, 0, 1, 1)).text(0.5, 0.5, "here", color="red")
    >>> inventory(figure).splitlines()[-2]
    '   y 0.5: here'
    """
    width, height = _tenths(figure.get_size_inches(), 100)
    lines = [f"{width:g} × {height:g} inches on {_colour(figure.get_facecolor())}"]
    for number, ax in enumerate(figure.axes, 1):
        lines += [f"{number}. axes", *(f"   {line}" for line in _axes(ax))]
    lines += [line for legend in figure.legends for line in _legend(legend)]
    return "\n".join(lines)


def _axes(ax: Axes) -> Iterator[str]:
    """Each row of words and of cells, the names on the axes, and the digest of it all."""
    above = " · ".join(_words(text) for text in ax.texts if isinstance(text, Annotation))
    yield from filter(None, [_named("title", ax.get_title()), _named("above", above)])
    if ax.axison:
        yield from filter(None, [*_axis("rows", ax.yaxis), *_axis("columns", ax.xaxis)])
    texts = [text for text in ax.texts if text.get_text() and not isinstance(text, Annotation)]
    yield from _rows_of_words(texts, -1 if ax.yaxis_inverted() else 1)
    for cells in ax.collections:
        if isinstance(cells, PolyCollection) and cells.get_array() is None:
            yield from _rows_of_cells(cells)
    yield f"all else: {_digest(*_frame(ax), *map(_drawn, _artists(ax)))}"


def _artists(ax: Axes) -> list[Artist]:
    return [*ax.images, *ax.collections, *ax.lines, *ax.patches, *ax.texts]


def _rows_of_words(texts: list[Text], downwards: int) -> Iterator[str]:
    """Say for each height, from the top, which words stand there, from the left."""

    def height(text: Text) -> float:
        return _tenths([text.get_position()[1]])[0]

    def from_the_left(text: Text) -> float:
        return float(text.get_position()[0])

    for y, row in groupby(sorted(texts, key=lambda text: -downwards * height(text)), key=height):
        yield f"y {y:g}: {' · '.join(_words(text) for text in sorted(row, key=from_the_left))}"


def _words(text: Text) -> str:
    """What a text says, and the paper it has of its own."""
    paper = text.get_bbox_patch()
    return _said(text.get_text()) + (f" on {_colour(paper.get_facecolor())}" if paper else "")


def _rows_of_cells(cells: PolyCollection) -> Iterator[str]:
    """Say for each height which colours the cells have, from the left."""
    colours = _colours(cells.get_facecolor())
    corners = [_tenths(np.asarray(path.vertices).min(0)) for path in cells.get_paths()]
    if len(colours) != len(corners):
        return  # one colour, or none, for all
    places = sorted((y, x, colour) for (x, y), colour in zip(corners, colours, strict=True))
    for y, row in groupby(places, key=lambda place: place[0]):
        runs = [(colour, len(list(same))) for colour, same in groupby(place[2] for place in row)]
        yield f"y {y:g}: cells {' '.join(f'{colour}×{count}' for colour, count in runs)}"


def _axis(name: str, axis: Axis) -> Iterator[str]:
    """Which name stands at which place of an axis, and what the axis is called."""
    labels = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=False)
    yield _named(name, " · ".join(f"{at:g} {_said(label.get_text())}" for at, label in labels))
    yield _named(f"{name} are", axis.get_label_text())


def _named(name: str, words: str) -> str:
    return f"{name}: {_said(words)}" if words else ""


def _legend(legend: Legend) -> Iterator[str]:
    """Each sample of a legend with its words, and where the legend stands."""
    texts = legend.get_texts()
    drawn = [_drawn(artist) for artist in (*legend.legend_handles, *texts) if artist]
    anchor = legend.get_bbox_to_anchor().transformed(legend.figure.transSubfigure.inverted())
    place = _tenths(anchor.get_points().ravel(), 1000)
    yield f"legend: {' · '.join(_said(text.get_text()) for text in texts)}"
    yield f"   all else: {_digest(*drawn, _Drawn('legend', (place,), (legend.get_frame_on(),)))}"


def _frame(ax: Axes) -> Iterator[_Drawn]:
    """The axes itself: its place unless it is laid out by its words, its limits, its names' looks."""
    limits = (_tenths(ax.get_xlim()), _tenths(ax.get_ylim()))
    place = () if ax.figure.get_layout_engine() else _tenths(ax.get_position().bounds, 1000)
    spines = tuple((name, spine.get_visible()) for name, spine in ax.spines.items())
    yield _Drawn("axes", limits, (place, _colour(ax.get_facecolor()), ax.axison, spines))
    for axis in (ax.xaxis, ax.yaxis):
        ticks = axis.get_tick_params()
        yield _Drawn("ticks", (), (ticks.get("length"), ticks.get("pad"), ticks.get("labelsize")))
        for text in (axis.label, *axis.get_ticklabels()):
            yield _Drawn("name", (), _look_of_text(text))
    yield _Drawn("title", (), _look_of_text(ax.title))


def _drawn(artist: Artist) -> _Drawn:
    match artist:
        case Text():
            offset = _tenths(artist.xyann) if isinstance(artist, Annotation) else ()
            place = artist.xy if isinstance(artist, Annotation) else artist.get_position()
            return _Drawn("text", (_tenths(place), offset), _look_of_text(artist) + _shared(artist))
        case Line2D():
            points = np.stack([np.asarray(side, float) for side in artist.get_data()], 1)
            pen = (_colour(artist.get_color()), artist.get_linewidth(), artist.get_linestyle())
            mark = (artist.get_marker(), artist.get_markersize(), artist.get_markeredgewidth())
            return _Drawn("line", _places(points), (*pen, *mark) + _shared(artist))
        case Patch():
            points = artist.get_patch_transform().transform(artist.get_path().vertices)
            faces = (_colour(artist.get_facecolor()), _colour(artist.get_edgecolor()))
            look = (*faces, artist.get_linewidth(), artist.get_hatch())
            return _Drawn("patch", _places(points), look + _shared(artist))
        case Collection():
            outlines = [np.asarray(path.vertices) for path in artist.get_paths()] or [np.empty((0, 2))]
            points = np.concatenate(outlines)
            return _Drawn("cells", _places(points), _look_of_collection(artist) + _shared(artist))
        case AxesImage():
            return _Drawn("image", (_tenths(artist.get_extent()),), _look_of_map(artist) + _shared(artist))
    return _Drawn(type(artist).__name__, (), _shared(artist))


def _look_of_text(text: Text) -> tuple[object, ...]:
    """All but the family, which depends on a machine's fonts."""
    letters = (_colour(text.get_color()), text.get_fontsize(), text.get_fontweight(), text.get_fontstyle())
    place = (
        text.get_horizontalalignment(),
        text.get_verticalalignment(),
        text.get_rotation(),
        bool(text.get_path_effects()),
    )
    return (_said(text.get_text()), *letters, *place, text.get_parse_math(), text.get_visible())


def _look_of_collection(cells: Collection) -> tuple[object, ...]:
    if cells.get_array() is not None:
        return _look_of_map(cells)
    faces, edges = _colours(cells.get_facecolor()), _colours(cells.get_edgecolor())
    return faces, edges, _tenths(cells.get_linewidth()), repr(cells.get_linestyle()), cells.get_hatch()


def _look_of_map(image: ScalarMappable) -> tuple[object, ...]:
    """The numbers, to a tenth, and the colours of 0, of 1 and of what is no number."""
    values: np.ma.MaskedArray[Any, Any] = np.ma.masked_invalid(np.ma.asarray(image.get_array(), dtype=float))
    ends = image.to_rgba(np.ma.masked_invalid([0.0, 1.0, np.nan]))
    return values.shape, _tenths(values.filled(-1.0).ravel()), _colours(ends)


def _shared(artist: Artist) -> tuple[object, ...]:
    return artist.get_zorder(), artist.get_alpha(), artist.get_visible()


def _said(words: str) -> str:
    """Words in one line; a sign that only other fonts have is □ on every machine."""
    return " / ".join(drawable(words, [LATIN]).splitlines())


def _colour(colour: ColorType) -> str:
    red, green, blue, alpha = to_rgba(colour)
    return to_hex((red, green, blue, alpha), keep_alpha=alpha < 1)


def _colours(colours: ArrayLike) -> tuple[str, ...]:
    return tuple(_colour((red, green, blue, alpha)) for red, green, blue, alpha in to_rgba_array(colours))


def _places(points: ArrayLike) -> Points:
    return tuple(_tenths(point) for point in np.asarray(points, dtype=float).reshape(-1, 2))


def _tenths(numbers: ArrayLike, parts: int = 10) -> tuple[float, ...]:
    """Round; what lies between two by less than arithmetic is exact goes up on every machine."""
    rounded = np.floor(np.asarray(numbers, dtype=float) * parts + 0.5 + 1e-6) / parts + 0.0
    return tuple(rounded.tolist())


def _digest(*drawn: _Drawn) -> str:
    return sha256(repr(drawn).encode()).hexdigest()[:8]
