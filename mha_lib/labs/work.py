"""How the labs do work that takes a while: on one thread, and saying how far it is."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch

Item = TypeVar("Item")


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work on one thread within a `with`, or within a function that this decorates.

    Tensors are small here: several threads gain nothing on them, and wait for one another as
    soon as another program uses a core. Afterwards there are as many threads as before.

    Example:
        >>> with one_thread():
        ...     torch.get_num_threads()
        1
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def progress(items: Sequence[Item], done: str) -> Iterator[Item]:
    """Yield the items; one line says how many are done, and is written over, ten times at most.

    What is left is the same in every run ("8 of 8 models trained"), so nbval can compare it.

    Example:
        >>> [seed for seed in progress(range(2), "models trained")]
        0 of 2 models trained...2 of 2 models trained
        [0, 1]
    """
    total = len(items)
    for count, item in enumerate(items):
        if count % -(-total // 10) == 0:
            print(f"\r{count:>{len(str(total))}} of {total} {done}", end="", flush=True)
        yield item
    print(f"\r{total} of {total} {done}")
