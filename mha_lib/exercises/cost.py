"""Checks for the lab on cost: bytes, the longest text, a softmax in pieces."""

import torch

from . import compare, known


def check_bytes(attempt):
    """A function of L, num_heads, batch → bytes of float16 scores."""
    for L, h, B in ((100, 3, 7), (1000, 2, 5)):
        got, want = attempt(L, h, B), 2 * B * h * L * L
        hints = {
            want: None,
            2 * want: "That is float32. In float16 a number takes 2 bytes.",
            want // 2: "That is the number of scores. Each takes 2 bytes.",
            want // L: "Each of the L words looks at L words.",
            want // h: "Each head has scores of its own.",
            want // B: "Each sentence of the batch has scores of its own.",
            8 * want: "16 is the number of bits. A byte has 8.",
        }
        yield hints.get(got, f"L = {L}, num_heads = {h}, batch = {B} should give {want:,}, not {got}.")


def check_longest(attempt):
    """A function of memory in bytes and num_heads → the largest L that fits."""
    for L, h, more in ((1000, 1, 0), (999, 3, 5), (12_345, 12, 100), (10**9, 7, 1)):
        memory = 4 * h * L * L + more
        got, given = attempt(memory, h), f"{memory:,} bytes and {h} heads"
        if got == L and isinstance(got, int):
            continue
        if got == memory // (4 * h):
            yield "That is the number of pairs. L is its square root."
        if h > 1 and got == int((memory / 4) ** 0.5):
            yield "You left out the heads: each has a square of its own."
        if got == L + 1:
            yield f"With {given}, L = {got} does not fit any more. Round down."
        if isinstance(got, float) and int(got) == L:
            yield "L counts words: return an integer, rounded down."
        if abs(got - L) <= 2:
            yield f"With {given} the root was not exact. math.isqrt takes roots of whole numbers."
        yield f"With {given} L = {L} fits and {L + 1} does not; yours is {got}."


def check_pieces(attempt):
    """A function of a list of (scores (n,), values (n, d)) → (d,)."""
    generator = torch.Generator().manual_seed(0)
    for sizes, height in (((3, 5, 2), 1.0), ((4, 1), 1.0), ((2, 3, 4), 1000.0)):
        scores = [torch.randn(n, generator=generator) + height * (i == 1) for i, n in enumerate(sizes)]
        values = [torch.randn(n, 3, generator=generator) for n in sizes]
        given = list(zip(scores, values, strict=True))
        got, want = attempt(given), torch.cat(scores).softmax(0) @ torch.cat(values)
        if isinstance(got, torch.Tensor) and got.isnan().any():
            yield "exp(1000) is infinite, and infinite by infinite is NaN. Subtract the largest score so far."
        apart = torch.stack([s.softmax(0) @ v for s, v in given])
        mistakes = {
            "You gave every piece the same say. A piece with higher scores has to weigh more.": apart.mean(0),
            "You added a mean of each piece. The weights of all pieces together sum to 1.": apart.sum(0),
        }
        yield known(got, mistakes)
        if problem := compare(got, want):
            yield f"{problem} If you keep a largest score so far: do you shrink the old sums when it rises?"
