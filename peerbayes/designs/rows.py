"""Networks side by side: what each promises, and what it needs when it is run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exact import Run, SimulatedSampleSize, prepare, simulated_sample_size
from peerbayes.designs.documents import BaselineRow, SimulatedRoundsDocument
from peerbayes.designs.shared import ROUNDS
from peerbayes.documents import number
from peerbayes.quantities.sizes import in_doubles
from peerbayes.terminal import check_hours
from theory import FiniteModel, Network, SampleSizes, error_exponent, learning_rate, sample_sizes

# Certified sample sizes of more agents take longer than one would wait for ten of them.
MOST_CERTIFIED = 60


@dataclass(frozen=True, eq=False)
class NetworkRow:
    """One network: rate and exponent against the target, mixing, sample sizes, a simulation.

    `rate` is that of the target against its strongest rival, min_θ Σ_j v_j I_j; not positive if
    the network settles on another hypothesis, and then there is nothing else to say of it.
    """

    name: str
    network: Network
    target: int
    settles: str
    rate: float
    exponent: float | None
    slem: float
    samples: SampleSizes | None
    simulated: SimulatedSampleSize | None

    def document(self) -> BaselineRow:
        """The row as it stands under ``baselines``."""
        samples, simulated = self.samples, self.simulated
        return BaselineRow(
            settles_on=self.settles,
            rate=number(self.rate),
            error_exponent=None if self.exponent is None else number(self.exponent),
            slem=number(self.slem),
            samples=None if samples is None else ROUNDS.document(in_doubles(samples)),
            simulated=None
            if simulated is None
            else SimulatedRoundsDocument(
                rounds=simulated.rounds,
                lower=simulated.lower,
                upper=simulated.upper,
                replicates=simulated.replicates,
            ),
        )


def measure(
    name: str,
    network: Network,
    model: FiniteModel,
    *,
    target: int,
    delta: float,
    replicates: int,
    seed: int,
    random: bool = False,
) -> NetworkRow:
    """Everything that is said of one network; of a `random` one what its E[W] decides."""
    rate = learning_rate(network, model)
    v = network.stationary_distribution
    information = v @ model.information(target)
    rivals = [m for m in range(len(model.hypotheses)) if m not in _as_good(model, target)]
    worst = float(information[rivals].min()) if rivals else np.inf
    settles = ", ".join(model.hypotheses[m] for m in rate.reference)
    row = NetworkRow(name, network, target, settles, worst, None, network.slem, None, None)
    if random or target not in rate.reference or not worst > 0:
        return row
    samples = sample_sizes(network, model, delta=delta, certify=network.agents <= MOST_CERTIFIED)
    simulated = None
    if replicates:
        # No fewer rounds than these are simulated.
        fewest = samples.certified.lower or 1
        run = Run(rounds=fewest, replicates=replicates, seed=seed)
        check_hours(prepare(network, model, run=run).cost())
        simulated = simulated_sample_size(
            network, model, delta=delta, replicates=replicates, seed=seed, proved=samples
        )
    return NetworkRow(
        name,
        network,
        target,
        settles,
        worst,
        error_exponent(network, model).exponent,
        network.slem,
        samples,
        simulated,
    )


def _as_good(model: FiniteModel, target: int) -> tuple[int, ...]:
    """The hypotheses that are right whenever the target is."""
    optimal = model.optimal_hypotheses
    return optimal if target in optimal else (target,)
