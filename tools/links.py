"""Write the launch links that [tool.mha] in pyproject.toml asks for: python tools/links.py

README gets a table (Binder, Colab, hub, site), each notebook a first cell for Colab; where no
repository is named both are taken out again. The site reads the same settings by itself.
"""

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- make links writes from here -->", "<!-- to here -->"
CELL_ID = "on-colab"


@dataclass(frozen=True)
class Links:
    """Where the collection is published; what is empty gives no link."""

    repository: str = ""
    branch: str = "main"
    hub: str = ""
    site: str = ""

    def of(self, notebook: str) -> dict[str, str]:
        """Return the links that open `notebook`, the path of a notebook, by the name of the place."""
        if not self.repository:
            return {}
        owner_and_name = urlsplit(self.repository).path.strip("/").removesuffix(".git")
        name = owner_and_name.rpartition("/")[2]
        mine = notebook.replace("notebooks/", "notebooks/mine/", 1)  # Binder's postBuild makes the copies
        links = {
            "Binder": f"https://mybinder.org/v2/gh/{owner_and_name}/{self.branch}"
            f"?urlpath={quote(f'lab/tree/{mine}')}",
            "Colab": f"https://colab.research.google.com/github/{owner_and_name}/blob/{self.branch}/{notebook}",
        }
        if self.hub:
            pulled = {
                "repo": self.repository,
                "branch": self.branch,
                "urlpath": f"lab/tree/{name}/{notebook}",
            }
            query = "&".join(f"{key}={quote(value, safe='')}" for key, value in pulled.items())
            links["your hub"] = f"{self.hub.rstrip('/')}/hub/user-redirect/git-pull?{query}"
        if self.site:
            links["read"] = f"{self.site.rstrip('/')}/{notebook.removesuffix('.ipynb')}.html"
        return links

    def colab_cell(self) -> str:
        """Return the cell that installs the collection on Colab and does nothing elsewhere."""
        return (
            "import sys\n\n"
            'if "google.colab" in sys.modules:\n'
            f'    %pip install -q "mha-lib @ git+{self.repository}@{self.branch}"\n'
            "    from google.colab import output\n\n"
            "    output.enable_custom_widget_manager()"
        )


def settings(root: Path = ROOT) -> Links:
    """Read [tool.mha] of pyproject.toml."""
    table = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["mha"]
    return Links(**{name: table[name] for name in ("repository", "branch", "hub", "site")})


def table(links: Links, notebooks: list[str]) -> str:
    """Return README's table, a row a notebook, or "" where nothing is published."""
    rows = {name: links.of(name) for name in notebooks}
    places = list(next(iter(rows.values()), {}))
    if not places:
        return ""
    lines = ["", "| Open | in |", "|---|---|"]
    for name, found in rows.items():
        lines.append(
            f"| {Path(name).stem[:2]} | {' · '.join(f'[{place}]({found[place]})' for place in places)} |"
        )
    return "\n".join([*lines, ""])


def with_table(readme: str, text: str) -> str:
    """Return the README with `text` between the marks."""
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}"


def with_cell(notebook: NotebookNode, source: str) -> NotebookNode:
    """Put Colab's cell before the first code cell, or take it out where `source` is empty."""
    cells = [cell for cell in notebook.cells if cell.get("id") != CELL_ID]
    if source:
        cell = nbformat.v4.new_code_cell(source, id=CELL_ID, metadata={"slideshow": {"slide_type": "skip"}})
        first = next(i for i, other in enumerate(cells) if other.cell_type == "code")
        cells.insert(first, cell)
    # It runs without a word, so the others keep what they show, and count from it on.
    code = [cell for cell in cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, 1):
        cell.execution_count = count
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
    notebook.cells = cells
    return notebook


def has_cell(notebook: NotebookNode) -> bool:
    return any(cell.get("id") == CELL_ID for cell in notebook.cells)


def main(root: Path = ROOT) -> int:
    links = settings(root)
    paths = sorted((root / "notebooks").glob("*.ipynb"))
    names = [path.relative_to(root).as_posix() for path in paths]
    readme = root / "README.md"
    readme.write_text(with_table(readme.read_text("utf-8"), table(links, names)), "utf-8")
    source = links.colab_cell() if links.repository else ""
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        if source or has_cell(notebook):
            nbformat.write(with_cell(notebook, source), path)
    print(f"Links to {links.repository}" if source else "No repository is named in pyproject.toml: no links.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
