"""What the gallery's notebooks print: what the library says and draws where no lesson leads.

They are for maintainers. nbval runs them with the lessons, so that a line changed by mistake shows
in a diff that a person can read.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterable
from copy import deepcopy
from hashlib import sha256
from typing import Any
from zlib import crc32

import ipywidgets
import torch
from clinic.corpus.all import CORPUS
from clinic.corpus.case import Case
from exercises.test_attempts import TABLES
from moves.corpus_of_moves import CORPUS as FUNCTIONS
from moves.corpus_of_moves import X
from torch.utils._pytree import tree_leaves

import mha_lib as mha
from gallery import unusual
from mha_lib.exercises import find
from mha_lib.look.inventory import inventory
from mha_lib.look.style import Drawing
from mha_lib.moves.layout import WIDE, pictures

warnings.simplefilter("ignore")  # torch's own, which name a file of this machine


def answer(topic: str) -> None:
    """Print what each exercise of a topic says of answers: right ones, wrong ones, cheats."""
    for name in (name for name in TABLES if name.startswith(f"{topic}.")):
        table = TABLES[name]
        passed = sum(bool(mha.check(name, attempt)) for attempt in table.right)
        print(f"{name}: {passed} of {len(table.right)} right answers pass")
        known = getattr(find(name), "mistakes", {})
        for mistake, wrong in known.items():
            print(f"  of the first input {mistake} makes {_made(wrong, *next(iter(find(name).cases())))}")
        for attempt in [wrong for wrong, _ in table.wrong] + table.cheats + [*known.values()]:
            verdict = mha.check(name, attempt)
            print(f"  {verdict.mistake}: {_said(verdict.message)}")
            if verdict.picture:
                print(f"    and offers: {drawn(verdict.picture())}")


def examine(cases: Iterable[Case]) -> None:
    """Print what mha.diagnose finds in layers."""
    for case in cases:
        layer, options = case.build()
        found = mha.diagnose(layer, **options)
        print(f"{case.title}: {', '.join(found.candidates) or found.name}")
        print(f"  {_said(found.message)}")


def layers(fits: Callable[[tuple[str, ...]], bool], every: int) -> list[Case]:
    """Of the corpus's layers whose names fit the first with each name, and every so many-th."""
    fitting = [case for case in CORPUS if fits(case.names)]
    first = {case.names: case for case in reversed(fitting)}
    return [case for case in fitting if first[case.names] is case or crc32(case.title.encode()) % every == 0]


def follow(*kinds: str) -> None:
    """Print what each step of the corpus's functions did, with digests of its cells and of the picture."""
    for name in (name for name in FUNCTIONS if name.partition(":")[0] in kinds):
        torch.manual_seed(1)
        recording = mha.watch(FUNCTIONS[name], X.clone().requires_grad_("gradient" in name))
        print(name)
        for frame, picture in list(zip(recording.frames, pictures(recording, WIDE), strict=True))[1:]:
            within = f" (within {frame.within})" if frame.within else ""
            print(f"  {_short(frame.operation)}{within}: {frame.sentence}")
            for step in frame.steps:
                cells = _digest(str(step.ids.tolist()))
                print(f"    {step.shape} = ({', '.join(step.axis_names)}), stride {step.stride}, {cells}")
            print(f"    drawn {_digest(str(picture))}")


def draw(kind: str) -> None:
    """Print what pictures of a kind hold: all of a figure; of a widget its words, and digests."""
    for name, make in unusual.pictures().items():
        if name.startswith(f"{kind}: "):
            print(f"## {name}", drawn(make()), sep="\n")


def drawn(picture: Any) -> str:
    """All of a figure; of a widget its words, and a digest of each thing that its page gets."""
    if isinstance(picture, Drawing):
        picture.draw_without_rendering()
        return "\n".join(map(_short, f"{picture!r}\n{inventory(picture)}".splitlines()))
    if hasattr(picture, "fallback") and not hasattr(picture, "page_state"):
        return f"{picture!r}\nfallback {_digest(picture.fallback())}"
    if not hasattr(picture, "page_state"):
        return _short(repr(picture)) if isinstance(picture, ipywidgets.Widget) else _digest(repr(picture))
    page = picture.page_state()["state"]
    digests = (f"{name} {_digest(json.dumps(page[name], sort_keys=True))}" for name in sorted(page))
    return "\n".join([repr(picture), *digests, f"fallback {_digest(picture.fallback())}"])


def _made(function: Callable[..., Any], *given: Any) -> str:
    """Of each tensor its shape, and the sum of its numbers, each times its place counted up to 7."""
    found = []
    try:
        results = tree_leaves(function(*deepcopy(given)))
    except Exception as error:
        return type(error).__name__
    for one in results:
        if not isinstance(one, torch.Tensor | int | float):
            return repr(one)
        numbers = torch.as_tensor(one).double()
        places = torch.arange(numbers.numel()).reshape(numbers.shape) % 7 + 1
        found.append(f"{tuple(numbers.shape)} {1.0137 * float((numbers * places).sum()):.2g}")
    return ", ".join(found)


def _said(message: str) -> str:
    """A message in one line; of numbers two decimals, which are the same on every machine."""
    return " ".join(re.sub(r"(\d\.\d\d)\d+", r"\1", message).split())


def _short(line: str) -> str:
    return line if len(line) < 160 else f"{line[:140]} … {_digest(line)}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]
