"""The notebooks as slides: what fits, what is hidden, and widgets that live."""

from pathlib import Path

LESSON = Path(__file__).parents[2] / "notebooks" / "03_split_heads_reshape_then_permute.ipynb"
SLIDE = ".reveal .slides section.present:not(:has(section))"
# What comes next, a slide or a piece of one; false after the last.
NEXT = """() => {
  const arrow = side => document.querySelector(`.reveal .controls .navigate-${side}.enabled`);
  document.activeElement.blur();
  const next = arrow("down") || arrow("right");
  next?.click();
  return Boolean(next);
}"""
PIECES = ":is(p, li, h1, h2, h3, pre, img, table, svg, .cm-line)"
# What is seen of a slide: text, code, pictures and widgets, each with its lower edge.
SEEN = f"""() => [...document.querySelectorAll(`{SLIDE} {PIECES}`)]
  .filter(piece => piece.checkVisibility() && piece.getBoundingClientRect().height > 2)
  .map(piece => [piece.textContent.slice(0, 60) || piece.tagName, piece.getBoundingClientRect().bottom])"""
TEXT = ":is(p, li, td, th, .cm-line, .jp-OutputArea-output pre)"
SIZES = f"""() => [...document.querySelectorAll(".reveal {TEXT}")]
  .map(piece => parseFloat(getComputedStyle(piece).fontSize))"""


def test_the_lesson_as_slides(lab):
    """Every slide fits, its letters are large, notes stay hidden, and the moving picture moves."""
    book = lab.open(LESSON)
    lab.present(book)
    page, seen, moved = book.page, [], 0
    moves = page.locator(f"{SLIDE} .mha-moves")
    page.locator(".reveal .mha-moves").first.wait_for(state="attached")
    footer = page.locator(".jp-Notebook-footer")
    footer.wait_for(state="hidden")  # JupyterLab's "Click to add a cell" lay across the text of every slide
    more = True
    while more:
        page.wait_for_timeout(40)  # reveal.js shows the next piece in the next frame
        seen.append(page.evaluate(SEEN))
        if moves.count() and not moved:
            moves.get_by_text("step 0 of 3").wait_for()
            moves.get_by_role("button", name="Next step").click()
            moves.get_by_text("step 1 of 3").wait_for()
            moved += 1
        more = page.evaluate(NEXT)
    assert moved and len(seen) > 40, "slides, and what appears on them piece by piece"
    low = {text: bottom for pieces in seen for text, bottom in pieces if bottom > 721}
    assert not low, "under the lower edge"
    shown = " ".join(text for pieces in seen for text, _ in pieces)
    assert "Watch them travel" in shown and "In five lines" in shown
    assert "For teachers" not in shown and "import mha_lib" not in shown
    assert min(page.evaluate(SIZES)) >= 14, "too small for the last row"
