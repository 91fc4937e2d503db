"""The README's tables are held against the files, and its links lead somewhere."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "notebooks/classroom.md")
README = (ROOT / "README.md").read_text("utf-8")


def test_the_table_of_notebooks_is_the_folder():
    listed = re.findall(r"^\| \[[^\]]+\]\((notebooks/[^)]+\.ipynb)\)", README, re.M)
    there = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "notebooks").glob("*.ipynb"))
    assert listed == there


def test_every_notebook_with_exercises_has_its_solutions():
    notebooks = {p.stem for p in (ROOT / "notebooks").glob("*.ipynb")}
    solutions = {p.stem for p in (ROOT / "notebooks" / "solutions").glob("*.ipynb")}
    assert {name.removesuffix("_solutions") for name in solutions} <= notebooks
    assert all(name.endswith("_solutions") for name in solutions)


def test_the_table_of_widgets_is_the_package():
    listed = re.findall(r"^\| `mha\.widgets\.(\w+)` \|", README, re.M)
    widgets = importlib.import_module("mha_lib.widgets")
    assert sorted(listed) == sorted(widgets.__all__)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text("utf-8")
    for address in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"https?:|#", address):
            assert ((ROOT / page).parent / address).exists(), f"{page} leads to {address}"


@pytest.mark.parametrize("page", PAGES)
def test_targets_that_are_named_exist(page):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    named = set(re.findall(r"(?:^|`)make ([a-z][\w-]*)", (ROOT / page).read_text("utf-8"), re.M))
    assert named <= targets, named - targets
