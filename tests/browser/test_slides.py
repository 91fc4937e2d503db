"""The notebooks as slides: what fits, what is hidden, and widgets that live."""

import re
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
# One notebook speaks for all at once; the others take a minute each.
PATHS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.ci] * (not path.name.startswith("03_")))
    for path in NOTEBOOKS
]
SLIDE = ".reveal .slides section.present:not(:has(section))"
# Where the show stands: which slide, and how many pieces of it are there.
PLACE = """() => [
  [...document.querySelectorAll(".reveal .slides section")].indexOf(document.querySelector(`SLIDE`)),
  document.querySelectorAll(`SLIDE .fragment.visible`).length,
].join()""".replace("SLIDE", SLIDE)
# What comes next, a slide or a piece of one; false after the last.
NEXT = """() => {
  const arrow = side => document.querySelector(`.reveal .controls .navigate-${side}.enabled`);
  document.activeElement.blur();
  const next = arrow("down") || arrow("right");
  next?.click();
  return Boolean(next);
}"""
# What slides or fades in is put where it will stand; what blinks for ever is left alone.
STILL = """() => {
  document.getAnimations()
    .filter(each => Number.isFinite(each.effect.getComputedTiming().endTime)).forEach(each => each.finish());
  return new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)));
}"""
# The last is what JupyterLab shows beside an output when the mouse is there.
PIECES = ":is(p, li, h1, h2, h3, pre, img, table, svg, .cm-line):not(.jp-OutputArea-promptOverlay *)"
# What is seen of a slide: text, code, pictures and widgets, each with its lower and its right edge.
SEEN = f"""() => [...document.querySelectorAll(`{SLIDE} {PIECES}`)]
  .filter(piece => piece.checkVisibility() && piece.getBoundingClientRect().height > 2)
  .map(piece => [piece, piece.getBoundingClientRect()])
  .map(([piece, box]) => ({{
    text: piece.textContent.slice(0, 60) || `${{piece.tagName}} in ${{piece.parentElement.className}}`,
    bottom: box.bottom,
  }}))"""
# The words that are read, and how high their letters are on the screen, whatever scales them.
LETTERS = f"""() => [...document.querySelectorAll(`{SLIDE} *`)]
  .filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .filter(e => e.getBoundingClientRect().height > 2 && !e.closest(".MathJax, mjx-container, option, style"))
  .map(e => ({{
    text: e.textContent.trim().slice(0, 40),
    prose: Boolean(e.closest(":is(p, li, td, th, .cm-line, .jp-OutputArea-output pre)")),
    height: parseFloat(getComputedStyle(e).fontSize) * (e.getScreenCTM ? e.getScreenCTM().a
      : e.offsetWidth ? e.getBoundingClientRect().width / e.offsetWidth : 1),
  }}))"""


def headings(path: Path, *kinds: str) -> set[str]:
    """The headings of the cells that have one of these places in the slides."""
    cells = nbformat.read(path, as_version=4).cells
    sources = [c.source for c in cells if c.cell_type == "markdown" and place_of(c) in kinds]
    lines = [re.sub(r"^#+ |[`*]", "", line) for s in sources for line in s.splitlines() if line[:1] == "#"]
    return set(lines)


def place_of(cell) -> str:
    return cell.metadata.get("slideshow", {}).get("slide_type", "-")


def moves_on(page) -> bool:
    """The first moving picture of a slide makes a step when it is asked to."""
    picture = page.locator(f"{SLIDE} .mha-moves:visible").first
    step = picture.get_by_text(re.compile(r"^step \d+ of \d+$")).first
    before = step.inner_text()
    picture.get_by_role("button", name="Next step").first.click()
    page.wait_for_function("([e, before]) => e.innerText !== before", arg=[step.element_handle(), before])
    return True


@pytest.mark.parametrize("path", PATHS)
def test_a_notebook_as_slides(lab, path):
    """Every slide fits, its letters are large, notes stay hidden, and the first moving picture moves."""
    book = lab.open(path)
    lab.present(book)
    page, seen, letters, moved = book.page, [], [], False
    footer = page.locator(".jp-Notebook-footer")
    footer.wait_for(state="hidden")  # JupyterLab's "Click to add a cell" lay across the text of every slide
    has_moves = "TensorMoves" in path.read_text("utf-8")
    more = True
    while more:
        page.evaluate(STILL)
        seen += page.evaluate(SEEN)
        letters += page.evaluate(LETTERS)
        if has_moves and not moved and page.locator(f"{SLIDE} .mha-moves:visible").count():
            moved = moves_on(page)
        place = page.evaluate(PLACE)
        more = page.evaluate(NEXT)
        if more:
            page.wait_for_function(f"place => ({PLACE})() !== place", arg=place)
    assert moved == has_moves
    assert {p["text"]: p["bottom"] for p in seen if p["bottom"] > 721} == {}, "under the lower edge"
    small = {p["text"]: p["height"] for p in letters if round(p["height"]) < (14 if p["prose"] else 12)}
    assert small == {}, "too small for the last row"
    shown = " ".join(piece["text"] for piece in seen)
    wanted = headings(path, "slide", "subslide", "fragment", "-")
    assert len(wanted) > 5 and {line for line in wanted if line[:60] not in shown} == set()
    assert {line for line in headings(path, "skip", "notes") if line[:60] in shown} == set()
    assert "For teachers" not in shown and "import mha_lib" not in shown
