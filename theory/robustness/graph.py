"""How robust a graph is: the condition under which trimming lets agents agree despite liars.

A set of agents is *r-closed* here if each member hears fewer than r agents outside it, so that
trimming r − 1 of them on each side leaves it to itself. A graph is *r-robust* if of any two
disjoint non-empty sets one at least is not r-closed. In a (2f + 1)-robust graph agents that trim
f agree in the limit, if nobody observes anything and each hears at most f liars (LeBlanc, Zhang,
Koutsoukos, Sundaram 2013); r-robustness for no r > f rules it out.

Deciding it takes exponential time in general. Here:

* up to 20 agents all sets are gone through, which decides;
* a witness (two disjoint r-closed sets) is looked for by an integer programme in larger graphs,
  and checked, so that "fails" is proved whatever the solver did;
* "holds" is proved for larger graphs where r ≤ 1, and where every agent hears at least
  ⌊N/2⌋ + r − 1 others (the smaller of two disjoint sets leaves each of its members r outside);
* otherwise the answer is "undecided".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from theory.network import Network
from theory.network.structure import off_diagonal
from theory.scientific import sparse
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_integer, fail

# How robust a graph is ---------------------------------------------------------------------------


# 2**20 sets of agents: bytes, and a second or so.
MOST_ENUMERATED = 20
# Variables of the integer programme are twice the agents.
MOST_SEARCHED = 200
SEARCH_SECONDS = 10.0

Status = Literal["holds", "fails", "undecided"]
Witness = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class RobustnessCheck(Shown):
    """Whether a graph is r-robust.

    Attributes
    ----------
    r, status
        The question, and "holds" (proved), "fails" (proved) or "undecided".
    witness
        Where it fails: two disjoint sets of agents in which nobody hears r agents outside. None
        where it fails for the number of agents alone, or does not fail.
    method
        How it was decided, or attempted, in words.
    """

    r: int
    status: Status
    witness: Witness | None
    method: str


@dataclass(frozen=True)
class Robustness(Shown):
    """The largest r for which a graph is r-robust: lower ≤ r ≤ upper, both proved.

    `witness` shows that it is not (upper + 1)-robust, where sets show it.
    """

    lower: int
    upper: int
    witness: Witness | None


@dataclass(frozen=True)
class ToleratedLiars(Shown):
    """For how many liars f per neighbourhood the graph is (2f + 1)-robust.

    Attributes
    ----------
    lower, upper
        f is proved to be at least `lower` and at most `upper`: trimming f makes agents that
        observe nothing agree, whoever the liars are, as long as nobody hears more than f.
    witness
        Two sets that keep (2(upper + 1) + 1)-robustness from holding, where sets do.
    """

    lower: int
    upper: int
    witness: Witness | None


@typed
def is_robust(network: Network, r: int) -> RobustnessCheck:
    """Whether the graph of W is r-robust.

    Parameters
    ----------
    network
        Its agents hear all others they give weight to; weights do not matter.
    r
        At least 0.

    Raises
    ------
    ValueError
        If r is not a whole number of at least 0.

    Examples
    --------
    On a torus of degree 4 two pairs of neighbouring rows are 2-closed: each agent hears one
    agent outside.

    >>> torus = Network.from_topology("torus", shape=[4, 4])
    >>> is_robust(torus, 1).status, is_robust(torus, 2).status
    ('holds', 'fails')
    """
    r = as_integer("r", r, minimum=0)
    N = network.agents
    links = off_diagonal(network.weights)
    least = int(np.bincount(links.row, minlength=N).min())
    if r == 0 or N == 1:
        return RobustnessCheck(r, "holds", None, "nothing is asked")
    if r == 1:
        return RobustnessCheck(r, "holds", None, "the network is irreducible")
    if r > (N + 1) // 2:
        half = N // 2
        return RobustnessCheck(
            r,
            "fails",
            (tuple(range(half)), tuple(range(half, N))),
            f"nobody in either half hears {r} agents of the other",
        )
    if least >= N // 2 + r - 1:
        return RobustnessCheck(
            r, "holds", None, f"every agent hears at least {N // 2 + r - 1} others"
        )
    if least < r:
        loner = int(np.argmin(np.bincount(links.row, minlength=N)))
        rest = tuple(j for j in range(N) if j != loner)
        why = f"agent {loner} hears {least} other{'s' * (least != 1)} only"
        return RobustnessCheck(r, "fails", ((loner,), rest), why)
    if N <= MOST_ENUMERATED:
        witness = _enumerate(network, r)
        status: Status = "holds" if witness is None else "fails"
        return RobustnessCheck(r, status, witness, "all sets of agents were gone through")
    if N <= MOST_SEARCHED:
        witness = _search(network, r)
        if witness is not None:
            return RobustnessCheck(r, "fails", witness, "an integer programme found two sets")
        return RobustnessCheck(r, "undecided", None, "an integer programme found no sets")
    return RobustnessCheck(r, "undecided", None, f"more than {MOST_SEARCHED} agents")


@typed
def robustness(network: Network) -> Robustness:
    """The largest r for which the graph is r-robust, between two proved bounds.

    Examples
    --------
    >>> robustness(Network.from_topology("complete", agents=7))
    Robustness(lower=4, upper=4, witness=((0, 1, 2), (3, 4, 5, 6)))
    """
    lower, r = 0, 1
    while True:
        check = is_robust(network, r)
        if check.status == "fails":
            return Robustness(lower, r - 1, check.witness)
        if check.status == "holds":
            lower = r
        # Anything is r-robust of one agent; ⌈N/2⌉ is the most there is otherwise.
        if r >= (network.agents + 1) // 2 and check.status == "holds":
            beyond = is_robust(network, r + 1) if network.agents > 1 else check
            return Robustness(lower, r, beyond.witness)
        r += 1


@typed
def tolerated_liars(network: Network) -> ToleratedLiars:
    """How many liars per neighbourhood the graph tolerates for trimmed agents to agree.

    Examples
    --------
    >>> tolerated_liars(Network.from_topology("complete", agents=7)).lower
    1
    """
    found = robustness(network)
    return ToleratedLiars(
        max(0, (found.lower - 1) // 2), max(0, (found.upper - 1) // 2), found.witness
    )


def is_closed(network: Network, agents: tuple[int, ...], r: int) -> bool:
    """Whether each of `agents` hears fewer than r agents outside the set."""
    links = off_diagonal(network.weights)
    inside = np.zeros(network.agents, dtype=bool)
    inside[list(agents)] = True
    outside = inside[links.row] & ~inside[links.column]
    heard = np.bincount(links.row[outside], minlength=network.agents)
    return bool(len(agents) > 0 and (heard[inside] < r).all())


def _enumerate(network: Network, r: int) -> Witness | None:
    """Two disjoint r-closed sets, or None if there are none: by all 2**N sets as bits."""
    N = network.agents
    links = off_diagonal(network.weights)
    heard = np.zeros(N, dtype=np.uint32)
    np.bitwise_or.at(heard, links.row, np.uint32(1) << links.column.astype(np.uint32))
    sets = np.arange(1 << N, dtype=np.uint32)
    closed = np.ones(sets.size, dtype=bool)
    closed[0] = False
    for i in range(N):
        member = (sets >> np.uint32(i)) & np.uint32(1) == 1
        closed &= ~member | (np.bitwise_count(heard[i] & ~sets) < r)
    # The largest closed set inside each set: unions of closed sets are closed.
    inside = np.where(closed, sets, np.uint32(0))
    for i in range(N):
        pairs = inside.reshape(-1, 2, 1 << i)
        pairs[:, 1] |= pairs[:, 0]
    everyone = np.uint32((1 << N) - 1)
    found = np.flatnonzero(closed & (inside[everyone ^ sets] > 0))
    if found.size == 0:
        return None
    first = sets[found[0]]
    return _members(first, N), _members(inside[everyone ^ first], N)


def _members(bits: np.uint32, agents: int) -> tuple[int, ...]:
    return tuple(i for i in range(agents) if int(bits) >> i & 1)


def _search(network: Network, r: int) -> Witness | None:
    """Two disjoint r-closed sets from an integer programme, checked; None if none was found."""
    N = network.agents
    links = off_diagonal(network.weights)
    heard = sparse.csr_array((np.ones(links.row.size), (links.row, links.column)), shape=(N, N))
    degrees = np.bincount(links.row, minlength=N).astype(np.float64)
    # A member i hears d_i − Σ_j x_j < r outside: (d_i − r + 1) x_i ≤ Σ_{j heard} x_j.
    closed = sparse.diags_array(np.maximum(degrees - r + 1, 0.0)) - heard
    empty = sparse.csr_array((N, N))
    rows = sparse.block_array([[closed, empty], [empty, closed]])
    eye = sparse.eye_array(N)
    disjoint = sparse.block_array([[eye, eye]])
    some = np.kron(np.eye(2), np.ones((1, N)))
    result = milp(
        np.ones(2 * N),
        integrality=np.ones(2 * N, dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(rows, -np.inf, 0.0),
            LinearConstraint(disjoint, -np.inf, 1.0),
            LinearConstraint(some, 1.0, np.inf),
        ],
        options={"time_limit": SEARCH_SECONDS},
    )
    if result.x is None:
        return None
    chosen = result.x > 0.5
    first, second = (tuple(np.flatnonzero(part).tolist()) for part in (chosen[:N], chosen[N:]))
    honest = not set(first) & set(second)
    if honest and is_closed(network, first, r) and is_closed(network, second, r):
        return first, second
    return None


# Which agents trimming lets the evidence reach ---------------------------------------------------


@dataclass(frozen=True)
class TrimmedSpread(Shown):
    """Whom the evidence of some agents reaches through trimmed means that tolerate f.

    Attributes
    ----------
    status
        "reached": everybody learns if agents pool seldom enough and nobody hears more than f
        liars; "blocked": somebody never learns, even if nobody lies; "undecided".
    reached
        Agents that join at threshold 2f + 1, the informative ones among them.
    blocked
        Agents that are left over at threshold f + 1.
    """

    status: Literal["reached", "blocked", "undecided"]
    reached: tuple[int, ...]
    blocked: tuple[int, ...]


@typed
def trimmed_spread(network: Network, informative: Iterable[int], *, tolerate: int) -> TrimmedSpread:
    """Whom the evidence of `informative` agents reaches, by closures.

    Parameters
    ----------
    network
        Agents hear those they give weight to.
    informative
        The agents whose own data tell two hypotheses apart, and on average in favour of the true
        one, I_j > 0; the honest ones of all others have no evidence about these, z = 0.
    tolerate
        f, at least 0.

    Raises
    ------
    ValueError
        If nobody is informative, or an agent does not exist.

    Examples
    --------
    Two rows of a torus know, three do not: with one neighbour trimmed on each side an agent of the
    third row hears but one that knows.

    >>> torus = Network.from_topology("torus", shape=[5, 5])
    >>> trimmed_spread(torus, range(10), tolerate=1).status
    'blocked'
    >>> trimmed_spread(torus, range(25), tolerate=1).status
    'reached'
    """
    f = as_integer("tolerate", tolerate, minimum=0)
    N = network.agents
    seeds = sorted({as_integer("informative", i, minimum=0, maximum=N - 1) for i in informative})
    if not seeds:
        raise fail("informative", "at least one agent", "none", "name those whose data tell")
    reached = _closure(network, seeds, 2 * f + 1)
    blocked = np.flatnonzero(~_closure(network, seeds, f + 1))
    # Where all have evidence nobody needs to keep what it has.
    keeps = len(seeds) == N or bool((network.weights.diagonal() > 0).all())
    everybody = bool(reached.all()) and keeps
    return TrimmedSpread(
        status="blocked" if blocked.size else "reached" if everybody else "undecided",
        reached=tuple(np.flatnonzero(reached).tolist()),
        blocked=tuple(blocked.tolist()),
    )


def _closure(network: Network, seeds: list[int], threshold: int) -> np.ndarray:
    """Agents that join, from `seeds`, once `threshold` of those they hear have; shape (N,)."""
    links = off_diagonal(network.weights)
    joined = np.zeros(network.agents, dtype=bool)
    joined[seeds] = True
    while True:
        count = np.bincount(links.row[joined[links.column]], minlength=network.agents)
        new = (count >= threshold) & ~joined
        if not new.any():
            return joined
        joined |= new
