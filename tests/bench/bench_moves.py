"""What a moving picture costs: `make bench`, or `python tests/bench/bench_moves.py`.

The (2, 4, 10) split in four pictures, from the call to what the browser gets, then the same
split of ever larger tensors. Ours and rainbow-tensor's figure of the same chain take turns in
one run; medians are printed, of the time on the clock and of the processor's own time, which
a busy machine changes less.
"""

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch

import mha_lib as mha

WANTED = {"milliseconds": 20, "kilobytes": 30, "first widget, seconds": 0.5}
# (sentences, words, heads, features of a head): 80 cells and up to 65,536.
SIZES = [(2, 4, 2, 5), (2, 10, 4, 6), (4, 16, 4, 8), (4, 32, 4, 16), (8, 64, 8, 16)]
FIRST = """
import time, torch, IPython  # a kernel has both when the cell runs
began = time.perf_counter()
import mha_lib as mha
X = torch.arange(80.0).reshape(2, 4, 10)
mha.widgets.TensorMoves(mha.watch(lambda X: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5), X))
print(time.perf_counter() - began)
"""


def ours(sentences: int, words: int, heads: int, width: int) -> Callable[[], int]:
    """Return a call that records the split and builds the widget, and says the size of what it sends."""
    X = torch.arange(float(sentences * words * heads * width)).reshape(sentences, words, heads * width)

    def call() -> int:
        recording = mha.watch(
            lambda X: (
                X.reshape(sentences, words, heads, width)
                .permute(0, 2, 1, 3)
                .reshape(sentences * heads, words, width)
            ),
            X,
        )
        widget = mha.widgets.TensorMoves(recording)
        state = {key: value for key, value in widget.get_state().items() if key not in ("_esm", "_css")}
        return len(state.pop("numbers")) + len(json.dumps(state, default=str))

    return call


def theirs(sentences: int, words: int, heads: int, width: int) -> Callable[[], int] | None:
    """Return a call that draws the same chain with rainbow-tensor, or None without it."""
    if importlib.util.find_spec("rainbow_tensor") is None:
        return None
    import rainbow_tensor as rt

    array = torch.arange(float(sentences * words * heads * width)).reshape(sentences, words, heads * width)

    def call() -> int:
        flow = rt.Flow()
        cut = flow.reshape(flow.input(array.numpy(), name="X"), (sentences, words, heads, width))
        stack = flow.reshape(flow.transpose(cut, (0, 2, 1, 3)), (sentences * heads, words, width))
        return len(stack.visualize(focus=(0, 0, 0))._repr_svg_().encode())

    return call


def measure(calls: dict[str, Callable[[], int]], rounds: int) -> dict[str, tuple[float, float, int]]:
    """Return for each call the median time on the clock and of the processor, in ms, and its bytes."""
    size = {name: call() for name, call in calls.items()}  # also warms up
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            clock, work = time.perf_counter(), time.process_time()
            call()
            taken[name].append((time.perf_counter() - clock, time.process_time() - work))
    medians = {n: [statistics.median(c) * 1000 for c in zip(*t, strict=True)] for n, t in taken.items()}
    return {name: (clock, work, size[name]) for name, (clock, work) in medians.items()}


def first_widget(rounds: int) -> float:
    """Return the seconds from `import torch` to the first widget in a fresh process, the best of some."""
    runs = [
        subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True) for _ in range(rounds)
    ]
    return min(float(run.stdout) for run in runs)


def main(rounds: int) -> None:
    torch.set_num_threads(1)
    if theirs(*SIZES[0]) is None:
        print("rainbow-tensor is not installed: pip install rainbow-tensor; ours alone:")
    print(f"{'cells':>8} {'':16}{'clock ms':>10}{'processor ms':>14}{'KB':>8}")
    smallest: tuple[float, float, int] = (0.0, 0.0, 0)
    for size in SIZES:
        cells = size[0] * size[1] * size[2] * size[3]
        calls = {"TensorMoves": ours(*size)}
        other = theirs(*size)
        if other is not None:
            calls["rainbow-tensor"] = other
        few = rounds if cells < 1000 else max(3, rounds // 5)
        for name, (clock, work, sent) in measure(calls, few).items():
            print(f"{cells:8,} {name:16}{clock:10.1f}{work:14.1f}{sent / 1000:8.1f}")
            if size == SIZES[0] and name == "TensorMoves":
                smallest = (clock, work, sent)
    reached = (smallest[1], smallest[2] / 1000, first_widget(3))
    for value, (unit, most) in zip(reached, WANTED.items(), strict=True):
        print(f"wanted: at most {most} {unit}: {'met' if value <= most else 'MISSED'} ({value:.2f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    main(parser.parse_args().rounds)
