"""Words as they are shown: nothing in them stays unseen, and none can turn its neighbours round."""

import unicodedata

# What Unicode has no picture for, by the short names that people know.
NAMES = {
    "\n": "⏎",
    "\t": "⇥",
    "\u00a0": "[NBSP]",
    "\u00ad": "[SHY]",
    "\u200b": "[ZWSP]",
    "\u200c": "[ZWNJ]",
    "\u200d": "[ZWJ]",
    "\u200e": "[LRM]",
    "\u200f": "[RLM]",
    "\u202a": "[LRE]",
    "\u202b": "[RLE]",
    "\u202c": "[PDF]",
    "\u202d": "[LRO]",
    "\u202e": "[RLO]",
    "\u2060": "[WJ]",
    "\u2066": "[LRI]",
    "\u2067": "[RLI]",
    "\u2068": "[FSI]",
    "\u2069": "[PDI]",
    "\ufeff": "[BOM]",
}
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # controls, formats, half characters, no characters
JOINER = "\u200d"


def _sign(sign: str, before: str) -> str:
    if sign == JOINER and unicodedata.category(before or " ") in ("So", "Sk", "Mn"):
        return sign  # it makes one emoji of two
    if sign in NAMES:
        return NAMES[sign]
    category = unicodedata.category(sign)
    if category in UNSEEN or (category == "Zs" and sign != " "):
        return f"[U+{ord(sign):04X}]"
    return sign


def visible(word: object) -> str:
    """Return the word with everything in it that cannot be seen made visible.

    >>> visible("a\\u200bb"), visible(" a"), visible("")
    ('a[ZWSP]b', '␣a', '∅')
    """
    signs = str(word)
    shown = "".join(_sign(sign, before) for sign, before in zip(signs, " " + signs, strict=False))
    return (shown if shown.strip() and shown == shown.strip() else shown.replace(" ", "␣")) or "∅"
