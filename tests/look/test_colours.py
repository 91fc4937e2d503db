"""Colours stand in one place: pages and figures take them from there."""

import re
from itertools import combinations
from pathlib import Path

import pytest

import mha_lib
from mha_lib.heatmaps import draw
from mha_lib.look import colours
from mha_lib.moves import figure, still
from mha_lib.widgets import AttentionPlane, HeadExplorer, TensorMoves

ROOT = Path(mha_lib.__file__).parent
HEX = re.compile(r"#[0-9a-fA-F]{6}\b")
OF_WEIGHTS = {draw.MASKED, draw.HATCH, draw.BAD}  # HeadExplorer's sheet and script repeat these
BARS = {"#9ccbe8", "#0b5a8a"}  # of AttentionPlane alone
KNOWN = {colour.lower() for colour in (*colours.HEAD_COLOURS, *OF_WEIGHTS, *BARS)}


@pytest.mark.parametrize("file", sorted((ROOT / "widgets" / "static").glob("*.[cj]s*")), ids=lambda f: f.name)
def test_no_sheet_and_no_script_has_a_colour_of_its_own(file):
    assert {colour.lower() for colour in HEX.findall(file.read_text("utf-8"))} <= KNOWN


@pytest.mark.parametrize("file", sorted((ROOT / "moves").glob("*.py")), ids=lambda f: f.name)
def test_no_module_of_moves_has_a_colour_of_its_own(file):
    assert not HEX.findall(file.read_text("utf-8"))


@pytest.mark.parametrize("widget", [TensorMoves, HeadExplorer, AttentionPlane])
def test_a_page_gets_the_very_colours_that_figures_have(widget):
    sheet = str(widget._css)
    names = {"ink": colours.INK, "mark": colours.MARK, "paper": colours.PAPER, "soft": colours.SOFT}
    names |= {f"tone{number}": tone for number, tone in enumerate(colours.TONES)}
    for name, (light, dark) in names.items():
        assert re.findall(rf"--mha-{name}: (.*);", sheet) == [f"light-dark({light}, {dark})"]


def test_figure_and_still_write_in_the_pages_colours():
    assert figure.TONES == (*(tone.light for tone in colours.TONES), colours.MARK.light)
    assert colours.MARK.light in still._WRONG


def test_no_two_sheets_speak_of_the_same_class():
    """All sheets are in one page when their pictures are in one notebook."""
    sheets = [file for file in (ROOT / "widgets" / "static").glob("*.css") if file.stem != "theme"]
    names = [set(re.findall(r"\.(mha-[\w-]+)", file.read_text("utf-8"))) for file in sheets]
    for one, other in combinations(names, 2):
        assert one and not one & other
