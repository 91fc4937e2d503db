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
DARK = "JupyterLab Dark"


@pytest.fixture(scope="module")
def weights():
    ex = mha.example()
    return ex.layer(ex.X, ex.X, ex.X, ex.valid_lens, need_weights=True)[1][0]


def table(page):
    """The numbers on screen: a list a key, and the sums."""
    read = "rows => rows.map(row => [...row.querySelectorAll('td')].map(td => td.textContent))"
    body = page.locator(".mha-heads tbody tr").evaluate_all(read)
    return body, page.locator(".mha-heads tfoot tr").evaluate_all(read)[0]


def expected(weights, query, heads=(0, 1), real=3):
    rows = [
        [f"{weights[h, query, k]:.3f}" if k < real else "–" for h in heads] for k in range(weights.shape[-1])
    ]
    return rows, [f"{weights[h, query].sum():.3f}" for h in heads]


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
    second_map = page.locator(".mha-heads figure svg").nth(1)
    box = second_map.locator("image").bounding_box()

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
    b.press("Enter")
    assert b.get_attribute("aria-pressed") == "true"
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


def test_ten_fast_changes_end_in_the_right_picture(lab):
    book = lab.open([MAKE, LAYERS, "explorer.layer, explorer.query"])
    page = book.page
    page.get_by_label("Layer").select_option(label="12")
    page.get_by_role("radio").first.focus()
    for _ in range(10):
        page.keyboard.press("ArrowDown")
    generator = torch.Generator().manual_seed(0)
    many = (2 * torch.randn(12, 1, 12, 64, 64, generator=generator)).softmax(-1)
    assert table(page) == expected(many[11, 0], 10, heads=range(12), real=64)
    ask_again(book, 2, "(11, 10)")
    assert book.output(0).count() == 0 and book.output(1).count() == 1, "nothing lands in another cell"


def test_a_real_model_stays_fluent(lab):
    book = lab.open([MAKE, LAYERS])
    milliseconds = book.page.evaluate(
        """() => {
            const times = [];
            for (const label of document.querySelectorAll('.mha-heads-queries label')) {
                const start = performance.now();
                label.dispatchEvent(new PointerEvent('pointerenter'));
                document.body.getBoundingClientRect();
                times.push(performance.now() - start);
            }
            return Math.min(...times);
        }"""
    )
    assert milliseconds < 100, f"{milliseconds:.0f} ms a query"
    assert book.page.locator(".mha-heads figure").count() == 12


@pytest.mark.parametrize("theme", ["JupyterLab Light", DARK])
def test_axe_finds_nothing(lab, theme):
    book = lab.open([MAKE, EXAMPLE, LAYERS], theme=theme)
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
    marks = page.locator(".mha-heads figure svg > path")
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
    assert path.stat().st_size < many.numel() * 2, "less than the weights in 16 bits"
    book = lab.show(path)
    book.page.get_by_label("Layer").select_option(label="2")
    assert table(book.page) == expected(many[1, 0], 0, heads=range(12), real=64)
    image = book.page.locator(".mha-heads figure image").first.bounding_box()
    book.page.mouse.move(image["x"] + 9, image["y"] + image["height"] * 50.5 / 64)
    chosen = book.page.locator(".mha-heads-queries label:has(:checked)").bounding_box()
    look = book.page.locator(".mha-heads-look").bounding_box()
    assert table(book.page) == expected(many[1, 0], 50, heads=range(12), real=64)
    assert look["y"] <= chosen["y"] <= look["y"] + look["height"], "a long list shows what the map has chosen"


def test_a_reopened_notebook_still_shows_the_weights(lab):
    """jupyter-widgets/ipywidgets#1664, #3773."""
    book = lab.open([MAKE, EXAMPLE])
    book.save()
    output = book.saved().cells[1].outputs[0]
    assert "0.92" in output.data["text/html"] and "Run this cell" in output.data["text/html"]
