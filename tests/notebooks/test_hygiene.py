"""The committed notebooks are fit to be read; and each rule refuses what it is there for."""

import copy
from pathlib import Path

import nbformat
import pytest
from hygiene import LIVE_MODEL, faults
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from refresh import ROOT, clean, notebooks

NOTEBOOKS = notebooks()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_committed_notebook(path):
    found = faults(nbformat.read(path, as_version=4), path.parent)
    assert not found, "\n".join([f"{path.name}:", *found])


def code(source, *outputs, count=None):
    return new_code_cell(source, outputs=list(outputs), execution_count=count)


def shown(text, **data):
    data = {"text/plain": text} | data
    return new_output("execute_result", data=data, execution_count=1)


@pytest.fixture
def good():
    book = new_notebook(
        cells=[
            new_markdown_cell("# A title\n\n```python\n# not a heading\n```"),
            new_markdown_cell("## A part\n\n![a head's map](images/map.png) [the next notebook](next.ipynb)"),
            code("2 + 2", shown("4"), count=1),
            code("print(3)", new_output("stream", text="3\n"), count=2),
            code("picture", shown("[picture] two heads", **{"image/png": "aGk="}), count=3),
        ]
    )
    clean(book)
    return book


def test_a_good_notebook_has_no_faults(good, tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "map.png").touch()
    (tmp_path / "next.ipynb").touch()
    assert faults(good, tmp_path) == []


def never_run(book):
    book.cells[3].execution_count = None


def out_of_order(book):
    book.cells[2].execution_count, book.cells[3].execution_count = 2, 1


def run_in_an_old_kernel(book):
    for cell in book.cells[2:]:
        cell.execution_count += 5


def empty_cell(book):
    book.cells[2].source = " \n"


def error_output(book):
    book.cells[2].outputs = [new_output("error", ename="ValueError", evalue="no", traceback=[])]


def widget_state(book):
    book.metadata["widgets"] = {}


def live_widget(book):
    book.cells[2].outputs[0].data[LIVE_MODEL] = {"model_id": "1", "version_major": 2, "version_minor": 0}


def timings(book):
    book.cells[2].metadata["execution"] = {"iopub.status.busy": "2026-01-01T00:00:00Z"}


def nothing_compared(book):
    for cell in book.cells[2:]:
        cell.outputs = []


def two_titles(book):
    book.cells[1].source = "# Another title"


def no_title(book):
    book.cells[0].source = "No heading"


def title_comes_second(book):
    book.cells[0].source, book.cells[1].source = "## A part", "# A title"


def skipped_level(book):
    book.cells[1].source = "### Too deep"


def long_cell(book):
    book.cells[2].source = "\n".join(f"x{i} = {i}" for i in range(19))


def address(book):
    book.cells[2].outputs[0].data["text/plain"] = "<Layer at 0x7f3a1c2b>"


def path_in_output(book):
    book.cells[3].outputs[0].text = "/home/ada/notes.txt\n"


def path_in_source(book):
    book.cells[2].source = "open('/tmp/x')"


def windows_path(book):
    book.cells[2].source = r"open('C:\Users\ada')"


def remote_picture(book):
    book.cells[1].source = "![a map](https://example.org/a.png)"


def remote_picture_in_html(book):
    book.cells[1].source = '<img alt="a map" src="//example.org/a.png">'


def remote_script(book):
    book.cells[2].outputs = [shown("x", **{"text/html": '<script src="http://example.org/a.js"></script>'})]


def remote_font(book):
    book.cells[2].outputs = [shown("x", **{"text/html": "<style>@import 'https://example.org/f'</style>"})]


def remote_background(book):
    book.cells[2].outputs = [shown("x", **{"text/html": "<p style='background: url(http://e.org/a)'>x</p>"})]


def stderr(book):
    book.cells[3].outputs[0]["name"] = "stderr"


def silent_picture(book):
    book.cells[1].source = "![](images/map.png)"


def silent_html_picture(book):
    book.cells[2].outputs = [shown("x", **{"text/html": "<img src='data:image/png;base64,aGk='>"})]


def silent_figure(book):
    book.cells[4].outputs[0].data["text/plain"] = "<Figure size 640x480 with 1 Axes>"


def figure_with_empty_alt(book):
    book.cells[4].outputs[0].data["text/plain"] = "[picture] "


def no_slide(book):
    del book.cells[3].metadata["slideshow"]


def link_that_says_nothing(book):
    book.cells[1].source = "See [here](next.ipynb)."


def other_kernel(book):
    book.metadata.kernelspec["name"] = "my-env"


def version(book):
    book.metadata.language_info["version"] = "3.11.7"


def slides_with_letters_from_elsewhere(book):
    book.metadata["rise"]["theme"] = "simple"


def skipped_by_comment(book):
    book.cells[2].source = "# NBVAL_SKIP\n2 + 2"


def skipped_by_tag(book):
    book.cells[2].metadata["tags"] = ["nbval-skip"]


def same_ids(book):
    book.cells[1]["id"] = book.cells[0]["id"]


BAD = {
    never_run: "cell 3 was never run",
    out_of_order: "was not run from top to bottom in a new kernel: [2, 1, 3]",
    run_in_an_old_kernel: "was not run from top to bottom in a new kernel: [6, 7, 8]",
    empty_cell: "cell 2 is empty",
    error_output: "cell 2 shows an error: ValueError",
    widget_state: "carries widget state",
    live_widget: "cell 2 refers to a live widget",
    timings: "cell 2 carries the times",
    nothing_compared: "shows nothing that a run could compare",
    two_titles: "needs one H1, as its first heading; the levels are [1, 1]",
    no_title: "needs one H1, as its first heading; the levels are [2]",
    title_comes_second: "needs one H1, as its first heading; the levels are [2, 1]",
    skipped_level: "skips from heading level 1 to 3",
    long_cell: "cell 2 has 19 lines",
    address: "cell 2 shows a memory address: 0x7f3a1c2b",
    path_in_output: "cell 3 shows a path of this machine",
    path_in_source: "cell 2 names a path of this machine",
    windows_path: "cell 2 names a path of this machine",
    remote_picture: "cell 1 fetches https://example.org/a.png",
    remote_picture_in_html: "cell 1 fetches //example.org/a.png",
    remote_script: "cell 2 fetches http://example.org/a.js",
    remote_font: "cell 2 a style fetches from the network",
    remote_background: "cell 2 a style fetches from the network",
    stderr: "cell 3 writes to stderr",
    silent_picture: "cell 1 a picture has no alt text",
    silent_html_picture: "cell 2 a picture has no alt text",
    silent_figure: "cell 4 a picture has no alt text",
    figure_with_empty_alt: "cell 4 a picture has no alt text",
    no_slide: "cell 3 has no place in the slides",
    link_that_says_nothing: "cell 1 the link “here” does not say where it goes",
    other_kernel: "does not name the kernel python3",
    version: "carries the version of the Python",
    slides_with_letters_from_elsewhere: "would ask a server elsewhere",
    skipped_by_comment: "cell 2 is left out by nbval",
    skipped_by_tag: "cell 2 is left out by nbval",
    same_ids: "has cells without an id of their own",
}


@pytest.mark.parametrize("spoil", BAD, ids=lambda spoil: spoil.__name__)
def test_each_rule_refuses_a_notebook_made_bad_on_purpose(good, spoil):
    bad = copy.deepcopy(good)
    spoil(bad)
    found = faults(bad)
    assert any(line.startswith(BAD[spoil]) for line in found), found
    assert len(found) == 1, f"one fault was made, {found} were found"


def test_a_link_that_leads_nowhere(good, tmp_path):
    found = faults(good, Path(tmp_path))
    assert found == [
        "cell 1 leads to images/map.png, which does not exist",
        "cell 1 leads to next.ipynb, which does not exist",
    ]


def test_a_path_in_running_text_is_not_taken_for_one_of_this_machine(good):
    good.cells[1].source = "## Numbers and/or words, 1/opt, https://example.org/home/a"
    assert faults(good) == []
