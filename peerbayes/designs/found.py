"""What an objective of a design leads to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from peerbayes.designs.details import ObjectiveDetails
from peerbayes.designs.weights import Weights
from theory.design import Certificate
from theory.messages import Quantiser

_PART = 1e-7


@dataclass(frozen=True, eq=False)
class Found:
    """What an objective leads to.

    Attributes
    ----------
    weights
        The W that is recommended.
    certificate
        Of the objective; None where there is nothing to prove (an infinite exponent).
    binding
        The hypotheses that bind, with their share in the proof.
    details
        What only this objective says.
    notes
        What is to be said of it.
    quantiser
        What agents are to send, if the objective says so; what they send now if None.
    """

    weights: Weights
    certificate: Certificate | None
    binding: Mapping[str, float]
    details: ObjectiveDetails = field(default_factory=ObjectiveDetails)
    notes: tuple[str, ...] = ()
    quantiser: Quantiser | None = None

    def __post_init__(self) -> None:
        """Leave out what takes part in the proof by the solver's rounding alone."""
        parts = {name: float(share) for name, share in self.binding.items() if share > _PART}
        object.__setattr__(self, "binding", parts)
