"""What MaskConsole and ScalePlayground say."""

REPR = "[MaskConsole] {report}"
LENGTH = "Length {sentence}"
CAUSAL = "Causal"
FILL = "Fill"
FILLS = {"zero": "exactly 0 (ours)", "-inf": "−inf", "-1e9": "−1e9", "-1e6": "−1e6"}
DTYPE = "Dtype"
SCALING = "Scale"
SCALINGS = {"/sqrt(d)": "÷√d", "none": "none", "/d": "÷d", "*d": "×d (document 000)"}
DROPOUT = "Dropout"
DROPOUTS = {"eval": "0.5, eval", "train": "0.5, train"}

SENTENCE = "Sentence {sentence}: {words}"
TABLE = "Sentence {sentence}, head {letter}"
ALT = "{sentence}. Weights of {heads} heads, each row with its sum. {report}"
SUM = "sum"
NO_RESULT = "no result"
HINT = "Run this cell to use the controls."

RIGHT = "Right: each row sums to 1, and what is masked gets exactly 0."
ROW = "sentence {sentence}, head {letter}, row {row} ({word})"
REFUSED = "No weights: {fill} does not fit float16, whose lowest number is −65504, so torch refuses it."
NAN = "NaN in {count} rows, first in {row}. All its scores are −inf, and softmax makes 0/0 of them."
EVENLY = (
    "{count} rows attend evenly to keys they may not see, first {row}: {fill} is in every place, "
    "so no place is lower than another."
)
LEAK = "{count} weights on masked keys are not 0, first in {row}."
SUMS = (
    "{count} rows do not sum to 1, first {row}: {sum}. That is dropout in train mode; "
    "our layer returns the weights from before it."
)
SCALED = "Scores are {scale} instead of ÷√d: the largest weight of a row is {now} on average, not {right}."
EMPTY = "Sentence {sentence} has length 0: nothing may be seen, so its rows are all 0. That is our rule."
PADDING = "Sentence {sentence}: length {length} counts {word} as a word."

PLAY_REPR = "[ScalePlayground] {report}"
WIDTH = "Width d"
PLAY_REPORT = (
    "d = {d}: the variance of q·k is {raw:.0f} (theory: {d}), and {scaled:.1f} after ÷√d (theory: 1). "
    "Softmax over {keys} keys: largest weight {largest_raw:.2f} without, {largest_scaled:.2f} with ÷√d."
)
PLAY_TITLES = {  # of the measures of mha_lib.scaling
    "variance": "variance of q·k",
    "largest": "largest weight",
    "entropy": "entropy",
    "gradient": "size of the gradient",
}
PLAY_WITHOUT = "without ÷√d"
PLAY_WITH = "with ÷√d"
PLAY_THEORY = "theory"
PLAY_EVEN = "ln 10: all keys alike"
PLAY_COLUMN = "{name}, {scaling}"
