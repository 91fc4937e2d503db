"""Interface text: what is written is read, and what is read is written."""

import ast
import re
from pathlib import Path

import pytest

from mha_lib.text import read

LIBRARY = Path(__file__).parents[1] / "mha_lib"
MODULES = [path.read_text("utf-8") for path in LIBRARY.rglob("*.py")]
SCRIPTS = [path.read_text("utf-8") for path in LIBRARY.rglob("static/*.js")]
# What is found by its name at run time: a bug's, an exercise's, a notebook's, a model's weight.
BY_NAME = {"bugs": "", "hints": "", "exercises": "", "learning": "notebooks", "minilm": "rename"}


def keys_of(name):
    """The keys of a file and of its tables, but those that are looked up by a name in the data."""
    for key, value in read(name).items():
        if BY_NAME.get(name) == "":
            return
        yield key
        if isinstance(value, dict) and BY_NAME.get(name) != key:
            yield from (inner for inner in value if re.fullmatch(r"\w+", inner))


def spoken_of(source):
    """Words that a module can look a key up with: attributes and strings."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.fixture(scope="module")
def readers():
    in_python = {word for source in MODULES for word in spoken_of(source)}
    return in_python.union(*(re.findall(r"\w+", source) for source in SCRIPTS))


@pytest.mark.parametrize("path", sorted((LIBRARY / "text/en").glob("*.toml")), ids=lambda path: path.stem)
def test_every_sentence_is_read_somewhere(path, readers):
    assert [key for key in keys_of(path.stem) if key not in readers] == []


def test_every_sentence_that_a_module_asks_for_is_written():
    asked = 0
    for source in MODULES:
        for name in re.findall(r'^text = sentences\("(\w+)"\)$', source, re.M):
            attributes = {
                node.attr
                for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "text"
            }
            asked += len(attributes)
            assert attributes <= read(name).keys(), name
    assert asked > 100
