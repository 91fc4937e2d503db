"""Splitting heads: the split, the merge, another order of the stack."""

import torch
from torch import Tensor

from ..heads import merge_heads, split_heads
from .exercise import Exercise, Picture


def _cut(X: Tensor, h: int) -> Tensor:
    return X.reshape(*X.shape[:2], h, X.shape[2] // h)


def _numbered(B: int, L: int, D: int) -> Tensor:
    return torch.arange(float(B * L * D)).reshape(B, L, D)


SIZES = ((2, 4, 10, 2), (2, 3, 8, 4), (3, 4, 6, 2), (2, 5, 6, 3))
INPUTS = tuple((_numbered(B, L, D), h) for B, L, D, h in SIZES)


def _straight(X: Tensor, h: int) -> Tensor:
    return X.reshape(len(X) * h, X.shape[1], X.shape[2] // h)


split = Exercise(
    right=lambda X, num_heads: split_heads(X, num_heads),
    cases=lambda: INPUTS,
    mistakes={
        "straight": _straight,
        "cut_across_words": lambda X, h: X.reshape(len(X), h, X.shape[1], -1),
        "wrong_cut": lambda X, h: (
            X.reshape(len(X), h, X.shape[1], -1).permute(0, 2, 1, 3).reshape(_straight(X, h).shape)
        ),
        "heads_first": lambda X, h: _cut(X, h).permute(2, 0, 1, 3).flatten(0, 1),
        "striped": lambda X, h: X.reshape(*X.shape[:2], -1, h).permute(0, 3, 1, 2).flatten(0, 1),
        "unfolded": lambda X, h: _cut(X, h).permute(0, 2, 1, 3),
        "cut_only": _cut,
        "features_before_words": lambda X, h: _cut(X, h).permute(0, 2, 3, 1).flatten(0, 1),
        "features_before_words_refolded": lambda X, h: (
            _cut(X, h).permute(0, 2, 3, 1).reshape(_straight(X, h).shape)
        ),
        "split_by_h": lambda X, h: torch.cat(X.split(h, -1)),
        "split_by_h_only": lambda X, h: torch.stack(X.split(h, -1)),
        "head_and_word_folded": lambda X, h: _cut(X, h).permute(0, 2, 1, 3).flatten(1, 2),
        "word_and_feature_exchanged": lambda X, h: _cut(X, h).transpose(1, 3).reshape(_straight(X, h).shape),
        "chunked_words": lambda X, h: torch.cat(X.chunk(h, 1)),
        "chunked": lambda X, h: torch.stack(X.chunk(h, -1)),
        "view_after_permute": lambda X, h: _cut(X, h).permute(0, 2, 1, 3).view(_straight(X, h).shape),
        "d_not_whole": lambda X, h: X.reshape(*X.shape[:2], h, X.shape[2] / h),
        "d_not_whole_in_view": lambda X, h: X.view(*X.shape[:2], h, X.shape[2] / h),
    },
    picture=Picture.SPLIT,
)


def _stacks() -> list[tuple[Tensor, int]]:
    return [(split_heads(X, h), h) for X, h in INPUTS]


def _unfold(stack: Tensor, h: int) -> Tensor:
    return stack.unflatten(0, (-1, h))


merge = Exercise(
    right=lambda stack, num_heads: merge_heads(stack, num_heads),
    cases=_stacks,
    mistakes={
        "straight": lambda S, h: S.reshape(len(S) // h, S.shape[1], -1),
        "interleaved": lambda S, h: _unfold(S, h).permute(0, 2, 3, 1).flatten(2),
        "heads_unfolded_first": lambda S, h: torch.cat(S.chunk(h), -1),
        "every_Bth": lambda S, h: torch.cat([S[i :: len(S) // h] for i in range(h)], -1),
        "words_in_front": lambda S, h: S.permute(1, 0, 2).reshape(len(S) // h, S.shape[1], -1),
        "unfolded_the_wrong_way": lambda S, h: S.reshape(h, -1, *S.shape[1:]).permute(0, 2, 1, 3).flatten(2),
        "not_joined": lambda S, h: _unfold(S, h).permute(0, 2, 1, 3),
        "not_permuted": lambda S, h: _unfold(S, h),
        "features_in_front": lambda S, h: (
            _unfold(S, h).permute(0, 3, 1, 2).reshape(len(S) // h, S.shape[1], -1)
        ),
        "joined_along_words": lambda S, h: _unfold(S, h).flatten(1, 2),
        "reversed": lambda S, h: torch.cat(_unfold(S, h).unbind(1)[::-1], -1),
        "added": lambda S, h: _unfold(S, h).sum(1),
        "view_after_permute": lambda S, h: (
            _unfold(S, h).permute(0, 2, 1, 3).view(len(S) // h, S.shape[1], -1)
        ),
        "B_not_whole": lambda S, h: S.reshape(len(S) / h, h, *S.shape[1:]),
    },
    picture=Picture.MERGE,
)


def _stack_first(X: Tensor, h: int) -> Tensor:
    return torch.cat(X.chunk(h, dim=-1))


heads_first = Exercise(
    right=lambda X, valid_lens, num_heads: (_stack_first(X, num_heads), valid_lens.repeat(num_heads)),
    cases=lambda: [(X, torch.arange(1, len(X) + 1).flip(0) + 1, h) for X, h in INPUTS],
    mistakes={
        "usual": lambda X, n, h: (split_heads(X, h), n),
        "straight": lambda X, n, h: (_straight(X, h), n),
        "heads_and_words_only": lambda X, n, h: (
            _cut(X, h).permute(2, 1, 0, 3).reshape(_straight(X, h).shape),
            n,
        ),
        "interleaved": lambda X, n, h: (_stack_first(X, h), n.repeat_interleave(h)),
        "lengths_as_they_were": lambda X, n, h: (_stack_first(X, h), n),
        "lengths_times_h": lambda X, n, h: (_stack_first(X, h), n * h),
        "lengths_in_rows": lambda X, n, h: (_stack_first(X, h), n.repeat(h, 1)),
        "swapped_pair": lambda X, n, h: (n.repeat(h), _stack_first(X, h)),
    },
    picture=Picture.HEADS_FIRST,
)
