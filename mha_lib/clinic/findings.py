"""What an examination finds, as data: words are put to it at the very end."""

from dataclasses import dataclass, field
from enum import Enum

from .bugs import Bug
from .probes import Probe
from .recorder import Place


class What(Enum):
    """Where a layer departs from the right one."""

    DIFFERS = "differs"
    RAISED = "raised"
    NONE = "none"
    SHAPE = "shape"
    RANDOM = "random"
    GRADIENT = "gradient"
    NOT_LEARNING = "not_learning"
    NO_BACKWARD = "no_backward"
    IN_TRAINING = "in_training"
    MODE = "mode"
    UNUSED = "unused"
    CHANGED = "changed"


class Remark(Enum):
    """What is worth knowing besides."""

    BATCH = "batch"
    CAUSAL = "causal"
    CAUSAL_UNMASKED = "causal_unmasked"
    NAN = "nan"
    EMPTY = "empty"
    SQUARE = "square"
    SELF = "self"
    NO_MASK = "no_mask"
    MASK_REFUSED = "mask_refused"
    MASK_UNTESTED = "mask_untested"
    FORM = "form"
    OTHER_POLARITY = "other_polarity"
    PADDING_POLARITY = "padding_polarity"
    RAISES = "raises"
    FIXED = "fixed"
    GROUPS = "groups"
    NO_GRADIENT = "no_gradient"
    DROPOUT = "dropout"
    DROPOUT_TOO = "dropout_too"
    NO_OUTPUT_PROJECTION = "no_output_projection"
    PRECISION = "precision"
    INSIDE = "inside"
    ALL_ELSE = "all_else"


@dataclass(frozen=True)
class Note:
    """A remark with what it is about: names and sizes, for the sentence to hold."""

    remark: Remark
    about: tuple[tuple[str, object], ...] = ()


class Question(Enum):
    """The six questions that a layer can be asked without knowing its insides."""

    PADDING = "padding"
    SENTENCES = "sentences"
    SHUFFLE = "shuffle"
    ROWS = "rows"
    LEARNING = "learning"
    CALLS = "calls"


@dataclass(frozen=True)
class Difference:
    """The first number that differs: on which input, where, what was expected, what came."""

    probe: str
    index: tuple[int, ...]
    expected: float
    got: float


@dataclass(frozen=True, eq=False)
class Finding:
    """One departure, with the probe it was seen on and what goes with it."""

    what: What
    probe: Probe | None = None
    index: tuple[int, ...] = ()
    expected: float = 0.0
    got: float = 0.0
    wrong: int = 0
    count: int = 0
    shapes: tuple[tuple[int, ...], ...] = ()
    error: Exception | None = None
    parameters: tuple[str, ...] = ()
    place: Place | None = None


class Milestone(Enum):
    """A tensor that the right layer computes on its way."""

    QUERIES = "queries"
    KEYS = "keys"
    VALUES = "values"
    PRODUCTS = "products"
    SCORES = "scores"
    MASKED = "masked"
    WEIGHTS = "weights"
    CONTEXT = "context"
    OUTPUT = "output"


class Clue(Enum):
    """What can be said of the first number that is not right."""

    OTHER_PLACES = "other_places"  # the right numbers, elsewhere
    COLUMNS = "columns"  # columns sum to 1, rows do not
    HEADS = "heads"  # the heads of a pair sum to 1
    UNDIVIDED = "undivided"
    SHORT_ROWS = "short_rows"  # rows sum to less than 1
    UNSCALED = "unscaled"
    FACTOR = "factor"  # a multiple of what it should be
    UNMASKED = "unmasked"
    OPERAND = "operand"  # made from another tensor than it should be
    NOT_A_NUMBER = "not_a_number"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Line:
    """The line that makes the first number that is not right.

    Attributes:
        file, number, source: where it stands, and how it reads.
        operation: torch's name of what is done there.
        reached: the tensors of the right layer that were recognised before it.
        wanted: the one that should have come next; None where that cannot be told.
        unseen: those that never showed, since a fused call does them inside.
        clue: what can be said of the number; `factor` and `operand` go with it.
    """

    file: str
    number: int
    source: str
    operation: str
    reached: tuple[Milestone, ...] = ()
    wanted: Milestone | None = None
    unseen: tuple[Milestone, ...] = ()
    clue: Clue = Clue.NOTHING
    factor: float = 1.0
    operand: Milestone | None = None


_ROUNDING = 1e-3  # a departure below this may come of float32 numbers inside a layer in float64


@dataclass(eq=False)
class Report:
    """All that an examination found, before it is put into words."""

    name: str
    bugs: tuple[Bug, ...] = ()
    finding: Finding | None = None
    line: Line | None = None
    half: list[Bug] = field(default_factory=list)
    questions: tuple[Question, ...] = ()
    from_length: int | None = None
    notes: list[Note] = field(default_factory=list)
    untested: tuple[str, ...] = ()
    probes: int = 0
    raised: bool = False
    largest: float = 0.0  # departure from the right layer, relative to its numbers

    @property
    def may_be_rounding(self) -> bool:
        """Whether another dtype inside the layer may be all that is wrong."""
        return self.raised or self.largest < _ROUNDING


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found.

    Attributes:
        name: "right", a bug's name, or "unknown".
        message: the finding in words: what it means, where to look, what was not tested.
        candidates: the names of all bugs that fit; more than one if the sizes do not tell.
        difference: the first number that differs from the right layer's, if one does.
        untested: names of bugs that this layer's sizes and weights cannot show.
        line: the line that makes the first number that is not right, where it is seen.
        half: names of bugs that it behaves like as long as there is no mask.
        questions: which of the six questions it fails.
        from_length: the shortest sentence that shows it, where shorter ones come out right.
        notes: what is worth knowing besides.
    """

    name: str
    message: str
    candidates: tuple[str, ...] = ()
    difference: Difference | None = None
    untested: tuple[str, ...] = ()
    line: Line | None = None
    half: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    from_length: int | None = None
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        return self.message
