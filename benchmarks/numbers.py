"""What exact and certified numbers cost beside floating-point ones, and how right peers are.

Two tables, each measured in turn in one run, on one thread:

``ladder``
    v, the subdominant modulus and the deviation D of one network: in floating point, exactly, and
    certified (all three at once, each within a relative width of 1e-12).
``peers``
    v and the spectral gap of well- and ill-conditioned networks by quantecon (its elimination after
    Grassmann, Taksar and Heyman) and PyDTMC, beside ours. Without these packages (the extra
    ``bench`` brings them) their columns stay empty.

All weights are multiples of 2⁻⁵³ that sum to one exactly, so that floating-point and exact routines
see the same network, whichever entries they read. Errors are against exact rationals.
Times are CPU seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from benchmarks.limits import interleaved
from benchmarks.tables import Options, Row
from theory import Network
from theory.certified import certify_network
from theory.network.stationary import eliminate
from theory.rational import RationalNetwork
from theory.validation import FloatArray

PEERS = ("quantecon", "pydtmc")
WIDTH = 1e-12
GRID = 2.0**53

# A peer's answer, or None where there is none.
Answers = dict[str, float | None]


@dataclass(frozen=True)
class Sizes:
    """Numbers of agents: of random and lattice networks; of the ill-conditioned ones."""

    random: tuple[int, ...]
    sides: tuple[int, ...]
    peers: int
    path: int


SIZES = Sizes(random=(10, 50, 100), sides=(3, 7, 10), peers=100, path=50)
TOY_SIZES = Sizes(random=(4,), sides=(2,), peers=6, path=6)


# Networks -------------------------------------------------------------------------------------


def on_grid(others: FloatArray) -> FloatArray:
    """W from off-diagonal weights of row sums up to 1/2: multiples of 2⁻⁵³, rows of sum one."""
    weights = np.round(others * GRID) / GRID
    np.fill_diagonal(weights, 0.0)
    np.fill_diagonal(weights, 1.0 - weights.sum(axis=1))
    return np.asarray(weights)


def random_weights(agents: int, *, coupling: float = 1.0) -> FloatArray:
    """Weights of one order of magnitude, those between the two halves times `coupling`."""
    weights = np.random.default_rng(1).random((agents, agents)) + 0.1
    half = agents // 2
    weights[:half, half:] *= coupling
    weights[half:, :half] *= coupling
    return on_grid(0.5 * weights / weights.sum(axis=1, keepdims=True))


def drift_path(agents: int) -> FloatArray:
    """A path on which everybody listens four times as much to one side: v spans 4^N."""
    weights = np.diag(np.full(agents - 1, 0.4), 1) + np.diag(np.full(agents - 1, 0.1), -1)
    return on_grid(weights)


def reset_chain(agents: int) -> FloatArray:
    """From i to i + 1, else back to 0, and the last stays: all eigenvalues but 1 are exactly 0."""
    back = round(GRID / agents) / GRID
    weights = np.zeros((agents, agents))
    here = np.arange(agents)
    weights[here, np.minimum(here + 1, agents - 1)] = 1 - back
    weights[:, 0] += back
    return weights


def nearly_periodic(agents: int) -> FloatArray:
    """A ring one way, each agent weighing itself by about 1e-6."""
    stay = round(1e-6 * GRID) / GRID
    here = np.arange(agents)
    weights = np.zeros((agents, agents))
    weights[here, here] = stay
    weights[here, (here + 1) % agents] = 1 - stay
    return weights


# Ladder ---------------------------------------------------------------------------------------


def _kept(found: dict[str, Any], task: str, run: Callable[[], Any]) -> None:
    found[task] = run()


def relative(found: FloatArray, exact: tuple[Fraction, ...]) -> float:
    """The largest relative error."""
    pairs = zip(np.asarray(found).tolist(), exact, strict=True)
    return float(max(abs(Fraction(value) - truth) / truth for value, truth in pairs))


def ladder_row(name: str, rational: RationalNetwork, floats: Network, *, repeats: int) -> Row:
    # Each call gets a copy, which knows nothing yet of what earlier calls found.
    tasks: dict[str, Callable[[], Any]] = {
        "float v": lambda: copy(floats).stationary_distribution,
        "exact v": lambda: copy(rational).stationary_distribution,
        "float modulus": lambda: copy(floats).slem,
        "exact modulus": lambda: copy(rational).spectrum.slem.enclosure(),
        "float D": lambda: copy(floats).deviation,
        "exact D": lambda: copy(rational).deviation.enclosures,
        "certified, all": lambda: certify_network(copy(rational), relative_width=WIDTH),
    }
    found: dict[str, Any] = {}
    seconds = interleaved(
        {task: partial(_kept, found, task, run) for task, run in tasks.items()}, repeats=repeats
    )
    certified = found["certified, all"]
    return {
        "part": "ladder",
        "network": name,
        "milliseconds": {task: 1e3 * value for task, value in seconds.items()},
        "error": {
            "float v": relative(found["float v"], found["exact v"]),
            "float modulus": abs(found["float modulus"] - found["exact modulus"].midpoint),
        },
        "width": {
            "float D": found["float D"].width,
            "exact D": max(one.relative_width for one in found["exact D"]),
            "certified": max(certified.reached.values()),
        },
    }


def ladder(sizes: Sizes, *, repeats: int) -> Iterator[Row]:
    for side in sizes.sides:
        rational = RationalNetwork.from_topology("grid", shape=[side, side], rule="metropolis")
        floats = Network.from_topology("grid", shape=[side, side], rule="metropolis")
        yield ladder_row(f"grid, N = {side**2}", rational, floats, repeats=repeats)
    for agents in sizes.random:
        floats = Network(random_weights(agents))
        rational = RationalNetwork.from_network(floats)
        yield ladder_row(f"random doubles, N = {agents}", rational, floats, repeats=repeats)


# Peers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peer:
    """How another package computes v and, if it does, the spectral gap."""

    stationary: Callable[[FloatArray], FloatArray]
    gap: Callable[[FloatArray], float | None] | None


def installed_peers() -> dict[str, Peer]:
    """Those of the peers that can be imported."""
    found = {}
    try:
        from quantecon.markov.gth_solve import gth_solve

        found["quantecon"] = Peer(gth_solve, None)
    except ImportError:
        pass
    try:
        from pydtmc import MarkovChain

        def gap(weights: FloatArray) -> float | None:
            try:
                found: float | None = MarkovChain(weights).spectral_gap
            except IndexError:  # what it does if no eigenvalue is further than 1e-5 from 1
                return None
            return found

        found["pydtmc"] = Peer(lambda weights: MarkovChain(weights).pi[0], gap)
    except ImportError:
        pass
    return found


def peers_row(name: str, weights: FloatArray, peers: dict[str, Peer], *, repeats: int) -> Row:
    rational = RationalNetwork.from_network(Network(weights))
    exact = rational.stationary_distribution
    tasks: dict[str, Callable[[], Any]] = {
        "v, ours": partial(eliminate, weights),
        "gap, ours": lambda: 1.0 - Network(weights).slem,
        "gap, exact": lambda: copy(rational).spectrum.slem.enclosure(),
    }
    for peer, methods in peers.items():
        tasks[f"v, {peer}"] = partial(methods.stationary, weights)
        if methods.gap is not None:
            tasks[f"gap, {peer}"] = partial(methods.gap, weights)
    columns = ["v, ours", *(f"v, {peer}" for peer in PEERS)]
    columns += ["gap, ours", "gap, pydtmc", "gap, exact"]
    answers: dict[str, Any] = {}
    seconds = interleaved(
        {task: partial(_kept, answers, task, run) for task, run in tasks.items()}, repeats=repeats
    )
    milliseconds = {c: 1e3 * seconds[c] if c in seconds else None for c in columns}
    true_gap = 1 - Fraction(answers["gap, exact"].midpoint)
    return {
        "part": "peers",
        "network": name,
        "milliseconds": milliseconds,
        "error": {
            c: relative(answers[c], exact) if c in answers else None for c in columns if c[0] == "v"
        },
        "gap": {
            "exact": float(true_gap),
            "ours": answers["gap, ours"],
            "pydtmc": answers.get("gap, pydtmc"),
        },
    }


def peers_rows(sizes: Sizes, peers: dict[str, Peer], *, repeats: int) -> Iterator[Row]:
    cases = {
        f"random, N = {min(10, sizes.peers)}": random_weights(min(10, sizes.peers)),
        f"random, N = {sizes.peers}": random_weights(sizes.peers),
        f"halves coupled by 1e-12, N = {sizes.peers}": random_weights(sizes.peers, coupling=1e-12),
        f"drift path, N = {sizes.path}": drift_path(sizes.path),
        f"reset chain, N = {sizes.path}": reset_chain(sizes.path),
        f"nearly periodic, N = {sizes.path}": nearly_periodic(sizes.path),
    }
    for name, weights in cases.items():
        yield peers_row(name, weights, peers, repeats=repeats)


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    sizes = TOY_SIZES if how.quick else SIZES
    # Importing them takes seconds.
    peers = {} if how.quick else installed_peers()
    found = list(ladder(sizes, repeats=how.repeats))
    return [*found, *peers_rows(sizes, peers, repeats=how.repeats)]
