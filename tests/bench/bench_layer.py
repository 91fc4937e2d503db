"""What the layer costs: `make bench`, or `python tests/bench/bench_layer.py`.

Five ways to do the same attention with the same weights, in turn within one run; each row
is the median of the ratios of neighbours in time, so that a busy machine troubles all alike.
"""

import argparse
import math
import platform
import statistics
import subprocess
import sys
import time

import torch
from torch.nn import functional as F

import mha_lib as mha
from mha_lib.heads import heads_apart, heads_together

SIZES = [(2, 4, 10, 2), (8, 128, 256, 8), (4, 512, 512, 8), (1, 2048, 512, 8)]  # (B, L, D, h)
IMPORT_LIMIT = 0.3  # seconds that `import mha_lib` may add to `import torch`


def ways(D: int, h: int):
    """Return name → call(X): the layer, torch's layer and the bare kernel with the same four maps."""
    layer = mha.MultiHeadAttention(D, D, D, D, h)
    theirs = mha.to_torch(layer)
    W_q, W_k, W_v, W_o = layer.W_q, layer.W_k, layer.W_v, layer.W_o

    def bare(X):
        q, k, v = (heads_apart(W(X), h) for W in (W_q, W_k, W_v))
        return W_o(heads_together(F.scaled_dot_product_attention(q, k, v)))

    calls = {
        "ours": lambda X: layer(X, X, X),
        "ours, weights": lambda X: layer(X, X, X, need_weights=True)[0],
        "torch": lambda X: theirs(X, X, X, need_weights=False)[0],
        "torch, weights": lambda X: theirs(X, X, X, average_attn_weights=False)[0],
        "bare": bare,
    }
    return calls, (layer, theirs)


def once(call, X, backward: bool, loops: int) -> float:
    """Seconds for one call; with one thread only those in which it had the processor."""
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    for _ in range(loops):
        if backward:
            call(X).sum().backward()
        else:
            with torch.no_grad():
                call(X)
    return (clock() - start) / loops


def measure(size, backward: bool, seconds: float):
    """Return name → list of times, taken in turn, forwards and backwards through the names."""
    B, L, D, h = size
    calls, modules = ways(D, h)
    for module in modules:
        module.train(backward)
    X = torch.randn(B, L, D, generator=torch.Generator().manual_seed(0), requires_grad=backward)
    names, times = list(calls), {name: [] for name in calls}
    for name in names:  # warm up, and the same answer from all
        torch.testing.assert_close(calls[name](X), calls["bare"](X), atol=1e-4, rtol=1e-4)
    loops = max(1, round(0.002 / once(calls["ours, weights"], X, backward, 3)))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["bare"]) < 6:
        for name in names:
            times[name].append(once(calls[name], X, backward, loops))
        names.reverse()
    return times


def ratio(times, ours: str, other: str) -> float:
    return statistics.median(a / b for a, b in zip(times[ours], times[other], strict=True))


def import_cost(repeats: int) -> float:
    """Seconds that `import mha_lib` adds to `import torch`, in a process of its own."""
    code = (
        "import time, torch; start = time.perf_counter(); import mha_lib; print(time.perf_counter() - start)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(repeats)
    ]
    return statistics.median(float(run.stdout) for run in runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=6.0, help="time for each row (default 6)")
    parser.add_argument(
        "--threads", type=int, default=torch.get_num_threads(), help="1: processor time, for a busy machine"
    )
    seconds, threads = vars(parser.parse_args()).values()
    torch.set_num_threads(threads)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}, float32\n")
    print("| B, L, D, h | pass | ms | ours ÷ bare | ours ÷ torch | with weights: ours ÷ torch |")
    print("|---|---|---:|---:|---:|---:|")
    missed, against_torch = [], []
    for size in SIZES:
        small = size == SIZES[0]
        for backward in (False, True):
            times = measure(size, backward, seconds)
            bare, torchs = ratio(times, "ours", "bare"), ratio(times, "ours", "torch")
            weights = ratio(times, "ours, weights", "torch, weights")
            ms = statistics.median(times["ours"]) * 1e3
            kind = "forward + backward" if backward else "forward"
            print(f"| {size} | {kind} | {ms:.2f} | {bare:.2f} | {torchs:.2f} | {weights:.2f} |", flush=True)
            if small:
                wanted = [(torchs, 1.5, "torch"), (weights, 1.5, "torch, with weights")]
            else:
                against_torch.append(torchs)
                wanted = [(bare, 1.1, "bare"), (weights, 1.0, "torch, with weights")]
            missed += [
                f"{size} {kind}: {r:.2f} × {other}, wanted {mark}" for r, mark, other in wanted if r > mark
            ]
    mean = math.prod(against_torch) ** (1 / len(against_torch))
    extra = import_cost(5)
    print(f"\nGeometric mean, ours ÷ torch, at the three larger sizes: {mean:.2f} (wanted 0.95)")
    print(f"`import mha_lib` after `import torch`: {extra:.2f} s (wanted {IMPORT_LIMIT})")
    missed += [f"geometric mean {mean:.2f}"] * (mean > 0.95) + [f"import {extra:.2f} s"] * (
        extra > IMPORT_LIMIT
    )
    print("All marks are met." if not missed else "Missed: " + "; ".join(missed))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
