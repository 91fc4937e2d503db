"""Write the widgets as offline pages: python -m mha_lib.site FOLDER"""

import sys
from pathlib import Path

import mha_lib as mha
from mha_lib.widgets.base import BrowserPicture


def pages() -> dict[str, tuple[str, BrowserPicture]]:
    """Return each page's file name, title and widget."""
    ex = mha.example()
    B, L, D, h = *ex.X.shape, ex.num_heads
    numbers = ex.numbers.float()
    right = mha.watch(lambda X: mha.split_heads(X, h), numbers)
    wrong = mha.watch(lambda X: X.reshape(B * h, L, D // h), numbers)
    back = mha.watch(lambda X: mha.merge_heads(mha.split_heads(X, h), h), numbers)
    layer = mha.watch(lambda X: ex.layer(X, X, X, ex.valid_lens, need_weights=True)[0], ex.X)
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
        sys.exit("usage: python -m mha_lib.site FOLDER")
    main(sys.argv[1])
