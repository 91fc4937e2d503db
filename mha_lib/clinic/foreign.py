"""A learner's layer, whatever its form: where its maps are, and how to call it."""

import inspect
import itertools
from collections.abc import Callable, Sequence

from torch import Tensor, nn
from torch.nn import functional as F

from ..convert import NAMES, Maps, from_torch, maps_of
from ..errors import type_error, value_error
from ..masks import length_mask
from ..text import read

# Names under which a module may keep its maps (query, key, value, output) and its heads.
MAP_NAMES = (
    *NAMES.values(),
    ("q_proj", "k_proj", "v_proj", "out_proj"),
    ("W_query", "W_key", "W_value", "out_proj"),
    ("query", "key", "value", "proj"),
)
HEAD_NAMES = ("num_heads", "num_attention_heads", "n_heads", "n_head", "heads", "h")
# What a parameter is, by a word in its name: padding (True = shut out), lengths, a mask.
KINDS = {"pad": "pad", "len": "len", "mask": "mask", "keep": "mask"}
OPTIONS = (*KINDS, "weights", "causal", "dropout")  # no inputs of words


def find_maps(source: object, num_heads: int) -> Maps:
    """Return the query, key, value and output map; None for an output map that there is not.

    Args:
        source: a module that has them under the documents' names or is, or holds, an
            nn.MultiheadAttention; or four nn.Linear or tensors (out, in) in the order q, k, v, o.
        num_heads: h; maps that are too small by this factor are filled up with zeros.
    """
    found: Sequence | None = list(source) if isinstance(source, (tuple, list, nn.ModuleList)) else None
    for module in source.modules() if isinstance(source, nn.Module) else ():
        if found is None and isinstance(module, nn.MultiheadAttention):
            found = maps_of(from_torch(module))
        for names in MAP_NAMES:
            maps = [getattr(module, name, None) if name else None for name in names]
            if found is None and all(isinstance(linear, nn.Linear) for linear in maps[:3]):
                found = maps
    if found is None or len(found) != 4:
        mend = "Say where they are: weights=(W_q, W_k, W_v, W_o), or a module that has them."
        raise value_error("weights", "the four maps of the layer", type(source).__name__, mend)
    W_q, W_k, W_v = (_as_linear(linear) for linear in found[:3])
    W_o = None if found[3] is None else _as_linear(found[3])
    # A layer that splits before it projects, or sums its heads, has maps h times too small.
    if W_o is not None and W_q.out_features * num_heads == W_o.in_features:
        W_q, W_k, W_v = (_grown(w, num_heads, num_heads) for w in (W_q, W_k, W_v))
    elif W_o is not None and W_o.in_features * num_heads == W_q.out_features:
        W_o = _grown(W_o, 1, num_heads)
    sizes = {w.out_features for w in (W_q, W_k, W_v)} | ({W_o.in_features} if W_o else set())
    if len(sizes) > 1 or W_q.out_features % num_heads:
        raise value_error("weights", f"maps to one width that h = {num_heads} divides", sorted(sizes))
    return W_q, W_k, W_v, W_o


def _as_linear(given: object) -> nn.Linear:
    if isinstance(given, nn.Linear):
        return given
    if not isinstance(given, Tensor) or given.dim() != 2:
        raise type_error("weights", "nn.Linear or tensors (out, in)", type(given).__name__)
    linear = nn.Linear(given.shape[1], given.shape[0], bias=False, device="meta")
    linear.weight = nn.Parameter(given.detach())
    return linear


def _grown(linear: nn.Linear, rows: int, columns: int) -> nn.Linear:
    """Put the map into the corner of one that is `rows` and `columns` times as large."""
    n, m = (rows - 1) * linear.out_features, (columns - 1) * linear.in_features
    grown = _as_linear(F.pad(linear.weight, (0, m, 0, n)))
    if linear.bias is not None:
        grown.bias = nn.Parameter(F.pad(linear.bias.detach(), (0, n)))
    return grown


def find_heads(*sources: object) -> int:
    """Return h, from an attribute of a module with a usual name."""
    modules = itertools.chain(*(s.modules() for s in sources if isinstance(s, nn.Module)))
    for module, name in itertools.product(modules, HEAD_NAMES):
        if isinstance(getattr(module, name, None), int):
            return getattr(module, name)
    raise value_error("num_heads", "to find it at the layer", None, "Say it: diagnose(…, num_heads=2).")


def find_dropout(layer: object) -> float:
    """Return the first dropout probability above 0 that a module has, or 0."""
    for module in layer.modules() if isinstance(layer, nn.Module) else ():
        for name in ("p",) if isinstance(module, nn.Dropout) else ("dropout", "dropout_p"):
            if isinstance(getattr(module, name, None), float) and getattr(module, name):
                return getattr(module, name)
    return 0.0


class Caller:
    """Calls a layer with queries, keys, values, and lengths or a mask if it takes them.

    Attributes:
        takes_one: whether the layer has one input, for self-attention only.
        lengths: whether it can be told the lengths.
        mask: whether it takes an attn_mask.
        note: what to know about the call, or "".
    """

    def __init__(self, layer: Callable, call: Callable | None = None):
        self.layer = layer if call is None else lambda q, k, v, valid_lens: call(layer, q, k, v, valid_lens)
        self.torch = isinstance(layer, nn.MultiheadAttention)
        batch_second = isinstance(layer, nn.MultiheadAttention) and not layer.batch_first
        self.note = read("diagnose")["notes"]["batch"] if batch_second else ""
        self.signature = inspect.signature(getattr(self.layer, "forward", self.layer))
        parameters = self.signature.parameters.values()
        named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        self.required = {p.name for p in named if p.default is p.empty}
        inputs = list(itertools.takewhile(lambda p: not any(o in p.name.lower() for o in OPTIONS), named))
        self.takes_one = bool(named) and len(inputs) < 3
        rest = named[1:] if self.takes_one else named[3:]
        self.names: dict[str, str] = {}
        for p in rest:
            kind = next((kind for word, kind in KINDS.items() if word in p.name.lower()), None)
            if kind:
                self.names.setdefault(kind, p.name)
        if not self.names and rest and rest[0].name in self.required:
            self.names["len"] = rest[0].name  # what else has to be given, whatever its name
        self.lengths, self.mask = bool(self.names), "mask" in self.names

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens=None, attn_mask=None):
        """Return the layer's output, without its weights."""
        keep = None if valid_lens is None else length_mask(valid_lens, keys.shape[1])
        if keep is not None and self.names.keys() <= {"mask"}:
            attn_mask = keep.expand(-1, queries.shape[1], -1)
        elif self.torch and attn_mask is not None:
            attn_mask = ~attn_mask
        padding = None if keep is None else ~keep[:, 0]
        inputs = (queries,) if self.takes_one else (queries, keys, values)
        bound = self.signature.bind_partial(*(X.transpose(0, 1) if self.note else X for X in inputs))
        for kind, value in {"pad": padding, "len": valid_lens, "mask": attn_mask}.items():
            name = self.names.get(kind)
            if name and (value is not None or name in self.required):
                bound.arguments[name] = value
        output = self.layer(*bound.args, **bound.kwargs)
        output = output[0] if isinstance(output, tuple) else output
        return output.transpose(0, 1) if self.note and isinstance(output, Tensor) else output
