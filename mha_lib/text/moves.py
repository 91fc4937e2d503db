"""The words of `watch`, `plot_moves` and `TensorMoves`."""

# What happened at a step, chosen by `watch` from the recorded facts.
SENTENCES = {
    "input": "As it lies in memory, before anything happens.",
    "same": "Nothing to do: same memory, same shape.",
    "cut": "Same memory, cut differently: no number moves.",
    "walk": "Same memory, walked in another order: only the strides change.",
    "part": "Same memory, only a part of it is looked at.",
    "repeat view": "Same memory, the same cells are read more than once.",
    "copy order": "Copied into a new order: the numbers move in memory.",
    "copy same": "Copied, in the order it had.",
    "copy part": "Copied: some of the cells, put down side by side.",
    "copy repeat": "Copied: cells that stood once now stand several times.",
    "join": "Copied: several tensors put together into one.",
    "fill": "Copied, with cells added that come from nowhere in {origin}.",
    "write": "Written in place: cells move into memory that was there before.",
    "in place": "New values, written over the old ones in the same memory.",
    "no change": "No number changed.",
    "new values": "New values: cells are followed anew from here.",
}
# What the best-known arithmetic means; any other says SENTENCES["new values"].
MEANINGS = {
    "linear": "New values: each row of features goes through a weight matrix.",
    "matmul": "New values: each row of the left with each column of the right, multiplied and summed.",
    "scores": "New values, the scores: every query word's dot product with every key word.",
    "context": "New values, the context: each query's weighted sum of the value rows.",
    "softmax": "New values, the weights: in every row they are positive and sum to 1.",
    "scale": "New values: every number by the same factor.",
    "mask": "New values: what may not be attended to is taken out.",
    "dropout": "New values: dropout (in evaluation it changes nothing).",
    "scaled_dot_product_attention": "New values: scores, weights and context in one fused call.",
}
NAMES = {"sentence": "sentence", "word": "word", "head": "head", "feature": "feature",
         "query": "query", "key": "key", "copy": "copy", "one": "one", "axis": "axis {0}"}
AND, OF = " and ", " of "
MIXED = "axis {axis} mixes {names}"

# The picture's fixed words.
CONTROLS = {
    "first": "First step", "previous": "Previous step", "play": "Play", "pause": "Pause",
    "next": "Next step", "last": "Last step", "step": "Step", "run": "Run", "chain": "Your chain",
    "sentences": "Sentences", "words": "Words", "features": "Features", "heads": "Heads",
}
LABELS = {
    "title": "A tensor's cells, moving step by step",
    "right": "First recording", "beside": "Second recording, beside it",
    "axis": "axis", "shape": "shape", "stride": "stride",
    "count": "step {step} of {last}",
    "contiguous": "contiguous", "not_contiguous": "not contiguous",
    "tape": "memory, in address order", "memory": "memory",
    "tape_same": "nothing moved here",
    "tape_moved": "copied into this order",
    "tape_new": "new numbers",
    "picture": "Cells of the tensor. Arrow keys pick a cell to follow.",
    "follow_hint": "Point at a cell to follow it; or focus the picture and use the arrow keys.",
    "follow_many": "The cell at address {address} of {origin}:",
    "follow": "Number {value} of {origin}, address {address}:",
    "walk": "the strides lead to it:", "along": "along {name}",
    "absent": "not here",
    "compare_wait": "Step to the end to compare the two.",
    "needs_kernel": "A saved page plays what was recorded. To try a chain of your own, run the notebook.",
    "running": "Running …",
}
COMPARE = {
    "same": "Same shape, same numbers in every place.",
    "wrong": "Same shape, but {wrong} of {total} numbers are in a wrong place (marked ×).",
    "values": "Same shape, but {wrong} of {total} numbers differ (marked ×).",
    "shape": "Other shapes: {right} and {beside}.",
    "mixed": "{place} now holds {found} instead of {right}.",
}
TOO_MANY = ("a tensor of at most 100,000 cells", "{0:,} cells",
            "Take a smaller example: (2, 4, 10) already shows every move.")
HINTS = (
    (r"shape '\[(?P<shape>.*)\]' is invalid for input of size (?P<size>\d+)",
     "The new sizes must multiply to {size}, the number of cells there are; these give {product}."),
    (r"shape '\[(?P<shape>.*-1.*)\]' is invalid", "-1 needs the other sizes to divide the number of cells."),
    (r"view size is not compatible",
     "view never copies, and these cells no longer lie next to each other in memory: call .contiguous() "
     "first, or .reshape(...), which copies when it must."),
    (r"number of dimensions in the tensor input does not match",
     "permute needs every axis exactly once: one number for each axis there is."),
    (r"(repeated|duplicate) dim", "Each axis may be named only once."),
    (r"Dimension out of range", "The axes are numbered from 0; this tensor has fewer of them."),
    (r"only one dimension can be inferred", "At most one size may be -1."),
    (r"mat1 and mat2 shapes|Expected size for first two|size mismatch|must match the size",
     "The inner sizes of a product must be equal: compare the two shapes."),
    (r"name '(?P<name>\w+)' is not defined",
     "Names you can use here: X, B, L, D, h, d, torch, and whatever your notebook has defined."),
    (r"has no attribute '(?P<name>\w+)'", "Look at the spelling of .{name}."),
    (r"invalid syntax|was never closed|unmatched|unexpected",
     "Python could not read this: look at brackets, commas and dots."),
)
AT_LEAST_ONE = "There must be at least 1 sentence, 1 word, 1 feature and 1 head."
NO_DIVIDE = "{features} features cannot be shared evenly by {heads} heads; try {choices} heads."
NOTHING = "nothing"
NOT_TENSOR = "The last line has to give a tensor made from X; it gave {0}."
FALLBACK = "Run this cell to see the cells move."
