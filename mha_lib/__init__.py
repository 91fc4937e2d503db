"""Multi-head attention, seen: the library behind the notebooks.

`import mha_lib as mha` brings the core and torch; pictures and widgets load when used.
"""

from importlib import import_module

from .errors import InputTypeError, InputValueError, MhaError
from .example import Example, example
from .heads import merge_heads, split_heads, transpose_output, transpose_qkv
from .look.table import table
from .masks import causal_mask, length_mask, masked_softmax
from .multihead import MultiHeadAttention
from .scoring import AdditiveAttention, DotProductAttention, additive_scores, dot_product_scores

_LAZY = {
    "bugs": "clinic.bugs",
    "check": "exercises",
    "check_setup": "exercises.setup_check",
    "diagnose": "clinic.examination",
    "documents": "documents",
    "from_torch": "convert",
    "ladder": "ladder",
    "measure_scaling": "labs.scaling",
    "plot_heads": "heatmaps.figure",
    "plot_moves": "moves.figure",
    "plot_visibility": "clinic.visibility",
    "predict": "widgets.questions",
    "progress": "exercises.standing",
    "quiz": "widgets.questions",
    "reveal": "widgets.questions",
    "to_torch": "convert",
    "watch": "moves.recorder",
    "who_can_see_whom": "clinic.visibility",
    "widgets": "widgets",
}  # the public names that load on first use, each with the module it stands in

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
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'mha_lib' has no attribute {name!r}")
    module = import_module(f".{_LAZY[name]}", __name__)
    return getattr(module, name, module)


def __dir__() -> list[str]:
    return sorted(__all__)
