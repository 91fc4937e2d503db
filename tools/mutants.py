"""Put faults into a copy of mha_lib, one at a time, and see whether the notebooks and the tests notice.

    python tools/mutants.py                         every fault of every module: hours
    python tools/mutants.py --sample 200 --seed 1   so many, drawn by chance
    python tools/mutants.py moves/layout heads      of these modules only

A table is printed, survivors by name; report.json (or --json FILE) has every run. First come the
notebooks that load the changed module, quickest first, and the run ends with the first that
notices; what they pass is held against the module's unit tests.
"""

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from cells import Outcome, in_fork, run, warm
from faults import Fault, count_of, faults_of

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "mha_lib"
WALK = ("00", "01", "02", "03", "04", "05", "06", "07")


@dataclass(frozen=True)
class Run:
    """One fault, and who noticed it: a line each, "" for nobody."""

    module: str
    kind: str
    line: int
    before: str
    after: str
    validates: bool
    notebooks: str
    tests: str
    seconds: float

    @property
    def where(self) -> str:
        return f"{self.module}:{self.line} {self.kind}: {self.before[:60]!r} → {self.after[:60]!r}"


def modules() -> list[str]:
    """The modules that may hold faults, such as moves/layout; text and slides have no code of ours."""
    paths = (path.relative_to(LIBRARY).with_suffix("") for path in LIBRARY.rglob("*.py"))
    return sorted(path.as_posix() for path in paths if path.name != "__init__")


def notebooks() -> list[Path]:
    """The walk and the clinic: what nbval runs quickly enough to be run for each fault."""
    return [p for p in sorted((ROOT / "notebooks").glob("*.ipynb")) if p.name[:2] in WALK]


def tests_of(module: str) -> list[Path]:
    """The tests that stand where the module stands: its own file first, then its room's."""
    tests = ROOT / "tests"
    room, _, name = module.rpartition("/")
    own = tests / room / f"test_{name}.py"
    others = sorted((tests / room).glob("test_*.py")) if room else []
    named = [tests / name for name in ("test_equivalence.py", "test_multihead.py")] if not room else []
    return [path for path in dict.fromkeys([own, *others, *named]) if path.exists()]


def _with_library(folder: Path, task: Callable[[], Outcome]) -> Callable[[], Outcome]:
    """Do a task with the mha_lib that stands in `folder`."""

    def do() -> Outcome:
        sys.path.insert(0, str(folder))
        os.environ["PYTHONPATH"] = str(folder)
        return task()

    return do


def _unit_tests(paths: Sequence[Path]) -> Outcome:
    import pytest

    os.chdir(ROOT)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
        code = pytest.main([*options, *map(str, paths)])
    failed = [line for line in out.getvalue().splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Outcome("" if code == 0 else (failed or [f"pytest ended with {code}"])[0])


def baseline() -> dict[Path, tuple[float, frozenset[str]]]:
    """How long each notebook takes, and which modules it loads, without a fault."""
    measured = {}
    for path in notebooks():
        start = time.monotonic()
        outcome = in_fork(_with_library(ROOT, lambda path=path: run(path)))
        if outcome.difference:
            sys.exit(f"Without any fault: {outcome.difference}. Run `make notebooks` first.")
        measured[path] = (time.monotonic() - start, outcome.modules)
    return measured


def try_fault(module: str, fault: Fault, readers: Sequence[Path], with_tests: bool) -> Run:
    """Put one fault into a copy of the library, and look who notices."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(LIBRARY, copy / "mha_lib", ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "mha_lib" / f"{module}.py").write_text(fault.source, "utf-8")
        outcomes = (in_fork(_with_library(copy, lambda path=path: run(path))) for path in readers)
        seen = next((outcome.difference for outcome in outcomes if outcome.difference), "")
        tests = ""
        if with_tests and not seen:
            tests = in_fork(_with_library(copy, lambda: _unit_tests(tests_of(module))), 240).difference
    seconds = round(time.monotonic() - start, 1)
    return Run(
        module, fault.kind, fault.line, fault.before, fault.after, fault.validates, seen, tests, seconds
    )


def bugs_in_core() -> Iterator[tuple[str, dict[str, str]]]:
    """Each mistake of mha.bugs, made in the core: its name, and the modules' sources with it in them."""
    table = tomllib.loads((Path(__file__).parent / "bugs_in_core.toml").read_text("utf-8"))
    by_steps = table.pop("by_steps")["edits"]
    for name, entry in table.items():
        sources: dict[str, str] = {}
        for file, before, after in [*entry["edits"], *(by_steps if entry.get("by_steps") else [])]:
            source = sources.get(file) or (LIBRARY / file).read_text("utf-8")
            if before not in source:
                raise ValueError(f"{name}: {file} has no longer {before!r}")
            sources[file] = source.replace(before, after)
        yield name, sources


def try_bug(name: str, sources: dict[str, str], readers: Sequence[Path]) -> str:
    """Put one of mha.bugs into a copy of the core; say what the notebooks show then, "" for nothing."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(LIBRARY, Path(folder, "mha_lib"), ignore=shutil.ignore_patterns("__pycache__"))
        for file, source in sources.items():
            Path(folder, "mha_lib", file).write_text(source, "utf-8")
        outcomes = (in_fork(_with_library(Path(folder), lambda path=path: run(path))) for path in readers)
        return next((outcome.difference for outcome in outcomes if outcome.difference), "")


def _chosen(names: Sequence[str], sample: int | None, seed: int) -> list[tuple[str, Fault]]:
    sources = {module: (LIBRARY / f"{module}.py").read_text("utf-8") for module in (names or modules())}
    places = [(module, n) for module, source in sources.items() for n in range(count_of(source))]
    if sample is not None:
        places = random.Random(seed).sample(places, min(sample, len(places)))
    wanted = {module: {n for name, n in places if name == module} for module, _ in places}
    faults = [(m, fault) for m in wanted for fault in faults_of(sources[m], wanted[m]) if fault is not None]
    return random.Random(seed).sample(faults, len(faults))


def runs(
    names: Sequence[str] = (),
    sample: int | None = None,
    seed: int = 0,
    with_tests: bool = True,
    workers: int = 1,
) -> Iterator[Run]:
    """Try the faults of some modules, or of all, one after another or two at a time."""
    warm()
    quick_first = sorted(baseline().items(), key=lambda item: item[1][0])
    chosen = _chosen(names, sample, seed)
    tasks = []
    for module, fault in chosen:
        dotted = f"mha_lib.{module.replace('/', '.')}"
        readers = [path for path, (_, loaded) in quick_first if dotted in loaded]
        tasks.append((module, fault, readers, with_tests))
    if workers == 1:
        yield from (try_fault(*task) for task in tasks)
    else:
        with ProcessPoolExecutor(workers, initializer=warm) as pool:
            yield from pool.map(try_fault, *zip(*tasks, strict=True))


def report(results: Iterable[Run]) -> str:
    """A table: for each module how many faults there were, and who noticed them; then the survivors."""
    results = list(results)
    lines = [
        "| module | faults | notebooks | of those outside checks | with tests |",
        "|---|---:|---:|---:|---:|",
    ]
    by_module: dict[str, list[Run]] = {}
    for result in results:
        by_module.setdefault(result.module, []).append(result)
    for name, group in [*sorted(by_module.items()), ("all", results)]:
        count = Counter()
        for result in group:
            count["notebooks"] += bool(result.notebooks)
            count["either"] += bool(result.notebooks or result.tests)
            count["outside"] += not result.validates
            count["outside, noticed"] += bool(result.notebooks) and not result.validates
        shares = f"{count['outside, noticed']} of {count['outside']}"
        lines.append(f"| {name} | {len(group)} | {count['notebooks']} | {shares} | {count['either']} |")
    lines += ["", "Noticed by nobody:"]
    lines += [f"- {result.where}" for result in results if not result.notebooks and not result.tests]
    lines += ["", "Noticed by tests only:"]
    lines += [f"- {result.where}" for result in results if not result.notebooks and result.tests]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", help="such as moves/layout; all if none is named")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=Path("report.json"))
    parser.add_argument("--bugs", action="store_true", help="those of mha.bugs, made in the core, by name")
    parser.add_argument("--no-tests", action="store_true", help="the notebooks alone")
    options = parser.parse_args(arguments)
    if options.bugs:
        warm()
        for name, sources in bugs_in_core():
            print(f"{name}: {try_bug(name, sources, notebooks()) or 'NOBODY'}")
        return
    results = []
    for result in runs(
        options.modules, options.sample, options.seed, not options.no_tests, os.cpu_count() or 1
    ):
        results.append(result)
        who = result.notebooks or result.tests or "NOBODY"
        print(f"{len(results)}. {result.where}\n   {who[:160]}", file=sys.stderr)
        options.json.write_text(json.dumps([asdict(each) for each in results], indent=1), "utf-8")
    print(report(results))


if __name__ == "__main__":
    main(sys.argv[1:])
