"""One call of a torch function: its tensors, what kind of operation its name says it is."""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

# Operations that only move cells, whatever the numbers are.
MOVES = frozenset(
    """
    reshape view view_as reshape_as permute transpose swapaxes swapdims movedim moveaxis t T mT H mH adjoint
    flatten unflatten ravel squeeze unsqueeze expand expand_as broadcast_to broadcast_tensors pad_sequence
    contiguous clone chunk tensor_split split split_with_sizes hsplit vsplit dsplit unbind stack cat
    concat concatenate hstack vstack dstack column_stack row_stack __getitem__ narrow select flip
    fliplr flipud roll rot90 repeat tile repeat_interleave pad constant_pad_nd index_select gather take
    take_along_dim masked_select diagonal unfold as_strided tril triu detach data alias block_diag
    diag diag_embed
    atleast_1d atleast_2d atleast_3d permute_copy transpose_copy view_copy expand_copy __reversed__
    t_ transpose_ swapaxes_ swapdims_ squeeze_ unsqueeze_ detach_ requires_grad_ __iter__
    as_strided_ resize_ resize_as_
    scatter put index_copy index_put masked_scatter slice_scatter select_scatter diagonal_scatter
    copy_ __setitem__ scatter_ index_copy_ index_put_ masked_scatter_ masked_fill_ index_fill_
    fill_ put_""".split()
)
# Movements into memory that was there before.
WRITES = frozenset(
    """copy_ __setitem__ scatter_ put_ index_copy_ index_put_ masked_scatter_ masked_fill_ index_fill_
    fill_""".split()
)
# Names that end like a write, but write no number.
NO_WRITES = frozenset(
    """t_ transpose_ swapaxes_ swapdims_ squeeze_ unsqueeze_ detach_ requires_grad_ set_ as_strided_
    resize_ resize_as_""".split()
)
# Movements in which the followed cells may stand in any argument, not in the first alone.
BESIDE = WRITES | set(
    """broadcast_tensors block_diag cat concat concatenate stack hstack vstack dstack column_stack
    row_stack pad_sequence scatter put index_copy index_put masked_scatter slice_scatter select_scatter
    diagonal_scatter""".split()
)
# Another number type or device, the same cells in the same places.
CASTS = frozenset(
    "to type float double half bfloat16 int long short cpu type_as as_tensor asarray bool cfloat".split()
)
# Movements whose way the numbers themselves decide, and which say it in indices along an axis:
# where that axis stands among the arguments.
SORTS = {
    "sort": 1,
    "topk": 2,
    "kthvalue": 2,
    "max": 1,
    "min": 1,
    "median": 1,
    "nanmedian": 1,
    "mode": 1,
    "cummax": 1,
    "cummin": 1,
}
# Arithmetic that never is a movement: not even tried, so that it costs nothing.
COMPUTES = frozenset(
    """linear matmul __matmul__ __rmatmul__ bmm mm mv addmm addbmm baddbmm tensordot softmax log_softmax
    scaled_dot_product_attention multi_head_attention_forward layer_norm conv1d conv2d grad cdist""".split()
)
# Where an argument says which cells, not what is in them.
_INDEX_PLACES = {
    "__getitem__": (1,),
    "__setitem__": (1,),
    "take": (1,),
    "take_along_dim": (1,),
    "masked_select": (1,),
    "masked_scatter": (1,),
    "masked_scatter_": (1,),
    "masked_fill": (1,),
    "masked_fill_": (1,),
    "repeat_interleave": (1,),
    "put": (1,),
    "put_": (1,),
    "index_put": (1,),
    "index_put_": (1,),
    "index_select": (2,),
    "gather": (2,),
    "scatter": (2,),
    "scatter_": (2,),
    "index_copy": (2,),
    "index_copy_": (2,),
    "index_fill_": (2,),
    "embedding": (0,),
}
_INDEX_NAMES = frozenset("index indices mask condition repeats dims dim shape size".split())
# Where a movement may be told to add up instead: put(index, source, accumulate).
_ADDS_PLACES = {"put": 3, "put_": 3, "index_put": 3, "index_put_": 3}
_LEAVES_TORCH = frozenset("numpy tolist item __array__ __dlpack__ untyped_storage".split())


@dataclass
class Call:
    """A torch function with what it was called on."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        """torch's name of the function; the attribute's name for X.T and its like."""
        owner = getattr(self.func, "__self__", None)
        name: str = self.func.__name__
        return str(owner.__name__) if name == "__get__" and owner is not None else name

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors among the arguments."""
        return tensors_of((self.args, self.kwargs))

    @property
    def out(self) -> list[Tensor]:
        """The tensors that the call was told to write into."""
        return tensors_of(self.kwargs.get("out"))

    @property
    def without_out(self) -> "Call":
        """The same call, whose result is a new tensor."""
        return Call(self.func, self.args, {name: arg for name, arg in self.kwargs.items() if name != "out"})

    @property
    def says_in_place(self) -> bool:
        """Whether torch announces that the call writes into an argument."""
        name = self.name
        trailing = name.endswith("_") and not name.endswith("__") and name not in NO_WRITES
        operator = name.startswith("__i") and name not in ("__iter__", "__invert__", "__index__", "__int__")
        told = bool(self.out) or self.kwargs.get("inplace") is True
        return told or trailing or operator or name == "__setitem__"

    @property
    def only_moves(self) -> bool:
        """Whether the name says that cells are moved, and no argument that they are added up."""
        place = _ADDS_PLACES.get(self.name)
        told = self.args[place] if place is not None and len(self.args) > place else False
        adds = told or self.kwargs.get("accumulate") or self.kwargs.get("reduce")
        return self.name in MOVES and not adds

    @property
    def is_unrelated(self) -> bool:
        """Whether the result looks like the argument but holds nothing of it."""
        return self.name.startswith("new_") or self.name.endswith("_like")

    @property
    def leaves_torch(self) -> bool:
        """Whether the numbers go where they cannot be followed."""
        return self.name in _LEAVES_TORCH

    @property
    def may_move(self) -> bool:
        """Whether it is worth trying if the call only moves cells."""
        several = self.name == "einsum" and len(self.tensors) > 1
        return self.name not in COMPUTES and not several

    def with_data(self, swap: Callable[[Tensor], Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with each tensor swapped, but for those that say which cells."""
        places = set(_INDEX_PLACES.get(self.name, ()))
        if self.name == "where":
            places = {next(k for k, arg in enumerate(self.args) if _is_bool(arg))} if self.args else set()
        args = tuple(
            arg if place in places else tree_map_only(Tensor, swap, arg)
            for place, arg in enumerate(self.args)
        )
        kwargs = {
            name: value if name in _INDEX_NAMES else tree_map_only(Tensor, swap, value)
            for name, value in self.kwargs.items()
        }
        return args, kwargs


def _is_bool(arg: Any) -> bool:
    return isinstance(arg, Tensor) and arg.dtype == torch.bool


def tensors_of(tree: Any) -> list[Tensor]:
    """All tensors in a tree of lists, tuples, dicts and dataclasses."""
    tensors: list[Tensor] = []
    for leaf in tree_leaves(tree):
        if isinstance(leaf, Tensor):
            tensors.append(leaf)
        elif is_dataclass(leaf) and not isinstance(leaf, type):
            tensors += tensors_of([getattr(leaf, field.name) for field in fields(leaf)])
    return tensors
