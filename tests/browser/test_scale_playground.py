"""ScalePlayground in a real JupyterLab: the bars follow the slider, and the keys go where they belong."""

import re

import pytest

import mha_lib as mha

CELLS = ["import mha_lib as mha", "playground = mha.widgets.ScalePlayground(4)\nplayground", "playground.d"]


def heights(book):
    read = "bars => bars.map(bar => Number(bar.getAttribute('height')) / 150)"
    return book.page.locator(".mha-scale rect").evaluate_all(read)


def shows(book, d):
    twin = mha.widgets.ScalePlayground(d)
    book.page.locator(".mha-scale [role=status]", has_text=twin.report).wait_for()
    raw, scaled = twin.bars[twin.widths.index(d)]
    assert heights(book) == pytest.approx([*raw, *scaled])
    means = [mean for row in twin.means[twin.widths.index(d)] for mean in row]
    assert book.page.locator(".mha-scale tbody td").all_text_contents() == means


@pytest.mark.parametrize("theme", ["JupyterLab Light", pytest.param("JupyterLab Dark", marks=pytest.mark.ci)])
def test_the_bars_follow_the_slider(lab, theme):
    book = lab.open(CELLS, theme=theme)
    shows(book, 4)
    slider = book.page.get_by_role("slider", name="Width d")
    slider.focus()
    for d in (8, 16):
        book.page.keyboard.press("ArrowRight")
        shows(book, d)
    book.page.keyboard.press("End")
    shows(book, 1024)
    assert slider.get_attribute("aria-valuetext") == "d = 1024"
    assert book.axe(".mha-scale") == []
    book.page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2; }")
    book.command("notebook:run-cell")
    book.output(2).filter(has_text=re.compile("^1024")).wait_for()
    slider.focus()
    book.page.keyboard.press("Shift+Enter")  # makes the picture anew, and goes on to the next cell
    shows(book, 4)
    book.page.wait_for_function("() => window.jupyterapp.shell.currentWidget.content.activeCellIndex === 2")


@pytest.mark.parametrize("width", [1000, 390])
def test_a_saved_page_fits(lab, tmp_path, width):
    path = mha.widgets.ScalePlayground(64).save_html(tmp_path / "scale.html")
    book = lab.show(path, size=(width, 800))
    shows(book, 64)
    assert book.page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert book.axe("body") == []
    slider = book.page.get_by_role("slider", name="Width d")
    slider.focus()
    slider.press("Home")  # the largest is the first bar there: its number is not cut at the edge
    shows(book, 1)
    for svg in book.page.locator(".mha-scale svg").all():
        frame, number = svg.bounding_box(), svg.locator("text").bounding_box()
        assert frame["x"] <= number["x"] and number["x"] + number["width"] <= frame["x"] + frame["width"]
