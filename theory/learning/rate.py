"""How fast the network rejects wrong hypotheses.

Almost surely −(1/n) log ρ_i^(n)(θ) → Σ_j v_j I_j(θ*, θ) at every agent i, where v is the stationary
distribution of W (docs: mathematics/rate). The slowest of these is the learning rate

    K(Θ) = min_{θ* ∈ Θ*, θ ∉ Θ*} Σ_j v_j I_j(θ*, θ)            (P1 Theorem 1, P2 eq. 7)

and the hypothesis that attains it is the binding one. Where Θ* is empty, the network settles on
the compromise argmin_θ Σ_j v_j D_j(θ), and the same formula holds with it in place of θ*. Where
the network changes, the influence u of each agent stands in place of v
(docs: mathematics/changing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from theory.learning.model import FiniteModel
from theory.network.network import Network
from theory.showing import Value
from theory.typed import typed
from theory.validation import FloatArray, fail, read_only

if TYPE_CHECKING:
    import pandas as pd

    from theory.changing.delays import ChangingNetwork
    from theory.changing.rhythms import Rhythm


def check_same_agents(network: Network | ChangingNetwork | Rhythm, model: FiniteModel) -> None:
    """Check that network and model have equally many agents.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """
    if network.agents != model.agents:
        raise fail(
            "model",
            f"as many agents as the network, {network.agents}",
            f"{model.agents}",
            "change the agents' counts or the network's size",
        )


@dataclass(frozen=True, eq=False)
class LearningRate(Value):
    """K(Θ) and what it is made of; all rates in nats per round, in floating point.

    Per second where agents share no rounds.

    Attributes
    ----------
    rate
        K(Θ): infinite if no hypothesis is wrong.
    binding
        The wrong hypothesis rejected last; None if there is none.
    rates
        Shape (M,): Σ_j u_j I_j(θ*, θ), with u = v where the network does not change; zero for the
        reference hypotheses.
    reference
        Θ*, or the network compromise if Θ* is empty.
    is_compromise
        Whether Θ* is empty.
    undecided
        Hypotheses of which doubles do not say whether they are as good as the reference. They
        count as ties; no theorem may rest on that.
    """

    rate: float
    binding: int | None
    rates: FloatArray
    reference: tuple[int, ...]
    is_compromise: bool
    undecided: tuple[int, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """A table of the rates: one row for each hypothesis, by number.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        from theory.frames import frame

        numbers = np.arange(self.rates.size)
        return frame(
            {
                "hypothesis": numbers,
                "rate": self.rates,
                "is_reference": np.isin(numbers, self.reference),
                "is_binding": numbers == (-1 if self.binding is None else self.binding),
            }
        )


@typed
def learning_rate(network: Network | ChangingNetwork | Rhythm, model: FiniteModel) -> LearningRate:
    """The rate of rejection of every wrong hypothesis, and the slowest, K(Θ).

    All members of the reference set have equal Σ_j v_j D_j, so the minimum over θ* is attained by
    each of them. Where the network changes, v is its influence u: a hypothesis that no agent with
    u_j > 0 can tell from the reference has the rate 0. Of agents on clocks of their own
    (:func:`theory.changing.rhythm_rate`) it is the rate per second.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, or as for
        :func:`theory.changing.stationary`.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> result = learning_rate(Network([[0.9, 0.1], [0.6, 0.4]]), model)
    >>> round(result.rate, 4), result.binding
    (0.1438, 1)

    In a star whose groups take turns most agents rest most of the time.

    >>> from theory.changing import rotating_star
    >>> star = rotating_star(groups=5, group_size=5, edge_confidence=0.5)
    >>> many = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[26])
    >>> round(learning_rate(star, many).rate / result.rate, 9)
    0.285714286
    """
    check_same_agents(network, model)
    if isinstance(network, Network):
        return rate_of(network.stationary_distribution, model)
    from theory.changing.rhythms import Rhythm
    from theory.changing.stationary import influence

    if isinstance(network, Rhythm):
        return rate_of(network.influence, model)
    return rate_of(influence(network).values, model)


def rate_of(influence: FloatArray, model: FiniteModel) -> LearningRate:
    """The same for given influences, shape (N,), at least 0.

    Raises
    ------
    ValueError
        If there is not one influence per agent.
    """
    reference = model.reference_hypotheses(influence)
    comparison = model.weighted_comparison(influence, reference[0])
    rates = comparison.values.copy()
    rates[list(reference)] = 0.0
    wrong = [m for m in range(len(model.hypotheses)) if m not in reference]
    binding = min(wrong, key=lambda m: float(rates[m])) if wrong else None
    return LearningRate(
        rate=np.inf if binding is None else float(rates[binding]),
        binding=binding,
        rates=read_only(rates),
        reference=reference,
        is_compromise=not model.optimal_hypotheses,
        undecided=tuple(int(m) for m in np.flatnonzero(comparison.undecided)),
    )
