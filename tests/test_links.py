"""Links from one setting: README's table, the site's buttons and Colab's cell say the same."""

import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from urllib.parse import parse_qs, unquote, urlsplit

import links
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NAMES = [path.relative_to(ROOT).as_posix() for path in NOTEBOOKS]
SET = links.Links(
    "https://github.com/someone/heads", "main", "https://hub.example.org/", "https://a.example/b"
)


def test_what_is_committed_is_what_the_setting_says():
    said = links.settings()
    readme = (ROOT / "README.md").read_text("utf-8")
    assert links.with_table(readme, links.table(said, NAMES)) == readme, "make links"
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        cells = [cell.source for cell in notebook.cells if cell.get("id") == links.CELL_ID]
        assert cells == ([said.colab_cell()] if said.repository else []), f"{path.name}: make links"


def test_unset_gives_nothing():
    assert links.Links().of(NAMES[0]) == {} and links.table(links.Links(), NAMES) == ""


def test_every_link_leads_to_a_notebook_that_is_there():
    for name in NAMES:
        found = SET.of(name)
        assert set(found) == {"Binder", "Colab", "your hub", "read"}
        binder = parse_qs(urlsplit(found["Binder"]).query)["urlpath"][0]
        assert binder.replace("lab/tree/notebooks/mine/", "notebooks/") == name
        assert urlsplit(found["Binder"]).path == "/v2/gh/someone/heads/main"
        assert urlsplit(found["Colab"]).path == f"/github/someone/heads/blob/main/{name}"
        hub = parse_qs(urlsplit(found["your hub"]).query)
        assert hub == {"repo": [SET.repository], "branch": ["main"], "urlpath": [f"lab/tree/heads/{name}"]}
        assert found["read"] == f"https://a.example/b/{name.replace('.ipynb', '.html')}"


@pytest.fixture
def published(tmp_path):
    """A copy of the collection whose pyproject names a repository, after make links."""
    shutil.copy(ROOT / "README.md", tmp_path)
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    text = text.replace('repository = ""', f'repository = "{SET.repository}"').replace(
        'hub = ""', f'hub = "{SET.hub}"'
    )
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns("mine"))
    assert links.main(tmp_path) == 0
    return tmp_path


def test_make_links_writes_a_row_for_each_notebook_and_again_changes_nothing(published):
    readme = (published / "README.md").read_text("utf-8")
    for name in NAMES:
        assert all(f"]({address})" in readme for address in links.settings(published).of(name).values())
    before = {path: path.read_bytes() for path in published.rglob("*") if path.is_file()}
    links.main(published)
    assert {path: path.read_bytes() for path in published.rglob("*") if path.is_file()} == before


def test_taking_the_setting_back_takes_everything_back(published):
    shutil.copy(ROOT / "pyproject.toml", published)
    links.main(published)
    for name in ["README.md", *NAMES]:
        assert (published / name).read_bytes() == (ROOT / name).read_bytes(), name


def test_a_notebook_with_the_cell_is_as_tidy_as_before(published):
    import hygiene

    for path in sorted((published / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        cell = next(cell for cell in notebook.cells if cell.get("id") == links.CELL_ID)
        assert cell.metadata.slideshow.slide_type == "skip" and cell.outputs == []
        assert hygiene.faults(notebook) == hygiene.faults(
            nbformat.read(ROOT / "notebooks" / path.name, as_version=4)
        )


@pytest.mark.parametrize("on_colab", [False, True])
def test_colabs_cell_installs_and_switches_widgets_on_there_and_is_silent_elsewhere(
    monkeypatch, capsys, on_colab
):
    """Run in IPython with a stand-in for google.colab, and for pip."""
    did = []
    if on_colab:
        colab = ModuleType("google.colab")
        colab.output = SimpleNamespace(enable_custom_widget_manager=lambda: did.append("widgets"))
        google = ModuleType("google")
        google.colab = colab
        monkeypatch.setitem(sys.modules, "google", google)
        monkeypatch.setitem(sys.modules, "google.colab", colab)
    shell = InteractiveShell()
    shell.register_magic_function(lambda line: did.append(line), magic_name="pip")
    shell.run_cell(SET.colab_cell()).raise_error()
    assert did == (
        ['install -q "mha-lib @ git+https://github.com/someone/heads@main"', "widgets"] if on_colab else []
    )
    assert capsys.readouterr().out == ""


def test_the_sites_buttons_lead_to_the_same_places():
    conf = pytest.importorskip("website.conf", reason="the site needs Sphinx: make site")
    assert conf.launch_options(links.Links()) == {}
    options = conf.launch_options(SET)
    assert (options["repository_url"], options["repository_branch"]) == (SET.repository, SET.branch)
    buttons = options["launch_buttons"]
    assert buttons["jupyterhub_url"] == SET.hub
    for place, address in (("binderhub_url", "Binder"), ("colab_url", "Colab")):
        assert unquote(SET.of(NAMES[0])[address]).startswith(buttons[place])
