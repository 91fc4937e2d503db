"""Faults for one module, one at a time: what a slip of the hand does to an operator, a number, a call.

Texts of errors, docstrings, types and imports are left alone.
"""

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass
from types import CodeType

COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.MatMult: ast.Mult,
}
ERRORS = {"value_error", "type_error"}
# Swapping is no slip, or no change.
SYMMETRIC = {"isinstance", "issubclass", "getattr", "hasattr", "zip", "max", "min", "equal", "allclose"}
NO_CODE = {"annotation", "returns", "decorator_list"}


@dataclass(frozen=True)
class Fault:
    """One fault: its kind, the line, what stood there, what stands there now, the whole module."""

    kind: str
    line: int
    before: str
    after: str
    source: str
    validates: bool  # whether it stands in code that only checks what was handed in
    lines: range  # of the statement that it stands in, without the statements within
    code: CodeType  # the module, with every line where it was


def count_of(source: str) -> int:
    """How many faults a module may have."""
    return sum(1 for _ in faults_of(source, frozenset()))


def faults_of(
    source: str, wanted: Container[int] | None = None, file: str = "<fault>"
) -> Iterator[Fault | None]:
    """Every fault of a module, in the order of its lines; None for those whose number is not wanted."""
    tree = ast.parse(source)
    number = -1
    for parent, field, place, node, validates, lines in _places(tree, False, range(0)):
        for kind, other in _alternatives(node):
            before, after = ast.unparse(node), ast.unparse(other)
            if before == after:
                continue
            number += 1
            if wanted is not None and number not in wanted:
                yield None
                continue
            _put(parent, field, place, _where(node, other))
            code = compile(tree, file, "exec", dont_inherit=True)
            faulty = ast.unparse(tree)
            yield Fault(kind, getattr(node, "lineno", 0), before, after, faulty, validates, lines, code)
            _put(parent, field, place, node)


def _where(node: ast.AST, other: ast.AST) -> ast.AST:
    """The other node at the place of the first, so that all lines keep their numbers."""
    for part in ast.walk(other):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return other


def _put(parent: ast.AST, field: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[place] = node


Place = tuple[ast.AST, str, int | None, ast.AST, bool, range]


def _places(node: ast.AST, validates: bool, lines: range) -> Iterator[Place]:
    """Each place where a fault may stand: parent, field, index, node, whether it validates, its lines."""
    validates = validates or _checks(node)
    lines = _lines(node) if isinstance(node, ast.stmt) else lines
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return  # the sign and its number are changed together
    for field, value in list(ast.iter_fields(node)):
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if field not in NO_CODE and isinstance(child, ast.AST) and not _is_left_alone(child):
                own = _lines(child) if isinstance(child, ast.stmt) else lines
                yield node, field, place, child, validates or _checks(child), own
                yield from _places(child, validates, lines)


def _lines(statement: ast.stmt) -> range:
    """The lines of a statement; of one that holds others those before the first of them."""
    within = getattr(statement, "body", None)
    last = statement.end_lineno if not within else max(statement.lineno, within[0].lineno - 1)
    return range(statement.lineno, (last or statement.lineno) + 1)


def _checks(node: ast.AST) -> bool:
    """Whether a node only looks at what was handed in: a check's body, its call, what leads to an error."""
    match node:
        case ast.FunctionDef(name=name):
            return name.lstrip("_").startswith("check")
        case ast.If(body=body):
            return any(isinstance(step, ast.Raise) for step in body)
        case ast.Expr(ast.Call(func=function)):
            return ast.unparse(function).rpartition(".")[2].lstrip("_").startswith("check")
    return False


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise | ast.FormattedValue):
        return True
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    error = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS
    return text or error


def _alternatives(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The ways in which one node can be wrong: the kind, and the node that stands there instead."""
    match node:
        case ast.Compare(left, [op, *ops], values) if type(op) in COMPARISONS:
            yield "comparison", ast.Compare(left, [COMPARISONS[type(op)](), *ops], values)
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            yield "operator", ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.BoolOp(op, values):
            yield "and/or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.Invert(), operand):
            yield "not", operand
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):  # −1 and −2: the last axes
            yield "axis", ast.UnaryOp(ast.USub(), ast.Constant(3 - value if value in (1, 2) else value + 1))
        case ast.Constant(bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield "constant", ast.Constant(value + 1)
        case ast.IfExp(test, body, orelse):
            yield "branches", ast.IfExp(test, orelse, body)
        case ast.Expr(ast.Call()):
            yield "dropped call", ast.Pass()
        case ast.Call(function, arguments, keywords):
            yield from _wrong_calls(function, arguments, keywords)


def _wrong_calls(
    function: ast.expr, arguments: list[ast.expr], keywords: list[ast.keyword]
) -> Iterator[tuple[str, ast.AST]]:
    name = ast.unparse(function).rpartition(".")[2]
    starred = any(isinstance(argument, ast.Starred) for argument in arguments)
    if len(arguments) == 2 and not starred and name not in SYMMETRIC:
        yield "swapped arguments", ast.Call(function, arguments[::-1], keywords)
    if isinstance(function, ast.Attribute) and isinstance(
        function.value, ast.Call | ast.BinOp | ast.Subscript
    ):
        yield "dropped call", function.value  # of a chain: x.mT.contiguous() becomes x.mT
