"""Write the widgets as offline pages: python tools/pages.py FOLDER"""

import sys
from pathlib import Path

import torch
from torch import Tensor

import mha_lib as mha
from mha_lib.widgets.base import BrowserPicture


def _split(X: Tensor) -> Tensor:
    return X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5)


def _merge(stack: Tensor) -> Tensor:
    return stack.reshape(2, 2, 4, 5).permute(0, 2, 1, 3).reshape(2, 4, 10)


def _layer(X: Tensor) -> Tensor:
    layer, lengths = mha.example().layer, torch.tensor([3, 3, 2, 2])
    q, k, v = _split(layer.W_q(X)), _split(layer.W_k(X)), _split(layer.W_v(X))
    scores = q @ k.transpose(1, 2) / 5**0.5
    weights = mha.masked_softmax(scores, mha.length_mask(lengths, 4))
    context = weights @ v
    return layer.W_o(_merge(context))


def pages() -> dict[str, tuple[str, BrowserPicture]]:
    """Return each page's file name, title and widget."""
    ex = mha.example()
    right = mha.watch(_split, ex.numbers)
    wrong = mha.watch(lambda X: X.reshape(4, 4, 5), ex.numbers, num_heads=2)
    back = mha.watch(lambda X: _merge(_split(X)), ex.numbers)
    layer = mha.watch(_layer, ex.X)
    lens = ex.valid_lens
    weights = ex.layer(ex.X, ex.X, ex.X, lens, need_weights=True)[1]
    moves, explorer = mha.widgets.TensorMoves, mha.widgets.HeadExplorer
    return {
        "split.html": ("Split into heads", moves(right)),
        "split_right_and_wrong.html": ("The split beside a straight reshape", moves(right, beside=wrong)),
        "split_and_merge.html": ("Into heads and back", moves(back)),
        "layer.html": ("One multi-head layer, step by step", moves(layer)),
        "heads.html": ("What each head looks at", explorer(weights, ex.words[0], sample=0, valid_lens=lens)),
    }


def main(folder: str) -> None:
    """Write every page into `folder` and say where."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, (title, widget) in pages().items():
        print(widget.save_html(Path(folder) / name, title=title))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/pages.py FOLDER")
    main(sys.argv[1])
