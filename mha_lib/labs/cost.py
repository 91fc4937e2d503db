"""What attention costs: time, the most memory held at once, and how both grow."""

import os
import time
from collections.abc import Callable, Sequence

import numpy as np
from torch.autograd import profiler

from ..errors import value_error
from ..look.style import Drawing, head_colour
from .pictures import on_any_paper
from .work import one_thread

MATRIX_PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")


def score_bytes(L: int, num_heads: int = 1, batch: int = 1, bytes_each: int = 4) -> int:
    """Return the size of the scores (B, h, L, L): B · h · L² · bytes_each.

    Example:
        >>> score_bytes(1_000)
        4000000
    """
    return batch * num_heads * L * L * bytes_each


def _recording(profile_memory: bool = False, with_flops: bool = False) -> profiler.profile:
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or the profiler talks in between
    return profiler.profile(profile_memory=profile_memory, with_flops=with_flops)


def in_words(size: int) -> str:
    """Return a number of bytes in the unit that suits it: 4000000 → "4 MB" (1 MB = 10⁶ bytes)."""
    power = min(max(len(str(int(size))) - 1, 0) // 3, 5)
    return f"{size / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB', 'PB')[power]}"


def seconds(fn: Callable[[], object], repeats: int = 5) -> float:
    """Return the processor time of the shortest of several runs, on one thread."""
    times = []
    with one_thread():
        fn()  # the first run pays for things that the others find ready
        for _ in range(repeats):
            start = time.process_time()
            fn()
            times.append(time.process_time() - start)
    return min(times)


def peak_bytes(fn: Callable[[], object]) -> int:
    """Return the most bytes of tensors, its result included, that fn holds at once, on one thread.

    Counted by torch's profiler from what is allocated and freed on the CPU, inside kernels too.
    """
    with one_thread(), _recording(profile_memory=True) as recording:
        fn()
    changes = [event for event in recording.kineto_results.events() if event.name() == "[memory]"]
    held = np.cumsum([0] + [event.nbytes() for event in sorted(changes, key=lambda e: e.start_ns())])
    return int(held.max())


def products(fn: Callable[[], object]) -> int:
    """Return what torch counts for the matrix products in fn: two for each, the multiplication and its sum.

    Example:
        >>> import torch
        >>> a = torch.ones(2, 3)
        >>> products(lambda: a @ a.T)
        24
    """
    with _recording(with_flops=True) as recording:
        fn()
    return sum(event.flops for event in recording.key_averages() if event.key in MATRIX_PRODUCTS)


def growth(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return p of the best fit value ≈ c · sizeᵖ (a straight line between logarithms).

    Raises:
        ValueError: fewer than two sizes, another number of values, or one that is not positive.

    Example:
        >>> round(growth([1, 2, 4], [3, 12, 48]), 6)
        2.0
    """
    if len(sizes) != len(values) or len(set(sizes)) < 2 or min(*sizes, *values) <= 0:
        expected = "two or more sizes, as many values, all above 0"
        raise value_error("sizes, values", expected, (list(sizes), list(values)))
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def plot_growth(
    sizes: Sequence[float],
    curves: dict[str, Sequence[float]],
    measured: str,
    across: str,
    powers: bool = True,
) -> Drawing:
    """Draw measured curves on logarithmic axes, as a Drawing; with the power each grows by, if it has one."""
    alt = f"{measured} against {across}, one line each: {', '.join(curves)}."
    figure = Drawing((7.6, 4), alt=alt, measured=True)
    ax = figure.add_axes((0.14, 0.15, 0.54, 0.78))
    for n, (name, values) in enumerate(curves.items()):
        label = f"{name}\n(power {growth(sizes, values):.1f})" if powers else name
        ax.plot(sizes, values, label=label, color=head_colour(n), marker="os^Dv"[n % 5])
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=10 if powers else 2)
    if not powers:  # factors are read as 1, 2, 4, 8, not as powers of ten
        ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("")
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set_xlabel(across, size=11)
    ax.set_ylabel(measured, size=11)
    ax.grid(alpha=0.3)
    figure.legend(loc="center left", bbox_to_anchor=(0.7, 0.55), frameon=False, fontsize=11)
    return on_any_paper(figure)
