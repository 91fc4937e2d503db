"""The browser fixtures themselves: they run cells, and they see what they are there to see."""

import pytest


def test_cells_run_and_show(lab):
    book = lab.open(["# md\n# A title", "x = 6 * 7\nx"])
    assert book.output(1).inner_text().strip() == "42"
    assert book.page.evaluate("() => document.body.dataset.jpThemeLight") == "true"
    book.theme("JupyterLab Dark")
    assert book.page.evaluate("() => document.body.dataset.jpThemeLight") == "false"
    book.save()
    assert book.saved().cells[1].outputs[0].data["text/plain"] == "42"


def test_a_widget_is_drawn(lab):
    book = lab.open(["import ipywidgets\nipywidgets.Button(description='Press')"], reduced_motion=True)
    book.page.get_by_role("button", name="Press").click()
    assert book.page.evaluate("() => matchMedia('(prefers-reduced-motion: reduce)').matches")


def test_what_leaves_the_machine_is_seen(lab):
    book = lab.open(
        ['from IPython.display import HTML\nHTML(\'<img alt="x" src="http://example.org/x.png">\')']
    )
    book.page.wait_for_function("() => document.querySelector('img[alt=x]')?.complete")
    assert book.foreign() == ["http://example.org/x.png"]
    assert any("x.png" in text for text in book.errors())
    book.asked.clear()
    book.logged.clear()


def test_axe_finds_a_button_without_a_name(lab, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><html lang=en><title>t</title><main><h1>t</h1><p id=p><button></button></p></main>"
    )
    book = lab.show(page)
    assert any(line.startswith("button-name") for line in book.axe("#p"))
    assert book.axe("h1") == []


@pytest.mark.parametrize("fault", ["throw new Error('boom')", "console.error('boom')"])
def test_console_errors_are_seen(lab, tmp_path, fault):
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><script>{fault}</script>")
    book = lab.show(page)
    assert any("boom" in text for text in book.errors())
    book.logged.clear()


def test_a_cell_that_raises_fails_the_run(lab):
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        lab.open(["1 / 0", "2"])
