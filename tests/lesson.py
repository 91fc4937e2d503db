"""A lesson's own functions, so that what the notebook shows is what is tried with more seeds."""

import json
from functools import cache
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


@cache
def lesson(number: str) -> dict:
    """Run a notebook's cells, up to its exercises, and return the names that they leave."""
    (path,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    names: dict = {"__name__": path.stem}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if source.startswith("## Exercises"):
            break
        if cell["cell_type"] == "code":
            exec(compile(source, path.name, "exec"), names)
    return names


def tell(claim: str, *numbers: object) -> None:
    """Print the numbers that a claim rests on."""
    print(f"\n{claim}\n   ", *numbers)
