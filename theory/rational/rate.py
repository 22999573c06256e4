"""How fast the network rejects wrong hypotheses, exactly and with every comparison decided.

The counterpart of `theory.learning_rate`. Rates are `LogSum`: sums of rational multiples of
logarithms of integers, whose order is decidable. So it is decided which hypotheses are best,
whether the network has to settle on a compromise, and which wrong hypothesis goes last.
(docs: mathematics/rate, mathematics/exact)
"""

from __future__ import annotations

from dataclasses import dataclass

from theory.numbers import LogSum
from theory.rational.model import RationalModel, minimisers
from theory.rational.network import RationalNetwork
from theory.showing import Shown
from theory.typed import typed
from theory.validation import fail


@dataclass(frozen=True, eq=False)
class RationalRate(Shown):
    """K(Θ) and what it is made of; all exact, in nats per round.

    Attributes
    ----------
    model
        The model that the rates belong to.
    rates
        Σ_j v_j I_j(θ*, θ) for each θ; zero for the reference hypotheses.
    reference
        Θ*, or the network's compromise argmin Σ_j v_j D_j if Θ* is empty.
    is_compromise
        Whether Θ* is empty.
    binding_hypotheses
        The wrong hypotheses of the smallest rate, ties included; empty if none is wrong.
    """

    model: RationalModel
    rates: tuple[LogSum, ...]
    reference: tuple[int, ...]
    is_compromise: bool
    binding_hypotheses: tuple[int, ...]

    @property
    def rate(self) -> LogSum | None:
        """K(Θ): the smallest rate of a wrong hypothesis; None, for infinite, if none is wrong."""
        return None if self.binding is None else self.rates[self.binding]

    @property
    def binding(self) -> int | None:
        """The first of the wrong hypotheses that are rejected last; None if there is none."""
        return self.binding_hypotheses[0] if self.binding_hypotheses else None

    def divergences(self, theta: int) -> tuple[LogSum, ...]:
        """I_j(θ*, θ) of each agent j, for θ* the first reference hypothesis."""
        kinds = self.model.information(self.reference[0], theta)
        return tuple(kinds[kind] for kind in self.model.assignment)

    @property
    def ambiguous_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of hypotheses that no observation of any agent tells apart: decided."""
        return self.model.ambiguous_pairs


@typed
def rational_rate(network: RationalNetwork, model: RationalModel) -> RationalRate:
    """The rate of rejection of every wrong hypothesis, exactly.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.

    Examples
    --------
    >>> from theory.rational import RationalFiniteAgent
    >>> coin = RationalFiniteAgent.from_tables(
    ...     inputs=["1"], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
    ... )
    >>> model = RationalModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> network = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])
    >>> str(rational_rate(network, model).rate)
    'log(2) - 1/2*log(3)'
    """
    if network.agents != model.agents:
        raise fail(
            "model",
            f"as many agents as the network, {network.agents}",
            f"{model.agents}",
            "change the agents' counts or the network's size",
        )
    totals = model.weighted_divergences(network.stationary_distribution)
    reference = model.optimal_hypotheses or minimisers(totals)
    rates = [total - totals[reference[0]] for total in totals]
    wrong = [m for m in range(len(totals)) if m not in reference]
    slowest = minimisers([rates[m] for m in wrong]) if wrong else ()
    return RationalRate(
        model=model,
        rates=tuple(rates),
        reference=reference,
        is_compromise=not model.optimal_hypotheses,
        binding_hypotheses=tuple(wrong[place] for place in slowest),
    )
