"""Faults tried where they run: in the cells of a notebook, in the tests."""

import contextlib
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from cells import Notebook, Outcome
from checkpoints import Attempt, Checkpoint, Lines
from faults import Fault
from planting import lines_on_import, living, plant

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "mha_lib"
MOST = 60  # seconds of tests for one fault
OTHER_TESTS = ("bench", "browser", "claims", "hosts", "js", "notebooks", "site")  # processes of their own
NO_UNIT = ("test_javascript", "test_links", "test_mutants", "test_readme", "test_rooms", "test_setup")


@dataclass
class Run:
    """One fault, and who noticed it: a line each, "" for nobody."""

    module: str
    kind: str
    line: int
    before: str
    after: str
    validates: bool
    notebooks: str = ""
    tests: str = ""
    read: bool = False  # whether a notebook runs the line at all
    tested: bool = False  # whether a test does
    seconds: float = 0.0

    @property
    def where(self) -> str:
        return f"{self.module}:{self.line} {self.kind}: {self.before[:60]!r} → {self.after[:60]!r}"


class Bench:
    """The faults that are tried together, in this process, and what came of them."""

    def __init__(self, chosen: Sequence[tuple[str, Fault]]) -> None:
        self.faults = [fault for _, fault in chosen]
        self.files = [str(LIBRARY / f"{module}.py") for module, _ in chosen]
        self.names = [f"mha_lib.{module.replace('/', '.')}" for module, _ in chosen]
        self.runs = [Run(m, f.kind, f.line, f.before, f.after, f.validates) for m, f in chosen]
        self.open = set(range(len(chosen)))  # that nobody has noticed

    def on(self, lines: set[tuple[str, int]]) -> list[int]:
        """Which open faults stand on lines that have just run."""
        return sorted(
            number
            for number in self.open
            if any((self.files[number], line) in lines for line in self.faults[number].lines)
        )

    def runs_on_import(self, number: int) -> bool:
        """Whether a fault stands outside all functions."""
        once = set(lines_on_import(self.faults[number].code))
        return not once.isdisjoint(self.faults[number].lines)

    def close(self, number: int, noticed: str, seconds: float) -> Run:
        """Take down what came of one attempt."""
        self.runs[number].seconds = round(self.runs[number].seconds + seconds, 2)
        if noticed:
            self.open.discard(number)
        return self.runs[number]

    def trial(self, attempt: Callable[[], str]) -> Callable[[list[int]], Callable[[int], Outcome]]:
        """What a checkpoint wants: look once for the functions of all files, then plant a fault and try."""

        def prepare(numbers: list[int]) -> Callable[[int], Outcome]:
            functions = {file: living(file) for file in {self.files[number] for number in numbers}}

            def with_fault(number: int) -> Outcome:
                file = self.files[number]
                plant(self.names[number], file, self.faults[number].code, functions[file])
                return Outcome(attempt())

            return with_fault

        return prepare


def walk(path: Path, bench: Bench, tell: Callable[[Attempt], None]) -> None:
    """Try in one notebook the open faults on lines that it runs, and tell what came of each."""
    book = Notebook(path)
    lines = Lines(str(LIBRARY))
    for place, cell in enumerate(book.cells):
        if cell.cell_type != "code" or not bench.open:
            continue

        def attempt(place: int = place) -> str:
            return next(filter(None, map(book.difference, range(place, len(book.cells)))), "")

        checkpoint = Checkpoint(bench.trial(attempt))
        with lines:
            difference = book.difference(place)
        for tried in checkpoint.attempts([] if difference else bench.on(lines.new)):
            bench.close(*tried)
            tell(tried)
        if difference:
            raise RuntimeError(f"Without any fault: {difference}. Run `make notebooks` first.")


def unit_tests() -> list[Path]:
    """The files whose tests run in the process that collects them."""
    files = (ROOT / "tests").rglob("test_*.py")
    inner = (path for path in files if path.relative_to(ROOT / "tests").parts[0] not in OTHER_TESTS)
    return sorted(path for path in inner if path.stem not in NO_UNIT)


def tests_of(module: str) -> list[Path]:
    """The tests that stand where the module stands: its own file first, then its room's."""
    tests = ROOT / "tests"
    room, _, name = module.rpartition("/")
    own = tests / room / f"test_{name}.py"
    others = sorted((tests / room).glob("test_*.py")) if room else []
    named = [] if room else [tests / name for name in ("test_equivalence.py", "test_multihead.py")]
    return [path for path in dict.fromkeys([own, *others, *named]) if path.exists()]


class _InEachTest:
    """A pytest plugin: each test runs once without a fault, then with those that stand on its lines."""

    def __init__(self, bench: Bench, tell: Callable[[Attempt], None]) -> None:
        self.bench, self.tell = bench, tell
        self.spent = dict.fromkeys(bench.open, 0.0)

    def pytest_sessionstart(self) -> None:
        import hypothesis

        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # a failure need not be made small
        hypothesis.settings.register_profile(
            "faults", deadline=None, derandomize=True, database=None, phases=phases
        )
        hypothesis.settings.load_profile("faults")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        def failure() -> str:
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
            failed = next((report for report in reports if report.failed), None)
            return f"{item.nodeid}: {failed.longreprtext.splitlines()[-1]}" if failed else ""

        checkpoint = Checkpoint(self.bench.trial(failure))
        with Lines(str(LIBRARY)) as lines:
            fails_anyway = failure()
        numbers = [] if fails_anyway else self.bench.on(lines.new)
        for tried in checkpoint.attempts(number for number in numbers if self.spent[number] < MOST):
            self.spent[tried[0]] += tried[2]
            self.bench.close(*tried)
            self.tell(tried)
        return True


def in_tests(bench: Bench, tell: Callable[[Attempt], None]) -> None:
    """Try the open faults in each test that runs their lines, and tell what came of each."""
    plugin = _InEachTest(bench, tell)
    _pytest(unit_tests(), plugin)


def on_import(bench: Bench, number: int) -> Outcome:
    """Import the library with a fault in it, and run the module's own tests; for lines that run but once."""
    plant(bench.names[number], bench.files[number], bench.faults[number].code, [])
    out = _pytest(tests_of(bench.runs[number].module), None)
    return Outcome(next((line for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))), ""))


def _pytest(paths: Sequence[Path], plugin: object) -> str:
    os.chdir(ROOT)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        without = ["no:cacheprovider", "no:xdist", "no:faulthandler", "no:nbval"]
        options = ["-x"] * (plugin is None) + ["-q", *(f"-p{name}" for name in without), "-Wignore"]
        pytest.main([*options, *map(str, paths)], plugins=[plugin] if plugin else [])
    return out.getvalue()
