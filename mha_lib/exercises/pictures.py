"""A wrong answer beside the right one: the moves of its cells, or two heatmaps."""

import html
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import ipywidgets
import torch
from torch import Tensor

from ..heads import split_heads
from ..heatmaps.html import weight_table
from ..look.style import head_letter
from ..moves.recorder import watch
from ..moves.recording import Recording, Step
from ..text import sentences
from ..widgets.tensor_moves import TensorMoves
from .compare import as_tensor, close

text = sentences("learning")
Function = Callable[..., Any]
Arguments = tuple[Any, ...]


def moves_of_split(attempt: Function, right: Function, args: Arguments) -> Any:
    """Show what the attempt does to X, beside the right stack."""
    h = args[-1]
    return _moves(attempt, right, args, blocks=lambda stack: stack.unflatten(0, (-1, h)))


def moves_of_merge(attempt: Function, right: Function, args: Arguments) -> Any:
    """Show the way there and back: a right split, then what the attempt does to the stack."""
    stack, h = args
    X = right(stack, h)

    def there_and_back(merge: Function) -> Function:
        return lambda X, h: merge(split_heads(X, h), h)

    yours, theirs = there_and_back(attempt), there_and_back(right)
    return _moves(yours, theirs, (X, h), blocks=lambda Y: Y.unflatten(-1, (h, -1)).transpose(1, 2))


def moves_of_heads_first(attempt: Function, right: Function, args: Arguments) -> Any:
    """Show what the attempt does to X, beside the stack with the heads first."""
    h = args[-1]
    yours, theirs = _stack_of(attempt), _stack_of(right)
    return _moves(yours, theirs, args, blocks=lambda stack: stack.unflatten(0, (h, -1)).transpose(0, 1))


def _stack_of(function: Function) -> Function:
    return lambda *args: function(*args)[0]


def _moves(attempt: Function, right: Function, args: Arguments, blocks: Callable[[Tensor], Tensor]) -> Any:
    """Return the moves side by side; `blocks` cuts a result into (sentence, head, …)."""
    X, *rest = args

    def of_X(function: Function) -> Callable[[Tensor], Any]:
        return lambda X: function(X, *deepcopy(rest))

    got, want = (as_tensor(of_X(function)(X.clone())) for function in (attempt, right))
    assert got is not None and want is not None  # pictures are for results of the right shape
    named = first_wrong_block(blocks(got), blocks(want))
    try:
        yours, theirs = (watch(of_X(function), X, num_heads=rest[-1]) for function in (attempt, right))
    except Exception:  # code that leaves torch cannot be followed, and may raise anything under a recorder
        return _words(named, text.not_followed)
    lanes = (text.theirs, text.yours)
    moves = TensorMoves(theirs, beside=yours, names=lanes, step=first_difference(theirs, yours))
    return ipywidgets.VBox([_words(named, text.opens), moves])


def _words(*sentences: str) -> ipywidgets.HTML:
    return ipywidgets.HTML(f"<p>{html.escape(' '.join(sentences))}</p>")


def first_difference(one: Recording, two: Recording) -> int:
    """Return the number of the first frame in which the two show other shapes, or cells in other places."""
    last = max(len(one.frames), len(two.frames)) - 1
    for number in range(last):
        shown = (lane.frames[min(number, len(lane.frames) - 1)].steps for lane in (one, two))
        if not _equal_steps(*shown):
            return number
    return last


def _equal_steps(one: Sequence[Step], two: Sequence[Step]) -> bool:
    return len(one) == len(two) and all(a.ids.equal(b.ids) for a, b in zip(one, two, strict=True))


def first_wrong_block(got: Tensor, want: Tensor) -> str:
    """Name the first block of (sentence, head, …) in which the two differ."""
    wrong = (~close(got, want)).flatten(2).any(2).nonzero().tolist()
    if not wrong:
        return str(text.blocks_right)
    sentence, head = wrong[0]
    return str(
        text.wrong_block.format(
            sentence=sentence + 1, letter=head_letter(head), wrong=len(wrong), all=got.shape[0] * got.shape[1]
        )
    )


def heatmaps(attempt: Function, right: Function, args: Arguments) -> Any:
    """Return two heatmaps, the attempt's and the right one: the first matrix that differs."""
    want = right(*deepcopy(args))
    got = as_tensor(attempt(*deepcopy(args)))
    assert got is not None  # pictures are for results of the right shape
    shown = got.reshape(want.shape), want
    matrices = [one.float().reshape(-1, *want.shape[-2:]) for one in shown]
    place = int((~close(matrices[0], matrices[1])).flatten(1).any(1).nonzero()[0])
    yours, theirs = (one[place] for one in matrices)
    rows, columns = ([str(i) for i in range(n)] for n in theirs.shape)
    everywhere = torch.ones_like(theirs, dtype=torch.bool)
    pair = zip((text.yours, text.theirs), (yours, theirs), strict=True)
    tables = [weight_table(caption, one, everywhere, rows, columns, sums=True) for caption, one in pair]
    number = text.matrix.format(number=place + 1, all=len(matrices[0])) if len(matrices[0]) > 1 else ""
    side_by_side = f'<div style="display:flex;flex-wrap:wrap;gap:24px">{"".join(tables)}</div>'
    return ipywidgets.HTML(f"<p>{number}</p>{side_by_side}")
