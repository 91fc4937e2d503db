"""Put faults into mha_lib, one at a time, and see whether the notebooks and the tests notice.

    python tools/mutants.py                         every fault of every module: hours
    python tools/mutants.py --sample 200 --seed 1   so many, drawn by chance
    python tools/mutants.py moves/layout heads      of these modules only

A table is printed, survivors by name; report.json (or --json FILE) has every run.

Each notebook is walked once, cell by cell, without a fault. Where a line runs for the first time the
process is forked as it was before that cell, and the faults of that line are tried from there, up to
the first cell that shows something else. What no notebook noticed is tried in the same way in each
test that runs the line. So the few faults on lines that nothing runs cost nothing.
"""

import argparse
import io
import json
import os
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

from cells import Outcome, in_fork, run, warm
from checkpoints import streamed
from faults import Fault, count_of, faults_of
from planting import plant
from refresh import notebooks
from trials import LIBRARY, ROOT, Bench, Run, in_tests, on_import, walk

WALK = sorted((ROOT / "notebooks").glob("0[0-7]*.ipynb"))
SLOW = ("09", "10", "11")  # they train, measure and run a real model, ten seconds and more each time


def modules() -> list[str]:
    """The modules that may hold faults, such as moves/layout; text and slides have no code of ours."""
    paths = (path.relative_to(LIBRARY).with_suffix("") for path in LIBRARY.rglob("*.py"))
    return sorted(path.as_posix() for path in paths if path.name != "__init__")


def readers(walk: bool = False) -> list[Path]:
    """What nbval runs and is quick: the walk, the clinic, their solutions and the gallery."""
    return WALK if walk else [path for path in notebooks() if path.name[:2] not in SLOW]


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


def try_bug(sources: dict[str, str], readers: Sequence[Path]) -> str:
    """Import the core with one of mha.bugs in it; say what the notebooks show then, "" for nothing."""

    def attempt(path: Path) -> Outcome:
        for file, source in sources.items():
            whole = str(LIBRARY / file)
            plant(f"mha_lib.{Path(file).stem}", whole, compile(source, whole, "exec"), [])
        return run(path)

    outcomes = (in_fork(lambda path=path: attempt(path)) for path in readers)
    return next((outcome.difference for outcome in outcomes if outcome.difference), "")


def _chosen(names: Sequence[str], sample: int | None, seed: int) -> list[tuple[str, Fault]]:
    files = {module: LIBRARY / f"{module}.py" for module in (names or modules())}
    sources = {module: file.read_text("utf-8") for module, file in files.items()}
    places = [(module, n) for module, source in sources.items() for n in range(count_of(source))]
    if sample is not None:
        places = random.Random(seed).sample(places, min(sample, len(places)))
    wanted = {module: {n for name, n in places if name == module} for module, _ in places}
    faults = [
        (module, fault)
        for module in wanted
        for fault in faults_of(sources[module], wanted[module], str(files[module]))
        if fault is not None
    ]
    return random.Random(seed).sample(faults, len(faults))


def _draw_once() -> None:
    """Let matplotlib look for its fonts once, not in each fork."""
    from matplotlib.figure import Figure

    figure = Figure()
    for family in ("DejaVu Sans", "DejaVu Sans Mono"):
        for weight in ("normal", "bold"):
            figure.text(0.5, 0.5, "a", family=family, weight=weight)
    figure.savefig(io.BytesIO(), format="png")


def _left(chosen: Sequence[tuple[str, Fault]], file: Path) -> list[tuple[str, Fault]]:
    """Those faults that the notebooks did not notice in an earlier report."""
    keys = ("module", "kind", "line", "before", "after")
    report = json.loads(file.read_text("utf-8"))
    left = {tuple(run[key] for key in keys) for run in report if not run["notebooks"]}
    return [
        (m, fault) for m, fault in chosen if (m, fault.kind, fault.line, fault.before, fault.after) in left
    ]


def runs(options: argparse.Namespace, first: int = 0) -> list[Run]:
    """Try faults in the notebooks, then in the tests those that no notebook noticed.

    Of several workers the one that starts with the `first` fault takes every so many-th.
    """
    chosen = _chosen(options.modules, options.sample, options.seed)
    chosen = (_left(chosen, options.left) if options.left else chosen)[first :: options.workers]
    sys.path.insert(0, str(ROOT))
    os.environ["PYTHONPATH"] = str(ROOT)
    warm()
    _draw_once()
    bench = Bench(chosen)
    for path in [] if options.left else readers(options.walk):
        start = time.monotonic()
        for attempt in streamed(lambda tell, path=path: walk(path, bench, tell)):
            result = bench.close(*attempt)
            result.read, result.notebooks = True, attempt[1]
        print(f"{time.monotonic() - start:5.0f} s {path.name}, {len(bench.open)} left", file=sys.stderr)
    if not options.no_tests:
        for attempt in streamed(lambda tell: in_tests(bench, tell)):
            result = bench.close(*attempt)
            result.tested, result.tests = True, attempt[1]
        for number in filter(bench.runs_on_import, sorted(bench.open)):
            start = time.monotonic()
            noticed = in_fork(lambda number=number: on_import(bench, number)).difference
            result = bench.close(number, noticed, time.monotonic() - start)
            result.tested, result.tests = True, noticed
    return bench.runs


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
    unseen = [result for result in results if not result.notebooks]
    lines += ["", "Noticed by nobody:"]
    lines += [f"- {result.where}{_why(result)}" for result in unseen if not result.tests]
    lines += ["", "Noticed by tests only:"]
    lines += [f"- {result.where}{_why(result)}" for result in unseen if result.tests]
    return "\n".join(lines)


def _why(result: Run) -> str:
    if result.read:
        return ""
    return " (no notebook runs this line)" if result.tested else " (neither notebook nor test runs this line)"


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
    parser.add_argument("--walk", action="store_true", help="notebooks 00 to 07 alone, without solutions")
    parser.add_argument("--left", type=Path, help="in the tests alone, what an earlier report left open")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    if options.bugs:
        warm()
        for name, sources in bugs_in_core():
            print(f"{name}: {try_bug(sources, readers()) or 'NOBODY'}", flush=True)
        return
    with ProcessPoolExecutor(options.workers) as pool:
        shares = pool.map(partial(runs, options), range(options.workers))
        results = [result for share in shares for result in share]
    options.json.write_text(json.dumps([asdict(each) for each in results], indent=1), "utf-8")
    print(report(results))


if __name__ == "__main__":
    main(sys.argv[1:])
