"""A small matrix with names on its rows and columns, as text and as HTML."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ..errors import type_error, value_error


@dataclass(frozen=True)
class Table:
    """Rounded numbers with their names; shows itself in a notebook."""

    rows: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]

    def __repr__(self) -> str:
        lines = (self.columns, *self.rows) if any(self.columns) else self.rows
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        padded = ([cell.rjust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
        return "\n".join("  ".join(line) for line in padded)

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self.columns)
        body = "".join(
            f'<tr><th scope="row">{html.escape(row[0])}</th>'
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
            + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: object, digits: int) -> str:
    if isinstance(value, float):
        return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0 turns −0.0 into 0.0
    return str(value)


def table(
    matrix: Tensor | Sequence[Sequence[object]],
    rows: Sequence[str],
    columns: Sequence[str],
    corner: str = "",
    digits: int = 2,
) -> Table:
    """Show a small matrix with its rows and columns named.

    Args:
        matrix: a tensor (R, C), or a list of R rows with C entries, numbers or words.
        rows, columns: R and C names.
        corner: what stands above the row names.
        digits: decimals for floating-point numbers.

    Raises:
        ValueError: if the names do not fit the matrix.
        TypeError: if the matrix is neither a tensor nor a list of rows.

    Example:
        >>> table([[1, 2], [3, 4]], ["a", "b"], ["x", "y"])
           x  y
        a  1  2
        b  3  4
    """
    if isinstance(matrix, Tensor):
        if matrix.dim() != 2:
            raise value_error("matrix", "two axes", f"shape {tuple(matrix.shape)}", "Pick one with an index.")
        matrix = matrix.tolist()
    if not isinstance(matrix, list | tuple) or not all(isinstance(line, list | tuple) for line in matrix):
        raise type_error("matrix", "a tensor (R, C), or a list of rows", type(matrix).__name__)
    if len(rows) != len(matrix) or any(len(line) != len(columns) for line in matrix):
        got = f"{len(rows)} and {len(columns)} for {len(matrix)} × {len(matrix[0]) if matrix else 0}"
        raise value_error("rows, columns", "a name for each row and each column", got)
    lines = tuple((str(n), *(_text(v, digits) for v in line)) for n, line in zip(rows, matrix, strict=True))
    return Table(lines, (corner, *map(str, columns)))
