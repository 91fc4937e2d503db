"""How two runs of a notebook differ, in words: where to look, what was expected, what came."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from outputs import differences, headings, shown

ROOT = Path(__file__).parents[2]


def test_each_cell_stands_under_the_last_heading_before_it():
    cells = [
        new_code_cell("1"),
        new_markdown_cell("# Title\n\nwords"),
        new_code_cell("2"),
        new_markdown_cell("no heading\n```\n# a comment\n```"),
        new_markdown_cell("## Cut\n\n### And exchange"),
        new_code_cell("3"),
    ]
    assert headings(cells) == ["", "Title", "Title", "Title", "And exchange", "And exchange"]


def result(text: str, kind: str = "text/plain"):
    return new_output("execute_result", {kind: text, "image/png": "abc"})


def said(before, after) -> list[str]:
    return list(differences(shown(before), shown(after)))


def test_what_agrees_is_not_mentioned_and_pictures_are_not_compared():
    other_picture = new_output("execute_result", {"text/plain": "7", "image/png": "xyz"})
    assert said([result("7")], [other_picture]) == []


def test_the_line_that_differs_is_shown_and_not_the_rest():
    assert said([result("a\nb\nc")], [result("a\nB\nc")]) == ["text/plain: expected “b”, got “B”"]
    before, after = result("<p>head A</p><p>1</p>", "text/html"), result("<p>head A</p><p>2</p>", "text/html")
    assert said([before], [after]) == ["text/html: expected “1”, got “2”"]


def test_a_long_line_is_shown_from_where_it_differs():
    (line,) = said([result("x" * 300 + "A")], [result("x" * 300 + "B")])
    assert "A”" in line and "B”" in line and len(line) < 250


def test_a_change_of_colour_only_says_so():
    before = result('<td style="color:red">1</td>', "text/html")
    after = result('<td style="color:blue">1</td>', "text/html")
    (line,) = said([before], [after])
    assert "the same words" in line and "red" in line and "blue" in line


def test_of_a_pictures_state_the_place_is_named_after_what_is_read():
    def picture(rows, words, html):
        state = json.dumps({"rows": rows, "lanes": [{"words": words}], "numbers": "A" * 200})
        return new_output("execute_result", data={"application/x.picture": state, "text/html": html})

    lines = said([picture(2, ["small", "cats"], "<p>1</p>")], [picture(2, ["small", "dogs"], "<p>2</p>")])
    assert lines == [
        "text/html: expected “1”, got “2”",
        "application/x.picture: lanes.0.words.1: expected “cats”, got “dogs”",
    ]
    (line,) = said([picture(2, [], "")], [picture(3, [], "")])
    assert line == "application/x.picture: rows: expected “2”, got “3”"
    assert said([picture(2, ["a"], "")], [picture(2, ["a", "b"], "")]) == [
        "application/x.picture: lanes.0.words.1: expected “nothing”, got “b”"
    ]


def test_a_line_that_is_written_over_counts_as_it_was_left():
    before = new_output("stream", name="stdout", text="2 of 2 done\n")
    after = new_output("stream", name="stdout", text="\r0 of 2 done\r1 of 2 done\r2 of 2 done\n")
    assert said([before], [after]) == []


def test_more_and_fewer_outputs_are_counted():
    (line,) = said([result("1")], [result("1"), result("2")])
    assert line == "text/plain: 1 before, 2 now, such as “1”"
    assert said([], [new_output("stream", name="stderr", text="oh\n")])[0].startswith(
        "stderr: 0 before, 1 now"
    )


def test_a_failing_cell_says_in_one_line_where_to_look(tmp_path):
    """Four notebooks whose one cell was committed with 4 as its result."""
    now = {
        "1 + 2": "text/plain: expected “4”, got “3”",
        "1 / 0": "raises ZeroDivisionError: division by zero",
        "print(4)": "text/plain: 1 before, 0 now, such as “4”",
        "x = 3\nassert x == 4": "raises AssertionError at: assert x == 4",
    }
    for number, source in enumerate(now):
        cell = new_code_cell(source, execution_count=1, outputs=[result("4")])
        cell.outputs[0].execution_count = 1
        nbformat.write(new_notebook(cells=[new_markdown_cell("# Add"), cell]), tmp_path / f"{number}.ipynb")
    command = [sys.executable, "-m", "pytest", "-p", "tools.nbval_report", "--nbval", "--nbval-current-env"]
    command += ["-p", "no:cacheprovider", "-q", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    for number, line in enumerate(now.values()):
        assert f"{number}.ipynb, under “Add”, cell 1: {line}" in done.stdout.splitlines()
