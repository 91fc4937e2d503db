"""A layer runs on probes, their masks in a form that it takes."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from .calling import Inputs, Outcome
from .choice import Seen
from .forms import Route
from .patient import Patient
from .probes import Probe, Sizes, Words
from .recorder import Recorder

Cross = Callable[[Sizes], tuple[Tensor, Tensor, Tensor]]


class Runner:
    """Runs one patient."""

    def __init__(self, patient: Patient):
        self.patient = patient
        self.caller = patient.caller

    def run(self, probe: Probe, route: Route | None = None, recorder: Recorder | None = None) -> Outcome:
        """Call the layer on a probe, its mask handed over by the route."""
        masks: dict[str, Tensor] = {}
        route, mask = (route, probe.mask) if probe.mask is not None else (self.caller.blank, None)
        if route:
            B, Lq, Lk = probe.sizes
            visible = torch.ones(B, 1, Lk, dtype=torch.bool) if mask is None else mask
            h = self.patient.readings[0].num_heads
            encoded = route.form.encode(visible, (B, h, Lq, Lk), probe.inputs[0].dtype)
            if encoded is None:
                return Outcome(None, ValueError("this mask has no such form"))
            masks[route.parameter] = encoded
        return self.caller(probe.inputs, masks, recorder)

    def on_all(self, probes: Iterable[Probe], route: Route | None = None) -> Seen:
        """Call the layer on each probe."""
        return [(probe, self.run(probe, route)) for probe in probes]

    def cross(self, words: Words) -> Cross | None:
        """Return how to draw queries and keys that differ, or None where the layer has one input."""
        if self.caller.inputs is Inputs.ONE:
            return None
        return words.apart if self.caller.inputs is Inputs.THREE else words.context
