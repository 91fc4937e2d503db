"""The oldest versions that pyproject.toml allows: python tools/oldest.py [FOLDER]

Makes an environment of its own (.venv/oldest unless told otherwise; torch as it is pinned), then runs
the unit tests and compares what the notebooks show. What has no oldest version, as the test tools, is
taken as it is locked.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
TOOLS = ("pytest", "hypothesis", "einops", "nbformat", "ipykernel", "nbclient")
NUMPY = "numpy<2"  # the other major version than the locked one
UNIT_TESTS = ("moves", "heatmaps", "clinic", "widgets", "exercises", "labs", "documents", "look")


def oldest(requirement: str) -> str:
    """matplotlib>=3.8 → matplotlib==3.8.*: the newest patch of the oldest release."""
    name, version = re.match(r"([\w-]+)>=([\d.]+)", requirement).groups()
    return f"{name}=={version}.*"


def requirements() -> list[str]:
    """What to install: torch as pinned, ours at the oldest that the ranges allow, the test tools."""
    ranges = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["lab"]]
    ours = [
        oldest(r) for r in ranges if r.startswith(("matplotlib", "ipywidgets", "anywidget", "jupyterlab>="))
    ]
    return [f"torch=={PROJECT['tool']['mha']['torch']}", NUMPY, *ours, *TOOLS]


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0] if arguments else ROOT / ".venv" / "oldest").resolve()
    python = folder / "bin" / "python"
    wanted = requirements()
    print("with", ", ".join(wanted), flush=True)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted], check=True)
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    tests = [
        str(path) for path in sorted((ROOT / "tests").glob("test_[a-m]*.py")) if "setup" not in path.name
    ]
    tests += [str(ROOT / "tests" / room) for room in UNIT_TESTS]
    notebooks = sorted((ROOT / "notebooks").glob("0[0-8]*.ipynb"))
    unit = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], cwd=ROOT, env=variables
    )
    shown = subprocess.run([python, ROOT / "tools" / "cells.py", *notebooks], cwd=ROOT, env=variables)
    return unit.returncode or shown.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
