"""What is read at one sitting stays short: functions, modules, the core."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from check_scripts import COMPILER
from size import LIBRARY, code_lines, functions, script_lines, total

MODULES = sorted(path.relative_to(LIBRARY) for path in LIBRARY.rglob("*.py"))
CORE = ("heads.py", "masks.py", "scoring.py", "multihead.py")
MOST_OF_A_FUNCTION, MOST_OF_A_MODULE, MOST_OF_THE_CORE = 40, 300, 400  # lines


def test_the_counters_count():
    docstrings = '"""Doc\nstring."""\n\n# why\ndef f():\n    "one"\n'
    python = docstrings + '    x = """two\n    lines"""\n    return (\n        x  # what\n    )\n'
    assert code_lines(python) == 6
    assert list(functions(python)) == [("f", 6)]
    assert script_lines("/* head\n */\n// why\n\nconst a = 1; // what\nb();\n") == 2


def test_the_core_is_small():
    assert total(code_lines, (LIBRARY / name for name in CORE)) <= MOST_OF_THE_CORE


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_and_its_functions_can_be_read_at_a_sitting(path):
    source = (LIBRARY / path).read_text("utf-8")
    assert code_lines(source) <= MOST_OF_A_MODULE
    long = {name: lines for name, lines in functions(source) if lines > MOST_OF_A_FUNCTION}
    assert not long, long


def test_a_function_of_a_script_fits_on_a_screen():
    node = shutil.which("node")
    if not node or not COMPILER.exists():
        pytest.skip("lengths of the scripts' functions need node and TypeScript: make lint")
    scripts = sorted(LIBRARY.rglob("*.js"))
    reader = Path(__file__).parents[1] / "tools" / "script_functions.mjs"
    command = [node, reader, COMPILER.parents[1], *scripts]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert len(found) > 100 and {one["path"] for one in found} == set(map(str, scripts))
    assert not [one for one in found if one["lines"] > MOST_OF_A_FUNCTION]
