"""What a committed notebook must be: run from top to bottom, free of state, readable by all.

nbval passes a notebook in which nothing was ever run; `faults` does not.

    python tools/hygiene.py notebooks/03_….ipynb
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import nbformat

LONGEST_CELL = 18
LIVE_MODEL = "application/vnd.jupyter.widget-view+json"
COMPARED = {"text/plain", "text/html", "image/svg+xml", "text/markdown", "text/latex"}
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.M | re.S)
HEADING = re.compile(r"^(#{1,6})\s+\S", re.M)
MD_PICTURE = re.compile(r"!\[([^\]]*)\]\(\s*<?([^)\s>]+)")
MD_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(\s*<?([^)\s>]+)")
MACHINE = re.compile(r"(?<![\w.:/])/(?:home|Users|root|tmp|work|opt|var|mnt)/[\w.-]|\b[A-Z]:\\\w")
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b", re.I)
REMOTE = re.compile(r"^(?:https?:)?//", re.I)
REMOTE_STYLE = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"](?:https?:)?//", re.I)
NOT_A_TEXT = re.compile(r"^\s*$|^<.*>$|^\[picture\]\s*$|\bobject at\b")
SAYS_NOTHING = {"here", "click here", "this", "link", "this link", "more"}
FETCHING = {"img", "script", "link", "iframe", "video", "audio", "source", "embed", "object"}


class _Page(HTMLParser):
    """Collects what a piece of HTML would fetch, and its pictures without a text."""

    def __init__(self, text: str):
        super().__init__()
        self.remote: list[str] = []
        self.silent: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        address = attributes.get("src") or attributes.get("href") or attributes.get("data") or ""
        if tag in FETCHING and REMOTE.match(address):
            self.remote.append(address)
        hidden = attributes.get("aria-hidden") == "true" or attributes.get("role") == "presentation"
        if tag == "img" and not (attributes.get("alt") or "").strip() and not hidden:
            self.silent.append(address[:40])


def _joined(text) -> str:
    return "".join(text) if isinstance(text, list) else str(text)


def _texts(output):
    """The (mime, text) pairs of an output that a person or a browser reads as text."""
    if output.output_type == "stream":
        yield "text/plain", _joined(output.text)
    for mime, content in output.get("data", {}).items():
        if mime.startswith("text/") or mime == "image/svg+xml":
            yield mime, _joined(content)


def _of_html(text: str):
    page = _Page(text)
    for address in page.remote:
        yield f"fetches {address} from the network"
    for address in page.silent:
        yield f"a picture has no alt text: {address}"
    if REMOTE_STYLE.search(text):
        yield "a style fetches from the network"


def _of_markdown(source: str, folder: Path | None):
    prose = re.sub(r"`[^`\n]+`", "", FENCE.sub("", source))
    for alt, address in MD_PICTURE.findall(prose):
        if not alt.strip():
            yield f"a picture has no alt text: {address}"
        if REMOTE.match(address):
            yield f"fetches {address} from the network"
    for words, _ in MD_LINK.findall(prose):
        if words.strip().lower() in SAYS_NOTHING:
            yield f"the link “{words}” does not say where it goes"
    if folder:
        for _, address in MD_PICTURE.findall(prose) + MD_LINK.findall(prose):
            local = address.split("#")[0]
            if local and not re.match(r"[a-z]+:", address, re.I) and not (folder / local).exists():
                yield f"leads to {address}, which does not exist"
    yield from _of_html(prose)


def _of_output(output):
    if output.output_type == "error":
        yield f"shows an error: {output.ename}"
    if output.get("name") == "stderr":
        yield "writes to stderr"
    data = output.get("data", {})
    if LIVE_MODEL in data:
        yield "refers to a live widget, which is gone when the notebook is opened again"
    pictured = any(mime.startswith("image/") for mime in data)
    if pictured and NOT_A_TEXT.search(_joined(data.get("text/plain", ""))):
        yield "a picture has no alt text in its text/plain"
    for mime, text in _texts(output):
        if ADDRESS.search(text):
            yield f"shows a memory address: {ADDRESS.search(text).group()}"
        if MACHINE.search(text):
            yield f"shows a path of this machine: {MACHINE.search(text).group()}"
        if mime in ("text/html", "image/svg+xml", "text/markdown"):
            yield from _of_html(text)


def _of_code(cell):
    lines = cell.source.strip().splitlines()
    if not lines:
        yield "is empty"
    elif cell.execution_count is None:
        yield "was never run"
    if "NBVAL_SKIP" in cell.source or "nbval-skip" in cell.metadata.get("tags", []):
        yield "is left out by nbval; leave out its output only, and assert on it elsewhere"
    if len(lines) > LONGEST_CELL:
        yield f"has {len(lines)} lines, more than {LONGEST_CELL}"
    for output in cell.outputs:
        yield from _of_output(output)


def _of_headings(notebook):
    levels = [
        len(marks)
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for marks in HEADING.findall(FENCE.sub("", cell.source))
    ]
    if levels.count(1) != 1 or levels[0] != 1:
        yield f"needs one H1, as its first heading; the levels are {levels}"
    for before, after in zip(levels, levels[1:], strict=False):
        if after > before + 1:
            yield f"skips from heading level {before} to {after}"


def _of_order(notebook):
    counts = [c.execution_count for c in notebook.cells if c.cell_type == "code"]
    if any(count not in (place, None) for place, count in enumerate(counts, 1)):
        yield f"was not run from top to bottom in a new kernel: {counts}"
    compared = (
        output.output_type == "stream" or COMPARED & set(output.get("data", {}))
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )
    if not any(compared):
        yield "shows nothing that a run could compare"


def _of_metadata(notebook):
    if "widgets" in notebook.metadata:
        yield "carries widget state in its metadata"
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        yield "does not name the kernel python3"
    if set(notebook.metadata.get("language_info", {})) - {"name"}:
        yield "carries the version of the Python that ran it"
    if notebook.metadata.get("rise", {}).get("theme") != "serif":
        yield "would ask a server elsewhere for the letters of its slides; metadata rise: theme serif"
    ids = [cell.get("id") for cell in notebook.cells]
    if None in ids or len(set(ids)) < len(ids):
        yield "has cells without an id of their own"


def faults(notebook, folder: Path | None = None) -> list[str]:
    """Every fault of `notebook`, a line each; `folder` is where its relative links start."""
    lines = [*_of_metadata(notebook), *_of_headings(notebook), *_of_order(notebook)]
    for index, cell in enumerate(notebook.cells):
        own = list(_of_markdown(cell.source, folder) if cell.cell_type == "markdown" else ())
        own += list(_of_code(cell) if cell.cell_type == "code" else ())
        if {"execution", "ExecuteTime"} & set(cell.metadata):
            own.append("carries the times at which it ran")
        if "slide_type" not in cell.metadata.get("slideshow", {}):
            own.append("has no place in the slides (metadata slideshow)")
        if MACHINE.search(cell.source):
            own.append(f"names a path of this machine: {MACHINE.search(cell.source).group()}")
        lines += [f"cell {index} {fault}" for fault in own]
    return lines


def main(names: list[str]) -> int:
    """Print the faults of the named notebooks; a learner's own are passed over."""
    lines = []
    for path in (Path(name) for name in names if "mine" not in Path(name).parts):
        lines += [f"{path}: {fault}" for fault in faults(nbformat.read(path, as_version=4), path.parent)]
    print(*lines, sep="\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
