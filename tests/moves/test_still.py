"""The still picture: four panels of plain HTML, whose cells and names are those of the layout."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import torch

import mha_lib as mha
from mha_lib.moves.compare import compare, verdict_sentence
from mha_lib.moves.still import still

EX = mha.example()
X = EX.numbers.float()


def split(X):
    return X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5)


RIGHT = mha.watch(split, X, words=EX.words)
WRONG = mha.watch(lambda X: X.reshape(4, 4, 5), X, num_heads=2, words=EX.words)


class Tables(HTMLParser):
    """Each table as rows of texts, an entry a column; a row's spans are filled with its text."""

    def __init__(self, html):
        super().__init__()
        self.tables, self.text = [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.text, self.span = "", int(dict(attrs).get("colspan", 1))

    def handle_data(self, data):
        if self.text is not None:
            self.text += data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1] += [self.text] * self.span
            self.text = None


def test_the_input_is_lines_of_ten_with_words_and_heads():
    table = Tables(still(RIGHT)).tables[0]
    for sentence, columns in enumerate((slice(0, 11), slice(11, 22))):  # a name and ten numbers each
        lines = [row[columns] for row in table if row[0]]
        assert [row[0] for row in lines] == list(EX.words[sentence])
        assert [[int(n) for n in row[1:]] for row in lines] == EX.numbers[sentence].tolist()
    heads = next(row for row in table if "head A" in row)
    assert [name for name in heads if name] == (["head A"] * 5 + ["head B"] * 5) * 2


def test_sentences_stand_beside_each_other_in_every_step():
    """As in the page: what a step does not reorder stays where it is."""
    for table in Tables(still(RIGHT)).tables:
        assert any("0" in row and "40" in row for row in table)


def test_the_result_stands_as_torch_has_it_under_its_names():
    table = Tables(still(RIGHT)).tables[-1]
    above = dict[int, str]()
    seen = {}
    for row in table:
        for column, text in enumerate(row):
            if text.startswith("sentence"):
                above[column] = text
            elif text.isdigit():
                seen.setdefault(above[column], []).append(int(text))
    stack = split(EX.numbers)
    names = [f"sentence {s} · head {h}" for s in (1, 2) for h in "AB"]
    assert seen == {name: stack[k].flatten().tolist() for k, name in enumerate(names)}


def test_a_cut_is_an_empty_column():
    cut = Tables(still(RIGHT)).tables[1]
    assert [row[6] for row in cut if row[0] == "small"] == [""] and cut[2][5:8] == ["4", "", "5"]


def test_it_reads_where_styles_are_stripped():
    bare = re.sub(r' style="[^"]*"', "", still(RIGHT, WRONG))
    assert "style" not in bare and "<svg" not in bare and "class=" not in bare
    assert Tables(bare).tables == Tables(still(RIGHT, WRONG)).tables
    last = [text for row in Tables(bare).tables[-1] for text in row]
    assert sum(text.endswith("×") for text in last) == 60 and "[0] · sentence 1 · head A?" in last
    assert verdict_sentence(compare(RIGHT, WRONG)) in bare


def test_it_is_small_deterministic_and_has_at_most_four_panels():
    def long(X):
        for _ in range(9):
            X = X.mT.contiguous()
        return X

    html = still(mha.watch(long, X))
    assert html.count("<table") == 4 and "Not shown here: " in html
    assert html == still(mha.watch(long, X.clone())) and len(still(RIGHT)) < 30_000


def test_the_text_takes_the_pages_colour_and_only_cells_have_their_own():
    for style in re.findall(r'<(?:th|p|div|table)[^>]* style="([^"]*)"', still(RIGHT, WRONG)):
        assert "color" not in style.replace("background:none", "")


def test_names_are_text_and_many_cells_are_facts_alone():
    odd = still(mha.watch(lambda X: X.mT, X, axes=("<b>", "a&b", "x")))
    assert "<b>" not in odd and "&lt;b&gt;" in odd
    many = still(mha.watch(lambda X: X.mT, torch.zeros(10, 10, 10)))
    assert "<table" not in many and "(10, 10, 10)" in many


def test_the_picture_on_a_page_loads_no_plotting():
    code = (
        "import sys, torch, mha_lib as mha; X = torch.zeros(2, 3, 4);"
        "w = mha.widgets.TensorMoves(mha.watch(lambda X: X.mT, X)); w.fallback();"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
