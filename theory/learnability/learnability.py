"""What no W can fix, and who matters."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from theory.learnability.cover import FewestSets, Proof, fewest_sets
from theory.learnability.departures import Departures, departures, influence_of
from theory.learnability.separation import Rejection, Separation, rejection, separation
from theory.learning import FiniteModel
from theory.network import Network
from theory.rational import RationalModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_position, fail, read_only

# The fewest agents from whose data everything can be learnt that can be learnt at all ------------


@dataclass(frozen=True, eq=False)
class FewestAgents(Shown):
    """A smallest set of agents whose data suffice.

    Attributes
    ----------
    agents
        One agent of each kind that is needed (the first of its kind), sorted.
    lower
        No smaller number of agents suffices: proved in exact arithmetic.
    proof
        "packing", "search", or "none" where the proof stopped short of the size.
    packing
        The proof by packing: ((first, second), weight) for pairs of hypotheses, such that the pairs
        that any one agent can tell apart weigh at most 1 together. Every sufficient set has at
        least as many agents as the weights' sum, rounded up.
    method
        "milp", or "greedy" for huge problems. Whether the set is the smallest says `is_minimal`.
    """

    agents: tuple[int, ...]
    lower: int
    proof: Proof
    packing: tuple[tuple[tuple[int, int], Fraction], ...]
    method: str

    @property
    def size(self) -> int:
        """How many agents."""
        return len(self.agents)

    @property
    def is_minimal(self) -> bool:
        """Whether it is proved that fewer agents do not suffice."""
        return self.lower == self.size


@typed
def fewest_agents(what: Separation | Rejection) -> FewestAgents:
    """The fewest agents that separate all separable pairs, or reject all that anyone rejects.

    For a `Separation`, the agents' data tell apart every pair that all agents' data tell apart. For
    a `Rejection`, each wrong hypothesis that some agent rejects is rejected by one of them. If the
    target is best for every agent, that is necessary and sufficient for K > 0 with these agents
    alone observing, on every network. If it is not, it is necessary only: agents may outvote each
    other, and what suffices depends on v.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> from theory.learnability import separation
    >>> fair, left, right = [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]
    >>> agents = [
    ...     FiniteAgent.from_tables(inputs=[1.0], truth=[fair], likelihood=[[fair], [a], [b]])
    ...     for a, b in ((left, fair), (fair, right), (left, right))
    ... ]
    >>> model = FiniteModel.from_agents(["fair", "left", "right"], agents)
    >>> fewest_agents(separation(model)).agents
    (2,)
    """
    if isinstance(what, Separation):
        table, pairs = what.signatures.table, what.signatures.pairs
    else:
        wrong = np.array(what.wrong, dtype=np.int64)
        table = (what.signs[:, wrong] > 0).T & (what.kind_counts > 0)[None, :]
        pairs = np.column_stack([np.full(wrong.size, what.target), wrong])
    return _as_agents(fewest_sets(table), pairs, what.assignment)


def _as_agents(cover: FewestSets, pairs: np.ndarray, assignment: np.ndarray) -> FewestAgents:
    return FewestAgents(
        agents=tuple(sorted(int(np.argmax(assignment == kind)) for kind in cover.chosen)),
        lower=cover.lower,
        proof=cover.proof,
        packing=tuple(((int(pairs[r, 0]), int(pairs[r, 1])), w) for r, w in cover.packing),
        method=cover.method,
    )


# Where agents' own data speak for something else than what the network settles on ----------------


@dataclass(frozen=True, eq=False)
class Disputes(Shown):
    """How the agents' evidence divides; floating point, in nats per round.

    Attributes
    ----------
    target
        θ*: what the network settles on, or shall settle on.
    information
        Shape (K, M): I(θ*, θ) of each kind, zero where doubles do not tell its sign.
    assignment
        Shape (N,): which kind each agent is.
    support, opposition
        Shape (M,): Σ_j v_j max(−I_j, 0), the evidence for θ, and Σ_j v_j max(I_j, 0), that against
        it. Their difference is the rate at which the network rejects θ.
    """

    target: int
    information: FloatArray
    assignment: IntArray
    support: FloatArray
    opposition: FloatArray

    @property
    def most_disputed(self) -> int | None:
        """The hypothesis with the largest support; None if the target is best for every agent."""
        return int(self.support.argmax()) if self.support.any() else None

    def supporters(self, theta: int) -> IntArray:
        """The agents whose own data prefer `theta` to the target, in order.

        Raises
        ------
        ValueError
            If there is no such hypothesis.
        """
        last = self.information.shape[1] - 1
        number = as_integer("theta", theta, minimum=0, maximum=last)
        return np.flatnonzero(self.information[self.assignment, number] < 0)


@typed
def disputes(model: FiniteModel, influence: ArrayLike, target: int | str) -> Disputes:
    """How the agents' evidence divides over the hypotheses, at an influence v.

    Parameters
    ----------
    influence
        v, shape (N,).
    target
        The hypothesis that the others are compared with.

    Raises
    ------
    ValueError
        If there is not one weight per agent, or no such hypothesis.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> left, right = [0.75, 0.25], [0.25, 0.75]
    >>> north, south = (
    ...     FiniteAgent.from_tables(inputs=[1.0], truth=[own], likelihood=[[left], [right]])
    ...     for own in (left, right)
    ... )
    >>> model = FiniteModel.from_agents(["left", "right"], [north, south])
    >>> found = disputes(model, [0.75, 0.25], 0)
    >>> found.most_disputed, found.supporters(1).tolist(), found.support.round(4).tolist()
    (1, [1], [0.0, 0.1373])
    """
    target = as_position("target", target, model.hypotheses)
    weights = model.kind_weights(influence)
    gap = model.comparison(target).settled
    return Disputes(
        target=target,
        information=read_only(gap),
        assignment=model.assignment,
        support=read_only(weights @ np.maximum(-gap, 0.0)),
        opposition=read_only(weights @ np.maximum(gap, 0.0)),
    )


# What no W can fix, and who matters --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Learnability(Shown):
    """What the agents' data can teach a network, and whose data it takes.

    Attributes
    ----------
    hypotheses
        Their names.
    separation
        Who tells apart which hypotheses: no W changes it.
    sufficient
        The fewest agents that tell apart all that all agents tell apart.
    rejection
        Who rejects which wrong hypothesis, for the target; None if there is no target.
    sufficient_for_target
        The fewest agents that reject every hypothesis that anyone rejects; None likewise.
    departures
        K and E with each agent silent or gone; None without a network or a v, or without a target.
    disputes
        Whose data speak for something else; None likewise.
    """

    hypotheses: tuple[str, ...]
    separation: Separation
    sufficient: FewestAgents
    rejection: Rejection | None
    sufficient_for_target: FewestAgents | None
    departures: Departures | None
    disputes: Disputes | None


@typed
def learnability(
    model: FiniteModel,
    network_or_influence: Network | ArrayLike | None = None,
    *,
    target: int | str | None = None,
    exact: RationalModel | None = None,
    exponents: bool = True,
    most_removed: int = 100,
) -> Learnability:
    """What no W can fix and who matters: redundant agents, fewest agents, every departure.

    Parameters
    ----------
    network_or_influence
        The network, or just v, shape (N,); left out, only what does not depend on it is said.
    target
        What the network shall settle on. Left out: the first hypothesis of Θ*, or if Θ* is empty
        the compromise at v; without either, nothing is said that needs a target.
    exact
        The same model in rationals: then who separates and rejects what is decided, and not judged
        by the tolerances of doubles.
    exponents, most_removed
        As for `departures`.

    Raises
    ------
    ValueError
        If there is no such hypothesis, or model, network and `exact` do not go together.

    Examples
    --------
    Two agents, each blind to a difference that the other one sees.

    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> fair, left, right = [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]
    >>> first, second = (
    ...     FiniteAgent.from_tables(inputs=[1.0], truth=[fair], likelihood=[[fair], [a], [b]])
    ...     for a, b in ((left, fair), (fair, right))
    ... )
    >>> model = FiniteModel.from_agents(["fair", "left", "right"], [first, second])
    >>> found = learnability(model, Network([[0.9, 0.1], [0.6, 0.4]]))
    >>> found.separation.unseparable_pairs, found.sufficient.agents, found.departures.critical
    ((), (0, 1), (0, 1))
    """
    size = len(model.hypotheses)
    if target is not None:
        target = as_position("target", target, model.hypotheses)
    if exact is not None and (exact.hypotheses != model.hypotheses or exact.agents != model.agents):
        raise fail(
            "exact",
            f"the same {size} hypotheses and {model.agents} agents as the model",
            f"{len(exact.hypotheses)} hypotheses and {exact.agents} agents",
            "give the same model in rationals",
        )
    v = None
    if network_or_influence is not None:
        _, v = influence_of(model, network_or_influence)
    decided = exact or model
    compromise = () if v is None or decided.optimal_hypotheses else model.compromise(v)
    if target is None and (decided.optimal_hypotheses or compromise):
        target = (decided.optimal_hypotheses or compromise)[0]
    who = separation(decided)
    against = None if target is None else rejection(decided, target, who=who)
    if against is None or target is None:
        return Learnability(model.hypotheses, who, fewest_agents(who), None, None, None, None)
    leaving = quarrel = None
    if network_or_influence is not None and v is not None:
        leaving = departures(
            model,
            network_or_influence,
            target=target,
            reference=against.reference,
            tied=compromise if target in compromise else (),
            exponents=exponents,
            most_removed=most_removed,
        )
        quarrel = disputes(model, v, target)
    return Learnability(
        hypotheses=model.hypotheses,
        separation=who,
        sufficient=fewest_agents(who),
        rejection=against,
        sufficient_for_target=fewest_agents(against),
        departures=leaving,
        disputes=quarrel,
    )
