import einops
import torch

from attempts import Attempts, as_array, constant, listed, only, shifted


def cut(X, h):
    B, L, D = X.shape
    return X.reshape(B, L, h, D // h)


def fold(X):
    return X.reshape(-1, *X.shape[2:])


def split(X, h):
    return fold(cut(X, h).permute(0, 2, 1, 3))


def by_loop(X, h):
    B, L, D = X.shape
    d = D // h
    out = torch.empty(B * h, L, d)
    for b in range(B):
        for i in range(h):
            out[b * h + i] = X[b, :, i * d : (i + 1) * d]
    return out


def merge(S, h):
    return S.unflatten(0, (-1, h)).permute(0, 2, 1, 3).flatten(2)


def merge_by_loop(S, h):
    d = S.shape[-1]
    out = torch.zeros(len(S) // h, S.shape[1], h * d)
    for n, matrix in enumerate(S):
        out[n // h, :, n % h * d : (n % h + 1) * d] = matrix
    return out


def heads_first(X, h):
    return fold(cut(X, h).permute(2, 0, 1, 3))


ATTEMPTS = {
    "splitting.split": Attempts(
        right=[
            split,
            lambda X, h: cut(X, h).transpose(1, 2).contiguous().view(-1, X.shape[1], X.shape[2] // h),
            lambda X, h: torch.stack(X.chunk(h, dim=-1), dim=1).flatten(0, 1),
            lambda X, h: einops.rearrange(X, "b l (h d) -> (b h) l d", h=h),
            by_loop,
            listed(split),
            as_array(split),
            lambda X, h: list(split(X, h)),
        ],
        wrong=[
            (lambda X, h: X.reshape(X.shape[0] * h, X.shape[1], X.shape[2] // h), "straight"),
            (lambda X, h: cut(X, h).permute(0, 2, 1, 3), "unfolded"),
            (lambda X, h: X.reshape(X.shape[0], h, X.shape[1], -1), "cut_across_words"),
            (lambda X, h: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5), "raised"),
            (lambda X, h: fold(cut(X, h).permute(2, 0, 1, 3)), "heads_first"),
            (lambda X, h: torch.cat(X.chunk(h, -1)), "heads_first"),
            (
                lambda X, h: cut(X, h).permute(0, 2, 1, 3).view(len(X) * h, X.shape[1], -1),
                "view_after_permute",
            ),
            (lambda X, h: X.reshape(X.shape[0], X.shape[1], h, X.shape[2] / h), "d_not_whole"),
            (lambda X, h: fold(cut(X, h).permute(0, 2, 3, 1)), "features_before_words"),
            (shifted(split), "number"),
        ],
        cheats=[
            only(lambda X, h: X.shape == (2, 4, 10), split),
            constant(torch.arange(80.0).reshape(4, 4, 5)),
        ],
    ),
    "splitting.merge": Attempts(
        right=[
            merge,
            lambda S, h: torch.cat(S.unflatten(0, (-1, h)).unbind(1), -1),
            lambda S, h: einops.rearrange(S, "(b h) l d -> b l (h d)", h=h),
            merge_by_loop,
            lambda S, h: torch.stack([torch.cat(list(heads), -1) for heads in S.split(h)]),
            lambda S, h: [torch.cat(list(heads), -1) for heads in S.split(h)],
            listed(merge),
        ],
        wrong=[
            (lambda S, h: S.reshape(S.shape[0] // h, S.shape[1], -1), "straight"),
            (lambda S, h: S.unflatten(0, (-1, h)).permute(0, 2, 3, 1).flatten(2), "interleaved"),
            (lambda S, h: torch.cat(S.chunk(h), -1), "heads_unfolded_first"),
            (lambda S, h: S.unflatten(0, (-1, h)).transpose(1, 2), "not_joined"),
            (lambda S, h: S.unflatten(0, (-1, h)).sum(1), "added"),
            (lambda S, h: S.reshape(len(S) / h, h, S.shape[1], S.shape[2]), "B_not_whole"),
        ],
        cheats=[
            only(lambda S, h: S.shape == (4, 4, 5), merge),
            constant(torch.arange(80.0).reshape(2, 4, 10)),
        ],
    ),
    "splitting.heads_first": Attempts(
        right=[
            lambda X, n, h: (heads_first(X, h), n.repeat(h)),
            lambda X, n, h: [heads_first(X, h), list(n) * h],
            lambda X, n, h: (torch.cat(X.chunk(h, -1)), torch.cat([n] * h)),
            lambda X, n, h: (einops.rearrange(X, "b l (h d) -> (h b) l d", h=h), n.numpy().tolist() * h),
            lambda X, n, h: (heads_first(X, h).numpy(), n.expand(h, -1).flatten()),
        ],
        wrong=[
            (lambda X, n, h: (heads_first(X, h), n.repeat_interleave(h)), "interleaved"),
            (lambda X, n, h: (split(X, h), n.repeat_interleave(h)), "usual"),
            (lambda X, n, h: (split(X, h), n.repeat(h)), "usual"),
            (lambda X, n, h: heads_first(X, h), "several"),
            (lambda X, n, h: (heads_first(X, h), n), "lengths_as_they_were"),
            (lambda X, n, h: (n.repeat(h), heads_first(X, h)), "swapped_pair"),
            (lambda X, n, h: (X.reshape(len(X) * h, X.shape[1], -1), n.repeat(h)), "straight"),
        ],
        cheats=[
            lambda X, n, h: (heads_first(X, h), n.repeat(2)),
            constant((torch.zeros(4, 4, 5), torch.tensor([3, 2, 3, 2]))),
        ],
    ),
}
