"""Where a learner's layer has W_q, W_k, W_v and W_o: read as (out, in), whatever their form."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch import Tensor, nn

from ..convert import from_torch, projections_of
from ..errors import type_error, value_error
from .faulty import Projection, TensorProjection
from .names import GROUPS, HEADS, WIDTHS, Part, bias_of, part_of
from .reading import Reading, fitted

_MEND = "Say where they are: weights=(W_q, W_k, W_v, W_o), or a module that has them."


class Form(Enum):
    """How a weight lies in memory."""

    OUT_IN = "(out, in)"  # as nn.Linear keeps it
    IN_OUT = "(in, out)"
    EITHER = "a matrix of one's own"


@dataclass(frozen=True, eq=False)
class _Entry:
    """A weight that a module has, with its name apart from where it stands."""

    place: tuple[str, ...]
    name: str
    weight: Tensor
    bias: Tensor | None
    form: Form


def find_readings(source: object, num_heads: int | None) -> list[Reading]:
    """Return every way to read the projections, the likeliest first.

    Args:
        source: a module that has them; or four nn.Linear or tensors (out, in) in the order
            q, k, v, o (o may be None).
        num_heads: h, or None where it is not known.

    Raises:
        ValueError, TypeError: where no projections are found, or they do not fit together.
    """
    readings: list[Reading] = []
    refused: list[tuple[tuple[int, ...], ...]] = []
    for projections in _candidates(source, num_heads):
        for heads in [num_heads] if num_heads else _possible_heads(projections):
            made = fitted(projections, heads)
            if made:
                readings.append(made)
            else:
                refused.append(tuple(tuple(one.weight.shape) for one in projections if one is not None))
    if readings:
        return readings
    if refused:
        heads_known = f"h = {num_heads}" if num_heads else "h"
        raise value_error(
            "weights", f"projections to one width that {heads_known} divides", sorted(set(refused))
        )
    raise value_error("weights", "the four projections of the layer", type(source).__name__, _MEND)


def _possible_heads(projections: Sequence[Projection | None]) -> list[int]:
    width = projections[0].weight.shape[0] if projections[0] is not None else 1
    return [h for h in range(1, width + 1) if width % h == 0]


def find_heads(*sources: object) -> int | None:
    """Return h from an attribute with a usual name, from the width of a head, or from a list of heads."""
    modules = [m for source in sources if isinstance(source, nn.Module) for m in source.modules()]
    for module, name in itertools.product(modules, HEADS):
        value = getattr(module, name, None)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    for source in sources:
        for entries in _grouped(source).values() if isinstance(source, nn.Module) else ():
            if len(entries) > 1 and part_of(entries[0].name) in (Part.QUERY, Part.ALL):
                return len(entries)
    for source, name in itertools.product(sources, WIDTHS):
        width = getattr(source, name, None)
        if isinstance(width, int) and width > 0 and isinstance(source, nn.Module):
            for projections in _candidates(source, None):
                return projections[0].weight.shape[0] // width if projections[0] is not None else None
    return None


def find_groups(source: object) -> int | None:
    """Return how many key and value heads a module says that it has."""
    for module, name in itertools.product(source.modules() if isinstance(source, nn.Module) else (), GROUPS):
        value = getattr(module, name, None)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def input_width(layer: object) -> int:
    """Return how many features a word has for the layer's queries."""
    return find_readings(layer, find_heads(layer) or 1)[0].widths[0]


# ---- what may be the four projections


def _candidates(source: object, num_heads: int | None) -> Iterator[Sequence[Projection | None]]:
    if isinstance(source, tuple | list):
        if len(source) != 4:
            raise value_error(
                "weights", "four projections in the order q, k, v, o", f"{len(source)} of them", _MEND
            )
        yield [None if one is None and i == 3 else _as_projection(one) for i, one in enumerate(source)]
        return
    if not isinstance(source, nn.Module):
        return
    for module in source.modules():
        if isinstance(module, nn.MultiheadAttention):
            yield projections_of(from_torch(module)) if not _trainable(module) else _of_torch(module)
            return
    groups = _grouped(source)
    biases = _biases(source)
    named = list(_by_name(groups, biases, num_heads, find_groups(source)))
    yield from named or _by_order(groups)


def _trainable(module: nn.MultiheadAttention) -> bool:
    return module.bias_k is None and not module.add_zero_attn


def _of_torch(module: nn.MultiheadAttention) -> list[Projection | None]:
    """Read torch's layer so that gradients reach its own parameters."""
    if module.in_proj_weight is not None:
        weights = list(module.in_proj_weight.chunk(3))
    else:
        weights = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
    bias: Tensor | None = module.in_proj_bias
    biases: list[Tensor | None] = [None] * 3 if bias is None else list(bias.chunk(3))
    projections: list[Projection | None] = [
        TensorProjection(w, b) for w, b in zip(weights, biases, strict=True)
    ]
    return [*projections, TensorProjection(module.out_proj.weight, module.out_proj.bias)]


def _as_projection(given: object) -> Projection:
    if isinstance(given, nn.Linear):
        return given
    if isinstance(given, nn.Module) and _is_linear(given):
        weight: Any = given.weight
        bias: Any = getattr(given, "bias", None)
        return TensorProjection(weight.T if type(given).__name__ == "Conv1D" else weight, bias)
    if not isinstance(given, Tensor) or given.dim() != 2:
        raise type_error("weights", "nn.Linear or tensors (out, in)", type(given).__name__)
    return TensorProjection(given)


def _is_linear(module: nn.Module) -> bool:
    weight = getattr(module, "weight", None)
    if isinstance(module, nn.Embedding) or not isinstance(weight, Tensor):
        return False
    kernel_one = isinstance(module, nn.Conv1d) and weight.shape[-1] == 1
    return weight.dim() == 2 or kernel_one


def _grouped(source: nn.Module) -> dict[tuple[str, ...], list[_Entry]]:
    """Return the weights by where they stand, those of a list together, in their order."""
    groups: dict[tuple[str, ...], list[_Entry]] = {}
    for entry, template in _entries(source):
        groups.setdefault(template, []).append(entry)
    return groups


def _entries(source: nn.Module) -> Iterator[tuple[_Entry, tuple[str, ...]]]:
    inside: list[str] = []
    for path, module in source.named_modules():
        place = tuple(path.split(".")) if path else ()
        if _is_linear(module) and path:
            inside.append(path + ".")
            weight, bias = module.weight, getattr(module, "bias", None)
            assert isinstance(weight, Tensor)
            form = {"Conv1D": Form.IN_OUT}.get(type(module).__name__, Form.EITHER)
            form = Form.OUT_IN if isinstance(module, nn.Linear | nn.Conv1d) else form
            yield _entry(place, weight.flatten(1), bias if isinstance(bias, Tensor) else None, form)
        elif not any(f"{path}.".startswith(prefix) for prefix in inside):
            for name, parameter in module.named_parameters(recurse=False):
                if parameter.dim() in (2, 3):
                    yield _entry((*place, name), parameter, None, Form.EITHER)


def _entry(
    place: tuple[str, ...], weight: Tensor, bias: Tensor | None, form: Form
) -> tuple[_Entry, tuple[str, ...]]:
    words = [word for word in place if not word.isdigit()]
    template = tuple("*" if word.isdigit() else word for word in place)
    return _Entry(place[:-1], words[-1] if words else "", weight, bias, form), template


def _biases(source: nn.Module) -> dict[Part, Tensor]:
    biases: dict[Part, Tensor] = {}
    for path, parameter in source.named_parameters():
        part = bias_of(path.rpartition(".")[2]) if parameter.dim() == 1 else None
        if part:
            biases.setdefault(part, parameter)
    return biases


# ---- by their names


def _by_name(
    groups: dict[tuple[str, ...], list[_Entry]],
    biases: dict[Part, Tensor],
    num_heads: int | None,
    num_groups: int | None,
) -> Iterator[Sequence[Projection | None]]:
    owners: dict[tuple[str, ...], dict[Part, list[_Entry]]] = {}
    for template, entries in groups.items():
        part = part_of(entries[0].name)
        several = len(entries) > 1 and template[-1] == "*" and part is Part.OUTPUT
        if part and not several:
            owners.setdefault(template[:-1] if template[-1] != "*" else template[:-2], {}).setdefault(
                part, entries
            )
    outputs = [entries for parts in owners.values() for part, entries in parts.items() if part is Part.OUTPUT]
    for parts in owners.values():
        complete = {Part.QUERY, Part.KEY, Part.VALUE} <= parts.keys()
        packed = Part.ALL in parts or {Part.QUERY, Part.KEY_VALUE} <= parts.keys()
        if not complete and not packed:
            continue
        own_matrices = any(e.form is Form.EITHER for entries in groups.values() for e in entries)
        for turned, turned_out in (
            itertools.product((True, False), repeat=2) if own_matrices else [(False, False)]
        ):
            three = _three(parts, biases, num_heads, num_groups, turned, complete)
            own = [parts[Part.OUTPUT]] if Part.OUTPUT in parts else []
            used = {id(entry) for part in parts if part is not Part.OUTPUT for entry in parts[part]}
            rest = [e for e in groups.values() if len(e) == 1 and id(e[0]) not in used]
            yield [
                *three,
                _output(three[2], [*own, *outputs, *rest], biases.get(Part.OUTPUT), turned_out, num_heads),
            ]
        return


def _three(
    parts: dict[Part, list[_Entry]],
    biases: dict[Part, Tensor],
    num_heads: int | None,
    num_groups: int | None,
    turned: bool,
    complete: bool,
) -> list[Projection]:
    def joined(part: Part) -> TensorProjection:
        return _joined(parts[part], biases.get(part), turned, num_heads)

    if complete:
        return [joined(part) for part in (Part.QUERY, Part.KEY, Part.VALUE)]
    if Part.ALL not in parts:
        return [joined(Part.QUERY), *_cut(joined(Part.KEY_VALUE), 2)]
    packed = joined(Part.ALL)
    out, width = packed.weight.shape
    if len(parts[Part.ALL]) > 1:  # a list of heads, each with a packed matrix of its own
        each = [_cut(_joined([entry], None, turned, num_heads), 3) for entry in parts[Part.ALL]]
        return [_stacked([one[i] for one in each]) for i in range(3)]
    if num_heads and num_groups and num_groups < num_heads:
        d = out // (num_heads + 2 * num_groups)
        return _cut_at(packed, [num_heads * d, num_groups * d, num_groups * d])
    if out % 3 or (out != 3 * width and (out - width) % 2 == 0 and width < out < 3 * width):
        return _cut_at(packed, [width, (out - width) // 2, (out - width) // 2])
    return _cut(packed, 3)


def _joined(
    entries: list[_Entry], bias: Tensor | None, turned: bool, num_heads: int | None
) -> TensorProjection:
    projections = [_read(entry, turned, num_heads) for entry in entries]
    made = projections[0] if len(projections) == 1 else _stacked(projections)
    if made.bias is None and bias is not None and bias.numel() == len(made.weight):
        return TensorProjection(made.weight, bias.flatten())
    return made


def _stacked(projections: Sequence[Projection]) -> TensorProjection:
    biases = [one.bias for one in projections if one.bias is not None]
    return TensorProjection(
        torch.cat([one.weight for one in projections]),
        torch.cat(biases) if len(biases) == len(projections) else None,
    )


def _cut(packed: TensorProjection, n: int) -> list[Projection]:
    return _cut_at(packed, [len(packed.weight) // n] * n)


def _cut_at(packed: TensorProjection, sizes: list[int]) -> list[Projection]:
    weights = packed.weight.split(sizes)
    biases: Sequence[Tensor | None] = [None] * len(sizes) if packed.bias is None else packed.bias.split(sizes)
    return [TensorProjection(w, b) for w, b in zip(weights, biases, strict=True)]


def _read(entry: _Entry, turned: bool, num_heads: int | None) -> TensorProjection:
    """Return an entry as (out, in): x W is turned, heads on an axis of their own lie side by side."""
    weight = entry.weight
    if weight.dim() == 3:
        weight = _of_heads(weight, num_heads)
        return TensorProjection(weight, entry.bias)
    turn = entry.form is Form.IN_OUT or (entry.form is Form.EITHER and turned)
    return TensorProjection(weight.T if turn else weight, entry.bias)


def _of_heads(weight: Tensor, num_heads: int | None) -> Tensor:
    """(h, D, d), (D, h, d) or (h, d, D) → (h·d, D)."""
    head = next((axis for axis in (0, 1) if weight.shape[axis] == num_heads), 0)
    first = weight.movedim(head, 0)
    wide = first if first.shape[1] >= first.shape[2] else first.mT
    return wide.mT.flatten(0, 1)


def _output(
    W_v: Projection, choices: list[list[_Entry]], bias: Tensor | None, turned: bool, num_heads: int | None
) -> TensorProjection | None:
    wide = len(W_v.weight)
    for entries in choices:
        if len(entries) != 1 or entries[0].weight.dim() > 3:
            continue
        entry = entries[0]
        if entry.weight.dim() == 3:  # (h, d, D) or (D, h, d)
            weight = entry.weight
            made = TensorProjection(
                weight.flatten(0, 1).T if weight.shape[0] == num_heads else weight.flatten(1), bias
            )
        else:
            made = _joined([entry], bias, turned, num_heads)
        if (
            num_heads is None
            or made.weight.shape[1] in (wide, wide * num_heads, wide // num_heads)
            or made.weight.shape[1] % wide == 0
        ):
            return made
    return None


# ---- by their order, where names say nothing


def _by_order(groups: dict[tuple[str, ...], list[_Entry]]) -> Iterator[Sequence[Projection | None]]:
    entries = [entry for group in groups.values() for entry in group if entry.weight.dim() == 2]
    for turned in (True, False) if any(entry.form is Form.EITHER for entry in entries) else (False,):
        projections = [_read(entry, turned, None) for entry in entries]
        if len(projections) == 2 and len(projections[0].weight) == 3 * projections[1].weight.shape[1]:
            yield [*_cut(projections[0], 3), projections[1]]
        if len(projections) in (3, 4):
            W_o = projections[3] if len(projections) == 4 else None
            for q, k, v in itertools.permutations(projections[:3]):
                yield [q, k, v, W_o]
