"""What people call things: a projection by its part in attention, a parameter of `forward` by what it is."""

import re
from enum import Enum


class Part(Enum):
    """What a projection is for."""

    QUERY = "q"
    KEY = "k"
    VALUE = "v"
    OUTPUT = "o"
    KEY_VALUE = "kv"
    ALL = "qkv"  # one matrix for the three


class Takes(Enum):
    """What a parameter of `forward` takes."""

    QUERIES = "queries"
    KEYS = "keys"
    VALUES = "values"
    CONTEXT = "keys and values"
    LENGTHS = "lengths"
    PADDING = "padding mask"
    VISIBLE = "visible mask"  # its name says that True is what may be seen
    MASK = "mask"
    OTHER = "other"  # an option that has nothing to do with words or masks
    UNKNOWN = "unknown"


# Words that surround the letter or word that matters, as in W_query_proj or linear_q.
_AROUND = (
    "project(?:ions?)?|proj|linears?|lin|layers?|weights?|matrix|mat|maps?|heads?|net|dense|fc|to|attn|attention"
    "|kernel|transform|mha|multi|embed|self|get|all|w|s|c|x|h"
)
_CORES = {
    Part.ALL: "qkv|queriekeyvalue|querykeyvalue|queries?keys?values?|inproj|inprojweight|cattn|wpack|packed",
    Part.KEY_VALUE: "kv|keyvalue|keysvalues",
    Part.QUERY: "q|query|queries|quer",
    Part.KEY: "k|keys?",
    Part.VALUE: "v|vals?|values?",
    Part.OUTPUT: "o|out|outputs?|proj|projection|dense|unify|unifyheads|merge|combine|final|last|mix"
    "|mixer|concat|fc|linear",
}
_PARTS = {
    part: (re.compile(f"(?:{core})"), re.compile(f"(?:{_AROUND})*(?:{core})(?:{_AROUND})*"))
    for part, core in _CORES.items()
}
_INPUTS = {
    Takes.QUERIES: r"q|qs|query|queries|.*query.*|.*queries.*|tgt|target|x_?q|q_?x|q_in|inputs?_q|to_?x",
    Takes.KEYS: r"k|ks|key|keys|.*_keys?|keys?_.*|x_?k|k_?x|k_in|inputs?_k",
    Takes.VALUES: r"v|vs|val|value|values|.*_values?|values?_.*|x_?v|v_?x|v_in|inputs?_v",
    Takes.CONTEXT: r"context|ctx|memory|mem|kv|x_?kv|key_?values?|kv_in|cross|y|source|src|enc|encoder_out.*"
    r"|enc_out.*|inputs?_kv",
}
_NO_CONCERN = (
    "dropout cache past need_ return output_att training position rope rotary freqs use_ is_ head_mask "
    "layer encoder scale average verbose causal weights debug alibi temperature"
).split()


def part_of(name: str) -> Part | None:
    """Say what the projection of this name is for: "W_query", "to_keys", "c_attn", "fc_out"."""
    letters = re.sub(r"[^a-z]", "", name.lower())
    for pattern in (0, 1):
        for part, patterns in _PARTS.items():
            if patterns[pattern].fullmatch(letters):
                return part
    return None


def bias_of(name: str) -> Part | None:
    """Say which projection the bias of this name belongs to: "b_q", "bias_k", "out_bias"."""
    letters = re.sub(r"[^a-z]", "", name.lower())
    without = re.sub(r"^bias|bias$|^b(?!ias)", "", letters)
    return part_of(without) if without != letters else None


def takes(name: str) -> Takes:
    """Say what a parameter of this name takes."""
    lower = name.lower()
    if any(word in lower for word in _NO_CONCERN):
        return Takes.OTHER
    if "len" in lower:
        return Takes.LENGTHS
    if "pad" in lower:
        return Takes.PADDING
    if any(word in lower for word in ("keep", "valid", "visible", "allowed", "attend", "may_")):
        return Takes.VISIBLE
    if "mask" in lower or "bias" in lower:
        return Takes.MASK
    for kind, pattern in _INPUTS.items():
        if re.fullmatch(pattern, lower):
            return kind
    return Takes.UNKNOWN


HEADS = (
    "num_heads",
    "num_attention_heads",
    "n_heads",
    "n_head",
    "nhead",
    "nheads",
    "num_head",
    "heads",
    "h",
    "H",
    "nh",
    "head_num",
    "attention_heads",
)
GROUPS = (
    "num_kv_heads",
    "num_key_value_heads",
    "n_kv_heads",
    "n_kv_head",
    "kv_heads",
    "num_kv",
    "n_local_kv_heads",
    "num_query_groups",
    "num_groups",
)
WIDTHS = (
    "head_dim",
    "d_k",
    "head_size",
    "dim_head",
    "d_head",
    "dk",
    "hd",
    "attention_head_size",
    "depth",
    "size_per_head",
)
