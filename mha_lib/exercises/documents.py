"""Checks for the four documents: a mask for torch, a packed matrix, a rung of one's own."""

import torch

from ..bugs import bugs
from ..convert import pack_qkv
from ..diagnose import diagnose
from ..multihead import MultiHeadAttention
from . import compare, exercise


@exercise("documents.entry")
def entry(attempt):
    """The entry of gpt's state_dict that is (10, 10) and belongs where W_v.weight is."""
    hints = {
        "v_project": "That is the map; its weight is an entry of its own in the state_dict.",
        "value_layer.weight": "That is the name in document 003. Document 002 speaks of projections.",
        "W_v.weight": "That is the name in documents 000 and 001.",
    }
    if attempt == "v_project.weight":
        return None
    return hints.get(attempt, "Print the keys of the layer's state_dict() and pick the one for the values.")


@exercise("documents.mask")
def torch_mask(attempt):
    """A function of keep (B, Lq, Lk), True = may attend, and h → attn_mask (B·h, Lq, Lk) for torch."""
    keep = torch.rand(3, 4, 5, generator=torch.Generator().manual_seed(1)) < 0.5
    before, got = keep.clone(), attempt(keep, 2)
    if not torch.equal(keep, before):
        return "Your function changes the mask that it is given; build a new one."
    if not isinstance(got, torch.Tensor) or got.dtype != torch.bool:
        return f"A boolean tensor is asked for, this is {getattr(got, 'dtype', type(got).__name__)}."
    wrong = {
        "True still means \"may attend\". nn.MultiheadAttention shuts out where its mask is True.": (
            keep.repeat_interleave(2, 0)
        ),
        "The stack reads sentence 1 head A, sentence 1 head B, …: repeat each in place.": ~keep.repeat(2, 1, 1),
        "Polarity and order are both the other way round.": keep.repeat(2, 1, 1),
        "The polarity is right. One mask for each sentence and head is asked for: (B·h, Lq, Lk).": ~keep,
    }
    for hint, mask in wrong.items():
        if got.shape == mask.shape and torch.equal(got, mask):
            return hint
    want = ~keep.repeat_interleave(2, 0)
    if got.shape != want.shape:
        return f"The shape should be (B·h, Lq, Lk) = {tuple(want.shape)}, yours is {tuple(got.shape)}."
    return None if torch.equal(got, want) else "Right shape, but some entries are not ~keep of their sentence."


@exercise("documents.packed")
def packed(attempt):
    """A function of in_proj_weight (3D, D), h and i → q, k, v maps of head i, each (d, D)."""
    q, k, v = torch.arange(3 * 6 * 6).reshape(3, 6, 6).float()
    given, want = pack_qkv(q, k, v), [m[2:4] for m in (q, k, v)]
    got = attempt(given, 3, 1)
    if not isinstance(got, (tuple, list)) or len(got) != 3:
        return "Three matrices are asked for: the head's W_q, W_k and W_v."
    shapes = {tuple(part.shape) for part in got}
    if shapes == {(6, 2)}:
        return "These are columns. A head's part of a projection is d rows of it: each reads all D features."
    stacked = torch.cat(list(got)) if shapes == {(2, 6)} else None
    if stacked is not None and torch.equal(stacked, torch.cat([want[1], want[0], want[2]])):
        return "That is k, q, v. The order in the packed matrix is q, k, v."
    if stacked is not None and torch.equal(stacked, given[6:12]):
        return "You read it head by head. In torch's matrix all of q comes first, then all of k, then all of v."
    for name, part, rows in zip(("W_q", "W_k", "W_v"), got, want, strict=True):
        hint = compare(part, rows)
        if hint:
            return f"{name} of head 1 of 3: {hint}"
    return None


@exercise("documents.rung")
def rung(attempt):
    """A function of a layer and x (B, L, D) that does what layer(x, x, x) does."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        layer = MultiHeadAttention(12, 12, 12, 12, 3, bias=True).double()
    calls = []
    hook = layer.register_forward_hook(lambda *_: calls.append(1))
    found = diagnose(lambda x: attempt(layer, x), weights=layer)
    hook.remove()
    if found.name == "right":
        return "That calls the layer itself. Use its maps W_q, W_k, W_v, W_o only." if calls else None
    if found.name in bugs:
        bug = bugs[found.name]
        return f"{bug.sentence} Look at {bug.look}."
    return found.message.splitlines()[1]
