"""Fonts that can show a text: Chinese words and other scripts in figures, without boxes."""

from functools import lru_cache

from matplotlib import font_manager

LATIN = "DejaVu Sans"  # ships with matplotlib, so it is always there
OTHERS = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Microsoft YaHei",
    "SimHei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Heiti SC",
    "Arial Unicode MS",
    "Noto Sans",
    "Noto Emoji",
    "Symbola",
    "Segoe UI Symbol",
)
HINT = "□ = no font here shows this sign.\nFor Chinese install fonts-noto-cjk."
_UNSEEN = {0xFE0E, 0xFE0F, 0x200D}  # they only choose between forms of the sign before


@lru_cache
def _signs(family: str) -> frozenset[int]:
    try:
        properties = font_manager.FontProperties(family=family)
        path = font_manager.findfont(properties, fallback_to_default=False)
    except ValueError:
        return frozenset()
    return frozenset(font_manager.get_font(path).get_charmap())


def families_for(text: str) -> list[str]:
    """Return the font families that together show as much of `text` as this machine can."""
    chosen = [LATIN]
    left = {ord(sign) for sign in text} - _signs(LATIN)
    for family in OTHERS:
        if left and left & _signs(family):  # a family that is not needed is not looked for
            chosen.append(family)
            left -= _signs(family)
    return chosen


def drawable(text: str, families: list[str]) -> str:
    """Return `text` with □ for each sign that none of the families has."""
    kept = (sign for sign in text if ord(sign) not in _UNSEEN)
    signs = frozenset(b"\n").union(*map(_signs, families))
    return "".join(sign if ord(sign) in signs else "□" for sign in kept)
