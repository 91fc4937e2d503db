"""Pictures that answer: each of them loads when it is first asked for."""

from importlib import import_module

_MODULE_OF = {
    "TensorMoves": "tensor_moves",
    "HeadExplorer": "head_explorer",
    "MaskConsole": "mask_console",
    "ScalePlayground": "scale_playground",
    "AttentionPlane": "attention_plane",
}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mha_lib.widgets' has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
    globals()[name] = value
    return value
