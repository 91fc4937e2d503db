"""Build the site: PYTHONPATH=tools python -m website FOLDER"""

import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from . import pages

CONF = Path(__file__).parent


def build(target: Path, *, strict: bool = False) -> int:
    """Write the site into `target`, which is made anew; return Sphinx's exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages.write(folder / "source")
        options = ["-q", "-b", "html", "-d", str(folder / "doctrees"), "-c", str(CONF)]
        code = build_main(
            [*options, *(["-W"] if strict else []), str(folder / "source"), str(folder / "html")]
        )
        if code == 0:
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder / "html", target)
    return code


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    target = Path(arguments[0])
    if target.exists() and any(target.iterdir()) and not (target / ".buildinfo").exists():
        print(
            f"{target} holds something else than a site. Name another folder: make site OUT=…",
            file=sys.stderr,
        )
        return 1
    code = build(target)
    if code == 0:
        print(f"The site is in {target}: open {target / 'index.html'}, no server is needed.")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
