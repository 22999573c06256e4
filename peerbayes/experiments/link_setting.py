"""What `rate-link` trains and computes, as a frozen configuration."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

SNAPSHOTS, AMBIGUOUS = "snapshots", "star-mnist-2"
# Networks that no setting was chosen on: see :mod:`peerbayes.experiments.link_networks`.
WIDE_NAMES = (
    "grid side", "grid corner, 4 poolings", "grid corner, 16 poolings", "ring", "torus", "complete",
    "path end", "path middle", "random 3", "random 6", "random 7", "star a=.5, links half up",
    "star, a=.7 and .1 in turn", "gossip on the grid, corner", "gossip on the grid, centre",
)  # fmt: skip
# What each kind of part depends on, beside the common settings.
_COMMON = ("hidden", "local_steps", "batch", "data_set")
_TRAINED = ("rounds", "learner", "mean_rate", "mean_epsilon", "targets", "test_images")
_FORECAST = (
    "edge_confidences",
    "places",
    "more",
    "snapshot_rounds",
    "snapshot_rate",
    "snapshot_epsilon",
    "stages",
    "exact_rounds",
    "exact_replicates",
)
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
        Further networks, some of ``WIDE_NAMES``.
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
    device, data
        Where to compute, and the folder of the images; they change no number but by rounding.
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
    device: str = "cpu"
    data: Path | None = None

    @property
    def networks(self) -> tuple[str, ...]:
        """The names of the networks that are compared."""
        stars = (f"star a={a:g}" for a in self.edge_confidences)
        return (*stars, *(f"grid {place}" for place in self.places), *self.more)

    @property
    def looks(self) -> tuple[int, ...]:
        """The rounds after which test images are looked at."""
        import numpy as np

        later = 20 * 1.05 ** np.arange(1, 400)
        rounds = {*range(21), *(round(float(r)) for r in later)}
        return (*sorted(r for r in rounds if r < self.rounds), self.rounds)

    def content(self) -> dict[str, Any]:
        """Everything but device and folder, in plain values."""
        return {k: v for k, v in asdict(self).items() if k not in ("device", "data")}

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
