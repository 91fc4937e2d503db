"""Predictions and the quiz in a real JupyterLab: the keyboard is enough."""


def test_arrows_choose_an_answer(lab):
    """JupyterLab itself would take the arrows and go to another cell."""
    book = lab.open(
        ["import mha_lib as mha", 'mha.predict("reading_heads.row")', 'mha.reveal("reading_heads.row")']
    )
    options = book.cell(1).get_by_role("radio")
    options.first.focus()
    book.page.keyboard.press("ArrowDown")
    assert options.nth(1).is_checked()
    book.cell(2).locator(".cm-content").click()
    book.command("notebook:run-cell")
    book.output(2).filter(has_text="The column says who looks at sleep").wait_for()


def test_keys_stay_with_the_control_after_the_cell_ran_again(lab):
    book = lab.open(["import mha_lib as mha", 'mha.predict("reading_heads.row")'])
    book.run()
    options = book.cell(1).get_by_role("radio")
    options.first.focus()
    book.page.keyboard.press("ArrowDown")
    assert options.nth(1).is_checked()
