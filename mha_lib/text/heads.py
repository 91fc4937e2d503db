"""What plot_heads and HeadExplorer say."""

QUERIES = "queries"
KEYS = "keys"
HEAD = "Head {letter}"
MEAN = "Mean of {letters}"
WEIGHT = "weight"
MASKED = "masked"
NOT_A_NUMBER = "not a number"

COUNTS = {
    "heads": ("1 head", "{n} heads"),
    "queries": ("1 query", "{n} queries"),
    "keys": ("1 key", "{n} keys"),
}
ALT = "Attention weights, {heads}, {queries} by {keys}."
ALT_HEAD = "{name}: {looks}."
ALT_LOOKS = "{query} → {key} {weight}"
ALT_EVEN = "{query} → all alike {weight}"
ALT_NOTHING = "{query} → nothing"
ALT_NAN = "{query} → NaN"


def counted(**sizes: int) -> dict[str, str]:
    """Return {"heads": "1 head", …} or {"heads": "2 heads", …} for heads=1 or heads=2."""
    return {what: COUNTS[what][n != 1].format(n=n) for what, n in sizes.items()}


# HeadExplorer: the page fills the braces.
EXPLORER = {
    "layer": "Layer",
    "heads": "Heads",
    "toggle": "Show or hide head {letter}",
    "head": HEAD,
    "queries": QUERIES,
    "keys": KEYS,
    "numbers": "What the chosen query gives each key",
    "caption": "What each head gives each key for the query {query}",
    "sum": "sum",
    "scale": "Colours: light for a weight of 0, dark for 1. Hatched: masked. A cross: not a number.",
    "masked": MASKED,
    "not_a_number": NOT_A_NUMBER,
    "map": "Head {letter}: {queries} by {keys}. The table has the chosen query's weights.",
    "nan": "NaN",
    "none": "–",
    "looks": "head {letter} looks most at {key} ({weight})",
    "looks_even": "head {letter} looks at {count} keys alike ({weight} each)",
    "looks_nan": "head {letter} has no number (NaN)",
    "looks_nothing": "head {letter} may look at nothing",
    "and": ", ",
    "hint": "Point at a query, or use the arrow keys. A click holds it.",
    "hint_held": "Held. Click it again to let go, or click another query.",
    "status": "{query}: {looks}.",
}
REPR = "[HeadExplorer] {layers}{heads}, {queries} by {keys}"
LAYERS = "{count} layers, "
FALLBACK_HINT = "Run this cell to point at words and to pick heads."
FALLBACK_CAPTION = "Head {letter}"
FALLBACK_LAYER = "Layer 1 of {count}."
FALLBACK_BIG = "Too many weights for a table: for each head, the largest weight on the map."
FALLBACK_LARGEST = "Head {letter}: {query} → {key} {weight}"
