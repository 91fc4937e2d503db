"""What a picture of attention weights needs, read from what people have and checked once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..errors import type_error, value_error
from ..look.style import head_letter
from ..masks import combine_masks
from .words import Words, are_nested, words_of

Weights = Tensor | np.ndarray | Sequence[Tensor] | Sequence[np.ndarray]
AXES = "(layers, B, h, Lq, Lk), (B, h, Lq, Lk), (h, Lq, Lk) or (Lq, Lk), or a list of layers"
NOT_ASKED = "Ask the layer for them: need_weights=True, in transformers output_attentions=True."
NOT_MADE = 'Load the model with attn_implementation="eager": fused attention makes no weights.'


@dataclass(frozen=True)
class WeightMaps:
    """The maps of one sample: a row a query, a column a key.

    Attributes:
        weights: float32, (blocks, h, Lq, Lk), on the CPU.
        mask: bool, as `weights`; True where a query may attend.
        heads: which heads of a block these are.
        queries, keys: the words as they are shown, one a row and one a column.
        slack: how far from 1 a row may sum and still be right, by the weights' dtype.
    """

    weights: Tensor
    mask: Tensor
    heads: tuple[int, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    slack: float

    def name(self, block: int, i: int) -> str:
        """Return the name of the i-th head of a block: "3 J", or "J" where there is one block."""
        letter = head_letter(self.heads[i])
        return f"{block + 1} {letter}" if len(self.weights) > 1 else letter


def _tensor(name: str, value: object) -> Tensor:
    if isinstance(value, Tensor):
        return value.detach()
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return torch.from_numpy(value if value.flags.writeable else value.copy())
    kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise type_error(name, f"a tensor or an array {AXES}", kind, NOT_MADE if value is None else NOT_ASKED)


def _five_axes(weights: Weights) -> Tensor:
    """Return weights as (layers, B, h, Lq, Lk); of a list each entry is a layer."""
    if isinstance(weights, (list, tuple)):
        layers = [_tensor(f"weights[{i}]", layer) for i, layer in enumerate(weights)]
        shapes = [tuple(layer.shape) for layer in layers]
        if not layers or len(shapes[0]) not in (3, 4):
            got = f"the shape {shapes[0]}" if layers else "none"
            raise value_error("weights", "layers (B, h, Lq, Lk) or (h, Lq, Lk)", got)
        for i, shape in enumerate(shapes):
            if shape != shapes[0]:
                mend = "Show layers of one shape at a time."
                raise value_error(f"weights[{i}]", f"the shape of weights[0], {shapes[0]}", shape, mend)
        stacked = torch.stack(layers)
        return stacked if stacked.dim() == 5 else stacked.unsqueeze(1)
    tensor = _tensor("weights", weights)
    if not 2 <= tensor.dim() <= 5:
        raise value_error("weights", f"a tensor {AXES}", f"shape {tuple(tensor.shape)}")
    if tensor.dim() == 5 and not len(tensor):
        raise value_error("weights", "at least one layer", f"shape {tuple(tensor.shape)}")
    while tensor.dim() < 5:  # what is missing is, from the left: layers, batch, heads
        tensor = tensor.unsqueeze(0)
    return tensor


def _refuse_mean(weights: Weights, queries: Words, sample: int | None, valid_lens: Tensor | None) -> None:
    """Refuse three axes that are sentences and not heads: the mean over heads that PyTorch returns."""
    shape = np.shape(weights) if isinstance(weights, (Tensor, np.ndarray)) else ()
    if len(shape) != 3:
        return
    signs = {
        "sample=": sample is not None,
        "words for each sentence": are_nested(queries) and len(queries or ()) == shape[0] > 1,
        "valid_lens for each sentence": isinstance(valid_lens, Tensor)
        and valid_lens.shape[:1] == shape[:1] != (1,),
    }
    for sign, seen in signs.items():
        if seen:
            expected = "four axes (B, h, Lq, Lk) with a batch of sentences"
            mend = "If this is the mean over heads, ask for each: average_attn_weights=False."
            raise value_error("weights", expected, f"shape {tuple(shape)} and {sign}", mend)


def _check_numbers(weights: Tensor) -> None:
    if not weights.numel():
        return
    low, high = weights.aminmax()
    if low.isnan():  # it hides what stands beside it
        low, high = weights.nan_to_num(0.0, float("inf"), float("-inf")).aminmax()
    if low < 0 or high.isinf():
        mend = "These look like scores: apply mha.masked_softmax first."
        raise value_error("weights", "numbers from 0 to 1", "some that are negative or infinite", mend)


def read_maps(
    weights: Weights,
    queries: Words = None,
    keys: Words = None,
    sample: int | None = None,
    heads: Sequence[int] | None = None,
    valid_lens: Tensor | None = None,
    attn_mask: Tensor | None = None,
    own: bool = False,
) -> WeightMaps:
    """Read the weights of one sample, with the words and the mask that belong to them.

    The arguments are those of `plot_heads`; `own` asks for a copy of the weights, for a picture that
    outlives the call.

    Raises:
        TypeError, ValueError: what was wrong with which of them, in one sentence.
    """
    tensor = _five_axes(weights)
    if heads is None:
        _refuse_mean(weights, queries, sample, valid_lens)
    if tensor.is_complex():
        raise value_error("weights", "numbers from 0 to 1", f"the dtype {tensor.dtype}")
    _, B, h, Lq, Lk = tensor.shape
    if sample is None and B != 1:
        mend = "Say which sentence to show: sample=0."
        raise value_error("sample", f"an index for the batch of {B} in weights", "none", mend)
    sample = sample or 0
    if not 0 <= sample < B:
        raise value_error("sample", f"an index from 0 to {B - 1}", sample)
    chosen = list(range(h)) if heads is None else [int(head) for head in heads]
    if not chosen or any(not 0 <= head < h for head in chosen) or len(set(chosen)) != len(chosen):
        raise value_error("heads", f"some of the heads 0 to {h - 1}, each once", chosen)
    maps = tensor[:, sample] if heads is None else tensor[:, sample, chosen]
    # A copy that was made on the way is a copy already.
    floats = maps.float().cpu()
    maps = floats.clone() if own and floats.untyped_storage().data_ptr() == _address(weights) else floats
    _check_numbers(maps)
    mask = combine_masks((B, h, Lq, Lk), valid_lens, attn_mask, "cpu")
    mask = torch.tensor(True) if mask is None else mask
    return WeightMaps(
        weights=maps,
        mask=mask.expand(B, h, Lq, Lk)[sample, chosen].expand(maps.shape),
        heads=tuple(chosen),
        queries=words_of("queries", queries, Lq, sample, B),
        keys=words_of("keys", queries if keys is None and Lq == Lk else keys, Lk, sample, B),
        slack=max(0.002, 4 * _precision(tensor.dtype)),
    )


def _address(weights: Weights) -> int:
    if isinstance(weights, np.ndarray):
        return int(weights.ctypes.data)
    return weights.untyped_storage().data_ptr() if isinstance(weights, Tensor) else 0


def _precision(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps if dtype.is_floating_point else 0.0
