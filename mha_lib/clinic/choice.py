"""How a layer was understood: which reading of its projections, which form of a mask, what fits it so."""

from dataclasses import dataclass, field

from .bugs import Bug
from .calling import Outcome
from .faulty import Faults
from .findings import Note
from .forms import Route
from .probes import Probe, Sizes, Words
from .reading import Reading
from .twins import Twins

Seen = list[tuple[Probe, Outcome]]


@dataclass(eq=False)
class Choice:
    """How a layer was understood, and what fits it so understood."""

    reading: Reading
    twins: Twins
    words: Words
    sizes: Sizes
    fixed: bool  # it runs for few sizes only
    base: Faults = field(default_factory=dict)  # what it is by itself, without a mask
    masked_base: Faults = field(default_factory=dict)  # and with one
    plain: Seen = field(default_factory=list)
    padded: Seen = field(default_factory=list)
    padding: Route | None = None
    right: bool = False
    fitting: list[Bug] = field(default_factory=list)
    half: list[Bug] = field(default_factory=list)  # what fits as long as there is no mask
    notes: list[Note] = field(default_factory=list)

    @property
    def seen(self) -> list[tuple[Probe, Outcome, Faults]]:
        """Every probe with its outcome, and what the layer is by itself there."""
        return [(p, o, self.base) for p, o in self.plain] + [(p, o, self.masked_base) for p, o in self.padded]
