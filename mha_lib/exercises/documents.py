"""Checks for the four documents: a mask for torch, a packed matrix, a rung of one's own."""

from collections.abc import Callable

import torch

from ..clinic.bugs import bugs
from ..clinic.examination import diagnose
from ..multihead import MultiHeadAttention
from . import judge, random_layer


def check_mask(attempt):
    """A function of keep (B, Lq, Lk), True = may attend, and h → attn_mask (B·h, Lq, Lk) for torch."""
    keep = torch.rand(3, 4, 5, generator=torch.Generator().manual_seed(1)) < 0.5
    before, got = keep.clone(), attempt(keep, 2)
    if not torch.equal(keep, before):
        yield "Your function changes the mask that it is given; build a new one."
    in_place, tiled = keep.repeat_interleave(2, 0), keep.repeat(2, 1, 1)
    mistakes = {
        'True still means "may attend". nn.MultiheadAttention shuts out where its mask is True.': in_place,
        "The stack reads sentence 1 head A, sentence 1 head B, …: repeat each in place.": ~tiled,
        "Polarity and order are both the other way round.": tiled,
        "The polarity is right. One mask for each sentence and head is asked for: (B·h, Lq, Lk).": ~keep,
    }
    yield judge(got, ~in_place, mistakes)


def check_packed(attempt):
    """A function of in_proj_weight (3D, D), h and i → q, k, v maps of head i, each (d, D)."""
    given = torch.arange(18.0 * 6).view(18, 6)
    got = attempt(given, 3, 1)
    if not isinstance(got, (tuple, list)) or len(got) != 3:
        yield "Three matrices are asked for: the head's W_q, W_k and W_v."
    q, k, v = (part[2:4] for part in given.chunk(3))
    columns = torch.cat([part[:, 2:4] for part in given.chunk(3)])
    by_head = (
        "You read it head by head. In torch's matrix all of q comes first, then all of k, then all of v."
    )
    mistakes = {
        "These are columns. A head's part of a projection is d rows of it: each reads all D features.": columns,
        "That is k, q, v. The order in the packed matrix is q, k, v.": torch.cat([k, q, v]),
        by_head: given[6:12],
    }
    if hint := judge(torch.cat(tuple(got)), torch.cat([q, k, v]), mistakes):
        yield f"Head 1 of 3, its W_q over W_k over W_v: {hint}"


def examine(layer: MultiHeadAttention, function: Callable, fine: tuple[str, ...] = ("right",)):
    """Diagnose a function that is to do by the layer's maps what the layer does.

    Returns the diagnosis, and what to tell the learner: None where all is well, or the
    diagnosis has no name.
    """
    calls = []
    hook = layer.register_forward_hook(lambda *_: calls.append(1))
    found = diagnose(function, weights=layer)
    hook.remove()
    if found.name in fine:
        return found, "That calls the layer itself. Use its maps W_q, W_k, W_v, W_o only." if calls else None
    bug = bugs.get(found.name)
    return found, bug and f"{bug.sentence} Look at {bug.look}."


def check_rung(attempt):
    """A function of a layer and x (B, L, D) that does what layer(x, x, x) does."""
    layer = random_layer(12, 3, bias=True).double()
    found, hint = examine(layer, lambda x: attempt(layer, x))
    yield found.message.splitlines()[1] if found.name == "unknown" else hint
