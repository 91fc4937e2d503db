"""Each lesson keeps its promises: exercises have solutions, predictions reveals, links lead somewhere."""

import ast
import json
import re
from pathlib import Path

import pytest

from mha_lib.widgets import questions

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
FOLDED = "<details>\n<summary><b>For teachers</b></summary>\n\n"
CHECK = re.compile(r'mha\.check\("([^"]+)"')


def cells(path, kind):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def source(cell):
    return "".join(cell["source"])


def plain_output(cell):
    texts = (output.get("data", {}).get("text/plain", output.get("text", "")) for output in cell["outputs"])
    return "".join("".join(text) for text in texts)


def checks(path):
    """Return {exercise: what the saved check says}."""
    return {name: plain_output(cell) for cell in cells(path, "code") for name in CHECK.findall(source(cell))}


def solutions(lesson):
    return NOTEBOOKS / "solutions" / f"{lesson.stem}_solutions.ipynb"


each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)

FOLDED_AWAY = re.compile(r"<details>.*?</details>", re.S)


def plain(text):
    """Return text as it is read: without what is folded, in small letters, spaces single."""
    return " ".join(FOLDED_AWAY.sub(" ", text).lower().split())


def read_before(lesson, name):
    """What can be read before `name` is answered: README, the notebooks before, this one to its reveal."""
    read = [(NOTEBOOKS.parent / "README.md").read_text(encoding="utf-8")]
    for path in LESSONS[: LESSONS.index(lesson)]:
        read += [source(cell) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    for cell in json.loads(lesson.read_text(encoding="utf-8"))["cells"]:
        if f'mha.reveal("{name}")' in source(cell):
            return plain("\n".join(read))
        read.append(source(cell))
    raise AssertionError(f"{lesson.name} does not reveal {name}")


@each_lesson
def test_exercises_are_untouched_and_solved_in_the_solutions(lesson):
    stated = checks(lesson)
    if not stated:
        assert lesson.stem.startswith("00")
        return
    assert 2 <= len(stated) <= 4
    for name, said in stated.items():
        assert f"○ {name}: " in said, f"{name} is not an untouched stub: {said}"
    solved = checks(solutions(lesson))
    assert solved.keys() == stated.keys()
    for name, said in solved.items():
        assert f"✓ {name}: " in said, f"the solution of {name} does not pass: {said}"


@each_lesson
def test_each_prediction_comes_before_its_reveal(lesson):
    text = "\n".join(source(cell) for cell in cells(lesson, "code"))
    predicted = re.findall(r'mha\.predict\("([^"]+)"\)', text)
    revealed = re.findall(r'mha\.reveal\("([^"]+)"\)', text)
    assert predicted, "a lesson asks before it tells"
    assert sorted(predicted) == sorted(revealed) and len(set(predicted)) == len(predicted)
    for name in predicted:
        assert text.index(f'predict("{name}")') < text.index(f'reveal("{name}")')
    topics = {name.partition(".")[0] for name in predicted}
    assert set(predicted) == {name for topic in topics for name in questions.load(topic)}


@each_lesson
def test_no_answer_can_be_read_before_its_question_is_answered(lesson):
    """In text, heading, comment, assertion or code: of this notebook, of those before it, of the README."""
    for name in re.findall(r'mha\.predict\("([^"]+)"\)', "\n".join(map(source, cells(lesson, "code")))):
        asked = questions.question(name)
        assert asked.tells, f"{name}: say in its toml which words would give it away"
        before = read_before(lesson, name)
        told = [*asked.tells, asked.because]
        if len(asked.options[asked.right]) > 20:  # a shorter one, such as a number, stands anywhere by chance
            told.append(asked.options[asked.right])
        for words in told:
            assert plain(words) not in before, f"{name} is given away by “{words}”"


@pytest.mark.parametrize("where", ["markdown", "code", "heading"])
def test_an_answer_that_is_put_before_its_question_is_found(where, tmp_path, monkeypatch):
    """The test above sees what it is there to see."""
    lesson = LESSONS[5]
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    given_away = {
        "markdown": ("markdown", "The mean looks undecided."),
        "code": ("code", "pass  # small: UNDECIDED"),
        "heading": ("markdown", "## An undecided mean"),
    }[where]
    place = next(
        i for i, cell in enumerate(notebook["cells"]) if 'predict("reading_heads.mean")' in source(cell)
    )
    kind, text = given_away
    notebook["cells"].insert(place, {"cell_type": kind, "source": text, "metadata": {}, "outputs": []})
    changed = tmp_path / lesson.name
    changed.write_text(json.dumps(notebook), encoding="utf-8")
    monkeypatch.setitem(globals(), "LESSONS", [*LESSONS[:5], changed])
    with pytest.raises(AssertionError, match="reading_heads.mean is given away by “undecided”"):
        test_no_answer_can_be_read_before_its_question_is_answered(changed)


PICTURES = {"image/png", "application/vnd.mha.picture"}


def is_drawn(cell):
    """Whether the cell shows a picture of ours; what a learner types into a playground claims nothing."""
    shown = {kind for output in cell["outputs"] for kind in output.get("data", {})}
    return bool(shown & PICTURES) and ".playground(" not in source(cell)


def asserts_something(cell):
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2].startswith("assert_"))
        for node in ast.walk(ast.parse(source(cell)))
    )


@each_lesson
def test_a_cell_that_draws_holds_what_its_picture_claims_by_an_assertion(lesson):
    silent = [
        source(cell) for cell in cells(lesson, "code") if is_drawn(cell) and not asserts_something(cell)
    ]
    assert not silent, f"{len(silent)} pictures without an assertion:\n\n" + "\n\n".join(silent)


@each_lesson
def test_opening_summary_and_next_step(lesson):
    first = source(cells(lesson, "markdown")[0])
    for word in ("You will do:", "You will learn:", "You need:", "Minutes:"):
        assert f"**{word}**" in first, f"the opening lacks “{word}”"
    text = "\n".join(source(cell) for cell in cells(lesson, "markdown"))
    assert "## Where to go next" in text
    summary = text.partition("## In five lines")[2]
    assert len(re.findall(r"(?m)^\d\. ", summary)) == 5


MINUTES = re.compile(r"\*\*Minutes:\*\* (\d+) to read(?:, (\d+) for exercises)?\Z")
MINUTES_OF_ONE = re.compile(r"(?m)^### \d\. .* \((\d+) minutes?\)$")
WORDS_A_MINUTE = 150


def minutes(lesson):
    """Return what the opening cell says: (minutes to read, minutes for exercises)."""
    stated = MINUTES.search(source(cells(lesson, "markdown")[0]))
    assert stated, f"{lesson.name} opens without “**Minutes:** 30 to read, 22 for exercises”"
    return int(stated[1]), int(stated[2] or 0)


def minutes_to_read(lesson):
    """A minute for each cell of code to run and look at, and the prose; notes and exercises aside."""
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    words = code = 0
    exercises = False
    for cell in notebook["cells"]:
        text = source(cell)
        if text.startswith("## "):
            exercises = text.startswith("## Exercises")
        if exercises or text.startswith(FOLDED):
            continue
        code += cell["cell_type"] == "code"
        words += len(text.split()) * (cell["cell_type"] == "markdown")
    return code + words / WORDS_A_MINUTE


@each_lesson
def test_the_minutes_for_exercises_are_the_sum_of_theirs(lesson):
    text = "\n".join(source(cell) for cell in cells(lesson, "markdown"))
    assert sum(map(int, MINUTES_OF_ONE.findall(text))) == minutes(lesson)[1]
    assert len(MINUTES_OF_ONE.findall(text)) == len(re.findall(r"(?m)^### \d\. ", text))


@each_lesson
def test_the_minutes_to_read_fit_what_is_there_to_read(lesson):
    stated = minutes(lesson)[0]
    assert stated % 5 == 0 and abs(stated - minutes_to_read(lesson)) <= 5


@each_lesson
def test_minutes_are_said_in_one_place_and_repeated_by_the_map(lesson):
    for cell in cells(lesson, "markdown"):
        if cell["metadata"].get("slideshow", {}).get("slide_type") == "notes":
            assert not re.search(r"\d+ minutes with", source(cell)), "the opening cell says it"
    the_map = "\n".join(source(cell) for cell in cells(LESSONS[0], "markdown"))
    if lesson != LESSONS[0]:
        row = rf"(?m)^\| {lesson.stem[:2]} \|.*\| (\d+) \| (\d+) \|$"
        assert [tuple(map(int, pair)) for pair in re.findall(row, the_map)] == [minutes(lesson)]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.rglob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_links_between_notebooks_lead_somewhere(path):
    if "mine" in path.parts:
        return
    for cell in cells(path, "markdown"):
        for target in re.findall(r"\]\(([^)#]+\.ipynb)", source(cell)):
            assert (path.parent / target).is_file(), f"{path.name} links to {target}"


@each_lesson
def test_notes_are_for_teachers_and_folded_so_that_they_give_nothing_away(lesson):
    notes = [
        source(cell)
        for cell in cells(lesson, "markdown")
        if cell["metadata"].get("slideshow", {}).get("slide_type") == "notes"
    ]
    assert notes and all(note.startswith(FOLDED) and note.endswith("\n\n</details>") for note in notes)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.rglob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_a_projection_is_called_a_projection(path):
    """One thing, one word: “map” is left to heatmaps, and to Python's own function in code."""
    for cell in cells(path, "markdown"):
        found = re.search(r"(?i)[^.|]*\bmaps?\b[^.|]*", source(cell))
        assert not found, f"“{found[0].strip()}”: write projection"
    for name in re.findall(r'mha\.predict\("([^"]+)"\)', "\n".join(map(source, cells(path, "code")))):
        asked = questions.question(name)
        for text in (asked.ask, *asked.options, asked.because, *asked.wrong):
            assert not re.search(r"(?i)\bmaps?\b", text), f"{name}: “{text}”: write projection"


KNOWN = ("mha.predict", "mha.reveal", "import ", "from ")  # the imports, and what asks or answers itself

HEADING = re.compile(r"(?m)^#+ .*$")


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.rglob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_words_stand_before_each_code_cell(path):
    if "mine" in path.parts:
        return
    silent = silent_cells(json.loads(path.read_text(encoding="utf-8"))["cells"])
    assert not silent, "no words before:\n" + "\n\n".join(silent)


def silent_cells(notebook_cells):
    """Return the code cells that no words introduce; a heading alone and a teacher's note are none."""
    shown = [
        cell for cell in notebook_cells if cell["metadata"].get("slideshow", {}).get("slide_type") != "notes"
    ]
    return [
        source(cell)
        for before, cell in zip(shown, shown[1:], strict=False)
        if cell["cell_type"] == "code"
        and not source(cell).startswith(KNOWN)
        and (before["cell_type"] == "code" or not HEADING.sub("", source(before)).strip())
    ]
