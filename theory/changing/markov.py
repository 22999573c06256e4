"""Networks whose phases follow a Markov chain: gossip, clocks, and walks of who is awake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from theory.changing.mixing import check_pairs, check_phases, named_groups, period_of, phase_classes
from theory.changing.phase import MOST_PHASES, Phase, Rows, as_phases, awake_phases, phase_of_few
from theory.network.graphs import links_of_edges
from theory.network.labels import LABEL, as_layout, as_names
from theory.network.network import Network
from theory.network.stationary import eliminate
from theory.scientific import sparse
from theory.showing import Value
from theory.typed import typed
from theory.validation import (
    FloatArray,
    as_distribution,
    as_float_array,
    as_integer,
    fail,
    read_only,
)


@dataclass(frozen=True, eq=False)
class MarkovNetwork(Value):
    """The phase of each round is the state of a Markov chain that knows nothing of the data.

    Parameters
    ----------
    phases
        S phases, or bare weight matrices (then everybody observes).
    transition
        Q, shape (S, S), row-stochastic and irreducible: from phase s follows r with probability
        Q_sr.
    initial
        The law of the first round's phase, shape (S,); the stationary one if left out.
    name, layout, names
        As for :class:`theory.changing.PeriodicNetwork`.
    event_rate
        Rounds per unit of time, where rounds are events in continuous time; None otherwise.

    Raises
    ------
    ValueError
        If Q is no irreducible stochastic matrix; if the union of the phases is not strongly
        connected (the message names the split); if an agent is active in none; if some agents
        never agree.

    Examples
    --------
    >>> network = MarkovNetwork.gossip_pairs([[0, 1], [1, 2]], agents=3)
    >>> network.stationary_phases.tolist()
    [0.5, 0.5]
    """

    phases: tuple[Phase, ...]
    transition: FloatArray
    initial: FloatArray | None = None
    name: str = "network"
    layout: FloatArray | None = None
    event_rate: float | None = None
    names: tuple[str, ...] | None = field(default=None, metadata=LABEL)

    if TYPE_CHECKING:

        def __init__(
            self,
            phases: Sequence[Any],
            transition: ArrayLike,
            initial: ArrayLike | None = None,
            name: str = "network",
            layout: ArrayLike | None = None,
            event_rate: float | None = None,
            names: Sequence[str] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", as_phases(self.phases))
        object.__setattr__(self, "layout", as_layout(self.layout, agents=self.agents))
        object.__setattr__(self, "names", as_names(self.names, agents=self.agents))
        count = len(self.phases)
        if count > MOST_PHASES:
            raise fail("phases", f"at most {MOST_PHASES} phases", count, "merge some of them")
        transition = as_distribution("transition", self.transition, ndim=2)
        if transition.shape != (count, count):
            raise fail(
                "transition",
                f"one row and one column for each of {count} phases",
                f"shape {transition.shape}",
                "give the probability of each phase after each",
            )
        object.__setattr__(self, "transition", transition)
        labels = phase_classes(transition)
        if labels.max() > 0:
            raise fail(
                "transition",
                "phases that all lead to each other",
                f"{labels.max() + 1} classes that do not: {named_groups(labels)}",
                "add positive probabilities between them, or drop phases that are left for ever",
            )
        if self.initial is not None:
            initial = as_distribution("initial", self.initial)
            if initial.size != count:
                raise fail(
                    "initial", f"one probability for each of {count} phases", initial.size, "match"
                )
            object.__setattr__(self, "initial", initial)
        check_phases(self.phases, self.names)
        check_pairs(self.phases, transition, self.names)

    def _title(self) -> str:
        return f"MarkovNetwork {self.name!r}, {self.agents} agents, {len(self.phases)} phases"

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return self.phases[0].agents

    @cached_property
    def is_independent(self) -> bool:
        """Whether the phases of different rounds are independent: all rows of Q are equal."""
        return bool((self.transition == self.transition[0]).all())

    @cached_property
    def stationary_phases(self) -> FloatArray:
        """π = πQ, shape (S,): how often each phase comes; a floating-point estimate."""
        if self.is_independent:
            return np.asarray(self.transition[0])
        return np.asarray(read_only(eliminate(self.transition)))

    @cached_property
    def first_phases(self) -> FloatArray:
        """The law of the first round's phase, shape (S,)."""
        return self.stationary_phases if self.initial is None else self.initial

    @cached_property
    def period(self) -> int:
        """The period of the chain of phases: 1 if it forgets where it began."""
        return 1 if self.is_independent else period_of(self.transition)

    @classmethod
    def independent(
        cls,
        phases: Sequence[Any],
        probabilities: ArrayLike,
        *,
        name: str = "network",
        layout: FloatArray | None = None,
        event_rate: float | None = None,
        names: Sequence[str] | None = None,
    ) -> MarkovNetwork:
        """Each round draws its phase afresh; phases of probability zero are dropped.

        Raises
        ------
        ValueError
            As for the class, or if there is not one probability for each phase.
        """
        made = as_phases(phases)
        law = as_distribution("probabilities", probabilities)
        if law.size != len(made):
            raise fail(
                "probabilities",
                f"one for each of {len(made)} phases",
                law.size,
                "give each phase its probability",
            )
        kept = np.flatnonzero(law > 0)
        transition = np.broadcast_to(law[kept], (kept.size, kept.size))
        called = as_names(names, agents=made[0].agents)
        used = tuple(made[s] for s in kept)
        return cls(used, transition, None, name, layout, event_rate, called)

    @classmethod
    def gossip_pairs(
        cls,
        edges: ArrayLike | Network,
        *,
        agents: int | None = None,
        probabilities: ArrayLike | None = None,
        everyone_observes: bool = False,
        name: str = "gossip",
        layout: FloatArray | None = None,
    ) -> MarkovNetwork:
        """In each round one pair of agents meets, and both keep the average of their log-beliefs.

        Parameters
        ----------
        edges
            Shape (E, 2), or a network, any two agents that are linked in it.
        agents
            N; by default the largest number in `edges` and one.
        probabilities
            Shape (E,), of each pair; uniform by default. Only for `edges` that are given as a list.
        everyone_observes
            Whether all agents observe in every round; by default the two that meet.

        Raises
        ------
        ValueError
            As for the class, or if an edge names an unknown agent, joins an agent to itself, or is
            given twice, in whichever order.
        """
        names = edges.names if isinstance(edges, Network) else None
        if isinstance(edges, Network):
            layout = edges.layout if layout is None else layout
            pairs, size = np.unique(np.sort(edges.edges, axis=1), axis=0), edges.agents
        else:
            table = np.array(edges, dtype=object)
            largest = max((int(a) for a in table.ravel()), default=0) if table.ndim == 2 else 0
            size = largest + 1 if agents is None else as_integer("agents", agents, minimum=2)
            pairs = links_of_edges(edges, agents=size, directed=True)[:, ::-1]
        if (pairs[:, 0] == pairs[:, 1]).any():
            where = int(np.flatnonzero(pairs[:, 0] == pairs[:, 1])[0])
            raise fail("edges", "two agents each", pairs[where].tolist(), "leave that edge out")
        unique, counts = np.unique(np.sort(pairs, axis=1), axis=0, return_counts=True)
        if (counts > 1).any():
            twice = unique[int(np.argmax(counts > 1))].tolist()
            raise fail(
                "edges",
                "each pair of agents once, in either order",
                f"{twice} {counts[counts > 1][0]} times",
                "give it once; probabilities say how often a pair meets",
            )
        if len(pairs) > MOST_PHASES:
            raise fail(
                "edges",
                f"at most {MOST_PHASES} pairs of agents that may meet, one phase each",
                len(pairs),
                "use a smaller or sparser network",
            )
        phases = []
        for a, b in pairs.tolist():
            pair = np.sort([a, b])
            rows = Rows(pair, np.array([0, 2, 4]), np.tile(pair, 2), np.full(4, 0.5))
            phases.append(phase_of_few(size, rows, np.arange(size) if everyone_observes else pair))
        law = (
            np.full(len(pairs), 1 / max(1, len(pairs))) if probabilities is None else probabilities
        )
        return cls.independent(phases, law, name=name, layout=layout, names=names)

    @classmethod
    @typed
    def clocks(
        cls, network: Network, clock_rates: ArrayLike, *, name: str = "clocks"
    ) -> MarkovNetwork:
        """Every agent has a Poisson clock; whose clock ticks observes, and pools with its row.

        Rounds are ticks: tick by tick the agent is drawn with probability proportional to its
        clock's rate. `event_rate` is the sum of the rates, so that predictions per round times it
        are per unit of time.

        Parameters
        ----------
        network
            Whose weights are used.
        clock_rates
            Ticks per unit of time: a positive number, or shape (N,).

        Raises
        ------
        ValueError
            If a rate is not positive, or their number is wrong.
        """
        rates = as_float_array("clock_rates", np.atleast_1d(np.asarray(clock_rates)), ndim=1)
        if np.ndim(np.asarray(clock_rates)) == 0:
            rates = np.repeat(rates, network.agents)
        if rates.size != network.agents or not (rates > 0).all():
            raise fail(
                "clock_rates",
                f"a positive rate for each of {network.agents} agents",
                f"{rates.size} rates, the smallest {rates.min(initial=np.inf):g}",
                "drop agents that never tick from the network",
            )
        total = float(rates.sum())
        law = rates / total
        return cls.independent(
            awake_phases(network),
            law / law.sum(),
            name=name,
            layout=network.layout,
            event_rate=total,
            names=network.names,
        )

    @classmethod
    @typed
    def walk(
        cls,
        network: Network,
        *,
        transition: ArrayLike | None = None,
        initial: ArrayLike | None = None,
        name: str = "walk",
    ) -> MarkovNetwork:
        """One agent is awake at a time; it observes, pools with its row, and wakes another.

        Parameters
        ----------
        network
            Whose weights are used for pooling.
        transition
            Shape (N, N): whom an agent wakes; by default the network's weights.
        initial
            The law of the first one awake; the stationary one by default.

        Raises
        ------
        ValueError
            As for the class.
        """
        phases = awake_phases(network)
        chain = network.weights if transition is None else transition
        if not isinstance(chain, np.ndarray) and sparse.issparse(chain):
            chain = chain.toarray()
        first = None if initial is None else as_distribution("initial", initial)
        table = np.asarray(chain, dtype=np.float64)
        return cls(phases, table, first, name, network.layout, names=network.names)
