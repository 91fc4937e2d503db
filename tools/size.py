"""How much there is to read: lines of code, docstrings and comments aside.

    python tools/size.py

Totals are printed by `make lint` and capped nowhere; what is capped, by tests/test_size.py, is
what has to be understood at one sitting: a function, a module, the core.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1] / "mha_lib"
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


def functions(source: str) -> Iterator[tuple[str, int]]:
    """Each function of a module with its lines, docstring aside."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node, clean=False) is not None
            docstring = node.body[0].end_lineno - node.body[0].lineno + 1 if documented else 0
            yield node.name, node.end_lineno - node.lineno + 1 - docstring


def total(count, paths) -> int:
    return sum(count(path.read_text(encoding="utf-8")) for path in paths)


def main() -> None:
    modules, scripts = sorted(LIBRARY.rglob("*.py")), sorted(LIBRARY.rglob("*.js"))
    sizes = {path: code_lines(path.read_text("utf-8")) for path in modules}
    longest = max(sizes, key=sizes.__getitem__)
    lines, name, path = max(
        (lines, name, path) for path in modules for name, lines in functions(path.read_text("utf-8"))
    )
    print(f"mha_lib: {sum(sizes.values())} lines of Python in {len(modules)} modules, ", end="")
    print(f"{total(script_lines, scripts)} of JavaScript in {len(scripts)}")
    print(f"longest module {longest.relative_to(LIBRARY)}, {sizes[longest]}; ", end="")
    print(f"longest function {path.relative_to(LIBRARY)}:{name}, {lines}")


if __name__ == "__main__":
    main()
