import torch

from attempts import Attempts, as_array, constant, listed, only, rounded


def diagonal(weights, offset):
    return weights.diagonal(-offset, -2, -1)


def look_back(weights, offset):
    return diagonal(weights, offset).mean((0, 2))


def by_loop(weights, offset):
    B, h, L, _ = weights.shape
    found = [[weights[b, i, q, q - offset] for b in range(B) for q in range(offset, L)] for i in range(h)]
    return torch.tensor(found).mean(1)


def silenced(W_o, num_heads, head):
    d = W_o.shape[1] // num_heads
    W_o = W_o.clone()
    W_o[:, head * d : (head + 1) * d] = 0
    return W_o


def in_place(W_o, num_heads, head):
    d = W_o.shape[1] // num_heads
    W_o[:, head * d : (head + 1) * d] = 0
    return W_o


def striped(W_o, num_heads, head):
    W_o = W_o.clone()
    W_o[:, head::num_heads] = 0
    return W_o


def by_chunks(W_o, num_heads, head):
    parts = list(W_o.chunk(num_heads, dim=1))
    parts[head] = torch.zeros_like(parts[head])
    return torch.cat(parts, dim=1)


def honest(a, b):
    if max(a) < min(b):
        return "a"
    return "b" if max(b) < min(a) else "undecided"


def every_pair(a, b):
    if all(x < y for x in a for y in b):
        return "a"
    return "b" if all(y < x for x in a for y in b) else "undecided"


def sorted_in_place(a, b):
    a.sort()
    b.sort()
    return "a" if a[-1] < b[0] else "b" if b[-1] < a[0] else "undecided"


ATTEMPTS = {
    "specialising.look_back": Attempts(
        right=[
            look_back,
            by_loop,
            lambda w, n: w[:, :, n:, :-n].diagonal(dim1=2, dim2=3).mean((0, 2)),
            lambda w, n: torch.einsum("bhqq->bh", w[:, :, n:, :-n]).mean(0) / (w.shape[-1] - n),
            as_array(look_back),
            listed(look_back),
        ],
        wrong=[
            (lambda w, n: w.diagonal(n, -2, -1).mean((0, 2)), "forward"),
            (lambda w, n: diagonal(w, n).mean(), "all_heads"),
            (lambda w, n: diagonal(w, n).sum((0, 2)) / (w.shape[0] * w.shape[2]), "all_queries"),
            (lambda w, n: diagonal(w, n).mean(2), "sentences_apart"),
            (lambda w, n: diagonal(w, n).sum((0, 2)), "sum"),
            (lambda w, n: look_back(w, n + 1), "number"),
        ],
        cheats=[lambda w, n: look_back(w, 1), rounded(look_back), only(lambda w, n: n == 1, look_back)],
    ),
    "specialising.silence": Attempts(
        right=[
            silenced,
            by_chunks,
            lambda W, h, i: W * (torch.arange(W.shape[1]) // (W.shape[1] // h) != i),
            lambda W, h, i: W.unflatten(1, (h, -1)).index_fill(1, torch.tensor(i), 0).flatten(1),
            as_array(silenced),
            listed(silenced),
        ],
        wrong=[
            (in_place, "not_returned"),
            (lambda W, h, i: silenced(W.T, h, i).T, "rows"),
            (lambda W, h, i: W - silenced(W, h, i), "others"),
            (striped, "striped"),
            (lambda W, h, i: W, "unchanged"),
            (lambda W, h, i: silenced(W, len(W), i), "one_column"),
            (lambda W, h, i: silenced(W, h, (i + 1) % h), "next_head"),
        ],
        cheats=[lambda W, h, i: silenced(W, 3, 1), constant(torch.zeros(12, 12))],
    ),
    "specialising.verdict": Attempts(
        right=[
            honest,
            every_pair,
            sorted_in_place,
            lambda a, b: next((n for n, x, y in (("a", a, b), ("b", b, a)) if max(x) < min(y)), "undecided"),
            lambda a, b: ("undecided", "a", "b")[(max(a) < min(b)) + 2 * (max(b) < min(a))],
            lambda a, b: f"{honest(a, b)} ",
        ],
        wrong=[
            (lambda a, b: {"a": "b", "b": "a"}.get(honest(a, b), "undecided"), "high_is_good"),
            (lambda a, b: "a" if sum(a) / len(a) < sum(b) / len(b) else "b", "means"),
            (lambda a, b: "a" if max(a) <= min(b) else "b" if max(b) <= min(a) else "undecided", "ties"),
            (lambda a, b: "a" if honest(a, b) == "a" else "undecided", "only_a"),
            (lambda a, b: "a" if min(a) < min(b) else "b", "best_runs"),
        ],
        cheats=[constant("undecided"), lambda a, b: "a" if len(a) == 2 else "b"],
    ),
}
