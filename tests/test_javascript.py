"""The geometry that the widgets' scripts compute, tested where it runs: `node --test`."""

import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = sorted(Path(__file__).parent.rglob("*.test.mjs"))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_node(path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    run = subprocess.run(
        [node, "--test", str(path)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120
    )
    assert run.returncode == 0, run.stdout + run.stderr
