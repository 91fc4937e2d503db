"""Functions of a tensor, by name: how heads are split and merged, what torch can do, and the nasty ones.

Each entry: a function, and what it gets (X, (2, 4, 10) with numbers of their own, unless told).
"""

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from moves.corpus_of_oddities import CONTROL, NEW, SEEN, WRITTEN

import mha_lib as mha

EX = mha.example()
X = torch.arange(80.0).reshape(2, 4, 10) + 0.25
W = torch.nn.Linear(10, 10, bias=False).requires_grad_(False)
ATTENTION = torch.nn.MultiheadAttention(10, 2, batch_first=True).eval().requires_grad_(False)
INDEX = torch.tensor([3, 0, 0])

SPLITS = {
    "reshape, permute, reshape": lambda X: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5),
    "view, transpose, flatten": lambda X: X.view(2, 4, 2, 5).transpose(1, 2).flatten(0, 1),
    "unflatten, movedim": lambda X: X.unflatten(-1, (2, 5)).movedim(2, 1).flatten(0, 1),
    "unflatten, swapaxes, contiguous": lambda X: (
        X.unflatten(2, (2, -1)).swapaxes(1, 2).contiguous().view(-1, 4, 5)
    ),
    "chunk, cat": lambda X: torch.cat(X.chunk(2, -1), 0),
    "chunk, stack": lambda X: torch.stack(X.chunk(2, -1), 1).flatten(0, 1),
    "split, stack": lambda X: torch.stack(X.split(5, -1), 1),
    "tensor_split": lambda X: torch.stack(X.tensor_split(2, -1)),
    "hsplit": lambda X: torch.stack(X[0].hsplit(2)),
    "unbind": lambda X: torch.stack(X.view(2, 4, 2, 5).unbind(2), 1),
    "slices": lambda X: torch.stack([X[..., :5], X[..., 5:]], 1),
    "a loop of slices": lambda X: torch.cat([X[..., 5 * h : 5 * h + 5] for h in range(2)]),
    "narrow": lambda X: torch.stack([X.narrow(-1, 5 * h, 5) for h in range(2)], 1),
    "unfold": lambda X: X.unfold(-1, 5, 5).permute(0, 2, 1, 3),
    "as_strided": lambda X: X.as_strided((2, 2, 4, 5), (40, 5, 10, 1)),
    "index_select": lambda X: torch.stack([X.index_select(-1, torch.arange(5) + 5 * h) for h in range(2)], 1),
    "gather": lambda X: X.gather(-1, torch.arange(5).expand(2, 4, 5) + 5),
    "einsum": lambda X: torch.einsum("blhd->bhld", X.view(2, 4, 2, 5)),
    "einops": lambda X: rearrange(X, "b l (h d) -> (b h) l d", h=2),
    "einops, heads first": lambda X: rearrange(X, "b l (h d) -> h b l d", h=2),
    "written into a buffer": lambda X: _loop(X, torch.empty(2, 2, 4, 5)),
    "written twice indexed": lambda X: _twice(X, torch.empty(2, 2, 4, 5)),
    "copy_ into views": lambda X: _copies(X, torch.empty(2, 2, 4, 5)),
    "ours": lambda X: mha.split_heads(X, 2),
    "interleaved heads": lambda X: X.view(2, 4, 5, 2).permute(0, 3, 1, 2),
    "wrong: straight": lambda X: X.reshape(4, 4, 5),
    "wrong: view of heads": lambda X: X.view(2, 2, 4, 5),
    "wrong: transposed first": lambda X: X.transpose(1, 2).reshape(4, 4, 5),
    "five heads": lambda X: X.view(2, 4, 5, 2).transpose(1, 2).flatten(0, 1),
    "qkv in one": lambda X: X.repeat(1, 1, 3).view(2, 4, 3, 2, 5).permute(2, 0, 3, 1, 4).unbind(0),
}
_HEADS = SPLITS["reshape, permute, reshape"]
MERGES = {
    "reshape, permute, reshape": lambda X: (
        _HEADS(X).reshape(2, 2, 4, 5).permute(0, 2, 1, 3).reshape(2, 4, 10)
    ),
    "transpose, flatten": lambda X: _HEADS(X).view(2, 2, 4, 5).transpose(1, 2).flatten(2),
    "cat of chunks": lambda X: torch.cat(_HEADS(X).view(2, 2, 4, 5).unbind(1), -1),
    "contiguous, view": lambda X: _HEADS(X).view(2, 2, 4, 5).transpose(1, 2).contiguous().view(2, 4, -1),
    "einops": lambda X: rearrange(_HEADS(X), "(b h) l d -> b l (h d)", h=2),
    "einsum": lambda X: torch.einsum("bhld->blhd", _HEADS(X).view(2, 2, 4, 5)).reshape(2, 4, 10),
    "hstack": lambda X: torch.hstack(list(_HEADS(X)[:2])),
    "ours": lambda X: mha.merge_heads(mha.split_heads(X, 2), 2),
    "wrong: straight": lambda X: _HEADS(X).reshape(2, 4, 10),
    "wrong: heads not moved back": lambda X: _HEADS(X).view(2, 2, 4, 5).reshape(2, 4, 10),
}
MOVES = {
    "reshape": lambda X: X.reshape(4, 20),
    "torch.reshape": lambda X: torch.reshape(X, (4, 20)),
    "view": lambda X: X.view(8, 10),
    "permute": lambda X: torch.permute(X, (2, 0, 1)),
    "transpose": lambda X: X.transpose(0, 2),
    "mT": lambda X: X.mT,
    "T": lambda X: X[0].T,
    "mH": lambda X: X.mH,
    "H": lambda X: X[0].H,
    "adjoint": lambda X: X.adjoint(),
    "movedim": lambda X: torch.movedim(X, 0, -1),
    "flatten": lambda X: X.flatten(1),
    "ravel": lambda X: X.mT.ravel(),
    "squeeze": lambda X: X[:1].squeeze(0),
    "unsqueeze": lambda X: X.unsqueeze(1),
    "expand": lambda X: X.unsqueeze(0).expand(3, -1, -1, -1),
    "expand_as": lambda X: X[:1].expand_as(torch.empty(3, 4, 10)),
    "broadcast_to": lambda X: torch.broadcast_to(X, (2, 2, 4, 10)),
    "broadcast_tensors": lambda X: torch.broadcast_tensors(X[:1], torch.zeros(2, 4, 10))[0],
    "contiguous": lambda X: X.mT.contiguous(),
    "clone": lambda X: X.mT.clone(),
    "as_tensor": lambda X: torch.as_tensor(X.mT),
    "asarray": lambda X: torch.asarray(X.mT),
    "detach": lambda X: X.detach().mT,
    "data": lambda X: X.data.mT,
    "double": lambda X: X.double().mT,
    "half": lambda X: X.half().mT,
    "cat": lambda X: torch.cat([X[:, 2:], X[:, :2]], 1),
    "cat with others": lambda X: torch.cat([X[0], torch.tensor([[7.0, 8, 9]]).repeat(1, 4)[:, :10]]),
    "vstack": lambda X: torch.vstack(list(X)),
    "dstack": lambda X: torch.dstack(list(X)),
    "column_stack": lambda X: torch.column_stack(list(X)),
    "slices": lambda X: X[:, 1:, ::3],
    "integers": lambda X: X[1, 2],
    "a list as index": lambda X: X[:, [3, 1]],
    "an index tensor": lambda X: X[:, INDEX],
    "a mask": lambda X: X[X > 31],
    "masked_select": lambda X: X.masked_select(X > 31),
    "select": lambda X: torch.select(X, 1, 2),
    "flip": lambda X: X.flip(0, 2),
    "fliplr": lambda X: torch.fliplr(X),
    "roll": lambda X: X.roll(3, -1),
    "rot90": lambda X: torch.rot90(X, 1, (1, 2)),
    "repeat": lambda X: X.repeat(1, 2, 1),
    "tile": lambda X: torch.tile(X, (2, 1, 1)),
    "repeat_interleave": lambda X: X.repeat_interleave(2, 0),
    "repeat_interleave by a tensor": lambda X: torch.repeat_interleave(X, torch.tensor([1, 3]), dim=0),
    "einops repeat": lambda X: repeat(X, "b l d -> (b r) l d", r=2),
    "index_select by name": lambda X: torch.index_select(input=X, dim=1, index=INDEX),
    "gather by name": lambda X: torch.gather(input=X, dim=1, index=torch.zeros(2, 1, 10, dtype=torch.int64)),
    "take": lambda X: X.take(torch.tensor([3, 79, 0])),
    "take_along_dim": lambda X: X.take_along_dim(torch.zeros(2, 1, 1, dtype=torch.int64), 1),
    "scatter": lambda X: torch.zeros(2, 4, 10).scatter(
        1, torch.arange(4).flip(0).view(1, 4, 1).expand(2, 4, 10), X
    ),
    "scatter of X": lambda X: X.scatter(1, torch.zeros(2, 1, 10, dtype=torch.int64), X[:, 1:2]),
    "index_copy": lambda X: X.index_copy(1, torch.tensor([0, 1]), X[:, 2:]),
    "index_put": lambda X: X.index_put((torch.tensor([0]),), X[1]),
    "slice_scatter": lambda X: X.slice_scatter(X[:, :2], 1, 2, 4),
    "select_scatter": lambda X: X.select_scatter(X[0], 0, 1),
    "masked_scatter": lambda X: X.masked_scatter(X > 31, X.flip(0)),
    "put": lambda X: X.put(torch.arange(79, -1, -1), X.flatten()),
    "put_": lambda X: torch.zeros(80).put_(torch.arange(79, -1, -1), X.flatten()),
    "sort": lambda X: X.sort(dim=1, descending=True).values.mT,
    "sort by default": lambda X: torch.sort(X.flip(-1))[0],
    "topk": lambda X: X.topk(2, 1),
    "kthvalue": lambda X: torch.kthvalue(X, 3, 1, keepdim=True).values,
    "max along an axis": lambda X: X.max(1).values,
    "min along an axis": lambda X: torch.min(X, dim=-1, keepdim=True)[0],
    "median": lambda X: X.median(dim=1).values,
    "cummax": lambda X: X.flip(1).cummax(1).values,
    "cat into out": lambda X: torch.cat([X[..., 5:], X[..., :5]], -1, out=torch.empty(2, 4, 10)),
    "stack into out": lambda X: torch.stack([X[..., :5], X[..., 5:]], 1, out=torch.empty(2, 2, 4, 5)),
    "sort into out": lambda X: torch.sort(
        X.flip(1), 1, out=(torch.empty(2, 4, 10), torch.empty(2, 4, 10, dtype=torch.int64))
    ),
    "where": lambda X: torch.where(torch.tensor([True, False]).view(2, 1, 1), X, X.flip(1)),
    "einsum that permutes": lambda X: torch.einsum("abc->cab", X),
    "einsum of a diagonal": lambda X: torch.einsum("aab->ab", X[:, :2, :]),
    "diagonal": lambda X: X.diagonal(0, 0, 1),
    "block_diag": lambda X: torch.block_diag(X[0], X[1]),
    "diag_embed": lambda X: torch.diag_embed(X[0]),
    "tril": lambda X: X.tril(),
    "triu": lambda X: torch.triu(X, 1),
    "pad": lambda X: F.pad(X, (2, 1), value=7.0),
    "pad, reflected": lambda X: F.pad(X, (2, 1), mode="reflect"),
    "pad, cut off": lambda X: F.pad(X, (-1, -1)),
    "atleast_3d": lambda X: torch.atleast_3d(X[0]),
    "iteration": lambda X: torch.stack([word.mT for word in X]),
    "pixel_shuffle": lambda X: F.pixel_shuffle(X.reshape(1, 4, 4, 5), 2),
    "embedding": lambda X: F.embedding(torch.tensor([[1, 0], [3, 3]]), X[0]),
    "cartesian": lambda X: torch.meshgrid(X[0, 0], X[0, 1], indexing="ij")[0],
    "functional_call": lambda X: torch.func.functional_call(torch.nn.Flatten(1), {}, (X,)),
    "dropout at rest": lambda X: F.dropout(X, 0.5, training=False).mT,
    "a mask that moves": lambda X: (X > 31).view(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5),
    "nothing": lambda X: X,
    "swapdims_": lambda X: X.swapdims_(0, 1),
    "transpose_": lambda X: X.transpose_(1, 2),
    "unflatten by name": lambda X: X.unflatten(dim=-1, sizes=(2, 5)),
    "permute by name": lambda X: X.permute(dims=(1, 0, 2)),
    "constant_pad_nd": lambda X: torch.constant_pad_nd(X, (1, 1), 3.0),
    "view as integers": lambda X: X.view(torch.int32).mT,
    "complex": lambda X: torch.complex(X, X + 1).mT,
    "complex, conjugated": lambda X: torch.complex(X, X + 1).mH,
    "view_as_real": lambda X: torch.view_as_real(torch.complex(X, X)),
    "long": lambda X: X.long().mT,
    "half of too much": lambda X: (X * 1e4).half().mT,
    "bfloat16": lambda X: X.bfloat16().mT,
}
ARITHMETIC = {
    "scores": lambda X: X @ X.mT,
    "softmax": lambda X: (X @ X.mT).softmax(-1)[:, :2],
    "linear": lambda X: W(X).view(2, 4, 2, 5).transpose(1, 2),
    "add, then split": lambda X: _HEADS(X + 1),
    "times one": lambda X: (X * 1).mT,
    "relu": lambda X: F.relu(X - 40).mT,
    "relu of positive numbers": lambda X: F.relu(X).mT,
    "sort": lambda X: X.flip(-1).sort(-1).values,
    "sort of sorted": lambda X: X.sort(-1).values,
    "topk": lambda X: X.topk(2).values,
    "max": lambda X: X.max(-1).values,
    "cumsum": lambda X: X.cumsum(-1),
    "mean": lambda X: X.mean(-1, keepdim=True).expand(2, 4, 5),
    "sum over one": lambda X: X[:, :1].sum(1),
    "clamp": lambda X: X.clamp(20, 50).mT,
    "round": lambda X: X.round().mT,
    "masked_fill": lambda X: X.masked_fill(X > 31, -torch.inf).mT,
    "masked_fill of nothing": lambda X: X.masked_fill(X > 1000, 0.0).mT,
    "where with a number": lambda X: torch.where(X > 31, X, 0.0).mT,
    "tensordot": lambda X: torch.tensordot(X, X, ([2], [2])),
    "einsum of two": lambda X: torch.einsum("bqd,bkd->bqk", X, X),
    "baddbmm": lambda X: torch.baddbmm(torch.zeros(2, 4, 4), X, X.mT),
    "layer_norm": lambda X: F.layer_norm(X, (10,)).mT,
    "cross product": lambda X: torch.linalg.cross(X[..., :3], X[..., 3:6]),
    "var": lambda X: X.var(-1),
    "comparison": lambda X: X > 31,
    "argmax": lambda X: X.argmax(-1),
    "fused attention": lambda X: F.scaled_dot_product_attention(X, X, X),
    "our layer": lambda X: EX.layer(X, X, X, EX.valid_lens, need_weights=True),
    "torch's layer": lambda X: ATTENTION(X, X, X, need_weights=False)[0],
    "gradient": lambda X: torch.autograd.grad((X**2).sum(), X)[0],
    "dropout": lambda X: F.dropout(X, 0.5),
    "rand_like": lambda X: X + torch.rand_like(X),
    "abs": lambda X: (-X).abs().mT,
    "minimum": lambda X: torch.minimum(X, X.flip(0)),
    "complex product": lambda X: torch.complex(X, X) * torch.complex(X, X),
}
NASTY = {
    "printed before the return": lambda X: _printed(X),
    "numpy writes": lambda X: _numpy(X),
    "data is another": lambda X: _data(X),
    "set_ to another": lambda X: X.set_(X.flip(0)).mT,
    "an alias is written": lambda X: _alias(X),
    "an alias of the input": lambda X: _alias_of_input(X),
    "resized": lambda X: _resized(X),
    "storage is written": lambda X: _storage(X),
    "a view is written": lambda X: _view(X),
    "in place": lambda X: X.mul_(2).mT,
    "in place by operator": lambda X: _operator(X),
    "relu in place": lambda X: F.relu(X - 40, inplace=True).mT,
    "relu in place, told by place": lambda X: F.relu(X, True).mT,
    "fill": lambda X: _filled(X),
    "zeros written": lambda X: _zeroed(X),
    "masked_fill_": lambda X: X.masked_fill_(X > 31, 0.0).mT,
    "scatter_": lambda X: X.scatter_(1, torch.zeros(2, 1, 10, dtype=torch.int64), X[:, 1:2].clone()),
    "index_put_": lambda X: X.index_put_((torch.tensor([0]),), X[1].clone()),
    "out=": lambda X: torch.cat([X[:, 2:], X[:, :2]], 1, out=torch.empty(2, 4, 10)),
    "out= of arithmetic": lambda X: torch.add(X, 1, out=torch.empty(2, 4, 10)).mT,
    "an index made of X": lambda X: X[torch.arange(2), X.sum(-1).argmax(-1)],
    "X as index of X": lambda X: X.flatten()[X.long().flatten() % 80],
    "rows by sorting": lambda X: X[:, X.sum((0, 2)).argsort(descending=True)],
    "tuple": lambda X: (X.mT, X[0]),
    "dict": lambda X: {"a": X.mT, "b": X.flip(0), "c": torch.ones(2)},
    "list in a list": lambda X: [[X.mT], X],
    "the first of two": lambda X: X.chunk(2, -1)[0],
    "an earlier tensor": lambda X: (X.mT, X.flip(0), X.sum())[0],
    "vmap of a view": lambda X: torch.vmap(lambda x: x.T)(X),
    "swapped halves in place": lambda X: _swap(X),
    "item in between": lambda X: X[int(X[0, 0, 1].item())].mT,
    "exec'd": eval("lambda X: X.reshape(4, 20)[1:, None].mT"),
    "a class with torch in it": torch.nn.Flatten(),
    "empty slices": lambda X: X[:, 4:],
    "NaN and infinity": lambda X: (X / (X - X)).view(2, 4, 2, 5).transpose(1, 2),
    "a buffer never filled": lambda X: _partly(X),
    "overlapping windows": lambda X: X.flatten().unfold(0, 10, 5).contiguous(),
    "cat of itself": lambda X: torch.cat([X, X], 0).flip(0),
    "one tensor as three": lambda X: torch.stack([X, X, X]).transpose(0, 1),
    "deep copy": lambda X: __import__("copy").deepcopy(X).mT,
    "swapped by tuple": lambda X: _tuple_swap(X),
}


def _loop(X, out):
    for h in range(2):
        out[:, h] = X[..., 5 * h : 5 * h + 5]
    return out.flatten(0, 1)


def _twice(X, out):
    for b in range(2):
        for h in range(2):
            out[b][h] = X[b, :, 5 * h : 5 * h + 5]
    return out


def _copies(X, out):
    first, second = out.unbind(1)
    first.copy_(X[..., :5])
    second.copy_(X[..., 5:])
    return out


def _printed(X):
    Y = X.mT.contiguous()
    float(Y.sum())
    return Y


def _numpy(X):
    Y = X.mT.contiguous()
    Y.numpy()[0, :2] = 100.5
    return Y.flip(0)


def _data(X):
    Y = X.clone()
    Y.data = X.flip(0)
    return Y.mT


def _alias(X):
    out = X.new_zeros(2, 4, 10)
    a, b = out
    b.copy_(X[0])
    a.copy_(X[1])
    return out.mT


def _alias_of_input(X):
    Y = X.view(80)
    Y[3] = 0.5
    return X.mT


def _resized(X):
    Y = X.clone()
    Y.resize_(2, 50)
    Y.zero_()
    return torch.cat([Y[:, :40].reshape(2, 4, 10), X])


def _storage(X):
    Y = X.mT.contiguous()
    Y.untyped_storage().copy_(torch.full((80,), 3.5).untyped_storage())
    return Y.mT


def _view(X):
    view = X.mT
    X[:, 1] = X[:, 0] * 2
    return view[0]


def _operator(X):
    X += 1
    X[0] *= 2
    return X.mT


def _filled(X):
    X[0].fill_(2.5)
    X[1, 0].copy_(torch.ones(10))
    return X.mT


def _zeroed(X):
    X[0] = 0
    X[1][2] = 7
    X[:, :, 0] = torch.tensor([1.0, 2, 3, 4])
    return X.mT


def _swap(X):
    first = X[0].clone()
    X[0] = X[1]
    X[1] = first
    return X


def _partly(X):
    out = torch.zeros(2, 6, 10)
    out[:, 1:5] = X
    return out.mT


def _tuple_swap(X):
    X[:, 0], X[:, 1] = X[:, 1].clone(), X[:, 0].clone()
    return X


CORPUS = {
    f"{kind}: {name}": fn
    for kind, entries in [
        ("split", SPLITS),
        ("merge", MERGES),
        ("move", MOVES),
        ("new", ARITHMETIC),
        ("nasty", NASTY),
        ("control", CONTROL),
        ("written", WRITTEN),
        ("seen", SEEN),
        ("odd", NEW),
    ]
    for name, fn in entries.items()
}
