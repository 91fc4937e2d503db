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

_OWN_MODULE = ("bugs", "diagnose", "documents", "ladder", "plot_heads", "plot_moves", "watch", "widgets")
_LAZY = {name: name for name in _OWN_MODULE} | {
    "to_torch": "convert",
    "from_torch": "convert",
    "check": "exercises",
    "check_setup": "setup_check",
    "measure_scaling": "scaling",
    "predict": "questions",
    "reveal": "questions",
    "quiz": "questions",
    "who_can_see_whom": "visibility",
    "plot_visibility": "visibility",
}

__all__ = [
    "AdditiveAttention", "DotProductAttention", "Example", "InputTypeError", "InputValueError",
    "MhaError", "MultiHeadAttention", "additive_scores", "causal_mask", "dot_product_scores",
    "example", "length_mask", "masked_softmax", "merge_heads", "split_heads", "table",
    "transpose_output", "transpose_qkv", *_LAZY,
]  # fmt: skip


def __getattr__(name: str):
    if name not in _LAZY:
        raise AttributeError(f"module 'mha_lib' has no attribute {name!r}")
    module = import_module(f".{_LAZY[name]}", __name__)
    return getattr(module, name, module)


class _Package(ModuleType):
    """Keeps `mha.watch` the function, also when the import of mha_lib.watch sets it to the module."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, getattr(value, name, value))


sys.modules[__name__].__class__ = _Package
