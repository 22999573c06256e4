"""What `rate-link` trains and computes: settings, networks, and what it leaves on disk.

The networks are of nine agents: ``star a=A``, P2's star with the informative agent in the centre,
to which the others give A; ``grid PLACE``, 3 × 3, every neighbour and oneself alike, and the
informative agent in a corner, at a side or in the centre; and others that no setting was chosen on
(`WIDE`), which stand with the rows in `empirical/papers/link.toml`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator

from empirical import papers
from peerbayes.documents import Document, Number, Numbers
from peerbayes.records import plain
from theory.lazy import later

if TYPE_CHECKING:
    import numpy as np

    from theory.validation import FloatArray
else:
    np = later("numpy")

SNAPSHOTS, AMBIGUOUS = "snapshots", "star-mnist-2"
AGENTS = 9
# Of the bootstraps: part of the record's definition.
BOOTSTRAP, _RESAMPLES = 0, 4000
# What each kind of part depends on, beside the common settings.
_COMMON = ("hidden", "local_steps", "batch", "data_set")
_TRAINED = ("rounds", "learner", "mean_rate", "mean_epsilon", "targets", "test_images")
_FORECAST = (
    "edge_confidences", "places", "more", "snapshot_rounds", "snapshot_rate", "snapshot_epsilon",
    "stages", "exact_rounds", "exact_replicates",
)  # fmt: skip
# What records of before had not: left out where it is as it was, so that they are still good.
_LATER = ("data_set", "more")


@dataclass(frozen=True)
class LinkSetting:
    """Networks, nets and training of `rate-link`.

    Attributes
    ----------
    data_set
        Of the images: ``"mnist"`` or ``"fashion-mnist"``. Dealt as in `star-mnist-1`, or in
        `star-fmnist-1`.
    edge_confidences, places
        The stars, and where the informative agent sits in the grids.
    more
        Further networks, some of `WIDE`.
    learner
        ``"backprop"``, the papers', or ``"natural-gradient"``, whose precisions let a rate mean the
        same for all weights; agents count by influence in both.
    hidden
        Widths of the nets' hidden layers.
    rounds, local_steps, batch, mean_rate, mean_epsilon
        Of the training of networks; ε is Adam's, which a natural gradient has not. Test images are
        looked at after each of the first 20 rounds, and then at steps of about 5 %.
    targets
        Test losses, averaged over agents, in nats; the first is the one that figures are about.
    snapshot_rounds, snapshot_rate, snapshot_epsilon
        Of the nets that are hypotheses: rounds of `local_steps` steps, and a rate that falls to 0,
        so that what they differ in is what they were shown and not where they stopped.
    stages
        Rounds after which the whole net is kept too, as a control.
    test_images
        How many, drawn with every label in proportion.
    exact_rounds, exact_replicates
        Of social learning over the snapshots.
    """

    data_set: Literal["mnist", "fashion-mnist"] = "mnist"
    edge_confidences: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5, 0.7)
    places: tuple[str, ...] = ("corner", "centre")
    more: tuple[str, ...] = ()
    learner: Literal["backprop", "natural-gradient"] = "backprop"
    hidden: tuple[int, ...] = (200, 200)
    rounds: int = 240
    local_steps: int = 5
    batch: int = 50
    mean_rate: float = 0.1
    mean_epsilon: float = 1.0
    targets: tuple[float, ...] = (1.0, 1.5, 0.7)
    snapshot_rounds: int = 400
    snapshot_rate: float = 2e-2
    snapshot_epsilon: float = 1e-2
    stages: tuple[int, ...] = (0, 5, 50)
    test_images: int = 1000
    exact_rounds: int = 100
    exact_replicates: int = 400

    @property
    def networks(self) -> tuple[str, ...]:
        """The names of the networks that are compared."""
        stars = (f"star a={a:g}" for a in self.edge_confidences)
        return (*stars, *(f"grid {place}" for place in self.places), *self.more)

    @property
    def looks(self) -> tuple[int, ...]:
        """The rounds after which test images are looked at."""
        later = 20 * 1.05 ** np.arange(1, 400)
        rounds = {*range(21), *(round(float(r)) for r in later)}
        return (*sorted(r for r in rounds if r < self.rounds), self.rounds)

    def part_content(self, part: str) -> dict[str, Any]:
        """What the numbers of the snapshots depend on, or those of training."""
        names = (*_COMMON, *(_FORECAST if part == SNAPSHOTS else _TRAINED))
        content = {name: getattr(self, name) for name in names}
        plain = LinkSetting()
        return {k: v for k, v in content.items() if k not in _LATER or v != getattr(plain, k)}

    def quick(self) -> LinkSetting:
        """The same in less than a minute: small nets, fewer networks; its numbers are no result."""
        return replace(
            self,
            edge_confidences=(0.1, 0.7),
            more=self.more[:1],
            hidden=(32,),
            rounds=60,
            mean_rate=2 * self.mean_rate,
            targets=(1.6, 1.9),
            snapshot_rounds=150,
            stages=(0, 5),
            test_images=500,
            exact_replicates=100,
        )


# Networks -----------------------------------------------------------------------------------------

WIDE: Mapping[str, Mapping[str, Any]] = MappingProxyType(papers.tables("link")["networks"])
"""Networks that no setting was chosen on, by name."""


def slope_interval(x: FloatArray, y: FloatArray) -> tuple[float, float] | None:
    """95 % of slopes of y over x by bootstrap over networks; None with fewer than five.

    Parameters
    ----------
    x, y
        Shape (T,), means over seeds; NaN where a seed did not reach the target.
    """
    kept = np.isfinite(y)
    x, y = x[kept], y[kept]
    if x.size < 5:
        return None
    draws = np.random.default_rng(BOOTSTRAP).integers(x.size, size=(_RESAMPLES, x.size))
    u, w = x[draws], y[draws]
    u = u - u.mean(axis=1, keepdims=True)
    spread = (u**2).sum(axis=1)
    slopes = (u * w).sum(axis=1)[spread > 0] / spread[spread > 0]
    return float(np.quantile(slopes, 0.025)), float(np.quantile(slopes, 0.975))


# What is left on disk -----------------------------------------------------------------------------

Rows: TypeAlias = Annotated[list[list[Number]], BeforeValidator(plain)]
"""A table of numbers, given as lists or as an array."""

Tables: TypeAlias = Annotated[list[list[list[Number]]], BeforeValidator(plain)]
"""Several such tables."""


class ExactRun(Document):
    """Social learning over the snapshots beside its exact means."""

    rounds: int
    replicates: int
    best: int = 0
    expected: Rows  # mean log-odds of each agent and hypothesis
    measured: Rows
    standard_error: Rows
    share_of_allowed: Number  # largest difference, as a share of what chance allows
    holds: bool | None


class Forecast(Document):
    """What theory says of one network from the snapshots."""

    influence: float  # v of the informative agent, in shares of all influence
    rate: float  # K in nats an observation and agent
    binding: str
    reference: str = ""
    is_compromise: bool = False
    rates: dict[str, Number]  # of each hypothesis' rejection
    stage_rates: dict[str, Number]  # with stages of one training instead
    exact: ExactRun | None  # none where the network changes


class SnapshotsPart(Document):
    """Nets trained in one place as hypotheses, and what they predict of each network."""

    hypotheses: list[str]
    accuracies: Numbers
    label_losses: Rows
    forecasts: dict[str, Forecast]


class TrainedPart(Document):
    """One network trained with each seed: means over agents, a row for each seed."""

    rounds: list[int]
    losses: Rows  # test losses at those rounds, in nats
    accuracies: Rows
    rounds_to_loss: Rows  # for each target and seed; null where it was never reached
    label_confidences: Tables  # by seed, agent and true label
    local_label_confidences: Tables  # the same before consensus


@dataclass(frozen=True)
class LinkContent:
    """All parts that are there."""

    snapshots: SnapshotsPart | None
    trained: Mapping[str, TrainedPart]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> LinkContent:
        """The parts of a record, by name."""
        snapshots = content.get(SNAPSHOTS)
        others = {name: part for name, part in content.items() if name != SNAPSHOTS}
        return cls(
            None if snapshots is None else SnapshotsPart.model_validate(snapshots),
            {name: TrainedPart.model_validate(part) for name, part in others.items()},
        )

    def short(self) -> dict[str, Any]:
        """The parts without what no line speaks of: exact runs round by round, most confidences."""
        found: dict[str, Any] = {}
        if self.snapshots is not None:
            found[SNAPSHOTS] = self.snapshots.as_json()
            for forecast in found[SNAPSHOTS]["forecasts"].values():
                if forecast["exact"] is not None:
                    for name in ("expected", "measured", "standard_error"):
                        forecast["exact"][name] = []
        for name, part in self.trained.items():
            found[name] = part.as_json()
            if name != AMBIGUOUS:
                found[name] |= {"label_confidences": [], "local_label_confidences": []}
        return found


def rounds_reached(trained: Sequence[TrainedPart], *, index: int) -> FloatArray:
    """Rounds to the target of this number, shape (networks, seeds); infinite where never."""
    return np.array(
        [[math.inf if r is None else r for r in part.rounds_to_loss[index]] for part in trained]
    )
