"""More functions of a tensor: what people write that is neither a plain move nor plain arithmetic.

Loops, generators, hooks, copies by other means, results in dataclasses, writes through aliases.
"""

import collections
import copy
import dataclasses
import functools

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


@dataclasses.dataclass
class Heads:
    a: torch.Tensor
    b: torch.Tensor


Pair = collections.namedtuple("Pair", "a b")


class Marked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


class Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, X):
        return X.transpose(1, 2).clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.transpose(1, 2)


def hooked(hook, before=False):
    module = torch.nn.Flatten(1)
    module.register_forward_pre_hook(hook) if before else module.register_forward_hook(hook)
    return torch.nn.Sequential(module)


def _split(X):
    return X.reshape(2, 4, 2, 5).transpose(1, 2).contiguous()


def _pieces(X):
    for h in range(2):
        yield X[..., 5 * h : 5 * h + 5]


def _into(make, write):
    """Write X into a new tensor and return that."""

    def fn(X):
        target = make(X)
        write(target, X)
        return target

    return fn


def _zeros(X):
    return torch.zeros(2, 4, 10)


def _copy(X):
    return X.clone()


def _assign(at):
    def write(target, X):
        target[at] = X[at].flip(0)

    return write


def _odd_to_even(target, X):
    target[..., ::2] = X[..., 1::2]


def _one_by_one(target, X):
    for i in range(10):
        target[i] = X[0, 0, 9 - i]


def _swapped(target, X):
    target[0], target[1] = target[1], target[0]  # the well-known mistake: the second is overwritten


def _data_swapped(X):
    A, B = X[0].clone(), X[1].clone()
    A.data, B.data = B.data, A.data
    return torch.stack([A, B])


def _turned_in_place(X):
    Y = X[0].clone()
    Y.t_()
    Y.unsqueeze_(0)
    Y.swapaxes_(1, 2)
    return Y


def _tried_first(X):
    try:
        return X.mT.view(80)
    except RuntimeError:
        return X.mT.reshape(80)


def _while(X):
    turn = 0
    while turn < 3:
        X = X.roll(1, 0) if turn % 2 else X.roll(1, -1)
        turn += 1
    return X


def _no_grad(X):
    with torch.no_grad():
        Y = X.mT
    with torch.inference_mode():
        return Y.contiguous().flip(0)


def _popped(X):
    words = list(X.unbind(1))
    words.insert(0, words.pop())
    return torch.stack(words, 1)


def _backward(X):
    X = X.clone().requires_grad_()
    (X * 2).sum().backward()
    return X.grad


def _through_numpy(X):
    Y = X.clone()
    Y.numpy().T[...] = Y.numpy().T[::-1]
    return Y


def _storage_of(X):
    Y = torch.empty(0)
    Y.set_(X.untyped_storage(), 3, (4, 5), (10, 1))
    return Y


def _foreach(X):
    out = [torch.empty(4, 10), torch.empty(4, 10)]
    torch._foreach_copy_(out, [X[1], X[0]])
    return torch.stack(out)


def _by_sum(X):
    return torch.stack(sorted(X.unbind(0), key=lambda sentence: -float(sentence.sum())))


LAST_TWO = torch.tensor([3, 2])
CONTROL = {
    "generator": lambda X: torch.cat(list(_pieces(X))),
    "map": lambda X: torch.stack(list(map(lambda row: row.flip(0), X))),
    "zip": lambda X: torch.cat([torch.stack(pair) for pair in zip(X[0], X[1], strict=True)]),
    "reduce": lambda X: functools.reduce(lambda a, b: torch.cat([b, a]), X.unbind(0)),
    "functions in functions": lambda X: (lambda Z: Z.flatten(0, 1))((lambda Y: _split(Y))(X)),
    "while": _while,
    "what raises, then another": _tried_first,
    "a list's pop": _popped,
    "sorted by a sum": _by_sum,
    "sizes as code knows them": lambda X: X.reshape(*X.shape[:2], 2, X.shape[2] // 2).permute(0, 2, 1, 3),
    "no_grad and inference_mode": _no_grad,
    "printed": lambda X: (repr(X), f"{X[0, 0, 0]:.2f}", X.mT)[2],
    "hook": hooked(lambda module, given, result: result.view(2, 10, 4).mT),
    "hook before": hooked(lambda module, given: (given[0].flip(1),), before=True),
    "autograd.Function": lambda X: Turned.apply(X),
    "backward": _backward,
    "checkpoint": lambda X: checkpoint(_split, X, use_reentrant=False),
    "checkpoint, reentrant": lambda X: checkpoint(_split, X, use_reentrant=True),
    "copy.copy": lambda X: copy.copy(X).mT,
    "subclass": lambda X: X.as_subclass(Marked).mT.flatten(),
    "vjp": lambda X: torch.func.vjp(lambda x: x.mT, X)[0],
    "Sequential": torch.nn.Sequential(torch.nn.Unflatten(-1, (2, 5)), torch.nn.Identity()),
    "dataclass": lambda X: Heads(X.mT, X.flip(0)),
    "namedtuple": lambda X: Pair(X.mT, X.flip(0)),
    "deep": lambda X: {"a": [X.mT, (X[0], {"b": X.flip(0)})]},
    "with what is no tensor": lambda X: (X.mT, None, 3, "s"),
    "one twice": lambda X: (X.mT,) * 2,
}
WRITTEN = {
    "list of columns": _into(
        _zeros, lambda target, X: target.__setitem__((slice(None), [0, 2]), X[:, [1, 3]])
    ),
    "mask": _into(_copy, lambda target, X: target.__setitem__(target > 40, X[X > 40].flip(0))),
    "every second": _into(_copy, _odd_to_even),
    "one by one": _into(lambda X: torch.empty(10), _one_by_one),
    "as_strided": _into(_zeros, lambda target, X: target.as_strided((2, 4), (40, 10), 3).copy_(X[..., 0])),
    "diagonal": _into(lambda X: torch.zeros(4, 4), lambda target, X: target.diagonal().copy_(X[0, :, 0])),
    "expanded": _into(
        lambda X: torch.empty(3, 2, 4, 10), lambda target, X: target.copy_(X.expand(3, 2, 4, 10))
    ),
    "masked_scatter_": _into(_zeros, lambda target, X: target.masked_scatter_(X > 31, X)),
    "swapped without a copy": _into(_copy, _swapped),
    "added to a slice": _into(_copy, lambda target, X: target[:, 0].add_(target[:, 1])),
    "half of a view times one": _into(_copy, lambda target, X: target.view(80)[::2].mul_(1)),
    "numpy, turned": _through_numpy,
    ".data swapped": _data_swapped,
    "transposed in place": _turned_in_place,
    "set_ from a storage": _storage_of,
    "resize_": lambda X: X.clone().resize_(4, 20),
    "resize_ to fewer": lambda X: X.clone().resize_(2, 3),
    "_foreach_copy_": _foreach,
    "stack with out=": lambda X: torch.stack([X[1], X[0]], out=torch.empty(2, 4, 10)).mT,
    "accumulated": lambda X: X.index_put((torch.tensor([0, 0]),), X[1].expand(2, 4, 10), accumulate=True),
    "index_add": lambda X: torch.zeros(2, 4, 10).index_add(1, torch.tensor([3, 2, 1, 0]), X),
    "scatter_reduce": lambda X: X.scatter_reduce(1, torch.zeros(2, 4, 10, dtype=torch.int64), X, "amax"),
    "as_strided_scatter": lambda X: X.as_strided_scatter(X[0, :, 0], (4,), (10,), 2),
    "diagonal_scatter": lambda X: X[0].diagonal_scatter(X[1, 0, :4]),
}
SEEN = {  # torch's rarer ways of looking at and joining what is there
    "tensor_split by places": lambda X: torch.cat(X.tensor_split((1, 4), -1)[::-1], -1),
    "split by sizes": lambda X: torch.cat(X.split([3, 7], -1)[::-1], -1),
    "dsplit": lambda X: torch.stack(torch.dsplit(X, 5)),
    "moveaxis of two": lambda X: torch.swapdims(X, 0, 2).moveaxis((0, 1), (1, 0)),
    "rot90 twice": lambda X: X.rot90(2, (0, 2)).rot90(-1, (1, 2)),
    "roll along two": lambda X: X.roll((1, 2), (0, -1)),
    "unfold that overlaps": lambda X: X.unfold(-1, 4, 3),
    "diagonal beside": lambda X: X.diagonal(1, 1, 2),
    "as_strided beyond a view": lambda X: X[1:].as_strided((4, 10), (10, 1), 0),
    "channels_last": lambda X: X.view(2, 2, 2, 10).to(memory_format=torch.channels_last),
    "channel_shuffle": lambda X: F.channel_shuffle(X.view(2, 4, 5, 2), 2),
    "pixel_unshuffle": lambda X: F.pixel_unshuffle(X.view(2, 1, 4, 10), 2),
    "interpolate to the nearest": lambda X: F.interpolate(X, scale_factor=2, mode="nearest"),
    "pad_sequence": lambda X: torch.nn.utils.rnn.pad_sequence([X[0], X[1, :2]], batch_first=True),
    "combinations": lambda X: torch.combinations(X[0, 0, :4]),
    "cartesian_prod": lambda X: torch.cartesian_prod(X[0, 0, :3], X[0, 1, :2]),
    "boolean index along an axis": lambda X: X[:, torch.tensor([True, False, True, False])],
    "None and ...": lambda X: X[None, ..., None, :, 0],
    "scalars, stacked": lambda X: torch.stack([X[0, 0, i] for i in range(10)]),
    "zero axes": lambda X: X[1, 2, 3],
    "no cells": lambda X: X[:, :0].mT,
    "index by an index": lambda X: X[:, LAST_TWO][:, :, LAST_TWO],
    "as_strided_": lambda X: X.clone().as_strided_((4, 5), (10, 2), 40),
    "resized in place": lambda X: X.mT.contiguous().resize_(4, 10),
    "the largest of a single number": lambda X: X[0, 1, 2].max(0).values,
    "+X": lambda X: (+X).mT,
}
NEW = {  # what computes, or changes the type of number
    "imag": lambda X: torch.complex(X, X * 2).imag.mT,
    "real of a conjugate": lambda X: torch.complex(X, X).conj_physical().real,
    "view_as_complex": lambda X: torch.view_as_complex(X.view(2, 4, 5, 2)).mT,
    "bytes and back": lambda X: X.view(torch.uint8).view(torch.float32).mT,
    "negated view": lambda X: torch._neg_view(X).mT,
    "permuted by a matrix": lambda X: torch.eye(4)[[3, 2, 1, 0]] @ X,
    "diff": lambda X: X.diff(dim=-1),
    "kron": lambda X: torch.kron(torch.ones(2, 1), X[0]),
    "max_pool1d": lambda X: F.max_pool1d(X, 2),
    "unique": lambda X: X.flatten().unique(),
    "kthvalue": lambda X: X.kthvalue(2, -1).values,
    "one_hot": lambda X: F.one_hot(X.long()[0, 0] % 3),
    "bucketize": lambda X: torch.bucketize(X, torch.tensor([10.0, 50.0])).mT,
    "nonzero as index": lambda X: X[(X > 70).nonzero(as_tuple=True)],
}
