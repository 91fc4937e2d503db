"""Run notebooks again, in place, and leave in them only what a reader needs.

    python tools/refresh.py                        every notebook, two at a time
    python tools/refresh.py notebooks/03_….ipynb   this one
    python tools/refresh.py --clean notebooks/03_….ipynb   only take out, run nothing

What its cells show otherwise than before is printed, cell by cell, in words.

The source of every cell and its id stay as they are, byte for byte. Outputs are made anew;
widget state, timings and the traces of an editor are taken out, and so is a widget's
reference to its live model: a notebook opened without a kernel then shows the static
picture instead of "model not found". A notebook with a cell that raises, or that was saved
by someone while it ran, is left untouched and named.
"""

import copy
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from outputs import differences, headings, shown

ROOT = Path(__file__).resolve().parents[1]
LIVE_MODEL = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
# For jupyterlab-rise. The other themes ask a server elsewhere for their letters.
SLIDES = {
    "theme": "serif",
    "transition": "none",
    "slideNumber": "c/t",
    "scroll": True,
    "start_slideshow_at": "beginning",
}
KEPT_OF_CELLS = ("slideshow", "tags", "jupyter")


def notebooks(root: Path = ROOT) -> list[Path]:
    """The collection, its solutions and the maintainers' gallery; a learner's own are not among them."""
    folders = (root / "notebooks", root / "notebooks" / "solutions", root / "tests" / "gallery")
    return [path for folder in folders for path in sorted(folder.glob("*.ipynb"))]


def slide_of(cell) -> str:
    """Where a cell stands in the slides if nobody said it: a section starts a slide."""
    first = cell.source.lstrip()
    if cell.cell_type == "markdown" and first.startswith(("# ", "## ")):
        return "slide"
    return "subslide" if cell.cell_type == "markdown" and first.startswith("###") else "-"


def clean(notebook) -> None:
    """Take out state, timings and traces; sources, ids and outputs stay."""
    for stale in ("widgets", "language_info", "kernelspec"):
        notebook.metadata.pop(stale, None)
    notebook.metadata["kernelspec"] = dict(KERNEL)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata["rise"] = dict(SLIDES)
    for cell in notebook.cells:
        kept = {name: cell.metadata[name] for name in KEPT_OF_CELLS if cell.metadata.get(name)}
        kept.setdefault("slideshow", {"slide_type": slide_of(cell)})
        cell.metadata = nbformat.from_dict(kept)
        for output in cell.get("outputs", []):
            if "data" in output:
                output.data.pop(LIVE_MODEL, None)
            if output.get("metadata"):
                output.metadata.pop(LIVE_MODEL, None)


def execute(notebook, folder: Path) -> None:
    """Run every cell in `folder`, where a learner's kernel starts too."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=120,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    ).execute()


@dataclass(frozen=True)
class Refreshed:
    """One notebook: why it was left as it was, or what its cells show otherwise than before."""

    path: Path
    trouble: str = ""
    changes: tuple[str, ...] = ()


def changes(before, after) -> tuple[str, ...]:
    """Say what the cells show otherwise, a line each, under the heading they stand under."""
    old = {cell.get("id"): shown(cell.get("outputs", [])) for cell in before.cells}
    under = headings(after.cells)
    return tuple(
        f"cell {place}, under “{under[place]}”: {line}"
        for place, cell in enumerate(after.cells)
        if cell.cell_type == "code"
        for line in differences(old.get(cell.get("id"), {}), shown(cell.outputs))
    )


def refresh(path: Path) -> Refreshed:
    """Run and clean one notebook in place."""
    before = path.read_bytes()
    notebook = nbformat.read(path, as_version=4)
    committed = copy.deepcopy(notebook)
    sources = [(cell.get("id"), cell.source) for cell in notebook.cells]
    try:
        execute(notebook, path.parent)
    except CellExecutionError as error:
        where = next(i for i, c in enumerate(notebook.cells) if "error" in str(c.get("outputs", "")))
        return Refreshed(path, f"cell {where} raised {error.ename}: {error.evalue}")
    except Exception as error:  # a kernel that dies or hangs: say so, and go on with the others
        return Refreshed(path, f"{type(error).__name__}: {error}")
    clean(notebook)
    if [(cell.get("id"), cell.source) for cell in notebook.cells] != sources:
        return Refreshed(path, "a cell changed its own source; nothing was written")
    if path.read_bytes() != before:
        return Refreshed(path, "it was saved while it ran; nothing was written, run this again")
    return Refreshed(path, _write(notebook, path, before), changes(committed, notebook))


def _write(notebook, path: Path, before: bytes) -> str:
    """Put the notebook in place, whole or not at all; return "", or why it could not be written."""
    fresh = path.with_suffix(".fresh")
    try:
        nbformat.write(notebook, fresh)
        if fresh.read_bytes() != before:
            os.replace(fresh, path)
    except OSError as error:  # a full disk, a folder that is read-only
        return f"could not be written ({error.strerror}); it is as it was. Make room, then run this again"
    finally:
        fresh.unlink(missing_ok=True)
    return ""


def clean_only(path: Path) -> Refreshed:
    """Take out of one notebook what no reader needs, and run nothing."""
    notebook = nbformat.read(path, as_version=4)
    clean(notebook)
    return Refreshed(path, _write(notebook, path, path.read_bytes()))


def main(arguments: list[str]) -> int:
    names = [name for name in arguments if name != "--clean"]
    paths = [Path(name).resolve() for name in names] or notebooks()
    for path in paths:
        if not path.is_file():
            print(f"There is no notebook {path}", file=sys.stderr)
            return 1
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(clean_only if "--clean" in arguments else refresh, paths))
    for result in results:
        for line in result.changes:
            print(f"{result.path.name}, {line}")
        if result.trouble:
            print(f"{result.path}: {result.trouble}", file=sys.stderr)
    left = [result for result in results if result.trouble]
    print(f"{len(paths) - len(left)} of {len(paths)} notebooks are fresh")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
