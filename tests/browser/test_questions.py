"""Predictions and the quiz in a real JupyterLab: the keyboard is enough."""

import re

import nbformat
import refresh


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
    options.first.click()  # another choice, and the answer beside it follows
    book.output(2).filter(has_text="It is so").wait_for()


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


def test_reveal_is_open_where_a_kernel_runs_and_folded_where_none_does(lab, tmp_path):
    sources = ["import mha_lib as mha", 'mha.predict("reading_heads.row")', 'mha.reveal("reading_heads.row")']
    book = lab.open(sources)
    answer = "Rows are queries, the words that look"
    book.output(2).get_by_role("status").filter(has_text=answer).wait_for()
    assert book.output(2).locator("details").count() == 0
    labels = book.cell(1).locator(".widget-radio-box label").all_inner_texts()
    assert [label.strip()[:2] for label in labels] == ["1.", "2.", "3."]
    book.save()
    saved = book.saved()
    refresh.clean(saved)  # as the collection's notebooks are
    nbformat.write(saved, tmp_path / "closed.ipynb")
    closed = lab.open(tmp_path / "closed.ipynb", run=False)
    details = closed.output(2).locator("details")
    details.wait_for()
    assert answer not in closed.output(2).inner_text(), "folded: nobody reads it before choosing"
    details.locator("summary").click()
    closed.output(2).get_by_text(answer).wait_for()


def test_a_wrong_answer_is_drawn_when_the_button_is_pressed(lab):
    attempt = "import torch\nmha.check('splitting.split', lambda X, h: torch.cat(X.chunk(h, -1)))"
    book = lab.open(["import mha_lib as mha", attempt])
    output = book.output(1)
    output.get_by_text("The heads come first, then the sentences").wait_for()
    assert output.locator(".mha-moves").count() == 0
    output.get_by_role("button", name="Show it beside the right one").click()
    output.get_by_text("The first wrong block is that of sentence 1, head B").wait_for()
    output.locator(".mha-moves").first.wait_for()
    names = output.locator(".mha-lane .mha-lane-name")
    assert names.all_text_contents() == ["The right one", "Yours"]
    assert output.get_by_role("group", name="Yours").count() == 1
    for name, lane in zip(
        names.all(), output.locator(".mha-lane").all(), strict=True
    ):  # each above its own lane
        assert abs(name.bounding_box()["y"] - lane.bounding_box()["y"]) < 2
