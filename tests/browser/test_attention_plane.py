"""AttentionPlane in a real JupyterLab: dragged, moved by keys, read by those who cannot see it."""

import contextlib

import pytest
import torch
from playwright.sync_api import TimeoutError, expect

import mha_lib as mha

MAKE = """import torch
import mha_lib as mha
q = torch.tensor([[1.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
k = torch.tensor([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]])
v = torch.tensor([[1.0, 0.0], [0.0, 4.0], [2.0, 2.0]])"""
SHOW = 'plane = mha.widgets.AttentionPlane(q, k, v, ["small", "cats", "sleep"])\nplane'


@pytest.fixture(scope="module")
def twin():
    """The same picture here, to say what must be on screen."""
    namespace = {"torch": torch, "mha": mha}
    exec(f"{MAKE}\n{SHOW}", namespace)
    return namespace["plane"]


def shows(book, twin, query):
    twin.query = query
    book.page.locator(".mha-plane-status", has_text=twin.status).wait_for()
    cells = book.page.locator(".mha-plane-bar").all_text_contents()
    now = twin.attended
    rows = zip(now.scores, now.scaled, now.weights, strict=True)
    assert cells == [f"{number:.2f}" for row in rows for number in row]


@pytest.mark.parametrize("theme", ["JupyterLab Light", pytest.param("JupyterLab Dark", marks=pytest.mark.ci)])
def test_keys_buttons_and_sliders_move_the_query(lab, twin, theme):
    book = lab.open([MAKE, SHOW, "print(plane.query)"], theme=theme)
    page, handle = book.page, book.page.locator(".mha-plane-handle")
    shows(book, twin, [2.0, 1.0])
    handle.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    shows(book, twin, [1.75, 1.25])
    page.get_by_role("button", name="cats", exact=True).click()
    shows(book, twin, [0.0, 1.0])
    assert page.get_by_role("button", name="cats", exact=True).get_attribute("aria-pressed") == "true"
    page.get_by_role("slider", name="q₁").focus()
    page.keyboard.press("ArrowRight")
    shows(book, twin, [0.25, 1.0])
    assert handle.get_attribute("aria-valuetext") == "0.25, 1.00"
    assert book.axe(".mha-plane") == []
    page.keyboard.press("b")  # in the notebook: a new cell
    assert page.locator(".jp-Notebook .jp-Cell").count() == 3
    page.keyboard.press("Shift+Enter")
    page.wait_for_function("() => window.jupyterapp.shell.currentWidget.content.activeCellIndex === 2")


def test_the_query_is_dragged_and_python_hears_of_it(lab, twin):
    book = lab.open([MAKE, SHOW, "print(plane.query)"])
    handle = book.page.locator(".mha-plane-handle circle").bounding_box()
    start = [handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2]
    unit = twin.plane["unit"]
    book.page.mouse.move(*start)
    book.page.mouse.down()
    book.page.mouse.move(start[0] - unit, start[1] + unit, steps=4)
    book.page.mouse.up()
    shows(book, twin, [1.0, 0.0])
    book.page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2; }")
    heard = book.output(2).filter(has_text="[1.0, 0.0]")
    for _ in range(20):  # the page's message and the cell's code reach Python on threads of their own
        book.command("notebook:run-cell")
        with contextlib.suppress(TimeoutError):
            heard.wait_for(timeout=3_000)
            break
    expect(heard).to_be_visible()


def test_in_the_far_corner_nothing_of_the_query_runs_into_the_heading(lab, twin, tmp_path):
    twin.query = [2.0, 1.0]
    page = lab.show(twin.save_html(tmp_path / "plane.html"), size=(1000, 900)).page
    page.locator(".mha-plane-handle").focus()
    for key in ("ArrowUp", "ArrowRight") * 8:
        page.keyboard.press(key)
    page.locator(".mha-plane-status", has_text="q = [3.00, 3.00]").wait_for()
    heading = page.evaluate(
        """() => { const range = document.createRange();
        range.selectNodeContents(document.querySelector(".mha-plane figcaption"));
        return range.getBoundingClientRect().bottom; }"""
    )
    for part in ("circle", "text"):
        assert page.locator(f".mha-plane-handle {part}").bounding_box()["y"] >= heading


@pytest.mark.parametrize("width", [1000, 700, 390])
def test_a_saved_page_fits_and_answers_without_a_kernel(lab, twin, tmp_path, width):
    twin.query = [2.0, 1.0]
    book = lab.show(twin.save_html(tmp_path / "plane.html"), size=(width, 900))
    shows(book, twin, [2.0, 1.0])
    book.page.get_by_role("button", name="small", exact=True).click()
    shows(book, twin, [1.0, 1.0])
    assert book.page.evaluate("() => document.documentElement.scrollWidth") <= width
    size = "pieces => Math.min(...pieces.map(piece => parseFloat(getComputedStyle(piece).fontSize)))"
    assert book.page.locator(".mha-plane *").evaluate_all(size) >= 12
    assert book.axe("body") == []
