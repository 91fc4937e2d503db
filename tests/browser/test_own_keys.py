"""Keys between our controls and the notebook: what runs a cell runs it, wherever the focus is."""

import pytest

ASK = 'mha.predict("reading_heads.row")'
QUIZ = "mha.quiz()"
MASKS = "mha.widgets.MaskConsole()"
BOX = (
    "from mha_lib.widgets.own_keys import OwnKeys; import ipywidgets\n"
    "box = ipywidgets.VBox([{control}, OwnKeys()])\n"
    "box.add_class(OwnKeys.WHERE)\nbox"
)
SLIDER = BOX.format(control="ipywidgets.IntSlider(description='d')")
FIELD = BOX.format(control="ipywidgets.BoundedIntText(3, description='n')")
CONTROLS = {
    "radio button": (ASK, "radio", None),
    "tab": (QUIZ, "tab", None),
    "radio button in a tab": (QUIZ, "radio", None),
    "text field": (FIELD, "spinbutton", None),
    "checkbox": (MASKS, "checkbox", None),
    "menu": (MASKS, "combobox", "Fill"),
    "slider": (SLIDER, "slider", None),
}
ALIKE = ("radio button in a tab", "text field")  # other controls here answer the same keys: under CI only


def focused(book, role, name):
    """Put the focus on the control in cell 1, as somebody does who has just used it."""
    named = {"name": name} if name else {}
    control = book.cell(1).get_by_role(role, **named).first
    control.wait_for()
    control.focus()
    return control


def wait_until_active(book, index):
    book.page.wait_for_function(
        "i => window.jupyterapp.shell.currentWidget.content.activeCellIndex === i", arg=index
    )


@pytest.mark.parametrize(
    "control", [pytest.param(name, marks=[pytest.mark.ci] * (name in ALIKE)) for name in CONTROLS]
)
def test_what_runs_a_cell_runs_it_and_letters_stay_with_the_control(lab, control):
    source, role, name = CONTROLS[control]
    book = lab.open(["import mha_lib as mha; runs = []", f"runs.append(1)\n{source}", "print(len(runs))"])
    count = book.output(2)

    node = focused(book, role, name)
    book.page.keyboard.press("b")  # in the notebook: a new cell below
    assert book.page.locator(".jp-Notebook .jp-Cell").count() == 3
    assert node.evaluate("node => node === document.activeElement")
    book.page.keyboard.press("Escape")
    assert book.cell(1).evaluate("node => node === document.activeElement")
    book.page.keyboard.press("j")  # in the notebook: the next cell
    wait_until_active(book, 2)

    focused(book, role, name)
    book.page.keyboard.press("Shift+Enter")
    wait_until_active(book, 2)
    book.page.keyboard.press("Shift+Enter")
    count.filter(has_text="2").wait_for()

    book.command("notebook:move-cursor-up")
    focused(book, role, name)
    book.page.keyboard.press("Control+Enter")
    wait_until_active(book, 1)
    book.command("notebook:move-cursor-down")
    book.command("notebook:run-cell")
    count.filter(has_text="3").wait_for()

    focused(book, role, name)
    book.page.keyboard.press("Alt+Enter")
    book.page.locator(".jp-Notebook .jp-Cell").nth(4).wait_for()
    wait_until_active(book, 2)


def test_what_was_typed_counts_when_the_field_is_left_by_a_key(lab):
    book = lab.open(["import mha_lib as mha", FIELD, "print(box.children[0].value)"])
    focused(book, "spinbutton", None).fill("1")
    book.page.keyboard.press("Escape")
    wait_until_active(book, 1)
    book.page.keyboard.press("j")
    book.page.keyboard.press("Shift+Enter")
    book.output(2).filter(has_text="1").wait_for()
