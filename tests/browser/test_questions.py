"""Predictions and the quiz in a real JupyterLab: the keyboard is enough."""

import re


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


def test_the_quiz_shows_one_question_and_marks_its_tab(lab):
    book = lab.open(["import mha_lib as mha", "mha.quiz()"])
    quiz = book.cell(1)
    assert quiz.get_by_role("radiogroup").or_(quiz.locator(".widget-radio")).filter(visible=True).count() == 1
    assert quiz.locator(".jp-OutputArea").bounding_box()["height"] < 600
    quiz.get_by_role("tab").first.focus()
    book.page.keyboard.press("ArrowRight")
    book.page.keyboard.press("Enter")
    quiz.get_by_role("radio").filter(visible=True).first.click()
    quiz.get_by_role("tab").nth(1).filter(has_text=re.compile("[✓✗]")).wait_for()
