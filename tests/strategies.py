"""Hypothesis strategies: small inputs of every nasty kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from exact.regression import GaussianBeliefs, NormalInverseGammaBeliefs
from tests.models import distributions, finite_agents, finite_models
from theory import FiniteModel, GaussianAgent
from theory.changing import (
    ON_LOSS,
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
)
from theory.network import RULES, Network
from theory.network.structure import as_dense
from theory.regression import RegressionAgent, RegressionModel
from theory.robustness import (
    BEHAVIOURS,
    Behaviour,
    Colluding,
    ConstantBelief,
    Push,
    RandomLies,
    Silent,
    Split,
    StuckData,
)

KINDS = (
    "positive",
    "directed",
    "nearly-decomposable",
    "nearly-periodic",
    "tiny-stationary",
    "non-normal",
    "reversible",
    "symmetric",
    "star",
    "sparse",
)


# What was generated in this process: how many networks of each kind, and which.
GENERATED: Counter[str] = Counter()
DIFFERENT: set[str] = set()


def networks(
    *, kinds: tuple[str, ...] = KINDS, min_agents: int = 2, max_agents: int = 9
) -> st.SearchStrategy[Network]:
    """Networks of the given kinds; the kind is the network's name."""
    drawn = _networks(kinds=kinds, min_agents=min_agents, max_agents=max_agents)
    return drawn.map(_counted)


def _counted(network: Network) -> Network:
    GENERATED[network.name] += 1
    DIFFERENT.add(sha256(as_dense(network.weights).tobytes()).hexdigest()[:16])
    return network


@st.composite
def _networks(
    draw: st.DrawFn, *, kinds: tuple[str, ...], min_agents: int, max_agents: int
) -> Network:
    kind = draw(st.sampled_from(kinds))
    agents = draw(st.integers(min_agents, max_agents))
    if kind == "star":
        confidence = draw(st.sampled_from([1e-9, 0.1, 0.5, 0.9, 1 - 1e-9]))
        return Network.from_topology("star", agents=agents, edge_confidence=confidence)
    if kind in {"symmetric", "sparse"}:
        rule = draw(st.sampled_from(RULES if kind == "sparse" else RULES[1:]))
        edges = draw(connected_edges(agents))
        weights = Network.from_edges(edges, agents=agents, rule=rule).weights
        return Network(sparse.csr_array(weights) if kind == "sparse" else weights, name=kind)
    weights = _table(draw, agents)
    here = np.arange(agents)
    if kind == "positive":
        weights += 0.5
    elif kind == "directed":
        weights *= _table(draw, agents) > 5
        weights[here, (here + 1) % agents] += 1
        weights[0, 0] += 1
    elif kind == "nearly-decomposable":
        coupling = draw(st.sampled_from([1e-12, 1e-9, 1e-3]))
        blocks = here % 2
        weights = (weights + 1) * np.where(blocks[:, None] == blocks, 1.0, coupling)
    elif kind == "nearly-periodic":
        weights = np.zeros((agents, agents))
        weights[here, (here + 1) % agents] = 1
        weights[here, here] = draw(st.sampled_from([1e-6, 1e-2]))
    elif kind == "tiny-stationary":
        # Everybody leans towards agent 0, each a thousand times or more.
        drift = draw(st.sampled_from([1e-3, 1e-6, 1e-9]))
        weights = np.eye(agents) + np.diag(np.full(agents - 1, 1.0), -1)
        weights += np.diag(np.full(agents - 1, drift), 1)
    elif kind == "non-normal":
        weights = np.zeros((agents, agents))
        weights[here, np.minimum(here + 1, agents - 1)] += 1 - 1 / agents
        weights[:, 0] += 1 / agents
    else:
        weights = weights * 10.0 ** _table(draw, agents, largest=6)
        weights = weights + weights.T
        weights[here, (here + 1) % agents] += 1
        weights[(here + 1) % agents, here] += 1
        weights[0, 0] += 1
    return Network(weights / weights.sum(axis=1, keepdims=True), name=kind)


@st.composite
def connected_edges(draw: st.DrawFn, agents: int) -> list[list[int]]:
    """The edges of a connected graph: a random tree and a few more."""
    tree = [[draw(st.integers(0, child - 1)), child] for child in range(1, agents)]
    pair = st.lists(st.integers(0, agents - 1), min_size=2, max_size=2)
    return tree + draw(st.lists(pair, max_size=agents))


def _table(draw: st.DrawFn, agents: int, *, largest: int = 9) -> NDArray[np.float64]:
    size = agents * agents
    digits = draw(st.lists(st.integers(0, largest), min_size=size, max_size=size))
    return np.array(digits, dtype=np.float64).reshape(agents, agents)


@st.composite
def behaviours(draw: st.DrawFn, *, hypotheses: int, outcomes: int = 2) -> Behaviour:
    """What a faulty agent may do, where all agents have at least so many outcomes."""
    number = st.floats(-20, 20)
    index = st.integers(0, hypotheses - 1)
    kind = draw(st.sampled_from(sorted(BEHAVIOURS)))
    if kind == "constant-belief":
        size = hypotheses
        return ConstantBelief(np.array(draw(st.lists(number, min_size=size, max_size=size))))
    if kind == "silent":
        return Silent()
    if kind == "stuck-data":
        return StuckData(draw(st.integers(0, outcomes - 1)))
    if kind == "push":
        return Push(draw(index), draw(number), growing=draw(st.booleans()))
    if kind == "random-lies":
        return RandomLies(draw(st.floats(0.1, 20)))
    if kind == "colluding":
        return Colluding(draw(index), draw(st.floats(0, 20)))
    first = draw(index)
    return Split(first, (first + 1) % hypotheses, draw(number), growing=draw(st.booleans()))


@st.composite
def regression_agents(draw: st.DrawFn, dimension: int) -> RegressionAgent:
    """Agents with inputs of every law, most of them blind to some directions."""
    law = draw(st.sampled_from(["uniform", "normal", "data"]))
    inputs: dict[str, NDArray[np.float64]]
    if law == "uniform":
        pairs = st.sampled_from([(1, 1), (0, 0), (-1, 1), (-1.5, 1.5), (0, 2), (-1e-3, 1e-3)])
        inputs = {"ranges": np.array(draw(_several(pairs, dimension)), dtype=float)}
    else:
        entry = st.integers(-4, 4).map(lambda k: k / 2)
        rows = draw(st.lists(_several(entry, dimension), min_size=1, max_size=3))
        table = np.array(rows, dtype=float).reshape(-1, dimension)
        inputs = {"inputs": table} if law == "data" else {"second_moment": table.T @ table}
    return RegressionAgent(
        **inputs,
        noise_std=draw(st.sampled_from([0.3, 0.8, 2.5])),
        claimed_noise_std=draw(st.sampled_from([None, 0.5, 1.0])),
        batch=draw(st.integers(1, 3)),
        tempering=draw(st.sampled_from([1.0, 0.5, 4.0])),
    )


@st.composite
def regression_models(draw: st.DrawFn, agents: int) -> RegressionModel:
    """Regressions in one to four dimensions; priors shared or the agents' own."""
    dimension = draw(st.integers(1, 4))
    kinds = [draw(regression_agents(dimension)) for _ in range(draw(st.integers(1, agents)))]
    chosen = draw(_several(st.integers(0, len(kinds) - 1), agents))
    entry = st.integers(-4, 4).map(lambda k: k / 2)
    square = _several(_several(entry, dimension), dimension).map(np.array)
    covariance = square.map(lambda root: root @ root.T + 0.1 * np.eye(dimension))
    own = draw(st.booleans())
    return RegressionModel(
        draw(_several(entry, dimension)),
        kinds,
        [draw(covariance) for _ in range(agents)] if own else draw(covariance),
        draw(square.map(lambda root: root @ root.T)),
        [draw(_several(entry, dimension)) for _ in range(agents)] if own else None,
        chosen,
    )


def _several(element: st.SearchStrategy[Any], size: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(element, min_size=size, max_size=size)


CHANGES = ("periodic", "markov", "links", "presence", "delays")


@st.composite
def changing_networks(
    draw: st.DrawFn,
    *,
    changes: tuple[str, ...] = CHANGES,
    min_agents: int = 2,
    max_agents: int = 6,
) -> ChangingNetwork:
    """Networks that change in one of the ways; in the first phase everybody hears everybody."""
    change = draw(st.sampled_from(changes))
    network = draw(networks(kinds=("positive",), min_agents=min_agents, max_agents=max_agents))
    agents = network.agents
    if change in {"periodic", "markov"}:
        phases = [Phase(network.weights)]
        for _ in range(draw(st.integers(0, 2))):
            other = draw(networks(kinds=KINDS, min_agents=agents, max_agents=agents))
            rests = np.array(draw(_several(st.booleans(), agents)))
            weights = np.where(rests[:, None], np.eye(agents), as_dense(other.weights))
            stored = sparse.csr_array(weights) if draw(st.booleans()) else weights
            phases.append(Phase(stored, np.array(draw(_several(st.booleans(), agents)))))
        if change == "periodic":
            return PeriodicNetwork(tuple(phases))
        chain = _table(draw, len(phases)) + 0.5
        return MarkovNetwork(tuple(phases), chain / chain.sum(axis=1, keepdims=True))
    if change == "links":
        up = draw(st.sampled_from([0.2, 0.9, 1.0]))
        return RandomLinks(
            network, up, draw(st.sampled_from(ON_LOSS)), symmetric=draw(st.booleans())
        )
    if change == "presence":
        return RandomPresence(
            network, draw(st.sampled_from([0.4, 1.0])), draw(st.sampled_from([None, 5.0]))
        )
    delays = draw(_several(_several(st.integers(0, 4), agents), agents))
    return DelayedNetwork(network, np.array(delays) * (1 - np.eye(agents, dtype=np.int64)))


@st.composite
def gaussian_beliefs(draw: st.DrawFn, agents: int, *, dimension: int) -> GaussianBeliefs:
    """Beliefs of means within 3 and standard deviations between .2 and 2 or so."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    turns = np.linalg.qr(rng.normal(size=(agents, dimension, dimension)))[0]
    spread = rng.uniform(0.04, 4.0, size=(agents, 1, dimension))
    covariance = (turns * spread) @ turns.swapaxes(-1, -2)
    return GaussianBeliefs.from_moments(rng.uniform(-3, 3, (agents, dimension)), covariance)


seeds = st.integers(0, 2**32 - 1)


@st.composite
def gaussian_agents(draw: st.DrawFn, hypotheses: int) -> GaussianAgent:
    """One or two inputs, real labels; what is claimed may be wrong for every hypothesis."""
    inputs = draw(st.integers(1, 2))
    means = _several(st.integers(-8, 8).map(lambda k: k / 4), inputs)
    return GaussianAgent(
        inputs=np.array(draw(distributions(inputs))),
        truth_means=np.array(draw(means)),
        truth_std=draw(st.sampled_from([0.3, 1.0, 2.0])),
        means=np.array([draw(means) for _ in range(hypotheses)]),
        std=draw(st.sampled_from([0.5, 1.0])),
    )


@st.composite
def mixed_models(draw: st.DrawFn, agents: int) -> FiniteModel:
    """Finite and Gaussian agents side by side, with priors of their own."""
    hypotheses = draw(st.integers(2, 4))
    some = st.one_of(finite_agents(hypotheses), gaussian_agents(hypotheses))
    kinds = [draw(some) for _ in range(draw(st.integers(1, agents)))]
    counts = [1] * len(kinds)
    counts[-1] += agents - len(kinds)
    return FiniteModel.from_agents(
        [f"theta{m}" for m in range(hypotheses)],
        kinds,
        counts=counts,
        priors=[draw(distributions(hypotheses)) for _ in kinds],
    )


@dataclass(frozen=True)
class Problem:
    """A network, and what its agents see."""

    network: Network
    model: FiniteModel

    @property
    def log_priors(self) -> NDArray[np.float64]:
        """Of every agent, shape (N, M)."""
        return self.model.log_priors[self.model.assignment]


@st.composite
def problems(
    draw: st.DrawFn, *, kinds: tuple[str, ...] = KINDS, max_agents: int = 9, finite: bool = False
) -> Problem:
    """Networks of every kind with models of every kind, or with finite agents alone."""
    network = draw(networks(kinds=kinds, max_agents=max_agents))
    model = (finite_models if finite else mixed_models)(network.agents)
    return Problem(network, draw(model))


CONDITIONS = (1.0, 1e4, 1e8, 1e12)


@st.composite
def stiff_beliefs(draw: st.DrawFn, agents: int, *, dimension: int) -> GaussianBeliefs:
    """Beliefs with condition numbers up to 1e12; some agents never saw some coordinates.

    Along a coordinate never seen there is the prior alone, the same for all agents.
    """
    rng = np.random.default_rng(draw(seeds))
    condition = draw(st.sampled_from(CONDITIONS))
    # With the same axes for all, pooling does not mend what is ill-conditioned.
    count = 1 if draw(st.booleans()) else agents
    axes = np.linalg.qr(rng.normal(size=(count, dimension, dimension)))[0]
    if draw(st.booleans()):
        axes = np.broadcast_to(np.eye(dimension), axes.shape)
    powers = rng.uniform(0, 1, (agents, dimension))
    powers[:, 0], powers[:, -1] = 0.0, 1.0
    blind = rng.random((agents, dimension)) < draw(st.sampled_from([0.0, 0.4]))
    spread = np.where(blind, 1.0, condition**powers)
    precision = (axes * spread[:, None, :]) @ axes.swapaxes(-1, -2)
    precision = (precision + precision.swapaxes(-1, -2)) / 2
    means = rng.uniform(-3, 3, (agents, dimension))
    return GaussianBeliefs(precision, np.einsum("nde,ne->nd", precision, means))


@st.composite
def noisy_beliefs(draw: st.DrawFn, agents: int, *, dimension: int) -> NormalInverseGammaBeliefs:
    """Beliefs about coefficients and noise, with any number of data behind them."""
    unit = draw(gaussian_beliefs(agents, dimension=dimension))
    rng = np.random.default_rng(draw(seeds))
    return NormalInverseGammaBeliefs(
        unit.precision,
        unit.information,
        10 ** rng.uniform(0, 2, agents),
        10 ** rng.uniform(-1, 2, agents),
    )
