"""`rate-link`: the rates that theory predicts from snapshots, beside the speed of training.

The networks of P2's MNIST runs that differ in nothing but W: the star with five edge confidences,
and the 3 × 3 grid with the informative agent in two places. Everywhere one agent holds the labels
2–9 and eight others share 0 and 1. Nets trained in one place on some of the labels are the
hypotheses (:mod:`empirical.snapshots`), K is computed for each network, networks are trained, and
the rounds that they take to come down to given test losses are laid beside 1/K: in rank, and in
proportion. What K may be expected to say of training, and what not, is in docs:
mathematics/nets-as-hypotheses.

The learning rate does not fall, so that a round late in the run is worth as much as an early one.
Adam divides a gradient by its size where that is well above ε. With ε = 1 it does not, and agents
pull in proportion to v and to how wrong they are, as in theory; with ε = .01, as in the recipes of
the other rows, an agent that is nearly content pulls the output layer as hard as one that is not.
There is a row for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from peerbayes.experiments.experiment import Line
from theory.progress import Progress
from theory.validation import fail, install_extra

SNAPSHOTS, AMBIGUOUS = "snapshots", "star-mnist-2"
# What each kind of part depends on, beside the common settings.
_COMMON = ("hidden", "local_steps", "batch")
_TRAINED = ("rounds", "mean_rate", "mean_epsilon", "targets", "test_images")
_FORECAST = (
    "edge_confidences",
    "places",
    "snapshot_rounds",
    "snapshot_rate",
    "snapshot_epsilon",
    "stages",
    "exact_rounds",
    "exact_replicates",
)


@dataclass(frozen=True)
class RateLink:
    """The link between predicted rates and measured speeds.

    Attributes
    ----------
    edge_confidences, places
        The stars, and where the informative agent sits in the grids.
    hidden
        Widths of the nets' hidden layers.
    rounds, local_steps, batch, mean_rate, mean_epsilon
        Of the training of networks. Test images are looked at after each of the first 20 rounds,
        and then at steps of about 5 %.
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
    replicates
        Seeds of each network's training.
    device, data
        Where to compute, and the folder of the images; they change no number but by rounding.
    """

    name: str = "rate-link"
    title: str = "predicted rates beside the speed of training, over networks"
    source: str = "P2 4.2; theory"
    edge_confidences: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5, 0.7)
    places: tuple[str, ...] = ("corner", "centre")
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
    replicates: int = 3
    device: str = "cpu"
    data: Path | None = None

    @property
    def networks(self) -> tuple[str, ...]:
        """The names of the networks that are compared."""
        stars = (f"star a={a:g}" for a in self.edge_confidences)
        return (*stars, *(f"grid {place}" for place in self.places))

    @property
    def parts(self) -> tuple[str, ...]:
        """The snapshots, each network, and the split with the ambiguous pair {4, 9}."""
        return (SNAPSHOTS, *self.networks, AMBIGUOUS)

    @property
    def looks(self) -> tuple[int, ...]:
        """The rounds after which test images are looked at."""
        later = 20 * 1.05 ** np.arange(1, 400)
        rounds = {*range(21), *(round(float(r)) for r in later)}
        return (*sorted(r for r in rounds if r < self.rounds), self.rounds)

    @property
    def replicates_are_parts(self) -> bool:
        """All seeds of a network are run in one part."""
        return False

    def settings(self) -> dict[str, Any]:
        """Everything but seed, replicates, device and folder; `form` is what a report goes by."""
        left = {k: v for k, v in asdict(self).items() if k not in ("device", "data", "replicates")}
        return {"form": "rate-link", "networks": list(self.networks), **left}

    def part_settings(self, part: str) -> dict[str, Any]:
        """Those of the snapshots, or those of training."""
        names = (*_COMMON, *(_FORECAST if part == SNAPSHOTS else _TRAINED))
        return {name: getattr(self, name) for name in names}

    def stream(self, part: str) -> int:
        """One for each part: networks are not paired."""
        return self.parts.index(part)

    def quick(self) -> RateLink:
        """The same in less than a minute: small nets, fewer networks; its numbers are no result."""
        return replace(
            self,
            name=f"{self.name} quick",
            edge_confidences=(0.1, 0.7),
            hidden=(32,),
            rounds=60,
            mean_rate=2 * self.mean_rate,
            targets=(1.6, 1.9),
            snapshot_rounds=150,
            stages=(0, 5),
            test_images=500,
            exact_replicates=100,
            replicates=2,
        )

    def parts_with(self, words: str) -> tuple[str, ...]:
        """The parts whose names contain these words.

        Raises
        ------
        ValueError
            If there is none.
        """
        chosen = tuple(name for name in self.parts if words in name)
        if not chosen:
            raise fail("--part", f"words of {', '.join(self.parts)}", repr(words), "use such words")
        return chosen

    def check(self) -> None:
        """Whether it can run here.

        Raises
        ------
        ValueError
            If torch, the data or the device are missing; in one line that says how to get them.
        """
        from empirical.data import locate

        if find_spec("torch") is None:
            raise fail(self.name, "torch", "no torch", install_extra("empirical"))
        from empirical.nets.training import check_device

        check_device(self.device)
        locate("mnist", directory=self.data)

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> dict[str, Any]:
        """The hypotheses and their rates, or one network's training with each seed.

        Raises
        ------
        ValueError
            If there are no images (then it is an ``empirical.DataNotFound``), or a run breaks down.
        ImportError
            Without torch, in one line that says what to install.
        """
        from empirical.nets.threads import one_thread
        from peerbayes.experiments.link_runs import run_forecasts, run_training

        with one_thread():
            if part == SNAPSHOTS:
                return run_forecasts(self, seed=seed, progress=progress)
            return run_training(self, part, seed=seed, replicates=replicates, progress=progress)

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """The table of networks, the correlations, the orderings, and the exact run.

        Lines that need a part that is not there are left out.
        """
        from peerbayes.experiments.link_lines import link_lines

        present = [name for name in self.networks if name in parts]
        return link_lines(parts, networks=present, targets=self.targets)


LINKS = (
    RateLink(),
    RateLink(
        name="rate-link-adam",
        title="the same, by an optimiser that rescales gradients",
        mean_rate=5e-3,
        mean_epsilon=1e-2,
    ),
)
"""The rows."""
