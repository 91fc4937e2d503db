"""A process kept as it was, so that many things can be tried from there; and the lines that a step runs."""

import gc
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

from cells import Outcome, in_fork

SECONDS, AT_WORK = 240, 30  # an endless loop is noticed, too: by the clock and, sooner, by the work done


Attempt = tuple[int, str, float]  # what was tried, what came of it, the seconds it took


class Checkpoint:
    """This process as it is now, in a fork that waits to be told what to try."""

    def __init__(self, prepare: Callable[[list[int]], Callable[[int], Outcome]]) -> None:
        """`prepare` gets the numbers of what is tried, and returns what tries one of them."""
        numbers, self._tell = os.pipe()
        self._answers, answers = os.pipe()
        self._child = os.fork()
        if self._child:
            os.close(numbers)
            os.close(answers)
            return
        os.close(self._tell)
        os.close(self._answers)
        with os.fdopen(numbers) as told, os.fdopen(answers, "w") as out:
            wanted = json.loads(told.read() or "[]")
            attempt = prepare(wanted) if wanted else None
            for number in wanted:
                start = time.monotonic()
                outcome = in_fork(lambda number=number: _bounded(attempt, number), SECONDS)
                tried = (number, outcome.difference, time.monotonic() - start)
                print(json.dumps(tried), file=out, flush=True)
        os._exit(0)

    def attempts(self, numbers: Iterable[int]) -> Iterator[Attempt]:
        """Try each from here, and yield what came of it; ends the checkpoint."""
        with os.fdopen(self._tell, "w") as tell:
            json.dump(list(numbers), tell)
        with os.fdopen(self._answers) as answers:
            yield from (tuple(json.loads(line)) for line in answers)
        os.waitpid(self._child, 0)


def _bounded(attempt: Callable[[int], Outcome], number: int) -> Outcome:
    gc.disable()  # to look for garbage would copy all that this fork shares with the process before it
    resource.setrlimit(resource.RLIMIT_CPU, (AT_WORK, AT_WORK))  # of this fork, which has done nothing yet
    return attempt(number)


def streamed(task: Callable[[Callable[[Attempt], None]], None]) -> Iterator[Attempt]:
    """Do a task in a fork of this process, and yield what it hands out, as it comes."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        trouble = 1
        with os.fdopen(write, "w") as out:
            try:
                task(lambda attempt: print(json.dumps(attempt), file=out, flush=True))
                trouble = 0
            except BaseException:
                traceback.print_exc(file=sys.__stderr__)
        os._exit(trouble)
    os.close(write)
    with os.fdopen(read) as lines:
        yield from (tuple(json.loads(line)) for line in lines)
    if os.waitpid(child, 0)[1]:
        sys.exit("A run without any fault fell over.")


class Lines:
    """Which lines below a folder run while this is entered: `new` are those of the last time only."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.new: set[tuple[str, int]] = set()
        self._left: dict[tuple[str, CodeType], set[int]] = {}  # codes of two files may be equal

    def __enter__(self) -> "Lines":
        self.new = set()
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self.folder):
            return None
        key = (code.co_filename, code)
        if key not in self._left:
            self._left[key] = {line for _, _, line in code.co_lines() if line}
        return self._ran if self._left[key] else None

    def _ran(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            file = frame.f_code.co_filename
            left = self._left[file, frame.f_code]
            if frame.f_lineno in left:
                left.discard(frame.f_lineno)
                self.new.add((file, frame.f_lineno))
        return self._ran
