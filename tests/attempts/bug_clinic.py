import math

import torch

from attempts import Attempts

WARD = {
    "A": "mask_polarity_flipped",
    "B": "keys_and_values_through_W_q",
    "C": "attends_over_heads",
    "D": "right",
}


def listing(layer, X, lengths, scale=0.5, mask_first=True, permute=True, fill=-math.inf):
    B, L, D = X.shape
    h, d = layer.num_heads, D // layer.num_heads
    q, k, v = (W(X).reshape(B, L, h, d).permute(0, 2, 1, 3) for W in (layer.W_q, layer.W_k, layer.W_v))
    scores = q @ k.transpose(2, 3) / d**scale
    lengths = torch.full((B,), L) if lengths is None else lengths
    seen = (torch.arange(L) < lengths[:, None])[:, None, None]
    if mask_first:
        weights = scores.masked_fill(~seen, fill).softmax(-1).nan_to_num(0.0)
    else:
        weights = scores.softmax(-1) * seen
    context = weights @ v
    return layer.W_o((context.permute(0, 2, 1, 3) if permute else context).reshape(B, L, D))


def mended(**how):
    return lambda layer, X, lengths: listing(layer, X, lengths, **how)


def by_einsum(layer, X, lengths):
    q, k, v = (W(X).unflatten(-1, (layer.num_heads, -1)) for W in (layer.W_q, layer.W_k, layer.W_v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
    if lengths is not None:
        scores = scores.masked_fill(torch.arange(X.shape[1]) >= lengths[:, None, None, None], -1e9)
    return layer.W_o(torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(2))


def fused(layer, X, lengths):
    q, k, v = (
        W(X).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2) for W in (layer.W_q, layer.W_k, layer.W_v)
    )
    mask = None if lengths is None else (torch.arange(X.shape[1]) < lengths[:, None])[:, None, None]
    context = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
    return layer.W_o(context.transpose(1, 2).flatten(2))


def in_place(layer, X, lengths):
    q, k, v = (
        W(X).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2) for W in (layer.W_q, layer.W_k, layer.W_v)
    )
    q /= q.shape[-1] ** 0.5
    scores = q @ k.mT
    if lengths is not None:
        for one, n in zip(scores, lengths, strict=True):
            one[:, :, n:] = -1e9
    return layer.W_o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def words(layer, B=3):
    return torch.randn(B, 4, layer.W_q.in_features, generator=torch.Generator().manual_seed(1))


def with_lengths(*lengths, without=True, atol=1e-5):
    def test(layer, right):
        x = words(layer, len(lengths))
        for lens in (None, torch.tensor(lengths)) if without else (torch.tensor(lengths),):
            torch.testing.assert_close(layer(x, x, x, lens), right(x, x, x, lens), atol=atol, rtol=0)

    return test


def by_allclose(layer, right):
    x = words(layer, 5)
    lens = torch.tensor([0, 4, 1, 3, 2])
    return all(torch.allclose(layer(x, x, x, n), right(x, x, x, n), atol=1e-4) for n in (lens, None))


def by_largest_difference(layer, right):
    x = words(layer)
    near = [
        (layer(x, x, x, n) - right(x, x, x, n)).abs().max() < 1e-4 for n in (None, torch.tensor([3, 0, 2]))
    ]
    return bool(near[0]) and bool(near[1])


def by_rounding(layer, right):
    x, lens = words(layer), torch.tensor([1, 0, 3])
    pair = [torch.cat([one(x, x, x), one(x, x, x, lens)]).detach().numpy() for one in (layer, right)]
    assert abs(pair[0] - pair[1]).max() < 1e-4


ATTEMPTS = {
    "bug_clinic.names": Attempts(
        right=[
            WARD,
            dict(reversed(WARD.items())),
            dict(WARD.items()),
            {**WARD},
            dict(zip("ABCD", WARD.values(), strict=True)),
        ],
        wrong=[
            ({**WARD, "D": "no_scale"}, "well"),
            ({**WARD, "A": "right"}, "not_well"),
            ({**WARD, "A": "lengths_ignored"}, "other_bug"),
            ({**WARD, "B": "a cold"}, "no_such_bug"),
            ({**WARD, "C": ...}, "no_name"),
            ({"A": "right"}, "form"),
            ("right", "form"),
        ],
        cheats=[dict.fromkeys("ABCD", "right"), dict.fromkeys("ABCD", "attends_over_heads")],
    ),
    "bug_clinic.mend": Attempts(
        right=[mended(), mended(fill=-1e9), by_einsum, fused, in_place],
        wrong=[
            (mended(scale=-1), "bug"),
            (mended(scale=1), "bug"),
            (mended(mask_first=False), "bug"),
            (mended(permute=False), "bug"),
            (mended(scale=-1, mask_first=False, permute=False), "unknown"),
            (lambda layer, X, lengths: layer(X, X, X, lengths), "calls_the_layer"),
            (lambda layer, X, lengths: X @ lengths, "raised"),
        ],
        cheats=[lambda layer, X, lengths: torch.zeros_like(X), lambda layer, X, lengths: layer(X, X, X)],
    ),
    "bug_clinic.test": Attempts(
        right=[
            with_lengths(0, 2, 3),
            with_lengths(0, 1, 4, 3),
            by_allclose,
            by_largest_difference,
            by_rounding,
        ],
        wrong=[
            (with_lengths(1, 2, 3), "fill_minus_1e9"),
            (with_lengths(0, 2, 3, without=False), "none_without_lengths"),
            (with_lengths(2, 2, 2), "lengths_tiled"),
            (with_lengths(4, 4, 4), "lengths_ignored"),
            (
                lambda layer, right: layer(words(layer), words(layer), words(layer)).shape == (3, 4, 10),
                "refuses",
            ),
            (with_lengths(0, 2, 3, atol=100), "no_scale"),
        ],
        cheats=[lambda layer, right: True, lambda layer, right: False],
    ),
}
