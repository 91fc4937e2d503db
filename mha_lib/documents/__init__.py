"""The documents' layers, corrected, on the core: `gpt` and `bert`.

The layer of the other two documents is `mha_lib.MultiHeadAttention` itself.
"""

from . import bert, gpt

__all__ = ["bert", "gpt"]
