"""What `diagnose` says."""

RIGHT = "Right: the same numbers as multi-head attention with your weights (inputs tried: {probes})."
FOUND = "{name}: {sentence}\nWhere to look: {look}.\nYou would see: {symptom}\nSeen in: {source}."
TWO = "These fit, and your sizes do not tell them apart: {names}."
UNKNOWN = "Not right, and not a mistake that I know."
HALF = "Without lengths it behaves like {name}; with them something else is wrong, too."
DIFFERS = (
    "First number that differs, with {probe}: output[{index}] is {got:.4f}, expected {expected:.4f} "
    "({wrong} of {count} numbers differ)."
)
RAISED = "With {probe} it raises {error}."
NONE = "With {probe} it returns None."
SHAPE = "With {probe} the output's shape is {got}, expected {expected}."
GRADIENT = "Every output is right; the gradient is not: something on the way is cut off."
RANDOM = "Two calls with one input differ, in eval mode (a function's own module needs its eval() first)."
ALL_ELSE = "All else is right."
IN_TRAINING = "In eval mode it is right; in training its dropout is not on the weights."
UNTESTED = "With these sizes and weights I could not see: {names}."
NOTE_BATCH = "It was given (L, B, D), since it has batch_first=False; hand it your batch that way round."
NOTE_CAUSAL = "It is causal by itself: no word sees a later one."
NOTE_NAN = "Where a query may attend to nothing it gives NaN; here such a query gets weights 0."
NOTE_EMPTY = "Where a query may attend to nothing it does not give context 0."
NOTE_SQUARE = "It misreads a mask (L, L), without an error where L = h; hand it over as (1, L, L)."
NOTE_SELF = "It takes one input, so cross-attention was not tested."
NOTE_NO_MASK = "It takes no lengths and no mask, so masking was not tested."
NOTE_NO_GRADIENT = "No gradient reaches its inputs, so gradients were not tested."
NOTE_DROPOUT = "Its dropout draws other random numbers than mine, so I could not see where it acts."
NOTE_NO_OUTPUT_MAP = "It has no output map, as in BERT's inner block: its heads are not mixed yet."
NOTE_FLOAT32 = "Compared in {dtype}, with a tolerance to match."
PROBES = {
    "self": "no lengths",
    "lengths": "lengths {lengths}",
    "coincidence": "as many sentences as heads and lengths {lengths}",
    "cross": "{Lq} queries for {Lk} keys and lengths {lengths}",
    "mask": "a causal attn_mask (L, L)",
    "empty": "lengths {lengths}",
}
