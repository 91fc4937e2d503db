"""What the recorded steps mean: names for their axes, and one sentence on what happened."""

from collections.abc import Sequence
from dataclasses import replace

from ..text import sentences
from .axes import Axis, Origin, axis_name, default_axes, name_axes, new_axes, with_heads
from .recording import Step

words = sentences("moves")
_ALIKE = {
    "bmm": "matmul",
    "baddbmm": "matmul",
    "mm": "matmul",
    "div": "scale",
    "mul": "scale",
    "masked_fill": "mask",
    "where": "mask",
}


def name_steps(
    steps: Sequence[Step],
    origins: Sequence[Origin],
    axes: Sequence[str] | None,
    num_heads: int | None,
) -> tuple[list[Step], list[Origin], int | None]:
    """Return the steps with axes, origins and sentences, the origins with axes, and the heads."""
    steps, origins = list(steps), list(origins)
    heads = num_heads or _heads(steps, origins)
    births = {origin.step: number for number, origin in enumerate(origins)}
    for number, step in enumerate(steps):
        if number in births:
            inputs = [steps[parent].axes for parent in step.parents]
            own = new_axes(step.name, inputs, step.shape) if inputs else default_axes(step.shape, axes)
            born = births[number]
            origins[born] = replace(origins[born], axes=with_heads(own, heads))
        ids = step.ids.numpy()
        used = tuple(origin for origin in origins if origin.holds(ids).any())
        named, mixed = name_axes(ids, used)
        sentence = words.sentences.get(_what(step, steps, number in births)) or _meaning(step, named)
        if step.kind == "move" and mixed:
            said = [words.mixed.format(axis=a, names=words.both.join(names)) for a, names in mixed.items()]
            sentence += f" {', '.join(said).capitalize()}."
        steps[number] = replace(
            step, axes=named, origins=used, sentence=sentence.format(origin=origins[0].name)
        )
    return steps, origins, heads


def _heads(steps: Sequence[Step], origins: Sequence[Origin]) -> int | None:
    """Read the number of heads off the first step whose last axis is a piece of the features."""
    for step in steps:
        if step.ids.ndim and step.ids.numel():
            made = [steps[origin.step].shape for origin in origins if origin.holds(int(step.ids.max()))]
            piece, width = step.shape[-1], next((shape[-1] for shape in made if shape), 0)
            together = (step.ids[..., -1] - step.ids[..., 0] == piece - 1).all()
            if 1 < piece < width and width % piece == 0 and together:
                return width // piece
    return None


def _what(step: Step, steps: Sequence[Step], new: bool) -> str:
    """Name what happened, from the addresses and the memory alone; a key of SENTENCES, or ""."""
    if step.kind == "new values":
        return ""
    if step.kind != "move":
        return "write" if step.kind == "in place" and not new else step.kind
    old = steps[step.parents[0]]
    order = step.ids.flatten().equal(old.ids.flatten())
    fewer = step.ids.numel() < old.ids.numel()
    repeats = len(step.ids[step.ids >= 0].unique()) < (step.ids >= 0).sum()
    if step.shares_memory:
        if order:
            return "same" if (step.shape, step.stride) == (old.shape, old.stride) else "cut"
        return "repeat view" if repeats else "part" if fewer else "walk"
    if (step.ids < 0).sum() > (old.ids < 0).sum():
        return "fill"
    if len(step.parents) > 1:
        return "join"
    if order and old.is_contiguous:
        return "copy same"
    return "copy repeat" if repeats else "copy part" if fewer else "copy order"


def _meaning(step: Step, axes: tuple[Axis, ...]) -> str:
    """Say what arithmetic means, where it is one of attention's own operations."""
    operation = _ALIKE.get(step.name, step.name)
    last = [axis_name(axis, number) for number, axis in enumerate(axes)][-2:]
    if operation == "matmul" and last == ["query", "key"]:
        operation = "scores"
    elif operation == "matmul" and last == ["query", "feature"]:
        operation = "context"
    return words.meanings.get(operation, words.sentences["new values"])
