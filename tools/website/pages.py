"""The site's sources: README as the front page, notebooks with rewritten outputs, what teachers print."""

import html
import json
import shutil
from pathlib import Path

import nbformat

from mha_lib.widgets.base import STATIC, style

from . import sheets
from .outputs import Rewriter

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
PLAIN = ("notebooks/classroom.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "notebooks/images")


def notebooks(root: Path = ROOT) -> list[Path]:
    """Return the collection's notebooks, then their solutions."""
    folder = root / "notebooks"
    return sorted(folder.glob("*.ipynb")) + sorted((folder / "solutions").glob("*.ipynb"))


def write(source: Path) -> None:
    """Write everything that Sphinx reads into `source`."""
    static = source / "_static"
    shutil.copytree(HERE / "static", static)
    for name in PLAIN:
        _copy(ROOT / name, source / name)
    modules: set[str] = set()
    for path in notebooks():
        place = path.relative_to(ROOT)
        rewriter = Rewriter("../" * (len(place.parts) - 1), static / "stills")
        _write_notebook(path, source / place, rewriter)
        modules |= rewriter.modules
    _write_pictures(static, modules)
    sheets.write(static / "sheets")
    (source / "sheets.md").write_text(_sheets_page(), "utf-8")
    (source / "glossary.md").write_text(glossary_page(), "utf-8")
    (source / "index.md").write_text(front_page() + _contents(), "utf-8")


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if path.is_dir() else shutil.copy)(path, target)


def _write_notebook(path: Path, target: Path, rewriter: Rewriter) -> None:
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            rewriter.cell(cell)
            if cell.metadata.get("slideshow", {}).get("slide_type") == "skip" and not cell.outputs:
                cell.metadata["tags"] = ["hide-input"]  # imports: folded, as on the slides
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target)


def _write_pictures(static: Path, modules: set[str]) -> None:
    """Write the widgets' own scripts and sheets, each once for all pages.

    The scripts are text in a plain script, since a page opened from a file may load no module.
    """
    scripts = {name: (STATIC / f"{name}.js").read_text("utf-8") for name in ("standalone", *sorted(modules))}
    (static / "pictures.js").write_text(f"window.mhaScripts = {json.dumps(scripts)};\n", "utf-8")
    (static / "pictures.css").write_text(style(*sorted(modules)), "utf-8")


def front_page() -> str:
    """Return the README; where it leads to the folder of solutions, the first of them is opened."""
    first = next(path for path in notebooks() if path.parent.name == "solutions").relative_to(ROOT)
    return (ROOT / "README.md").read_text("utf-8").replace("(notebooks/solutions)", f"({first.as_posix()})")


def glossary_page() -> str:
    """Return notebook 00's glossary as one that Sphinx indexes."""
    start = nbformat.read(ROOT / "notebooks" / "00_start_here.ipynb", as_version=4)
    table = next(cell.source for cell in start.cells if cell.source.startswith("## Glossary"))
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    entries = []
    for term, chinese, here, shape, _ in sorted(rows, key=lambda row: row[0].lower()):
        parts = [f"{chinese}." if chinese else "", f"{here}.", f"Shape: {shape}." if shape else ""]
        entries.append(f"{term}\n  {' '.join(filter(None, parts))}\n")
    return "# Glossary\n\n:::{glossary}\n" + "\n".join(entries) + ":::\n"


def _sheets_page() -> str:
    lines = ["# Sheets to print", "", "Each is one page, A4 and Letter."]
    lines += [
        "",
        *(
            f'- <a href="_static/sheets/{name}">{html.escape(title)}</a> (PDF)'
            for name, title in sheets.TITLES.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def _contents() -> str:
    """Return the tables of contents that Sphinx builds the navigation from."""
    paths = [path.relative_to(ROOT).with_suffix("").as_posix() for path in notebooks()]
    parts = {
        "Notebooks": [path for path in paths if "solutions" not in path],
        "Solutions": [path for path in paths if "solutions" in path],
        "To teach with": ["notebooks/classroom", "sheets"],
        "More": ["glossary", "CONTRIBUTING", "CHANGELOG"],
    }
    blocks = (
        f":::{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(names) + "\n:::\n"
        for caption, names in parts.items()
    )
    return "\n" + "\n".join(blocks)
