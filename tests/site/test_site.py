"""The built site, walked with the network closed: from a server and from files, in every dress."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from website import pages

from mha_lib.widgets.base import MIME
from mha_lib.widgets.questions import load

MOVING = ("TensorMoves", "HeadExplorer")
BOOKS = [path.relative_to(pages.ROOT).with_suffix(".html").as_posix() for path in pages.notebooks()]
SPLIT = "notebooks/03_split_heads_reshape_then_permute.html"
LOOKED_AT = "notebooks/05_what_each_head_looks_at.html"
MODEL = "notebooks/10_heads_of_a_real_model.html"
FRONT = ["index.html", "notebooks/classroom.html", "sheets.html", "glossary.html", "genindex.html"]


class Page(HTMLParser):
    """What a page leads to, fetches, and shows."""

    def __init__(self, path: Path):
        super().__init__()
        self.links, self.fetched, self.ids, self.pictures = [], [], set(), []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.ids.add(named.get("id"))
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        if tag == "img":
            self.pictures.append(named)
        if tag in ("img", "script", "iframe") and named.get("src"):
            self.fetched.append(named["src"])
        if tag == "link" and named.get("rel") not in (
            "canonical",
            "author",
            "next",
            "prev",
            "index",
            "search",
        ):
            self.fetched.append(named.get("href", ""))


@pytest.fixture(scope="session")
def read(site):
    """Every page of the site, read: path → Page."""
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_every_notebook_has_its_page_and_the_front_page_leads_to_it(site, read):
    leads = {(site / unquote(urlsplit(link).path)).resolve() for link in read[site / "index.html"].links}
    for name in BOOKS + FRONT[1:-1]:
        assert (site / name).is_file() and (site / name) in leads, name


def test_links_resolve(read):
    for path, page in read.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.name} leads to {link}"
            if parts.fragment and target in read:
                assert unquote(parts.fragment) in read[target].ids, f"{path.name} leads to {link}"


def test_no_page_fetches_from_another_host(site, read):
    for path, page in read.items():
        for address in page.fetched:
            assert not urlsplit(address).netloc, f"{path.name} fetches {address}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text("utf-8")), sheet


def test_the_pictures_have_every_colour_that_their_sheets_ask_for(site):
    """Without them letters were black on a dark page."""
    sheet = (site / "_static" / "pictures.css").read_text("utf-8")
    set_by_scripts = re.findall(r"--mha-[\w-]+", (site / "_static" / "pictures.js").read_text("utf-8"))
    asked = set(re.findall(r"var\((--mha-[\w-]+)", sheet)) - set(set_by_scripts)
    assert len(asked) > 4 and asked - set(re.findall(r"(--mha-[\w-]+)\s*:", sheet)) == set()


def test_every_picture_has_its_text(read):
    stills = [picture for page in read.values() for picture in page.pictures]
    assert len(stills) > 25
    for picture in stills:
        assert len(picture.get("alt", "").split()) > 3 and "[picture]" not in picture["alt"], picture


def test_formulas_are_mathml(site):
    text = (site / "notebooks/02_from_one_head_to_many.html").read_text("utf-8")
    assert "<math" in text and "MathJax" not in text and "\\mathrm" not in text


def test_no_answer_is_open(site):
    """What a reveal holds stands in a closed <details>, and nowhere in sight."""
    for name in BOOKS:
        for block in re.findall(
            r'<div class="mha-site-answer".*?</div>', (site / name).read_text("utf-8"), re.S
        ):
            assert block.count("<details><summary>") == 1 and "<details open" not in block


def test_the_glossary_is_an_index(site):
    index = (site / "genindex.html").read_text("utf-8")
    for term in ("head", "query", "split heads"):
        assert f'glossary.html#term-{term.replace(" ", "-")}"' in index, term


def test_sheets_are_there_and_are_pdf(site):
    names = sorted(path.name for path in (site / "_static" / "sheets").iterdir())
    assert names == sorted(pages.sheets.TITLES)
    for name in names:
        content = (site / "_static" / "sheets" / name).read_bytes()
        assert content.startswith(b"%PDF") and b"/Count 1" in content


def test_the_same_sources_make_the_same_sheets(site, tmp_path):
    pages.sheets.write(tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (site / "_static" / "sheets" / path.name).read_bytes()


@pytest.mark.parametrize("path", pages.notebooks(), ids=lambda path: path.stem)
def test_a_moving_picture_that_is_committed_carries_its_state(path):
    """Without it the site could only show a table."""
    for cell in nbformat.read(path, as_version=4).cells:
        last = cell.source.strip().splitlines()[-1:] or [""]
        if cell.cell_type == "code" and last[0].startswith(tuple(f"mha.widgets.{name}(" for name in MOVING)):
            assert any(MIME in output.get("data", {}) for output in cell.outputs), "make notebooks"


def started(book):
    """Bring every moving picture of a page into sight, and wait until it has started."""
    pictures = book.page.locator(".mha-site-live")
    for index in range(pictures.count()):
        pictures.nth(index).scroll_into_view_if_needed()
        book.page.locator(".mha-site-started").nth(index).wait_for()
    return pictures


def wide(book) -> int:
    return book.page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")


@pytest.fixture(params=["http", "file"])
def address(request, site):
    """How a page is opened: from a server, or by a double click."""
    base = request.getfixturevalue("served") if request.param == "http" else str(site)
    return lambda name: f"{base}/{name}"


def test_tensor_moves_moves_without_a_kernel(lab, address):
    book = lab.show(address(SPLIT))
    pictures = started(book)
    assert pictures.count() >= 3
    picture = pictures.first
    before = picture.inner_text()
    picture.get_by_role("slider").first.focus()
    book.page.keyboard.press("ArrowRight")
    book.page.wait_for_function(
        "([e, before]) => e.innerText !== before", arg=[picture.element_handle(), before]
    )
    assert not picture.locator(".mha-site-fallback-box").is_visible()


@pytest.mark.parametrize("name", [LOOKED_AT, MODEL])
def test_the_explorer_answers_without_a_kernel(lab, address, name):
    book = lab.show(address(name))
    picture = started(book).first
    words = picture.get_by_role("button").all_inner_texts()
    assert words, "no word to point at"
    assert not picture.locator(".mha-site-fallback-box").is_visible()


def test_a_prediction_is_judged_where_its_answer_is(lab, address):
    book = lab.show(address(SPLIT))
    question = load("splitting")["splitting.moved"]
    form = book.page.locator("form.mha-site-question", has_text=question.ask)
    answer = book.page.locator(f'.mha-site-answer[data-question="{question.name}"]')
    assert not answer.get_by_text(question.because).is_visible()
    form.get_by_label(question.options[question.right], exact=True).check()
    assert answer.locator(".mha-site-judged").inner_text().endswith("It is so.")
    wrong = next(i for i in range(len(question.options)) if i != question.right)
    form.get_by_label(question.options[wrong], exact=True).check()
    assert "It is not so." in answer.locator(".mha-site-judged").inner_text()
    answer.locator("summary").click()
    assert answer.get_by_text(question.because).is_visible()


def test_the_quiz_judges_at_once_and_by_keyboard(lab, address):
    book = lab.show(address(LOOKED_AT))
    form = book.page.locator("form.mha-site-question", has_text=re.compile("^1 of "))
    form.get_by_role("radio").first.focus()
    book.page.keyboard.press("Space")
    assert re.match("(Yes|No)\\.", form.locator(".mha-site-judged").inner_text())
    book.page.keyboard.press("Enter")
    assert form.get_by_role("radio").first.is_checked(), "Enter must not load the page anew"


def test_a_console_says_that_it_needs_the_notebook(lab, address):
    book = lab.show(address("notebooks/04_masks_who_may_be_seen.html"))
    console = book.page.locator(".mha-site-console").first
    assert "needs the notebook" in console.inner_text() and console.locator("table").count() > 0


@pytest.mark.parametrize(
    "scheme, size", [("light", (1280, 800)), ("dark", (1280, 800)), ("light", (390, 844))]
)
@pytest.mark.parametrize("name", ["index.html", "notebooks/classroom.html", SPLIT, LOOKED_AT, MODEL])
def test_a_page_is_clean_in_every_dress(lab, site, name, scheme, size):
    """axe finds nothing on the whole page, nothing is cut and nothing scrolls sideways."""
    book = lab.show(site / name, size=size)
    book.page.emulate_media(color_scheme=scheme)
    started(book)
    assert book.page.evaluate("() => document.documentElement.dataset.theme") == scheme
    assert wide(book) <= 0
    assert book.axe("html") == []


def test_the_search_finds_a_word_from_a_file(lab, site):
    book = lab.show(site / "search.html")
    book.page.goto(f"{(site / 'search.html').as_uri()}?q=contiguous")
    book.page.locator("#search-results li a").first.wait_for()
    assert book.page.locator("#search-results").get_by_text("Split heads").count() > 0
