"""What is read at a sitting stays short: functions, modules, the core."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

import mha_lib

LIBRARY = Path(mha_lib.__file__).parent
MODULES = sorted(path.relative_to(LIBRARY.parent) for path in LIBRARY.rglob("*.py"))
MOST_OF_A_FUNCTION, MOST_OF_A_MODULE = 40, 300  # lines
CORE = ("heads.py", "masks.py", "scoring.py", "multihead.py")
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    """Lines of Python that hold code: no blank line, no comment, no docstring."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if first and ast.get_docstring(node, clean=False) is not None:
                lines -= set(range(first.lineno, first.end_lineno + 1))
    return len(lines)


def script_lines(source: str) -> int:
    """Lines of JavaScript that hold code: no blank line, no comment."""
    source = re.sub(r"^\s*/\*.*?\*/", "", source, flags=re.S | re.M)
    return sum(1 for line in source.splitlines() if line.strip() and not line.strip().startswith("//"))


def total(count, paths) -> int:
    return sum(count(path.read_text(encoding="utf-8")) for path in paths)


def test_the_counters_count():
    docstrings = '"""Doc\nstring."""\n\n# why\ndef f():\n    "one"\n'
    python = docstrings + '    x = """two\n    lines"""\n    return (\n        x  # what\n    )\n'
    assert code_lines(python) == 6
    assert script_lines("/* head\n */\n// why\n\nconst a = 1; // what\nb();\n") == 2


def test_the_core_is_small():
    assert total(code_lines, (LIBRARY / name for name in CORE)) <= 400


def functions(path: Path):
    """Each function of a module with its lines of code, docstring aside."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node, clean=False) is not None
            docstring = node.body[0].end_lineno - node.body[0].lineno + 1 if documented else 0
            yield f"{path.name}:{node.name}", node.end_lineno - node.lineno + 1 - docstring


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_and_its_functions_can_be_read_at_a_sitting(path):
    assert code_lines((LIBRARY.parent / path).read_text("utf-8")) <= MOST_OF_A_MODULE
    long = {name: lines for name, lines in functions(LIBRARY.parent / path) if lines > MOST_OF_A_FUNCTION}
    assert not long, long


def test_the_scripts_are_small():
    scripts = list(LIBRARY.rglob("*.js"))
    assert scripts and total(script_lines, scripts) <= 1200
