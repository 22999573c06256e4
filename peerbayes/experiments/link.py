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
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from peerbayes.documents import Document
from peerbayes.experiments.experiment import Line, parts_named
from peerbayes.experiments.link_rows import AMBIGUOUS, SNAPSHOTS, WIDE_NAMES, LinkSetting
from theory.progress import Progress
from theory.validation import fail, install_extra

FORM = "rate-link"


@dataclass(frozen=True)
class RateLink:
    """The link between predicted rates and measured speeds.

    Attributes
    ----------
    setting
        What is trained and computed.
    replicates
        Seeds of each network's training.
    """

    name: str = "rate-link"
    title: str = "predicted rates beside the speed of training, over networks"
    source: str = "P2 4.2; theory"
    setting: LinkSetting = field(default_factory=LinkSetting)
    replicates: int = 3

    @property
    def parts(self) -> tuple[str, ...]:
        """The snapshots, each network, and MNIST's split with the ambiguous pair {4, 9}."""
        pair = (AMBIGUOUS,) if self.setting.data_set == "mnist" else ()
        return (SNAPSHOTS, *self.setting.networks, *pair)

    @property
    def replicates_are_parts(self) -> bool:
        """All seeds of a network are run in one part."""
        return False

    def settings(self) -> dict[str, Any]:
        """Everything but seed, replicates, device and folder; `form` is what a report goes by."""
        head = {"form": FORM, "networks": list(self.setting.networks)}
        names = {"name": self.name, "title": self.title, "source": self.source}
        return {**head, **names, **self.setting.content()}

    def part_settings(self, part: str) -> dict[str, Any]:
        """Those of the snapshots, or those of training."""
        return self.setting.part_content(part)

    def stream(self, part: str) -> int:
        """One for each part: networks are not paired."""
        return self.parts.index(part)

    def quick(self) -> RateLink:
        """The same in less than a minute; its numbers are no result."""
        return replace(self, name=f"{self.name} quick", setting=self.setting.quick(), replicates=2)

    def placed(self, *, device: str, data: Path | None) -> RateLink:
        """The same, to be run elsewhere."""
        return replace(self, setting=replace(self.setting, device=device, data=data))

    def parts_with(self, words: str) -> tuple[str, ...]:
        """The parts whose names contain these words.

        Raises
        ------
        ValueError
            If there is none.
        """
        return parts_named(self.parts, words)

    def check(self) -> None:
        """Refuse to run where something that the experiment needs is missing.

        Raises
        ------
        ValueError
            If torch, the data or the device are missing; in one line that says how to get them.
        """
        from empirical.data import locate

        if find_spec("torch") is None:
            raise fail(self.name, "torch", "no torch", install_extra("empirical"))
        from empirical.nets.training import check_device

        check_device(self.setting.device)
        locate(self.setting.data_set, directory=self.setting.data)

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> Document:
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

        setting = self.setting
        with one_thread():
            if part == SNAPSHOTS:
                return run_forecasts(setting, seed=seed, progress=progress)
            return run_training(setting, part, seed=seed, replicates=replicates, progress=progress)

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """The table of networks, the correlations, the orderings, and the exact run.

        Lines that need a part that is not there are left out.
        """
        from peerbayes.experiments.link_lines import link_lines
        from peerbayes.experiments.link_rows import LinkContent

        present = [name for name in self.setting.networks if name in parts]
        found = LinkContent.of(parts)
        return link_lines(found, networks=present, targets=self.setting.targets)


_FASHION = LinkSetting(data_set="fashion-mnist", more=WIDE_NAMES)

LINKS = (
    RateLink(),
    RateLink(
        name="rate-link-adam",
        title="the same, by an optimiser that rescales gradients",
        setting=LinkSetting(mean_rate=5e-3, mean_epsilon=1e-2),
    ),
    RateLink(
        name="rate-link-fashion",
        title="predicted rates beside the speed of training, Fashion-MNIST, over more networks",
        setting=_FASHION,
    ),
    RateLink(
        name="rate-link-fashion-natural",
        title="the same, by natural gradients",
        setting=replace(_FASHION, learner="natural-gradient", mean_rate=0.1),
    ),
    RateLink(
        name="rate-link-fashion-adam",
        title="the same, by an optimiser that rescales gradients",
        setting=replace(_FASHION, mean_rate=5e-3, mean_epsilon=1e-2),
    ),
)
"""The rows."""
