"""Multi-head attention, seen: the library behind the notebooks.

`import mha_lib as mha` brings the core and torch; pictures and widgets load when used.
"""

import sys
from importlib import import_module
from types import ModuleType

from .errors import InputTypeError, InputValueError, MhaError
from .example import Example, example
from .heads import merge_heads, split_heads, transpose_output, transpose_qkv
from .masks import causal_mask, length_mask, masked_softmax
from .multihead import MultiHeadAttention
from .scoring import AdditiveAttention, DotProductAttention, additive_scores, dot_product_scores
from .table import table

_LAZY = {
    "watch": "watch",
    "plot_moves": "plot_moves",
    "plot_heads": "plot_heads",
    "to_torch": "convert",
    "from_torch": "convert",
    "diagnose": "diagnose",
    "check": "exercises",
    "check_setup": "setup_check",
    "measure_scaling": "scaling",
    "predict": "questions",
    "reveal": "questions",
    "quiz": "questions",
    "who_can_see_whom": "visibility",
    "plot_visibility": "visibility",
    "bugs": "bugs",
}
_MODULES = ("documents", "ladder", "widgets")

__all__ = [
    "AdditiveAttention",
    "DotProductAttention",
    "Example",
    "InputTypeError",
    "InputValueError",
    "MhaError",
    "MultiHeadAttention",
    "additive_scores",
    "causal_mask",
    "dot_product_scores",
    "example",
    "length_mask",
    "masked_softmax",
    "merge_heads",
    "split_heads",
    "table",
    "transpose_output",
    "transpose_qkv",
    *_LAZY,
    *_MODULES,
]


def __getattr__(name: str):
    if name in _LAZY:
        value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    elif name in _MODULES:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module 'mha_lib' has no attribute {name!r}")
    globals()[name] = value
    return value


class _Package(ModuleType):
    """Keeps `mha.watch` the function, also after something has imported the module mha_lib.watch."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _LAZY and isinstance(value, ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
