"""TensorMoves in a real JupyterLab, and its saved page from disk."""

import re
import time

import pytest
import torch
from playwright.sync_api import expect

import mha_lib as mha
from mha_lib.moves.layout import CELL, place
from mha_lib.widgets import TensorMoves

X = torch.arange(80.0).reshape(2, 4, 10)
SETUP = """import torch, mha_lib as mha
X = torch.arange(80.).reshape(2, 4, 10)
right = mha.watch(lambda X: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5), X)
wrong = mha.watch(lambda X: X.reshape(4, 4, 5), X)"""
RIGHT = mha.watch(lambda X: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5), X)
WRONG = mha.watch(lambda X: X.reshape(4, 4, 5), X)
PLACES = """root => {
  const plane = root.querySelector(".mha-board"), from = plane.getBoundingClientRect();
  const zoom = from.width / plane.offsetWidth;
  return [...plane.querySelectorAll(".mha-cell")].map(cell => {
    const box = cell.getBoundingClientRect();
    return [Number(cell.dataset.address), (box.left - from.left) / zoom, (box.top - from.top) / zoom,
            cell.textContent];
  });
}"""


def press(widget, name):
    widget.get_by_role("button", name=name, exact=True).click()


def at_rest(widget):
    """Wait until every cell has arrived."""
    expect(widget).to_have_attribute("data-moving", "false")


def off(widget, name):
    """The button says that it has nowhere to go, and can be focused all the same."""
    expect(widget.get_by_role("button", name=name, exact=True)).to_have_attribute("aria-disabled", "true")


def agrees(widget, step, variants):
    """Every cell stands where torch put its address, in one of the two layouts, with its number."""
    at_rest(widget)
    found = {address: (x, y, text) for address, x, y, text in widget.evaluate(PLACES)}
    assert len(found) == 80
    index = torch.cartesian_prod(*map(torch.arange, step.shape)).tolist()
    for piece in variants:
        expected = {int(step.addresses[tuple(i)]): place(piece, i) for i in index}
        if all(abs(found[a][0] - x) < 1 and abs(found[a][1] - y) < 1 for a, (x, y) in expected.items()):
            break
    else:
        pytest.fail(f"cells of {step.operation} are elsewhere")
    assert all(text == str(address) for address, (_, _, text) in found.items())


def variants(number):
    frame = TensorMoves(RIGHT).pictures["lanes"][0]["frames"][number]
    return [layout["pieces"][0] for layout in frame["layouts"]]


def test_each_control_and_where_every_cell_goes(lab):
    book = lab.open([SETUP, "mha.widgets.TensorMoves(right)"], run=False, reduced_motion=True)
    start = time.monotonic()
    book.run()
    widget = book.page.locator(".mha-moves")
    expect(widget.locator(".mha-cell").first).to_be_visible()
    print(f"\nfrom Run All to the first picture, torch's import included: {time.monotonic() - start:.1f} s")
    agrees(widget, RIGHT.steps[0], variants(0))
    first = "cells => new Set(cells.map(cell => cell.style.transform)).size"
    assert widget.locator(".mha-tape .mha-cell").evaluate_all(first) == 80  # drawn before it is in the page
    for number in (1, 2, 3):
        press(widget, "Next step")
        agrees(widget, RIGHT.steps[number], variants(number))
        expect(widget.locator(".mha-operation")).to_have_text(RIGHT.steps[number].operation)
        expect(widget.locator(".mha-sentence")).to_have_text(RIGHT.frames[number].sentence)
    off(widget, "Next step")
    off(widget, "Last step")
    press(widget, "Previous step")
    agrees(widget, RIGHT.steps[2], variants(2))
    press(widget, "First step")
    agrees(widget, RIGHT.steps[0], variants(0))
    press(widget, "Last step")
    agrees(widget, RIGHT.steps[3], variants(3))
    widget.get_by_role("slider", name="Step").fill("1")
    agrees(widget, RIGHT.steps[1], variants(1))
    press(widget, "Play")
    expect(widget.get_by_role("button", name="Pause")).to_be_visible()
    expect(widget.locator(".mha-operation")).to_have_text(".reshape(4, 4, 5)")
    agrees(widget, RIGHT.steps[3], variants(3))
    expect(widget.get_by_role("button", name="Play")).to_be_visible()

    tape = widget.locator(".mha-tape .mha-cell")
    order = sorted(
        tape.evaluate_all("""cells => cells.map(cell => {
      const box = cell.getBoundingClientRect();
      return [box.top, box.left, cell.dataset.address];
    })""")
    )
    assert [int(address) for *_, address in order] == RIGHT.steps[3].memory.tolist()

    area = book.page.locator(".jp-WindowedPanel-outer, .jp-Notebook").first.bounding_box()
    assert widget.bounding_box()["height"] <= area["height"], "the example needs scrolling"
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        book.theme(theme)
        assert book.axe(".mha-moves") == []


def test_the_keyboard_alone(lab, tmp_path):
    path = TensorMoves(RIGHT).save_html(tmp_path / "moves.html")
    page = lab.show(path, reduced_motion=True).page
    operation, told = page.locator(".mha-operation"), page.locator(".mha-told")
    expect(operation).to_be_visible()
    page.keyboard.press("Tab")
    first = page.get_by_role("button", name="First step")
    expect(first).to_be_focused()
    off(page.locator(".mha-moves"), "First step")
    for key, number in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 3), ("Home", 0)):
        page.keyboard.press(key)
        expect(operation).to_have_text(RIGHT.steps[number].operation)
    for _ in range(5):  # beyond both ends, and the focus stays where it is
        page.keyboard.press("ArrowRight")
    expect(operation).to_have_text(RIGHT.steps[3].operation)
    expect(first).to_be_focused()
    page.keyboard.press("Space")  # on a button it is the button's own key
    expect(operation).to_have_text(RIGHT.steps[0].operation)
    page.keyboard.press("End")
    page.keyboard.press("Shift+ArrowRight")
    expect(told).to_contain_text("Number 0 of X, address 0")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    expect(told).to_contain_text("Number 11 of X, address 11")
    page.keyboard.press("Escape")
    expect(page.locator(".mha-followed")).to_have_count(0)


@pytest.mark.parametrize(
    "place",
    [".mha-cell[data-address='37']", ".mha-tape-name", ".mha-sentence", ".mha-range", ".mha-play"],
)
def test_left_and_right_step_from_anywhere_in_the_widget(lab, tmp_path, place):
    path = TensorMoves(RIGHT).save_html(tmp_path / "moves.html")
    page = lab.show(path, reduced_motion=True).page
    operation = page.locator(".mha-operation")
    page.locator(place).first.click()
    page.keyboard.press("Home")
    for key, number in (
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowRight", 3),
        ("ArrowRight", 3),
        ("ArrowLeft", 2),
    ):
        page.keyboard.press(key)
        expect(operation).to_have_text(RIGHT.steps[number].operation)
    focused = page.evaluate("() => document.querySelector('.mha-moves').contains(document.activeElement)")
    assert focused


def test_a_key_that_comes_during_a_move_goes_on_from_its_end(lab, tmp_path):
    page = lab.show(TensorMoves(RIGHT).save_html(tmp_path / "moves.html")).page
    page.locator(".mha-stage").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    widget = page.locator(".mha-moves")
    expect(widget.locator(".mha-count")).to_have_text("step 3 of 3")
    agrees(widget, RIGHT.steps[3], variants(3))


def test_what_runs_a_cell_runs_it_from_inside_the_widget(lab):
    book = lab.open(
        ["runs = []", SETUP, "runs.append(1)\nmha.widgets.TensorMoves.playground()", "print(len(runs))"]
    )
    count = book.output(3)
    widget = book.page.locator(".mha-moves")

    def active(index):
        book.page.wait_for_function(
            "i => window.jupyterapp.shell.currentWidget.content.activeCellIndex === i", arg=index
        )

    widget.locator(".mha-stage .mha-cell[data-address='12']").click()
    book.page.keyboard.press("ArrowRight")  # the widget's own: in the notebook it would go to another cell
    expect(widget.locator(".mha-count")).to_have_text("step 1 of 3")
    assert book.cell(2).evaluate("cell => cell.classList.contains('jp-mod-active')")
    widget.get_by_role("slider", name="Step").focus()
    book.page.keyboard.press("ArrowRight")
    expect(widget.locator(".mha-count")).to_have_text("step 2 of 3")
    widget.get_by_label("Speed").focus()
    book.page.keyboard.press("ArrowLeft")
    expect(widget.locator(".mha-count")).to_have_text("step 1 of 3")
    book.page.keyboard.press("Shift+Enter")
    active(3)
    book.page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("2")
    widget.get_by_label("Your chain").click()  # a text field lets them out, too
    book.page.keyboard.press("Shift+Enter")
    active(3)
    book.page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("3")
    widget.locator(".mha-tape-name").click()
    book.page.keyboard.press("Escape")
    book.page.keyboard.press("j")  # in the notebook: the next cell
    active(3)


OWN_CONTROLS = {
    "chain": lambda widget: widget.get_by_label("Your chain"),
    "size": lambda widget: widget.get_by_label("Heads"),
    "run": lambda widget: widget.get_by_role("button", name="Run"),
    "play": lambda widget: widget.get_by_role("button", name="Play"),
    "read": lambda widget: widget.get_by_role("button", name="Read"),
    "slider": lambda widget: widget.get_by_role("slider", name="Step"),
    "speed": lambda widget: widget.get_by_label("Speed"),
    "picture": lambda widget: widget.locator(".mha-stage"),
}
COUNTS = "window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.executionCount || 0)"


def test_every_key_of_the_notebook_reaches_it_from_every_control(lab):
    """One notebook: the cell is run by each key from each control, and its count tells."""
    book = lab.open([SETUP, "mha.widgets.TensorMoves.playground()", "1"])
    page, command = (
        book.page,
        "document.querySelector('.jp-Notebook').classList.contains('jp-mod-commandMode')",
    )
    for name, control in OWN_CONTROLS.items():
        for key in ("Escape", "Control+Enter", "Shift+Enter", "Alt+Enter"):
            widget = page.locator(".mha-moves")
            widget.locator(".mha-cell").first.wait_for()
            before = max(page.evaluate(COUNTS))
            if name == "picture":
                widget.locator(".mha-stage .mha-cell[data-address='12']").click()
            control(widget).focus()
            page.keyboard.press(key)
            if key == "Escape":
                assert book.cell(1).evaluate("cell => cell === document.activeElement"), name
                assert page.evaluate(command) and max(page.evaluate(COUNTS)) == before
                continue
            page.wait_for_function(f"before => {COUNTS}[1] > before", arg=before)
            assert page.evaluate(COUNTS)[1] == before + 1, (name, key)  # once
            cells = page.locator(".jp-Notebook .jp-Cell")
            if key == "Alt+Enter":  # it puts a new cell below, which goes again
                expect(cells).to_have_count(4)
                book.command("notebook:delete-cell")
            expect(cells).to_have_count(3)


def test_the_slider_stops_anywhere_within_a_move(lab, tmp_path):
    page = lab.show(TensorMoves(RIGHT).save_html(tmp_path / "moves.html")).page
    widget, slider = page.locator(".mha-moves"), page.get_by_role("slider", name="Step")
    expect(widget.locator(".mha-name")).to_have_count(4)
    whole = []
    for at in ("2", "3", "2.5"):
        slider.fill(at)
        whole.append({address: (x, y) for address, x, y, _ in widget.evaluate(PLACES)})
    before, after, between = whole
    expect(widget.locator(".mha-operation")).to_have_text(RIGHT.steps[3].operation)  # what is being done
    tape = "cells => cells.map(cell => cell.style.transform)"
    halfway = widget.locator(".mha-tape .mha-cell").evaluate_all(tape)
    slider.fill("2")
    started = widget.locator(".mha-tape .mha-cell").evaluate_all(tape)
    assert halfway != started
    for address in before:  # on the way, and nowhere else
        for a, b, c in zip(before[address], between[address], after[address], strict=True):
            assert min(a, c) - 1 <= b <= max(a, c) + 1
    slider.fill("2.5")
    press(widget, "Previous step")
    agrees(widget, RIGHT.steps[2], variants(2))
    slider.fill("1.5")
    press(widget, "Next step")
    agrees(widget, RIGHT.steps[2], variants(2))


def test_a_move_that_is_broken_off_leaves_no_name_behind(lab, tmp_path):
    page = lab.show(TensorMoves(RIGHT).save_html(tmp_path / "moves.html")).page
    slider = page.get_by_role("slider", name="Step")
    for at in ("0.5", "1.5", "0.4", "2.5", "1.2", "3"):
        slider.fill(at)
    labels = page.locator(".mha-label")
    layout = TensorMoves(RIGHT).pictures["lanes"][0]["frames"][3]["layouts"][0]
    expected = [label for kind in ("brackets", "blocks", "rows") for label in layout[kind]]
    expect(labels).to_have_count(len(expected))
    assert set(labels.evaluate_all("nodes => nodes.map(node => node.style.opacity || '1')")) == {"1"}
    names = labels.evaluate_all("nodes => nodes.map(node => node.textContent)")
    assert sorted(names) == sorted(" · ".join(part.text for part in label.parts) for label in expected)


def test_the_columns_of_two_exchanged_axes_change_places(lab, tmp_path):
    page = lab.show(TensorMoves(RIGHT).save_html(tmp_path / "moves.html")).page
    where = """() => Object.fromEntries([...document.querySelectorAll(".mha-facts tr:last-child td")].map(
      cell => [cell.textContent, cell.getBoundingClientRect().left]))"""
    slider = page.get_by_role("slider", name="Step")
    places = {}
    for at in ("1", "1.5", "2"):
        slider.fill(at)
        places[at] = page.evaluate(where)
    assert places["1"]["10"] < places["1"]["5"] and places["2"]["10"] > places["2"]["5"]
    assert places["1"]["10"] < places["1.5"]["10"] < places["2"]["10"]
    assert places["1"]["5"] > places["1.5"]["5"] > places["2"]["5"]


def test_the_tape_stands_still_until_numbers_are_copied(lab, tmp_path):
    page = lab.show(TensorMoves(RIGHT).save_html(tmp_path / "moves.html")).page
    tape = """() => Object.fromEntries([...document.querySelectorAll(".mha-tape .mha-cell")].map(
      cell => [cell.dataset.address, cell.style.transform]))"""
    slider, places = page.get_by_role("slider", name="Step"), []
    for at in ("0", "0.5", "1", "1.5", "2", "3"):
        slider.fill(at)
        places.append(page.evaluate(tape))
    assert all(each == places[0] for each in places[:-1])
    travelled = sum(places[-1][address] != place for address, place in places[0].items())
    assert travelled == int((RIGHT.steps[3].memory != RIGHT.steps[2].memory).sum())
    expect(page.locator(".mha-tape-name")).to_contain_text(f"{travelled} numbers")
    page.locator(".mha-stage .mha-cell[data-address='27']").click()
    at = RIGHT.steps[3].memory.tolist().index(27)
    expect(page.locator(".mha-told")).to_contain_text(f"moved in memory from 27 to {at}")


def test_the_reading_head_counts_the_jumps(lab, tmp_path):
    path = TensorMoves(RIGHT).save_html(tmp_path / "moves.html")
    for calm in (True, False):
        page = lab.show(path, reduced_motion=calm).page
        read = page.locator(".mha-said")
        page.get_by_label("Speed").select_option("fast")
        for step in (0, 2, 3) if calm else (2,):
            page.get_by_role("slider", name="Step").fill(str(step))
            at_rest(page.locator(".mha-moves"))
            addresses = (RIGHT.steps[step].addresses if step < 3 else torch.arange(80)).flatten()
            jumps = int((addresses.diff() != 1).sum())
            page.keyboard.press("r")
            button = page.get_by_role("button", name="Read")
            if not calm:
                expect(button).to_have_attribute("aria-pressed", "true")
                expect(page.locator(".mha-tape .mha-reading")).to_be_visible()
            said = f"{jumps} jumps" if jumps else "without a jump: contiguous"
            expect(read).to_contain_text(said)
            assert (jumps == 0) == RIGHT.steps[step].is_contiguous
            expect(page.locator(".mha-tape .mha-arrowhead")).to_have_count(jumps)
            expect(button).to_have_attribute("aria-pressed", "false")
        page.keyboard.press("ArrowLeft")
        expect(read).to_have_text("")
        expect(page.locator(".mha-tape .mha-arrowhead")).to_have_count(0)


def test_a_saved_page_follows_a_cell_offline(lab, tmp_path):
    path = TensorMoves(RIGHT).save_html(tmp_path / "moves.html")
    book = lab.show(path)
    widget = book.page.locator(".mha-moves")
    widget.locator(".mha-stage .mha-cell[data-address='37']").click()
    told = widget.locator(".mha-told")
    for number in (0, 1, 2, 3):
        at = (RIGHT.steps[number].addresses == 37).nonzero()[0].tolist()
        expect(told.locator("li").nth(number)).to_have_text(re.compile(re.escape(str(at)) + "$"))
    widget.get_by_role("slider", name="Step").fill("2")
    expect(told).to_contain_text("+0 along sentence +5 along head +30 along word +2 along feature = 37")
    expect(widget.locator(".mha-tape .mha-followed")).to_have_attribute("data-address", "37")
    assert widget.locator(".mha-tape .mha-added").all_text_contents() == ["+5", "+30", "+2"]
    rows = widget.locator(".mha-tape .mha-cell").evaluate_all(
        "cells => cells.map(c => c.getBoundingClientRect().top)"
    )
    arcs = widget.locator(".mha-tape .mha-line").evaluate_all(
        "lines => lines.map(l => l.getBoundingClientRect().bottom)"
    )
    assert max(arcs) <= min(rows)  # above the digits of the row they lead to
    agrees(widget, RIGHT.steps[2], variants(2))
    book.page.mouse.move(0, 0)
    assert book.axe(".mha-moves") == []


def test_frames_without_the_followed_cell_are_told_once(lab, tmp_path):
    often = mha.watch(lambda X: (X.mT + 1).flatten(1).flatten().view(8, 10), X)
    page = lab.show(TensorMoves(often).save_html(tmp_path / "often.html"), reduced_motion=True).page
    page.locator(".mha-stage .mha-cell[data-address='3']").click()
    trail, now = page.locator(".mha-trail li"), page.locator(".mha-trail li[aria-current]")
    expect(trail).to_have_text(["[0, 0, 3]", "[0, 3, 0]", "not here"])
    page.get_by_role("slider", name="Step").fill(str(len(often.frames) - 1))
    expect(now).to_have_text(["not here"])


def test_side_by_side_counts_and_marks(lab, tmp_path):
    path = TensorMoves(RIGHT, beside=WRONG).save_html(tmp_path / "two.html")
    book = lab.show(path)
    widget = book.page.locator(".mha-moves")
    for _ in range(2):
        press(widget, "Next step")
        expect(widget.locator(".mha-wrong")).to_have_count(0)
    press(widget, "Last step")
    expect(widget.locator(".mha-wrong")).to_have_count(60)
    expect(widget.locator(".mha-verdict")).to_contain_text("60 of 80")
    marked = (
        widget.locator(".mha-lane >> nth=1")
        .locator(".mha-wrong")
        .evaluate_all("cells => cells.map(cell => Number(cell.dataset.address))")
    )
    bad = WRONG.steps[-1].addresses != RIGHT.steps[-1].addresses
    assert sorted(marked) == WRONG.steps[-1].addresses[bad].sort().values.tolist()
    assert widget.bounding_box()["height"] <= 600  # what a notebook shows at 1280 × 720
    left, right = (widget.locator(".mha-lane").nth(i).bounding_box() for i in (0, 1))
    assert right["x"] > left["x"] + left["width"] - 1 and right["y"] == left["y"]
    widget.locator(".mha-lane >> nth=0").locator(".mha-stage .mha-cell[data-address='5']").click()
    expect(widget.locator(".mha-stage .mha-followed")).to_have_count(2)
    home = (RIGHT.steps[-1].addresses == 5).nonzero()[0].tolist()
    expect(widget.locator(".mha-told")).to_contain_text(f"belongs at {home}")
    expect(widget.locator(".mha-lane >> nth=1").locator(".mha-stage .mha-home.mha-line")).to_have_count(1)
    expect(widget.locator(".mha-lane >> nth=0").locator(".mha-stage .mha-home")).to_have_count(0)
    assert book.axe(".mha-moves") == []


@pytest.mark.parametrize("width", [390, 880, 1280])
def test_two_lanes_take_one_layout_so_that_lines_stand_beside_each_other(lab, tmp_path, width):
    """The straight reshape is narrower than the split; it must not be drawn in another layout for that."""
    path = TensorMoves(RIGHT, beside=WRONG).save_html(tmp_path / "pair.html")
    page = lab.show(path, size=(width, 720), reduced_motion=True).page
    widget = page.locator(".mha-moves")
    press(widget, "Last step")
    at_rest(widget)
    places = page.evaluate("""() => [...document.querySelectorAll(".mha-board")].map(plane => {
      const from = plane.getBoundingClientRect();
      return [...plane.querySelectorAll(".mha-cell")].map(cell => {
        const box = cell.getBoundingClientRect();
        return [box.left - from.left, box.top - from.top, box.width, box.height].map(Math.round).join(" ");
      }).sort();
    })""")
    assert len(places) == 2 and len(places[0]) == 80
    left, right = places
    rows = [sorted({int(cell.split()[1]) for cell in lane}) for lane in places]
    assert len(rows[0]) == len(rows[1])
    assert max(abs(a - b) for a, b in zip(*rows, strict=True)) <= 2
    assert {tuple(cell.split()[2:]) for cell in left} == {tuple(cell.split()[2:]) for cell in right}


def test_the_learners_own_chain_right_and_wrong(lab):
    cells = [SETUP, "turn = lambda X: X.mT", "mha.widgets.TensorMoves.playground()"]
    book = lab.open(cells, reduced_motion=True)
    widget = book.page.locator(".mha-moves")
    chain, trouble = widget.get_by_label("Your chain"), widget.locator(".mha-trouble")
    operation = widget.locator(".mha-operation")
    chain.fill("turn(X).flatten(1)")
    expect(operation).to_have_text("X")  # nothing runs before the learner says so
    chain.press("Enter")
    expect(widget.locator(".mha-count")).to_have_text("step 2 of 2")  # it plays by itself
    expect(operation).to_have_text(".flatten(1)")
    expect(widget.locator(".mha-facts")).to_contain_text("feature·word")
    expect(widget.get_by_role("button", name="Play")).to_be_visible()
    past, stale = widget.locator(".mha-past"), re.compile("mha-stale")
    expect(past).to_have_text("")
    chain.fill("X.mT.view(-1)")
    expect(widget).to_have_class(stale)  # what is shown is another chain's, and says whose
    expect(past.locator("code")).to_have_text("turn(X).flatten(1)")
    press(widget, "Run")
    expect(trouble).to_contain_text("view size is not compatible")
    expect(trouble).to_contain_text(".contiguous()")
    expect(operation).to_have_text(".flatten(1)")  # the last good picture stays, named and stood back
    expect(past.locator("code")).to_have_text("turn(X).flatten(1)")
    assert float(widget.locator(".mha-lanes").evaluate("box => getComputedStyle(box).opacity")) < 0.5
    chain.fill("turn(X).flatten(1)")
    expect(past).to_have_text("")
    expect(widget).not_to_have_class(stale)
    expect(trouble).to_have_text("")
    widget.get_by_label("Words").fill("5")
    expect(past).to_contain_text("X is (2, 4, 10), heads: 2")
    widget.get_by_label("Words").fill("4")
    expect(past).to_have_text("")
    chain.fill("""X["<img src=x onerror='document.title=1'><b>bold</b>"]""")
    expect(trouble).to_have_text("")  # the message was about another chain
    press(widget, "Run")
    expect(trouble).to_contain_text("Error")
    chain.fill("""X.reshape(2, 4, 2, 5)  # <b>bold</b>""")
    press(widget, "Run")
    expect(widget.locator(".mha-count")).to_have_text("step 1 of 1")
    assert widget.locator("b:not(.mha-tape-name b), img").count() == 0
    widget.get_by_label("Heads").fill("3")
    press(widget, "Run")
    expect(trouble).to_contain_text("10 features cannot be shared evenly by 3 heads")
    widget.get_by_label("Features").fill("12")
    chain.fill("X.reshape(B, L, h, d)")
    press(widget, "Run")
    expect(widget.locator(".mha-facts")).to_contain_text("head")
    expect(trouble).to_have_text("")
    expect(past).to_have_text("")
    at_rest(widget)
    assert book.axe(".mha-moves") == []


def test_the_playground_never_blocks_the_kernel(lab):
    book = lab.open([SETUP, "mha.widgets.TensorMoves.playground()", "print(6 * 7)"])
    widget = book.page.locator(".mha-moves")
    chain, trouble = widget.get_by_label("Your chain"), widget.locator(".mha-trouble")
    run = widget.get_by_role("button", name="Run")
    chain.fill("X.repeat(100, 100, 100)")
    run.click()
    expect(trouble).to_contain_text("80,000,000 cells")
    chain.fill("[None for _ in iter(int, 1)]")  # never ends
    run.click()
    expect(run).to_have_attribute("aria-disabled", "true")
    run.click()  # off: nothing is asked twice
    # Five seconds of its own work: where others use the machine too, up to 20 on the clock.
    expect(trouble).to_contain_text("longer than 5 seconds")
    expect(run).not_to_have_attribute("aria-disabled", "true")
    book.run()
    expect(book.output(2)).to_have_text("42")


def test_instances_do_not_disturb_each_other_and_views_of_one_stay_in_step(lab):
    book = lab.open(
        [SETUP, "one = mha.widgets.TensorMoves(right)\none", "one", "mha.widgets.TensorMoves(wrong)"]
    )
    views = [book.cell(i).locator(".mha-moves") for i in (1, 2, 3)]
    press(views[0], "Next step")
    expect(views[1].locator(".mha-operation")).to_have_text("X.reshape(2, 4, 2, 5)")
    expect(views[2].locator(".mha-operation")).to_have_text("X")
    views[1].locator(".mha-stage .mha-cell[data-address='12']").click()
    book.page.mouse.move(0, 0)
    expect(views[0].locator(".mha-stage .mha-followed")).to_have_attribute("data-address", "12")
    expect(views[2].locator(".mha-followed")).to_have_count(0)
    book.run()
    expect(book.page.locator(".mha-moves")).to_have_count(3)
    press(views[0], "Next step")
    expect(views[1].locator(".mha-count")).to_have_text("step 1 of 3")
    expect(views[2].locator(".mha-count")).to_have_text("step 0 of 1")
    views[2].get_by_role("slider", name="Step").focus()
    book.page.keyboard.press("End")  # JupyterLab would go to its last cell
    expect(views[2].locator(".mha-count")).to_have_text("step 1 of 1")


LISTENERS = """async () => {
  const text = id => document.getElementById(id).textContent;
  const url = URL.createObjectURL(new Blob([text("esm").replaceAll("<\\\\/script", "<" + "/script")],
                                           { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const state = JSON.parse(text("state"), (key, value) => value && value.base64 !== undefined
    ? new DataView(Uint8Array.from(atob(value.base64), c => c.charCodeAt(0)).buffer) : value);
  const heard = new Set(), el = document.createElement("div");
  document.body.append(el);
  const model = { get: name => state[name], set: (name, value) => { state[name] = value; },
                  save_changes() {}, on: (event, call) => heard.add(call),
                  off: (event, call) => heard.delete(call) };
  const close = widget.render({ model, el });
  el.querySelector("button[aria-label=Play]").click();
  const during = heard.size, at = state.step;
  close();
  await new Promise(done => setTimeout(done, 2500));
  return [during, heard.size, at, state.step];
}"""


def test_closing_a_view_leaves_no_listener_and_no_timer(lab, tmp_path):
    page = lab.show(TensorMoves(RIGHT).save_html(tmp_path / "moves.html")).page
    page.locator(".mha-cell").first.wait_for()
    during, after, at, later = page.evaluate(LISTENERS)
    assert during > 0 and after == 0 and at == later


def test_with_reduced_motion_nothing_travels(lab, tmp_path):
    path = TensorMoves(RIGHT).save_html(tmp_path / "moves.html")
    seen = """() => new Promise(done => {
      const root = document.querySelector(".mha-moves"), states = new Set([root.dataset.moving]);
      new MutationObserver(() => states.add(root.dataset.moving)).observe(root, { attributes: true });
      root.querySelector(".mha-last").click();
      requestAnimationFrame(() => requestAnimationFrame(() => done([...states])));
    })"""
    for calm, states in ((True, ["false"]), (False, ["false", "true"])):
        page = lab.show(path, reduced_motion=calm).page
        page.locator(".mha-cell").first.wait_for()
        assert page.evaluate(seen) == states
        agrees(page.locator(".mha-moves"), RIGHT.steps[3], variants(3))
        if calm:  # the slider has the steps and nothing between them
            assert page.get_by_role("slider", name="Step").get_attribute("step") == "1"


@pytest.mark.parametrize(
    ("mark", "dark"),
    [
        ("document.body.dataset.jpThemeLight = 'false'", True),
        ("document.documentElement.dataset.theme = 'dark'", True),
        ("document.documentElement.setAttribute('theme', 'dark')", True),
        ("document.body.className = 'vscode-dark'", True),
        ("document.body.className = 'vscode-high-contrast vscode-high-contrast-light'", False),
        ("document.body.className = 'dark'", True),
        ("document.documentElement.dataset.theme = 'light'", False),
    ],
)
def test_the_theme_is_the_pages(lab, tmp_path, mark, dark):
    page = lab.show(TensorMoves(RIGHT).save_html(tmp_path / "moves.html")).page
    page.emulate_media(color_scheme="light" if dark else "dark")  # the system says the opposite
    page.locator(".mha-cell").first.wait_for()
    page.evaluate(mark)
    paper = page.locator(".mha-moves").evaluate("node => getComputedStyle(node).backgroundColor")
    assert paper == ("rgb(18, 22, 28)" if dark else "rgb(255, 255, 255)")


SIZES = """root => {
  const plane = root.querySelector(".mha-board");
  const zoom = plane.getBoundingClientRect().width / plane.offsetWidth;
  const least = (what, by) => Math.min(...[...root.querySelectorAll(what)].map(
    node => parseFloat(getComputedStyle(node).fontSize) * by));
  return [least(".mha-board .mha-cell", zoom), least(".mha-tape .mha-cell", 1),
          least(".mha-block, .mha-row", zoom)];
}"""


CUT = """root => {
  const edge = root.getBoundingClientRect();
  const inside = box => box.left >= edge.left - 1 && box.right <= edge.right + 1;
  const all = ".mha-cell, .mha-label span, .mha-facts td, button, .mha-name, input, select";
  return [...root.querySelectorAll(all)]
    .filter(node => node.getBoundingClientRect().width && !inside(node.getBoundingClientRect()))
    .map(node => node.className + node.textContent);
}"""


@pytest.mark.parametrize("width", [390, 700, 1280])
def test_numbers_and_labels_are_large_enough_and_nothing_sticks_out(lab, tmp_path, width):
    path = TensorMoves(RIGHT).save_html(tmp_path / "moves.html")
    page = lab.show(path, size=(width, 720), reduced_motion=True).page
    widget = page.locator(".mha-moves")
    for step in range(4):
        page.get_by_role("slider", name="Step").fill(str(step))
        sizes = widget.evaluate(SIZES)
        assert sizes[0] >= 11.9 and sizes[1] >= 12 and sizes[2] >= (12.8 if width > 400 else 10.9)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert widget.evaluate(CUT) == []


STANDS = """() => Object.fromEntries([...document.querySelectorAll(".mha-stage .mha-cell")].map(cell => {
  const box = cell.getBoundingClientRect();
  return [cell.dataset.address, [box.left, box.top]];
}))"""
APART = """root => {
  const ink = cell => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect();
  };
  const all = [...root.querySelectorAll(".mha-tape .mha-cell")].map(ink);
  const after = a => all.filter(b => Math.abs(a.top - b.top) < 2 && b.left > a.left);
  return Math.min(...all.flatMap(a => after(a).map(b => b.left - a.right)));
}"""


@pytest.mark.parametrize("width", [390, 700, 1280])
def test_at_every_width_what_is_not_reordered_stays_and_nothing_jumps(lab, tmp_path, width):
    """Head A's lines in both sentences, the memory and everything around the picture."""
    path = TensorMoves(RIGHT).save_html(tmp_path / "moves.html")
    page = lab.show(path, size=(width, 720), reduced_motion=True).page
    slider, places, around = page.get_by_role("slider", name="Step"), [], []
    for step in range(4):
        slider.fill(str(step))
        places.append(page.evaluate(STANDS))
        boxes = [page.locator(part).bounding_box() for part in (".mha-stage", ".mha-tape", ".mha-told")]
        around.append([round(box["y"]) for box in boxes])
    assert all(each == around[0] for each in around)
    for address in (a for a in range(80) if a % 10 < 5):
        for before, after in zip(places, places[1:], strict=False):
            for one, other in zip(before[str(address)], after[str(address)], strict=True):
                assert abs(one - other) <= 1
    assert page.locator(".mha-moves").evaluate(APART) >= 3  # pixels between two numbers of the tape


def test_of_many_steps_the_slider_names_those_for_which_there_is_room(lab, tmp_path):
    def often(X):
        for _ in range(11):
            X = X.view(2, 4, 2, 5).permute(0, 2, 1, 3)
            X = X.permute(0, 2, 1, 3).reshape(2, 4, 10)
        return X

    recording = mha.watch(often, X)
    page = lab.show(TensorMoves(recording).save_html(tmp_path / "often.html"), reduced_motion=True).page
    names, slider = page.locator(".mha-name"), page.get_by_role("slider", name="Step")
    last = len(recording.frames) - 1
    expect(page.locator(".mha-stop")).to_have_count(last + 1)
    for step in (0, 7, last):
        slider.fill(str(step))
        expect(names.nth(step)).to_be_visible()
        shown = names.evaluate_all(
            "all => all.filter(n => getComputedStyle(n).visibility === 'visible').map(n => {"
            " const b = n.getBoundingClientRect(); return [b.left, b.right]; }).sort((a, b) => a[0] - b[0])"
        )
        assert len(shown) >= 4
        assert all(left[1] < right[0] for left, right in zip(shown, shown[1:], strict=False))


def test_many_cells_are_painted_and_can_be_followed(lab, tmp_path):
    Y = torch.arange(4.0 * 32 * 20).reshape(4, 32, 20)
    many = mha.watch(lambda X: X.reshape(4, 32, 4, 5).permute(0, 2, 1, 3), Y)
    page = lab.show(TensorMoves(many).save_html(tmp_path / "many.html")).page
    widget = page.locator(".mha-moves")
    expect(widget.locator(".mha-stage canvas")).to_be_visible()
    press(widget, "Last step")
    at_rest(widget)
    widget.locator(".mha-stage").focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    expect(widget.locator(".mha-told")).to_contain_text("Number 20 of X, address 20")
    box = widget.locator(".mha-board").bounding_box()
    frames = TensorMoves(many).pictures["lanes"][0]["frames"]
    zoom = box["width"] / max(frame["layouts"][0]["size"][0] for frame in frames)
    x, y = place(frames[2]["layouts"][0]["pieces"][0], (0, 1, 2, 3))
    page.mouse.click(box["x"] + (x + CELL[0] / 2) * zoom, box["y"] + (y + CELL[1] / 2) * zoom)
    expect(widget.locator(".mha-told")).to_contain_text(f"address {int(many.steps[2].addresses[0, 1, 2, 3])}")


FRAMES = """async name => {
  const stamps = [];
  let run = true;
  const tick = now => { stamps.push(now); if (run) requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  document.querySelector(`button[aria-label="${name}"]`).click();
  await new Promise(done => new MutationObserver(() =>
    document.querySelector(".mha-moves").dataset.moving === "false" && done()).observe(
      document.querySelector(".mha-moves"), { attributes: true, attributeFilter: ["data-moving"] }));
  run = false;
  return stamps.slice(1).map((at, i) => at - stamps[i]);
}"""


def test_frames_while_80_cells_travel(lab, tmp_path):
    """Measured and printed: a noisy machine may drop frames that a learner's does not."""
    page = lab.show(TensorMoves(RIGHT).save_html(tmp_path / "moves.html")).page
    page.locator(".mha-cell").first.wait_for()
    times = [t for name in ["Next step"] * 3 + ["Previous step"] * 3 for t in page.evaluate(FRAMES, name)]
    within = sum(t <= 20 for t in times) / len(times)
    print(f"\n{len(times)} frames, {within:.0%} within 20 ms, the longest {max(times):.0f} ms")
    assert len(times) > 30
