"""MaskConsole in a real JupyterLab: the picture follows, once, in its place."""

START = ["import mha_lib as mha", "console = mha.widgets.MaskConsole()\nconsole", "print(console.report)"]
RIGHT = "✓ Right: each row sums to 1, and what is masked gets exactly 0."


def status(book):
    return book.output(1).get_by_role("status")


def alts(book):
    return book.output(1).locator("img").evaluate_all("images => images.map(image => image.alt)")


def set_length(book, name, value):
    book.page.get_by_label(name).select_option(value)


def says(book, text):
    status(book).filter(has_text=text).wait_for()
    return status(book).inner_text()


def test_the_text_and_the_picture_follow_each_control(lab):
    """jupyter-widgets/ipywidgets#1179: the picture is in the output, and it follows."""
    book = lab.open(START)
    page = book.page
    assert status(book).inner_text().strip() == RIGHT
    first = book.output(1).locator("img").first.get_attribute("src")
    set_length(book, "Length 1", "0")
    assert "has length 0" in says(book, "Sentence 1")
    page.get_by_label("Fill").select_option("−inf")
    assert "NaN in 8 rows" in says(book, "NaN")
    page.get_by_label("Fill").select_option("−1e9")
    assert "attend evenly" in says(book, "attend evenly")
    page.get_by_label("Dtype").select_option("float16")
    says(book, "does not fit float16")
    page.get_by_label("Fill").select_option("exactly 0 (ours)")
    page.get_by_label("Scale").select_option("none")
    says(book, "instead of ÷√d")
    page.get_by_label("Scale").select_option("÷√d")
    page.get_by_label("Dropout").select_option("0.5, train")
    says(book, "do not sum to 1")
    page.get_by_label("Dropout").select_option("0.5, eval")
    set_length(book, "Length 1", "3")
    page.get_by_label("Dtype").select_option("float32")
    page.wait_for_function(
        "text => document.querySelector('[role=status]').innerText.trim() === text", arg=RIGHT
    )
    assert book.output(1).locator("img").first.get_attribute("src") == first, (
        "the same settings, the same picture"
    )
    page.get_by_label("Causal").check()
    page.wait_for_function("src => document.querySelector('.jp-OutputArea img').src !== src", arg=first)
    assert all(RIGHT[2:] in alt for alt in alts(book))


def test_ten_fast_changes_make_one_picture_of_the_last(lab):
    book = lab.open([*START, "print(console.redraws, console.settings.lengths)"])
    book.page.evaluate(
        """() => {
            const menu = document.querySelector('.mha-own-keys select');
            for (const value of [0, 1, 2, 3, 4, 3, 2, 1, 0, 4]) {
                menu.selectedIndex = value;
                menu.dispatchEvent(new Event('change', { bubbles: true }));
            }
        }"""
    )
    says(book, "counts (pad) as a word")
    book.cell(3).locator(".cm-content").click()
    book.command("notebook:run-cell")
    last = book.output(3).filter(has_text="(4, 2)")
    last.wait_for()
    redraws = int(last.inner_text().split()[0])
    assert redraws <= 3, f"{redraws} redraws for ten changes and the first picture"
    assert book.output(2).inner_text().startswith("Right"), "nothing lands in another cell"
    assert book.output(0).count() == 0 and book.output(1).count() == 1


def test_running_the_cell_again_leaves_one_picture(lab):
    """jupyter-widgets/ipywidgets#3969, #1904: exactly one, inside the output."""
    book = lab.open(START)
    book.run()
    book.run()
    assert book.output(1).locator("img").count() == 2, "one a sentence"
    set_length(book, "Length 2", "0")
    says(book, "Sentence 2 has length 0")
    assert book.page.locator(".jp-Notebook img").count() == 2


def test_axe_finds_nothing(lab):
    book = lab.open(START[:2])
    assert book.axe(".widget-vbox") == []
    book.theme("JupyterLab Dark")
    assert book.axe(".widget-vbox") == []


def test_the_keyboard_is_enough(lab):
    """JupyterLab itself would take the arrows and go to another cell."""
    book = lab.open(START)
    fill = book.page.get_by_label("Fill")
    fill.focus()
    book.page.keyboard.press("ArrowDown")
    assert fill.evaluate("menu => menu.selectedOptions[0].text") == "−inf"
    book.page.keyboard.press("Tab")
    book.page.keyboard.press("f")
    assert book.page.get_by_label("Dtype").evaluate("menu => document.activeElement === menu")
    assert len(book.cell(1).locator("select").all()) == 6
    causal = book.page.get_by_label("Causal")
    causal.focus()
    book.page.keyboard.press("Space")
    assert causal.is_checked()
    set_length(book, "Length 1", "0")
    says(book, "NaN in 8 rows")


def test_nothing_jumps(lab):
    """A picture that changes size, or words that push it away, would move the control under the pointer."""
    book = lab.open(START)
    picture = book.output(1).locator("img").first
    set_length(book, "Length 1", "0")
    boxes, pictures = [], []
    for fill, words in (
        ("−inf", "NaN in 8 rows"),
        ("−1e9", "−1e9 is in"),
        ("−1e6", "−1e6 is in"),
        ("−inf", "NaN"),
    ):
        book.page.get_by_label("Fill").select_option(fill)
        says(book, words)
        at, frame = picture.bounding_box(), book.output(1).bounding_box()
        boxes.append((at["width"], at["height"], at["y"] - frame["y"], frame["height"]))
        pictures.append(picture.get_attribute("src"))
    assert len(set(pictures)) > 1, "each state has a picture of its own"
    assert len(set(boxes)) == 1, boxes


def test_both_sentences_stand_side_by_side(lab):
    book = lab.open(START)
    one, two = (book.output(1).locator("img").nth(i).bounding_box() for i in (0, 1))
    assert one["y"] == two["y"] and one["x"] + one["width"] <= two["x"]
    frame = book.output(1).bounding_box()
    assert two["x"] + two["width"] <= frame["x"] + frame["width"]


def test_a_reopened_notebook_still_shows_the_weights(lab):
    """jupyter-widgets/ipywidgets#1664, #3773."""
    book = lab.open(START)
    book.save()
    output = book.saved().cells[1].outputs[0]
    assert "Run this cell" in output.data["text/html"] and "0.92" in output.data["text/html"]


def test_an_error_stands_in_the_place_of_the_picture(lab):
    """A timer's traceback is seen by nobody, and the old picture would look right."""
    broken = "console._draw = lambda: 1 / 0"
    book = lab.open([*START, broken])
    book.page.get_by_label("Causal").check()
    assert "ZeroDivisionError" in says(book, "could not be drawn")
    assert book.output(1).locator("img").count() == 0


def test_the_picture_has_no_white_paper_in_the_dark_theme(lab):
    book = lab.open(START, theme="JupyterLab Dark")
    corner = (
        book.output(1)
        .locator("img")
        .first.evaluate(
            """async image => {
            await image.decode();
            const canvas = document.createElement('canvas');
            const pen = canvas.getContext('2d');
            pen.drawImage(image, 0, 0);
            return pen.getImageData(1, 1, 1, 1).data[3];
        }"""
        )
    )
    assert corner == 0
