"""What a moving picture costs: `make bench`, or `python tests/bench/bench_moves.py`.

The (2, 4, 10) split in four pictures, from the call to what the browser gets. Ours and
rainbow-tensor's figure of the same chain take turns in one run; medians are printed, of
the time on the clock and of the processor's own time, which a busy machine changes less.
"""

import argparse
import json
import statistics
import time

import torch

import mha_lib as mha

X = torch.arange(80.0).reshape(2, 4, 10)
WANTED = {"milliseconds": 20, "kilobytes": 30}


def ours() -> int:
    """Record the chain, build the widget; return the size of what it sends, scripts left out."""
    recording = mha.watch(lambda X: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5), X)
    widget = mha.widgets.TensorMoves(recording)
    state = {key: value for key, value in widget.get_state().items() if key not in ("_esm", "_css")}
    return len(state.pop("numbers")) + len(json.dumps(state, default=str))


def theirs():
    """Return a call that draws the same chain with rainbow-tensor, or None without it."""
    try:
        import rainbow_tensor as rt
    except ImportError:
        return None
    array = X.numpy()

    def call() -> int:
        flow = rt.Flow()
        cut = flow.reshape(flow.input(array, name="X"), (2, 4, 2, 5))
        stack = flow.reshape(flow.transpose(cut, (0, 2, 1, 3)), (4, 4, 5))
        return len(stack.visualize(focus=(0, 0, 0))._repr_svg_().encode())

    return call


def main(rounds: int) -> None:
    torch.set_num_threads(1)
    calls = {"TensorMoves": ours, "rainbow-tensor": theirs()}
    if calls["rainbow-tensor"] is None:
        print("rainbow-tensor is not installed: pip install rainbow-tensor; ours alone:")
        del calls["rainbow-tensor"]
    size = {name: call() for name, call in calls.items()}  # also warms up
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            clock, work = time.perf_counter(), time.process_time()
            call()
            taken[name].append((time.perf_counter() - clock, time.process_time() - work))
    print(f"{'':16}{'clock ms':>10}{'processor ms':>14}{'KB':>8}")
    for name, times in taken.items():
        clock, work = (statistics.median(column) * 1000 for column in zip(*times, strict=True))
        print(f"{name:16}{clock:10.1f}{work:14.1f}{size[name] / 1000:8.1f}")
    if "rainbow-tensor" in taken:
        pairs = zip(taken["TensorMoves"], taken["rainbow-tensor"], strict=True)
        print(f"median of ratios: {statistics.median(a / b for (a, _), (b, _) in pairs):.2f}")
    work = statistics.median(w for _, w in taken["TensorMoves"]) * 1000
    for value, (unit, most) in zip((work, size["TensorMoves"] / 1000), WANTED.items(), strict=True):
        print(f"wanted: at most {most} {unit}: {'met' if value <= most else 'MISSED'} ({value:.1f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    main(parser.parse_args().rounds)
