"""The library stays small enough to be read."""

import ast
import io
import re
import tokenize
from pathlib import Path

import mha_lib

LIBRARY = Path(mha_lib.__file__).parent
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


def test_the_library_is_small():
    modules = list(LIBRARY.rglob("*.py"))
    assert total(code_lines, modules) <= 4300
    assert max(total(code_lines, [module]) for module in modules) <= 400, "a module has one concept"


def test_the_scripts_are_small():
    scripts = list(LIBRARY.rglob("*.js"))
    assert scripts and total(script_lines, scripts) <= 1200
