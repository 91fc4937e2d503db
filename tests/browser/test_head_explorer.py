"""HeadExplorer in a real JupyterLab: what is on screen is what the tensor holds."""

import pytest
import torch

import mha_lib as mha

MAKE = """import torch
import mha_lib as mha
ex = mha.example()
_, weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)"""
EXAMPLE = (
    "explorer = mha.widgets.HeadExplorer(weights, ex.words, sample=0, valid_lens=ex.valid_lens)\nexplorer"
)
LAYERS = """g = torch.Generator().manual_seed(0)
many = (2 * torch.randn(12, 1, 12, 64, 64, generator=g)).softmax(-1)
explorer = mha.widgets.HeadExplorer(many, [f"word{i}" for i in range(64)])
explorer"""
ASKED = '[explorer.ask.get(name) for name in ("id", "heads", "most", "index")]'
DARK = "JupyterLab Dark"


@pytest.fixture(scope="module")
def weights():
    ex = mha.example()
    return ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)[1][0]


def table(page):
    """The numbers on screen, once all of them are there: a list a key, and the sums."""
    page.locator(".mha-heads table:not([aria-busy])").wait_for()
    read = "rows => rows.map(row => [...row.querySelectorAll('td')].map(td => td.textContent))"
    body = page.locator(".mha-heads tbody tr").evaluate_all(read)
    return body, page.locator(".mha-heads tfoot tr").evaluate_all(read)[0]


def expected(weights, query, heads=(0, 1), real=3):
    rows = [
        [f"{weights[h, query, k]:.3f}" if k < real else "–" for h in heads] for k in range(weights.shape[-1])
    ]
    return rows, [f"{weights[h, query].sum():.3f}" for h in heads]


def count_draws(page):
    """Count from now on how often the maps are made anew."""
    page.locator(".mha-heads-maps").evaluate("""maps => {
        window.draws = 0;
        const count = records => { window.draws += records.length; };
        new MutationObserver(count).observe(maps, {childList: true});
    }""")


def draws(page):
    return page.evaluate("() => window.draws")


def ask_again(book, cell, answer):
    """Run one cell once more, and wait for what it shows."""
    book.cell(cell).locator(".cm-content").click()
    book.command("notebook:run-cell")
    book.output(cell).filter(has_text=answer).wait_for()


def test_the_numbers_on_screen_are_the_tensors(lab, weights):
    book = lab.open([MAKE, EXAMPLE])
    radios = book.page.get_by_role("radio")
    radios.first.focus()
    for query in range(4):
        assert radios.nth(query).is_checked()
        assert table(book.page) == expected(weights, query)
        book.page.keyboard.press("ArrowDown")
    assert radios.first.is_checked(), "the arrow keys go round"
    on_maps = book.page.locator(".mha-heads-number").all_text_contents()
    assert on_maps == [f"{w:.3f}" for w in weights[:, :, :3].flatten().tolist()]
    assert book.page.locator(".mha-heads-status").inner_text() == (
        "small: head A looks most at cats (0.920), head B looks most at small (0.880)."
    )


def test_point_hold_and_let_go(lab, weights):
    book = lab.open([MAKE, EXAMPLE, "print('query', explorer.query)"])
    page, radios = book.page, book.page.get_by_role("radio")
    second_map = page.locator(".mha-heads figure svg[role=img]").nth(1)
    box = second_map.locator("xpath=..").locator("canvas").bounding_box()

    def row(query):
        page.mouse.move(box["x"] + 30, box["y"] + box["height"] * (query + 0.5) / 4)

    row(2)
    assert radios.nth(2).is_checked() and table(page) == expected(weights, 2)
    page.mouse.down()
    page.mouse.up()
    row(0)
    assert radios.nth(2).is_checked(), "a click holds the query"
    assert page.locator(".mha-heads-hint").inner_text().startswith("Held")
    row(2)
    page.mouse.down()
    page.mouse.up()
    row(1)
    assert radios.nth(1).is_checked(), "a second click lets go"
    frame = second_map.locator(".mha-heads-inner")
    assert float(frame.get_attribute("y")) == float(frame.get_attribute("height"))
    ask_again(book, 2, "query 1")


def test_heads_can_be_hidden_but_not_all(lab, weights):
    book = lab.open([MAKE, EXAMPLE])
    a, b = (book.page.get_by_role("button", name=letter, exact=True) for letter in "AB")
    a.click()
    assert (a.get_attribute("aria-pressed"), b.get_attribute("aria-pressed")) == ("false", "true")
    assert book.page.locator(".mha-heads figure").all_inner_texts()[0].startswith("Head B")
    assert table(book.page) == expected(weights, 0, heads=[1])
    b.press("Space")
    assert b.get_attribute("aria-pressed") == "true", "one head stays"
    a.press("Space")
    assert table(book.page) == expected(weights, 0)


def test_lines_run_to_the_keys_with_their_weight(lab, weights):
    book = lab.open([MAKE, EXAMPLE])
    lines = book.page.locator(".mha-heads-lines path")
    rows = book.page.locator(".mha-heads tbody tr").evaluate_all(
        "r => r.map(x => x.getBoundingClientRect().y + 13)"
    )
    ends = lines.evaluate_all(
        "l => l.map(p => { const b = p.ownerSVGElement.getBoundingClientRect();"
        " return b.y + p.getPointAtLength(p.getTotalLength()).y; })"
    )
    widths = [float(w) for w in lines.evaluate_all("l => l.map(p => p.getAttribute('stroke-width'))")]
    assert len(ends) == 6, "two heads to three keys that may be seen"
    for i, (end, width) in enumerate(zip(ends, widths, strict=True)):
        head, key = divmod(i, 3)
        assert abs(end - rows[key]) < 9
        assert width == pytest.approx(0.8 + 5 * float(weights[head, 0, key]), abs=0.01)


@pytest.fixture(scope="module")
def blocks():
    generator = torch.Generator().manual_seed(0)
    weights = (2 * torch.randn(3, 1, 12, 9, 9, generator=generator)).softmax(-1)
    weights[2, 0, 9] = torch.eye(9)
    return weights


@pytest.fixture(scope="module")
def page_of_blocks(blocks, tmp_path_factory):
    same = blocks[:, 0].diagonal(dim1=-2, dim2=-1).mean(-1)
    lengths = torch.linspace(1, 4, 9).expand(3, 12, 9)
    explorer = mha.widgets.HeadExplorer(blocks, list("abcdefghi"), scores={"itself": same}, values=lengths)
    return explorer.save_html(tmp_path_factory.mktemp("pages") / "blocks.html")


def thumbs(page):
    return page.locator(".mha-heads-thumb")


def names(page):
    return page.locator(".mha-heads-thumb .mha-heads-name").all_text_contents()


def test_the_overview_comes_first_and_a_click_opens_one_head(lab, page_of_blocks, blocks):
    page = lab.show(page_of_blocks).page
    assert names(page) == [f"{block} {letter}" for block in (1, 2, 3) for letter in "ABCDEFGHIJKL"]
    assert page.locator(".mha-heads figure").count() == 0
    page.get_by_role("button", name="Head 3 J", exact=True).click()
    assert page.locator(".mha-heads figcaption").all_text_contents() == ["Head 3 J"]
    assert table(page)[0] == [[f"{w:.3f}"] for w in blocks[2, 0, 9, 0].tolist()]
    page.get_by_role("button", name="All heads").click()
    assert thumbs(page).count() == 36


def test_the_overview_by_keyboard_one_head_or_several(lab, page_of_blocks):
    page = lab.show(page_of_blocks).page
    thumbs(page).first.focus()
    for key in ("ArrowDown", "ArrowDown", "End", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.locator(":focus").get_attribute("data-head") == str(2 * 12 + 9)
    assert thumbs(page).evaluate_all("all => all.filter(one => one.tabIndex === 0).length") == 1
    page.keyboard.press("Space")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    assert page.locator(".mha-heads-thumb[aria-pressed=true]").count() == 2
    page.keyboard.press("Enter")
    assert page.locator(".mha-heads figcaption").all_text_contents() == ["Head 2 J", "Head 3 J"]
    assert page.locator(".mha-heads-picker button").all_text_contents() == ["2 J", "3 J"]


def test_ctrl_click_picks_several(lab, page_of_blocks):
    page = lab.show(page_of_blocks).page
    for name in ("Head 1 A", "Head 3 J"):
        page.get_by_role("button", name=name, exact=True).click(modifiers=["Control"])
    page.get_by_role("button", name="Open 2 heads").click()
    assert page.locator(".mha-heads figcaption").all_text_contents() == ["Head 1 A", "Head 3 J"]


def test_one_of_twelve_heads_in_one_action(lab, page_of_blocks):
    page = lab.show(page_of_blocks).page
    thumbs(page).nth(0).click()
    page.get_by_label("Block").select_option(label="2")
    captions = page.locator(".mha-heads figcaption")
    assert captions.count() == 12
    button = page.locator(".mha-heads-picker button").nth(4)
    button.dblclick()
    assert captions.all_text_contents() == ["Head 2 E"]
    button.press("Enter")
    assert captions.count() == 12, "and all again"
    button.press("Enter")
    assert captions.all_text_contents() == ["Head 2 E"]
    page.locator(".mha-heads-picker button").nth(0).press("Space")
    assert captions.all_text_contents() == ["Head 2 A", "Head 2 E"]


def test_one_click_is_one_draw(lab, page_of_blocks):
    """Another block sets two traits, and each of them drew the page."""
    page = lab.show(page_of_blocks).page
    thumbs(page).nth(0).click()
    count_draws(page)
    for number, block in enumerate("231", 1):
        page.get_by_label("Block").select_option(label=block)
        page.get_by_text(f"Head {block} L", exact=True).wait_for()
        assert draws(page) == number
    page.locator(".mha-heads-picker button").nth(4).dblclick()
    page.wait_for_function("() => window.draws === 6")  # the two clicks of it, and the double click
    assert page.locator(".mha-heads figcaption").all_text_contents() == ["Head 1 E"]


def test_no_letters_lie_on_each_other(lab, page_of_blocks):
    """Twelve heads that look at one key made a black smear of their letters."""
    page = lab.show(page_of_blocks).page
    thumbs(page).nth(0).click()
    page.get_by_label("Block").select_option(label="1")
    boxes = page.locator(".mha-heads-lines text").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(b => [b.top, b.bottom, b.right])"
    )
    boxes.sort()
    assert all(one[1] <= other[0] + 4 for one, other in zip(boxes, boxes[1:], strict=False))
    right = page.locator(".mha-heads-look table").bounding_box()["x"]
    assert all(box[2] <= right + 2 for box in boxes)
    assert page.locator(".mha-heads-number").count() == 0, "no numbers where there is no room"


def test_heads_are_sorted_by_a_score_and_the_best_is_marked(lab, page_of_blocks, blocks):
    page = lab.show(page_of_blocks).page
    same = blocks[:, 0].diagonal(dim1=-2, dim2=-1).mean(-1).flatten()
    page.get_by_label("Order").select_option(label="itself")
    order = same.argsort(descending=True).tolist()
    shown = thumbs(page).evaluate_all("all => all.map(one => Number(one.dataset.head))")
    assert shown == order
    assert names(page)[:2] == ["★ 3 J", "1.00"] and names(page)[3] == f"{same[order[1]]:.2f}"
    assert thumbs(page).first.get_attribute("aria-label") == "Head 3 J, itself 1.00, first"
    page.get_by_label("Order").select_option(label="distance, nearest first")
    assert names(page)[:2] == ["★ 3 J", "0.00"]
    page.get_by_label("Order").select_option(label="as in the model")
    assert names(page)[0] == "1 A"


def test_the_row_of_a_word_in_all_heads(lab, page_of_blocks, blocks):
    page = lab.show(page_of_blocks).page
    page.locator(".mha-heads").get_by_label("Show").select_option(label="the row of c")
    sizes = thumbs(page).evaluate_all(
        "all => all.map(t => [t.querySelector('canvas').width, t.querySelector('canvas').height])"
    )
    assert sizes == [[9, 1]] * 36
    box = page.locator("[data-head='33'] canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 2.5 / 9, box["y"] + 5)
    assert page.locator(".mha-heads-status").inner_text() == "3 J: c → c 1.000"


def test_from_a_key_to_the_queries_that_look_at_it(lab, page_of_blocks, blocks):
    page = lab.show(page_of_blocks).page
    thumbs(page).nth(14).click()
    page.get_by_label("Look").select_option(label="from a key to its queries")
    page.get_by_role("radio").nth(3).check()
    column = blocks[1, 0, 2, :, 3]
    assert table(page) == ([[f"{w:.3f}"] for w in column.tolist()], [f"{column.sum():.2f}"])
    best = "abcdefghi"[int(column.argmax())]
    said = page.locator(".mha-heads-status").inner_text()
    assert said == f"d: in head 2 C most from {best} ({column.max():.3f})."
    frame = page.locator(".mha-heads-inner")
    width, height = (float(frame.get_attribute(name)) for name in ("width", "height"))
    assert height == 9 * width and float(frame.get_attribute("x")) == 3 * width, "a column is framed"
    page.keyboard.press("ArrowDown")
    assert page.get_by_role("radio").nth(4).is_checked()


def test_weights_times_the_length_of_the_values(lab, page_of_blocks, blocks):
    page = lab.show(page_of_blocks).page
    thumbs(page).nth(0).click()
    page.get_by_label("Cells").select_option(label="weights × |W_o v|")
    want = blocks[0, 0, 0, 0] * torch.linspace(1, 4, 9) / 4
    cells = page.locator(".mha-heads tbody td").all_text_contents()
    assert [float(cell) for cell in cells] == pytest.approx(want.tolist(), abs=0.00051)
    assert page.locator(".mha-heads-unit").inner_text() == "1 = 4, the longest |W_o v|"
    assert page.locator(".mha-heads tfoot").count() == 0, "such a row need not sum to 1"


READ = """import torch
import mha_lib as mha
def read(sentence):
    words = sentence.split()
    if len(words) < 2:
        raise ValueError("two words at least")
    return torch.eye(len(words)).expand(2, 1, 3, -1, -1), words
weights, words = read("the cat sat")
runs = []
def noted(sentence):
    runs.append(sentence)
    return read(sentence)
explorer = mha.widgets.HeadExplorer(weights, words, read=noted)
explorer"""


def test_a_sentence_of_ones_own_by_keyboard(lab):
    book = lab.open([READ, "print(runs, explorer.key_words)"])
    page = book.page
    box = page.get_by_label("Your sentence")
    box.fill("one")
    ask_again(book, 1, "[] ['the', 'cat', 'sat']")
    box.press("Enter")
    page.get_by_role("alert").filter(has_text="two words at least").wait_for()
    assert box.input_value() == "one", "what was typed stays"
    box.fill("dogs bark loudly now")
    box.press("Enter")
    page.get_by_role("alert").filter(has_text="two words").wait_for(state="detached")
    page.locator(".mha-heads").get_by_label("Show").locator("option", has_text="the row of loudly").wait_for(
        state="attached"
    )
    assert page.get_by_label("Your sentence").evaluate("box => document.activeElement === box")
    ask_again(book, 1, "['one', 'dogs bark loudly now'] ['dogs', 'bark', 'loudly', 'now']")


def test_keys_of_the_notebook_reach_it(lab):
    """Shift+Enter in one of our controls runs the cell, and is no click."""
    book = lab.open(
        [
            MAKE,
            EXAMPLE.replace("explorer =", "count = globals().get('count', 0) + 1\nexplorer ="),
            "print(count)",
        ]
    )
    button = book.page.get_by_role("button", name="A", exact=True)
    button.focus()
    assert button.get_attribute("aria-pressed") == "true"
    book.page.keyboard.press("Control+Enter")
    book.cell(1).locator(".jp-InputPrompt").filter(has_text="[4]").wait_for()


def test_a_large_picture_asks_the_kernel_for_what_it_shows(lab):
    source = """g = torch.Generator().manual_seed(0)
many = (2 * torch.randn(12, 1, 12, 128, 128, generator=g)).softmax(-1)
explorer = mha.widgets.HeadExplorer(many)
explorer"""
    book = lab.open([MAKE, source, "explorer.layer, explorer.query", ASKED])
    page = book.page
    generator = torch.Generator().manual_seed(0)
    many = (2 * torch.randn(12, 1, 12, 128, 128, generator=generator)).softmax(-1)
    thumbs(page).nth(20).click()
    page.locator(".mha-heads figure canvas").wait_for()
    assert table(page) == expected(many[1, 0], 0, heads=[8], real=128)
    count_draws(page)
    page.get_by_label("Block").select_option(label="12")
    page.locator(".mha-heads figure canvas").nth(11).wait_for()
    assert table(page) == expected(many[11, 0], 0, heads=range(12), real=128)
    assert draws(page) == 2, "once for the click, once for the numbers"
    # The second question was for twelve maps as small as they are shown; the line had come for all heads.
    ask_again(book, 3, f"[2, {list(range(132, 144))}, ")
    most, index = book.output(3).inner_text().split(", ")[-2:]
    assert 16 <= int(most) < 128 and index == "-1]"
    page.get_by_role("radio").first.focus()
    for _ in range(10):
        page.keyboard.press("ArrowDown")
    assert table(page) == expected(many[11, 0], 10, heads=range(12), real=128)
    ask_again(book, 2, "(11, 10)")
    assert book.output(0).count() == 0 and book.output(1).count() == 1, "nothing lands in another cell"
    page.get_by_role("button", name="All heads").click()
    page.locator(".mha-heads").get_by_label("Show").select_option(label="the row of 5")
    page.locator(".mha-heads-strips canvas").nth(143).wait_for()
    page.locator(".mha-heads-thumb[data-head='143']").scroll_into_view_if_needed()
    box = page.locator("[data-head='143'] canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 7.5 / 128, box["y"] + 5)
    page.locator(".mha-heads-status").filter(has_text=f"12 L: 5 → 7 {many[11, 0, 11, 5, 7]:.3f}").wait_for()


def test_zoom_and_scroll_with_the_words_at_the_edges(lab, tmp_path):
    weights = (2 * torch.randn(1, 1, 1, 300, 300, generator=torch.Generator().manual_seed(0))).softmax(-1)
    words = [f"w{i}" for i in range(300)]
    page = lab.show(mha.widgets.HeadExplorer(weights, words).save_html(tmp_path / "long.html")).page
    into = page.get_by_role("button", name="Zoom in")
    while into.is_enabled():
        into.click()
    frame = page.locator(".mha-heads-zoomed")
    frame.evaluate("f => { f.scrollLeft = 100 * 44; f.scrollTop = 200 * 44; }")
    page.locator(".mha-heads-number").first.wait_for()
    page.wait_for_function(
        "want => [...document.querySelectorAll('.mha-heads-number')].some(t => t.textContent === want)",
        arg=f"{weights[0, 0, 0, 202, 103]:.3f}",
    )
    assert page.locator(".mha-heads-number").count() < 600, "numbers only where they are seen"
    box = frame.bounding_box()
    left, below = (
        page.locator(".mha-heads-left").bounding_box(),
        page.locator(".mha-heads-below").bounding_box(),
    )
    assert abs(left["x"] - box["x"]) < 3 and abs(below["y"] + below["height"] - box["y"] - box["height"]) < 20
    page.mouse.click(box["x"] + 200, box["y"] + 100)
    chosen = page.locator(".mha-heads-queries label:has(:checked) span").inner_text()
    assert 200 <= int(chosen[1:]) <= 206


def test_a_row_that_does_not_sum_to_one_is_marked(lab, tmp_path):
    weights = torch.tensor([[[0.5, 0.2], [0.5, 0.5]]])
    page = lab.show(mha.widgets.HeadExplorer(weights, ["a", "b"]).save_html(tmp_path / "off.html")).page
    assert table(page)[1] == ["0.700 ✗ not 1"]
    assert page.locator(".mha-heads-off").get_attribute("d").count("M") == 1
    assert "row does not sum to 1" in page.locator(".mha-heads-key").first.inner_text()
    page.get_by_role("radio").nth(1).check()
    assert table(page)[1] == ["1.000"]


@pytest.mark.parametrize(
    "mark", ["data-theme", "theme", "class", "data-vscode-theme-kind", "data-jp-theme-light"]
)
def test_it_follows_the_pages_theme_and_not_the_systems(lab, page_of_blocks, mark):
    page = lab.show(page_of_blocks).page
    page.emulate_media(color_scheme="dark")
    value = {
        "data-vscode-theme-kind": ("vscode-light", "vscode-dark"),
        "data-jp-theme-light": ("true", "false"),
    }
    light, dark = value.get(mark, ("light", "dark"))
    on = "documentElement" if mark in ("data-theme", "theme") else "body"
    papers = []
    for theme in (light, dark):
        page.evaluate(f"theme => document.{on}.setAttribute('{mark}', theme)", theme)
        papers.append(page.locator(".mha-heads").evaluate("e => getComputedStyle(e).backgroundColor"))
    assert papers == ["rgb(255, 255, 255)", "rgb(18, 22, 28)"]
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("width", [390, 700])
def test_nothing_is_cut_on_a_narrow_page(lab, page_of_blocks, width):
    book = lab.show(page_of_blocks, size=(width, 800))
    page = book.page
    for step in ("overview", "one head", "a block"):
        if step == "one head":
            thumbs(page).nth(33).click()
        if step == "a block":
            page.get_by_label("Block").select_option(label="2")
        over = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
        assert over <= 0, step
        cut = page.locator(".mha-heads-frame").evaluate_all(
            "all => all.filter(f => f.scrollWidth > f.clientWidth + 1).length"
        )
        assert cut == 0, step
        assert book.axe(".mha-heads") == [], step


def test_axe_finds_nothing(lab):
    book = lab.open([MAKE, EXAMPLE, LAYERS])
    assert book.axe(".mha-heads") == []
    book.theme(DARK)
    assert book.axe(".mha-heads") == []


def test_words_are_shown_and_never_parsed(lab):
    words = ["<b>bold</b>", "<img src=x onerror=alert(1)>", "键 $x$", " "]
    book = lab.open([MAKE, f"mha.widgets.HeadExplorer(torch.eye(4)[None], {words!r})"])
    heads = book.page.locator(".mha-heads tbody th").all_text_contents()
    assert heads == [*words[:3], "␣"]
    assert book.page.locator(".mha-heads b, .mha-heads img").count() == 0


def test_nan_and_masked_look_unlike_zero(lab):
    source = """w = torch.tensor([[[float("nan"), 0.0], [1.0, 0.0]]])
mha.widgets.HeadExplorer(w, ["a", "b"], attn_mask=torch.tensor([[True, True], [True, False]]))"""
    book = lab.open([MAKE, source])
    page = book.page
    assert table(page) == ([["NaN"], ["0.000"]], ["NaN"])
    assert "NaN" in page.locator(".mha-heads-status").inner_text()
    page.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    assert table(page) == ([["1.000"], ["–"]], ["1.000"])
    marks = page.locator(".mha-heads figure svg > g > path")
    hatch, cross = (marks.nth(i).get_attribute("d") for i in (0, 1))
    assert hatch.startswith("M44 44h44v44") and cross.count("M") == 1


def test_it_fits_600_pixels(lab):
    book = lab.open([MAKE, EXAMPLE], theme=DARK, size=(600, 800))
    book.command("application:toggle-left-area")
    over = book.page.locator(".mha-heads").evaluate("e => e.scrollWidth - e.clientWidth")
    assert over <= 0


def test_the_example_is_seen_whole(lab):
    """At 1280 × 720 maps, lines and numbers stand side by side."""
    book = lab.open([MAKE, EXAMPLE])
    maps, look, status = (
        book.page.locator(f".mha-heads-{part}").bounding_box() for part in ("maps", "look", "status")
    )
    assert maps["x"] + maps["width"] <= look["x"] and abs(maps["y"] - look["y"]) < 5
    assert status["y"] + status["height"] - maps["y"] < 400


def test_a_saved_page_works_from_disk(lab, weights, tmp_path):
    ex = mha.example()
    _, all_weights = ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)
    explorer = mha.widgets.HeadExplorer(all_weights, ex.words, sample=0, valid_lens=ex.valid_lens)
    book = lab.show(explorer.save_html(tmp_path / "heads.html"))
    book.page.get_by_role("radio").nth(2).check()
    assert table(book.page) == expected(weights, 2)
    assert book.axe("body") == []


def test_a_large_page_is_packed_and_opens(lab, tmp_path):
    many = (2 * torch.randn(2, 1, 12, 64, 64, generator=torch.Generator().manual_seed(0))).softmax(-1)
    path = mha.widgets.HeadExplorer(many).save_html(tmp_path / "large.html")
    assert path.stat().st_size < many.numel() * 2.2, "about the weights in 16 bits, or less"
    page = lab.show(path).page
    thumbs(page).nth(12).click()
    page.get_by_label("Block").select_option(label="2")
    assert table(page) == expected(many[1, 0], 0, heads=range(12), real=64)
    image = page.locator(".mha-heads figure canvas").first.bounding_box()
    page.mouse.move(image["x"] + 9, image["y"] + image["height"] * 50.5 / 64)
    chosen = page.locator(".mha-heads-queries label:has(:checked)").bounding_box()
    look = page.locator(".mha-heads-look").bounding_box()
    assert table(page) == expected(many[1, 0], 50, heads=range(12), real=64)
    assert look["y"] <= chosen["y"] <= look["y"] + look["height"], "a long list shows what the map has chosen"


def test_a_page_says_which_blocks_it_left_out(lab, tmp_path, monkeypatch):
    monkeypatch.setattr("mha_lib.widgets.head_explorer.MOST_PAGE", 500_000)
    many = (2 * torch.randn(4, 1, 8, 128, 128, generator=torch.Generator().manual_seed(0))).softmax(-1)
    page = lab.show(mha.widgets.HeadExplorer(many).save_html(tmp_path / "part.html")).page
    assert "Left out: blocks" in page.get_by_role("alert").inner_text()
    assert page.locator(".mha-heads-thumb canvas").count() == 32, "their thumbnails are there"
    thumbs(page).last.click()
    assert "not in this page" in page.locator(".mha-heads figure svg[role=img]").text_content()


def test_a_reopened_notebook_still_shows_the_weights(lab):
    """jupyter-widgets/ipywidgets#1664, #3773."""
    book = lab.open([MAKE, EXAMPLE])
    book.save()
    output = book.saved().cells[1].outputs[0]
    assert "0.92" in output.data["text/html"] and "Run this cell" in output.data["text/html"]
