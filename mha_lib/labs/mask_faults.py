"""The example's weights under settings right and wrong, and what is wrong with them."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..example import Example
from ..heads import heads_apart
from ..look.style import head_letter
from ..masks import causal_mask, length_mask, masked_softmax
from ..scoring import dot_product_scores
from ..text import sentences

text = sentences("console")
DROPOUT = 0.5
CLOSE = 2e-3  # float16 sums are right to about this


@dataclass(frozen=True)
class Settings:
    """How to make the weights; the defaults are right. The names are MaskConsole's."""

    lengths: tuple[int, ...] = (3, 2)
    causal: bool = False
    fill: str = "zero"
    dtype: str = "float32"
    scaling: str = "/sqrt(d)"
    dropout: str = "eval"


def may_attend(ex: Example, settings: Settings) -> Tensor:
    """Return who may attend to whom, bool (B, h, L, L), by lengths and causality."""
    B, L, _ = ex.X.shape
    mask = length_mask(torch.tensor(settings.lengths), L)
    if settings.causal:
        mask = mask & causal_mask(L, L)
    return mask.unsqueeze(1).expand(B, ex.num_heads, L, L)


def weights_as_set(ex: Example, settings: Settings) -> Tensor | None:
    """Return the example's weights (B, h, L, L) in the way that the settings say, right or wrong.

    None where torch refuses: a fill that does not fit the dtype.
    """
    mask = may_attend(ex, settings)
    dtype = getattr(torch, settings.dtype)
    q, k = (heads_apart(W(ex.X), ex.num_heads).to(dtype) for W in (ex.layer.W_q, ex.layer.W_k))
    d = q.shape[-1]
    scale = {"/sqrt(d)": None, "none": 1.0, "/d": 1 / d, "*d": float(d)}[settings.scaling]
    scores = dot_product_scores(q, k, scale)
    if settings.fill == "zero":
        weights = masked_softmax(scores, mask)
    else:
        try:
            weights = scores.masked_fill(~mask, float(settings.fill)).softmax(-1)
        except RuntimeError:
            return None
    if settings.dropout == "train":
        # F.dropout takes no generator, and the learner's seed is not ours to move.
        survives = torch.rand(weights.shape, generator=torch.Generator().manual_seed(0)) >= DROPOUT
        weights = weights * survives / (1 - DROPOUT)
    return weights.float()


def findings(ex: Example, settings: Settings, weights: Tensor | None) -> list[str]:
    """Say what is wrong with the weights, one sentence a fault; [] when they are right."""
    fill = text.fills[settings.fill]
    if weights is None:
        return [text.refused.format(fill=fill)]
    mask = may_attend(ex, settings)
    nan = weights.isnan().any(-1)
    dead = ~mask.any(-1)
    leak = ((weights > 0) & ~mask).any(-1)
    sums = weights.sum(-1)
    off = ~nan & ~dead & ((sums - 1).abs() > CLOSE)
    faults = []
    rows_of = {text.nan: nan, text.evenly: leak & dead, text.leak: leak & ~dead, text.sums: off}
    for form, rows in rows_of.items():
        if rows.any():
            b, h, i = rows.nonzero()[0].tolist()
            row = text.row.format(sentence=b + 1, letter=head_letter(h), row=i + 1, word=ex.words[b][i])
            faults.append(form.format(count=int(rows.sum()), row=row, fill=fill, sum=f"{sums[b, h, i]:.2f}"))
    if settings.scaling != "/sqrt(d)":
        faults.append(_compare_scales(ex, settings, ~dead))
    return faults


def _compare_scales(ex: Example, settings: Settings, seeing: Tensor) -> str:
    """Say how far a wrong scale moves the largest weight of the rows that may see a key."""
    name = text.scalings[settings.scaling]
    if not seeing.any():
        return text.scaled_unseen.format(scale=name)
    clean = replace(settings, fill="zero", dropout="eval")
    both = (weights_as_set(ex, each) for each in (clean, replace(clean, scaling="/sqrt(d)")))
    now, right = (f"{w.amax(-1)[seeing].mean():.2f}" for w in both if w is not None)
    return text.scaled.format(scale=name, now=now, right=right)


def remarks(ex: Example, settings: Settings) -> list[str]:
    """Say what is right and yet worth knowing about the lengths."""
    lines = []
    for b, length in enumerate(settings.lengths):
        if length == 0 and settings.fill == "zero":
            lines.append(text.empty.format(sentence=b + 1))
        if length > int(ex.valid_lens[b]):
            lines.append(text.padding.format(sentence=b + 1, length=length, word=ex.words[b][length - 1]))
    return lines
