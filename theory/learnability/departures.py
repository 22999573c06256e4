"""What the network loses when one agent leaves, for every agent.

Two ways to leave. An agent *falls silent* when its data are lost but it goes on relaying: W and v
stay as they are, and its term in K and E goes. An agent is *gone* when it leaves the graph: its row
and column of W are struck out, and each neighbour's weight on it goes to that neighbour itself, so
that v changes too. In a reversible network the others then weigh in the same proportions as
before, v'_i = v_i / (1 − v_j): K of the rest is the silent K divided by 1 − v_j, and E is the same
(docs: mathematics/learnability).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from theory.learnability.cover import Leaving, information, silent_exponents, silent_rates
from theory.learning import FiniteModel
from theory.learning.rate import check_same_agents
from theory.learning.tilted import least_exponents, tabulate
from theory.network import Network
from theory.network.graphs import assemble
from theory.network.structure import OffDiagonal, off_diagonal
from theory.scientific import csgraph, sparse
from theory.showing import Shown
from theory.typed import typed
from theory.validation import (
    FloatArray,
    IntArray,
    as_float_array,
    as_integer,
    as_position,
    fail,
    read_only,
)

# The network without one of its agents -----------------------------------------------------------


@dataclass(frozen=True)
class Cut(Shown):
    """An agent without whom the others fall apart, and the parts that reach each other."""

    agent: int
    parts: tuple[tuple[int, ...], ...]


@typed
def network_without(network: Network, agent: int) -> Network:
    """The network of the others, in their order, each keeping the weight it had on `agent`.

    Raises
    ------
    ValueError
        If there is no such agent, nobody else, or the others do not all reach each other.

    Examples
    --------
    >>> path = Network([["1/2", "1/2", 0], ["1/3", "1/3", "1/3"], [0, "1/2", "1/2"]])
    >>> network_without(path, 0).weights.round(4).tolist()
    [[0.6667, 0.3333], [0.5, 0.5]]
    """
    agent = as_integer("agent", agent, minimum=0, maximum=network.agents - 1)
    links = off_diagonal(network.weights)
    stay = (links.row != agent) & (links.column != agent)
    new = np.arange(network.agents) - (np.arange(network.agents) > agent)
    # Added up, not what is missing to 1: that may round below 0, or lose a small weight.
    own: FloatArray = np.array(sparse.csr_array(network.weights).diagonal())
    lost = links.column == agent
    own[links.row[lost]] += links.weight[lost]
    weights = assemble(
        new[links.row[stay]],
        new[links.column[stay]],
        links.weight[stay],
        agents=network.agents - 1,
        own=np.delete(own, agent),
        sparse_result=network.is_sparse,
    )
    layout = None if network.layout is None else np.delete(network.layout, agent, axis=0)
    name, names = f"{network.name} without agent {agent}", None
    if network.names is not None:
        name = f"{network.name} without {network.names[agent]}"
        names = (*network.names[:agent], *network.names[agent + 1 :])
    return Network(weights, name, layout, names)


def cuts(network: Network) -> tuple[Cut, ...]:
    """The agents without whom the others do not all reach each other, with the parts.

    For mutual listening these are the articulation points of the graph, found in one pass;
    otherwise the agents that some shortest path from or to agent 0 leads through are tried one by
    one.

    Examples
    --------
    >>> star = Network.from_topology("star", agents=4)
    >>> cuts(star)
    (Cut(agent=0, parts=((1,), (2,), (3,))),)
    """
    agents = network.agents
    if agents < 3:
        return ()
    links = off_diagonal(network.weights)
    found = []
    for agent in _candidates(links, agents):
        labels = _classes_without(links, agents, agent)
        if labels.max() > 0:
            others = np.delete(np.arange(agents), agent)
            parts = [tuple(others[labels == c].tolist()) for c in range(labels.max() + 1)]
            found.append(Cut(agent, tuple(sorted(parts))))
    return tuple(found)


def _candidates(links: OffDiagonal, agents: int) -> list[int]:
    pattern = sparse.csr_array(
        (np.ones(len(links.row)), (links.row, links.column)), shape=(agents, agents)
    )
    if not (pattern - pattern.T).count_nonzero():
        graph: nx.Graph[int] = nx.Graph()
        graph.add_edges_from(zip(links.row.tolist(), links.column.tolist(), strict=True))
        return sorted(nx.articulation_points(graph))
    # Who is a leaf of a tree of paths from agent 0 and of one of paths to it is not needed by
    # anybody else.
    inner: set[int] = set()
    for one_way in (pattern, sparse.csr_array(pattern.T)):
        parents = csgraph.breadth_first_order(one_way, 0, directed=True)[1]
        inner.update(int(p) for p in parents if p >= 0)
    return sorted(inner)


def _classes_without(links: OffDiagonal, agents: int, agent: int) -> IntArray:
    stay = (links.row != agent) & (links.column != agent)
    new = np.arange(agents) - (np.arange(agents) > agent)
    pattern = sparse.csr_array(
        (np.ones(int(stay.sum())), (new[links.row[stay]], new[links.column[stay]])),
        shape=(agents - 1, agents - 1),
    )
    labels = csgraph.connected_components(pattern, directed=True, connection="strong")[1]
    return np.asarray(labels, dtype=np.int64)


# What the network loses when one agent leaves, for every agent -----------------------------------


@dataclass(frozen=True, eq=False)
class Departures(Shown):
    """K and E before and after each agent's departure; floating point, in nats per round.

    Attributes
    ----------
    target
        The hypothesis that the network shall settle on; all rates are against it.
    wrong
        The hypotheses it shall reject; those `tied` with the target only when somebody is missing.
    rate, exponent
        K = min Σ_j v_j I_j and E over the wrong hypotheses, nobody missing. K is not above 0 if the
        network does not settle on the target. E is nan if exponents were not asked for.
    silent_rates, silent_binding
        Shape (N,): K with agent j silent, and the hypothesis that attains it. Below zero if the
        network then settles on that hypothesis or on a third; exactly zero if nobody else rejects
        it.
    silent_exponents, silent_exponent_binding
        Shape (N,): the same for E; nan and −1 if exponents were not asked for.
    removed_rates, removed_binding, removed_exponents, removed_exponent_binding
        Shape (N,): the same with agent j gone; nan and −1 where the others no longer hear each
        other (see `cuts`), where nobody is left, or where it was not computed.
    cuts
        The agents without whom the others fall apart, and the parts.
    """

    target: int
    wrong: tuple[int, ...]
    rate: float
    exponent: float
    silent_rates: FloatArray
    silent_binding: IntArray
    silent_exponents: FloatArray
    silent_exponent_binding: IntArray
    removed_rates: FloatArray
    removed_binding: IntArray
    removed_exponents: FloatArray
    removed_exponent_binding: IntArray
    cuts: tuple[Cut, ...]

    @property
    def critical(self) -> tuple[int, ...]:
        """The agents without whose data K is 0 or below."""
        return tuple(int(j) for j in np.flatnonzero(self.silent_rates <= 0))

    @property
    def critical_if_removed(self) -> tuple[int, ...]:
        """The agents whose absence leaves K at 0 or below, or the others without each other."""
        lost = {int(j) for j in np.flatnonzero(self.removed_rates <= 0)}
        return tuple(sorted({cut.agent for cut in self.cuts} | lost))


@typed
def departures(
    model: FiniteModel,
    network_or_influence: Network | ArrayLike,
    *,
    target: int | str,
    reference: Sequence[int] = (),
    tied: Sequence[int] = (),
    exponents: bool = True,
    most_removed: int = 100,
) -> Departures:
    """K and E with each agent silent, and with each agent gone.

    With one agent silent everything is computed for all agents at once. With one gone, reversible
    networks of any size follow from that; in others each departure needs its own stationary
    distribution, and only the `most_removed` agents of the largest v are looked at.

    Parameters
    ----------
    network_or_influence
        The network, or just v, shape (N,): then nothing is said about agents that are gone.
    target
        The hypothesis that the network shall settle on.
    reference
        Hypotheses that are as good and need not be rejected.
    tied
        Compromises that are as good while nobody is missing, and need not be rejected then.
    exponents
        Whether to compute E, which takes longer than K.
    most_removed
        See above.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, the influence is not one positive
        number per agent, or there is no such hypothesis.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> fair, left, right = [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]
    >>> first, second = (
    ...     FiniteAgent.from_tables(inputs=[1.0], truth=[fair], likelihood=[[fair], [a], [b]])
    ...     for a, b in ((left, right), (fair, right))
    ... )
    >>> model = FiniteModel.from_agents(["fair", "left", "right"], [first, second])
    >>> found = departures(model, Network([[0.9, 0.1], [0.6, 0.4]]), target=0)
    >>> found.critical, found.silent_binding.tolist(), found.silent_rates.round(4).tolist()
    ((0,), [1, 1], [0.0, 0.1233])
    """
    size = len(model.hypotheses)
    target = as_position("target", target, model.hypotheses)
    most_removed = as_integer("most_removed", most_removed, minimum=0)
    network, v = influence_of(model, network_or_influence)
    others = np.array([m for m in range(size) if m not in (target, *reference)], dtype=np.int64)
    wrong = others[~np.isin(others, list(tied))]
    answers = partial(_answers, model, target, exponents=exponents)
    (before,), (exponent,) = (one.values for one in answers(wrong, v[None]))
    rates = silent_rates(model, v, target=target, wrong=others)
    nothing = _not_computed(model.agents)
    decays = silent_exponents(model, v, target=target, wrong=others) if exponents else nothing
    removed_rates, removed_decays = nothing, _not_computed(model.agents)
    found: tuple[Cut, ...] = ()
    if network is not None and model.agents > 1:
        found = cuts(network)
        cut = np.array([c.agent for c in found], dtype=np.int64)
        if network.is_reversible:
            rest = _sum_of_others(v)
            removed_rates = _blank(Leaving(rates.values / rest, rates.binding), cut)
            removed_decays = _blank(decays, cut)
        else:
            ranked = np.argsort(-v, kind="stable")[:most_removed]
            leavers = ranked[~np.isin(ranked, cut)]
            removed_rates, removed_decays = _one_by_one(network, leavers, partial(answers, others))
    return Departures(
        target=target,
        wrong=tuple(wrong.tolist()),
        rate=float(before),
        exponent=float(exponent),
        silent_rates=read_only(rates.values),
        silent_binding=read_only(rates.binding),
        silent_exponents=read_only(decays.values),
        silent_exponent_binding=read_only(decays.binding),
        removed_rates=read_only(removed_rates.values),
        removed_binding=read_only(removed_rates.binding),
        removed_exponents=read_only(removed_decays.values),
        removed_exponent_binding=read_only(removed_decays.binding),
        cuts=found,
    )


def influence_of(
    model: FiniteModel, network_or_influence: Network | ArrayLike
) -> tuple[Network | None, FloatArray]:
    """The network, if it is one, and its v or the given one.

    Raises
    ------
    ValueError
        As for `departures`.
    """
    if isinstance(network_or_influence, Network):
        check_same_agents(network_or_influence, model)
        return network_or_influence, network_or_influence.stationary_distribution
    v = as_float_array("influence", network_or_influence, ndim=1)
    if v.size != model.agents or (v <= 0).any():
        raise fail(
            "influence",
            f"a positive number for each of {model.agents} agents",
            f"{v.size} numbers, the smallest {v.min(initial=np.inf):g}",
            "give a network, or its stationary distribution",
        )
    return None, v


def _answers(
    model: FiniteModel, target: int, wrong: IntArray, v: FloatArray, *, exponents: bool
) -> tuple[Leaving, Leaving]:
    """K and E against the wrong hypotheses for each row of v, shape (C, N); 0 for who is gone."""
    if not wrong.size:
        nothing = Leaving(np.full(len(v), np.inf), np.full(len(v), -1, dtype=np.int64))
        return nothing, nothing if exponents else _not_computed(len(v))
    totals = v @ information(model, target)[:, wrong][model.assignment]
    lowest = totals.argmin(axis=1)
    rates = Leaving(totals.min(axis=1), wrong[lowest])
    if not exponents:
        return rates, _not_computed(len(v))
    table = tabulate(model, np.full(wrong.size, target), wrong)
    values, rows = least_exponents(table, v)
    return rates, Leaving(values, wrong[rows])


def _one_by_one(
    network: Network, leavers: IntArray, answers: Callable[[FloatArray], tuple[Leaving, Leaving]]
) -> tuple[Leaving, Leaving]:
    """K and E with each of some agents gone, and nothing of the others."""
    rest = np.zeros((leavers.size, network.agents))
    for row, j in zip(rest, leavers.tolist(), strict=True):
        row[np.arange(network.agents) != j] = network_without(network, j).stationary_distribution
    found = []
    for answer in answers(rest):
        found.append(_not_computed(network.agents))
        found[-1].values[leavers], found[-1].binding[leavers] = answer.values, answer.binding
    return found[0], found[1]


def _not_computed(agents: int) -> Leaving:
    return Leaving(np.full(agents, np.nan), np.full(agents, -1, dtype=np.int64))


def _blank(leaving: Leaving, agents: IntArray) -> Leaving:
    """The same without what would be said of some agents."""
    values, binding = leaving.values.copy(), leaving.binding.copy()
    values[agents], binding[agents] = np.nan, -1
    return Leaving(values, binding)


def _sum_of_others(v: FloatArray) -> FloatArray:
    """Σ_{i≠j} v_i, added up rather than subtracted from 1."""
    below = np.concatenate([[0.0], np.cumsum(v[:-1])])
    above = np.concatenate([np.cumsum(v[:0:-1])[::-1], [0.0]])
    return np.asarray(below + above, dtype=np.float64)
