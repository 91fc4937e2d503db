"""The same weights elsewhere: in nn.MultiheadAttention, in the documents' listings, packed."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .documents import bert, gpt
from .errors import type_error, value_error
from .multihead import MultiHeadAttention
from .scoring import DotProductAttention

Layer = MultiHeadAttention | gpt.MultiHeadAttention | bert.SelfAttention
Projections = tuple[nn.Linear, nn.Linear, nn.Linear, nn.Linear | None]
Weights = tuple[Tensor, Tensor | None]  # and bias

# What each layer calls its projections: query, key, value, output.
NAMES: dict[type[Layer], tuple[str, str, str, str | None]] = {
    MultiHeadAttention: ("W_q", "W_k", "W_v", "W_o"),
    gpt.MultiHeadAttention: ("q_project", "k_project", "v_project", "o_project"),
    bert.SelfAttention: ("query_layer", "key_layer", "value_layer", None),
}

SEPARATE = ("q_proj_weight", "k_proj_weight", "v_proj_weight")  # torch's, where nothing is packed


def projections_of(layer: Layer) -> Projections:
    """Return the query, key, value and output projection of one of our three layers; no W_o is None."""
    for kind, names in NAMES.items():
        if isinstance(layer, kind):
            q, k, v, o = names
            return getattr(layer, q), getattr(layer, k), getattr(layer, v), getattr(layer, o) if o else None
    expected = "an mha.MultiHeadAttention, documents.gpt.MultiHeadAttention or documents.bert.SelfAttention"
    raise type_error("layer", expected, type(layer).__name__)


def dot_product_projections(layer: Layer) -> Projections:
    """Return `projections_of` a layer, which has to score by the scaled dot product."""
    projections = projections_of(layer)
    if not isinstance(layer.attention, DotProductAttention):
        raise value_error("layer", 'scoring="dot", the scaled dot product', "additive scoring")
    return projections


def to_torch(layer: Layer) -> nn.MultiheadAttention:
    """Return an nn.MultiheadAttention (batch_first=True) with a copy of the layer's weights.

    The two agree for every input; remember that torch's boolean masks say True for "shut
    out". documents.bert.SelfAttention, which has no W_o, gets the identity as its output
    projection; documents.gpt's dropout on the output has no place there.

    Raises:
        ValueError: where nn.MultiheadAttention cannot do it: additive scoring, or queries
            whose width is not num_hiddens.
        TypeError: not one of our layers.

    Example:
        >>> layer = MultiHeadAttention(10, 10, 10, 10, 2)
        >>> x = torch.ones(2, 4, 10)
        >>> torch.testing.assert_close(to_torch(layer)(x, x, x)[0], layer(x, x, x))
    """
    W_q, W_k, W_v, W_o = dot_product_projections(layer)
    D = W_q.out_features
    if W_q.in_features != D:
        expected = f"queries of width num_hiddens = {D}"
        mend = "nn.MultiheadAttention has one embed_dim for both; its keys and values may differ."
        raise value_error("layer", expected, W_q.in_features, mend)
    made = nn.MultiheadAttention(
        D,
        layer.num_heads,
        layer.attention.dropout,
        W_q.bias is not None,
        kdim=W_k.in_features,
        vdim=W_v.in_features,
        batch_first=True,
        device=W_q.weight.device,
        dtype=W_q.weight.dtype,
    )
    weights: list[Weights] = [(W.weight, W.bias) for W in (W_q, W_k, W_v)]
    weights.append((torch.eye(D), None) if W_o is None else (W_o.weight, W_o.bias))
    _copy(weights, _weights_of(made))
    return made.train(layer.training)


def _weights_of(module: nn.MultiheadAttention) -> list[Weights]:
    """Return weight and bias of the query, key, value and output projection, where they lie in memory."""
    packed = module.in_proj_weight is not None
    weights = module.in_proj_weight.chunk(3) if packed else [getattr(module, name) for name in SEPARATE]
    biases = (None,) * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
    return [*zip(weights, biases, strict=True), (module.out_proj.weight, module.out_proj.bias)]


@torch.no_grad()
def _copy(source: Sequence[Weights], target: Sequence[Weights]) -> None:
    """Copy weights and biases; where there is a place for a bias and none is given, it is 0."""
    for (weight, bias), (new_weight, new_bias) in zip(source, target, strict=True):
        new_weight.copy_(weight)
        if new_bias is not None:
            new_bias.zero_() if bias is None else new_bias.copy_(bias)


def from_torch(module: nn.MultiheadAttention, into: type[Layer] = MultiHeadAttention) -> Layer:
    """Return one of our layers with a copy of an nn.MultiheadAttention's weights.

    Ours is always batch-first, also where the module is not.

    Args:
        module: packed, or with kdim and vdim of its own.
        into: mha.MultiHeadAttention, documents.gpt.MultiHeadAttention or
            documents.bert.SelfAttention.

    Raises:
        ValueError: where `into` has no place for a weight: add_bias_kv, add_zero_attn, other
            widths, an output projection that is not the identity, dropout.
        TypeError: another kind of module, or of `into`.

    Example:
        >>> from_torch(nn.MultiheadAttention(10, 2)).num_heads
        2
    """
    if not isinstance(module, nn.MultiheadAttention):
        raise type_error("module", "an nn.MultiheadAttention", type(module).__name__)
    if into not in NAMES:
        raise type_error("into", "one of our three layers' classes", into)
    if module.bias_k is not None or module.add_zero_attn:
        mend = "They add a key that is no word; our layers have none."
        raise value_error("module", "neither add_bias_kv nor add_zero_attn", "one of them", mend)
    D = module.embed_dim
    h = module.num_heads
    widths = {module.embed_dim, module.kdim, module.vdim}
    biases = module.in_proj_bias is not None
    if into is not MultiHeadAttention and len(widths) > 1:
        mend = "A self-attention layer has one input."
        raise value_error("module", "one width for queries, keys and values", sorted(widths), mend)
    made: Layer
    if into is MultiHeadAttention:
        made = MultiHeadAttention(module.kdim, D, module.vdim, D, h, module.dropout, biases)
    elif into is gpt.MultiHeadAttention:
        made = gpt.MultiHeadAttention(D, h, attention_dropout=module.dropout)
    else:
        out = module.out_proj
        no_bias = not biases or not module.out_proj.bias.any()
        if not no_bias or not torch.equal(out.weight, torch.eye(D).to(out.weight)):
            mend = "SelfAttention has no output projection: put the module's out_proj after it."
            raise value_error("module", "an out_proj that is the identity", "another one", mend)
        if module.dropout:
            raise value_error("module", "dropout 0, since SelfAttention has none", module.dropout)
        made = bert.SelfAttention(h, D, D)
    made = made.to(module.out_proj.weight)
    linears = [linear for linear in projections_of(made) if linear is not None]
    _copy(_weights_of(module)[: len(linears)], [(linear.weight, linear.bias) for linear in linears])
    return made.train(module.training)


def to_listing(layer: Layer, like: type[Layer]) -> dict[str, Tensor]:
    """Return a layer's weights under the names of another document's listing.

    Args:
        layer: one of our three layers.
        like: the layer whose names are wanted; mha.MultiHeadAttention's are W_q, W_k, W_v,
            W_o, documents.gpt's q_project …, documents.bert's query_layer … without W_o.

    Returns:
        A state that the listing's `load_state_dict` takes; the tensors are copies. Where the
        listing has biases and the layer none, they are 0.

    Raises:
        TypeError: another kind of layer, or of `like`.
        ValueError: only one of the two has an output projection.

    Example:
        >>> layer = MultiHeadAttention(4, 4, 4, 4, 2)
        >>> list(to_listing(layer, gpt.MultiHeadAttention))[0]
        'q_project.weight'
    """
    if like not in NAMES:
        raise type_error("like", "one of our three layers' classes", like)
    pairs = list(zip(NAMES[like], projections_of(layer), strict=True))
    if (pairs[3][0] is None) != (pairs[3][1] is None):
        mend = "documents.bert.SelfAttention has no W_o; no other listing does without."
        raise value_error("like", "a listing with the same projections as the layer", like.__name__, mend)
    state: dict[str, Tensor] = {}
    for name, linear in pairs:
        if linear is not None:
            state |= {f"{name}.{key}": value.detach().clone() for key, value in linear.named_parameters()}
            if linear.bias is None and like is not MultiHeadAttention:  # the other two always have biases
                state[f"{name}.bias"] = linear.weight.new_zeros(linear.out_features)
    return state


def load_listing(layer: Layer, state: dict[str, Tensor]) -> Layer:
    """Copy a listing's state_dict, under any document's names, into one of our layers.

    Args:
        layer: one of our three layers; changed, and returned.
        state: from the `state_dict()` of a layer that was typed from a document.

    Raises:
        ValueError: naming each entry that is missing, misshapen or not known; the layer is
            then left as it was.

    Example:
        >>> mine = gpt.MultiHeadAttention(4, 2)
        >>> same = load_listing(MultiHeadAttention(4, 4, 4, 4, 2, bias=True), mine.state_dict())
        >>> torch.equal(same.W_k.weight, mine.k_project.weight)
        True
    """
    names = max(NAMES.values(), key=lambda n: sum(k.rpartition(".")[0] in n for k in state))
    wanted = {
        f"{name or 'the output projection'}.{key}": parameter
        for name, linear in zip(names, projections_of(layer), strict=True)
        if linear is not None
        for key, parameter in linear.named_parameters()
    }
    faults = [f"{entry} has no place in this layer" for entry in state if entry not in wanted]
    for entry, parameter in wanted.items():
        if entry not in state:
            faults.append(f"{entry} is missing")
        elif state[entry].shape != parameter.shape:
            faults.append(f"{entry} is {tuple(state[entry].shape)}, not {tuple(parameter.shape)}")
    if faults:
        mend = "Make the layer with the listing's sizes, and with bias=True if it has biases."
        raise value_error("state", f"the entries {', '.join(wanted)}", "; ".join(faults), mend)
    with torch.no_grad():
        for entry, parameter in wanted.items():
            parameter.copy_(state[entry])
    return layer


def packed_to_interleaved(packed: Tensor, num_heads: int) -> Tensor:
    """Reorder rows from [q | k | v] to head by head, each head's q, k, v together.

    Shapes: (3D, n) or (3D,) → the same. Some large models' checkpoints have this layout;
    reading one as the other gives the right shapes and wrong heads.

    Example:
        >>> packed_to_interleaved(torch.arange(6), 2).tolist()
        [0, 2, 4, 1, 3, 5]
    """
    return _reorder(packed, num_heads, (3, num_heads))


def interleaved_to_packed(interleaved: Tensor, num_heads: int) -> Tensor:
    """Undo `packed_to_interleaved`."""
    return _reorder(interleaved, num_heads, (num_heads, 3))


def _reorder(rows: Tensor, num_heads: int, axes: tuple[int, int]) -> Tensor:
    if num_heads < 1 or rows.shape[0] % (3 * num_heads):
        expected = f"3 · num_heads = {3 * num_heads} to divide the number of rows"
        raise value_error("packed", expected, f"shape {tuple(rows.shape)}")
    reordered: Tensor = rows.unflatten(0, (*axes, -1)).transpose(0, 1).flatten(0, 2)
    return reordered
