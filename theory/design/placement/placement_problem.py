"""Which data set could be held by which agent, with everything that is alike counted once.

Two data sets of one *sort* are the same law, so that exchanging them changes nothing; two agents
of one *group* have the same influence v, so that exchanging what they hold changes neither K nor
E (docs: mathematics/placement). A *filling* names the sort at every free agent, agents in the
order of `free`: every placement is one, and with groups in a row whose sorts do not decrease,
every class of equivalent placements is exactly one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb, factorial, prod

import numpy as np

from theory.design.rate.rate_program import as_target
from theory.learning.finite_agent import Agent, FiniteAgent
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.network.structure import as_dense
from theory.scientific import csgraph, sparse
from theory.validation import FloatArray, IntArray, as_float_array, as_integer, fail, read_only

# How many placements there are, and how many classes of equivalent ones --------------------------


# Steps of the count of classes, for a fraction of a second.
_MOST_STEPS = 100_000


def arrangements(counts: Sequence[int]) -> int:
    """In how many orders so many things of each sort can be laid out: a multinomial coefficient."""
    return factorial(sum(counts)) // prod(factorial(n) for n in counts)


def count_classes(sizes: Sequence[int], stock: Sequence[int]) -> int | None:
    """How many tables of counts have these sums by row and by column; None if it takes long.

    Rows are groups of equal agents, columns sorts of equal data sets.
    """
    present = tuple(n for n in stock if n)
    if all(n == 1 for n in present):
        return arrangements(sizes)
    if all(n == 1 for n in sizes):
        return arrangements(present)
    ways, steps = {present: 1}, 0
    for size in sizes:
        following: dict[tuple[int, ...], int] = {}
        for left, count in ways.items():
            # A bound on how many ways there are to take so many, before they are listed.
            steps += comb(size + len(left) - 1, len(left) - 1)
            if steps > _MOST_STEPS:
                return None
            for share in shares(left, size):
                rest = tuple(a - b for a, b in zip(left, share, strict=True))
                following[rest] = following.get(rest, 0) + count
        ways = following
    return sum(ways.values())


def shares(left: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """The ways to take `size` data sets from a stock, how many of each sort."""
    if not left:
        return [()] if size == 0 else []
    later = sum(left[1:])
    return [
        (take, *rest)
        for take in range(max(0, size - later), min(left[0], size) + 1)
        for rest in shares(left[1:], size - take)
    ]


# Which data set could be held by which agent, with everything that is alike counted once ---------


# Influences that agree to this are equal but for the rounding of the elimination that found them,
# which loses a few units in the last place an agent.
_SAME_INFLUENCE = 1e-12


@dataclass(frozen=True, eq=False)
class PlacementProblem:
    """The data sets of a model, the influence of the agents, and the hypothesis to be learnt.

    Parameters
    ----------
    model
        Data set d is what agent d of `model` observes, its prior included.
    influence
        Shape (N,): v, or what takes its place; non-negative, not all zero.
    target
        The hypothesis that the network shall settle on; None for the model's optimal one.
    fixed
        Agents that keep their data.
    joins_influence
        Whether agents of equal influence count as alike, and priors do not matter: right for K and
        E, which see neither the rest of W nor priors.

    Raises
    ------
    ValueError
        If there is not one influence per agent, `fixed` is out of range, repeats or names all
        agents, or the target is none (see `as_target`).
    """

    model: FiniteModel
    influence: FloatArray
    target: int | str | None = None
    fixed: tuple[int, ...] = ()
    joins_influence: bool = True
    wrong: tuple[int, ...] = field(init=False)
    """The hypotheses to be rejected, H of them; not those that nobody tells from the target."""

    def __post_init__(self) -> None:
        model = self.model
        influence = as_float_array("influence", self.influence, ndim=1)
        if influence.size != model.agents:
            raise fail(
                "model",
                f"as many agents as the network, {influence.size}",
                model.agents,
                "change the agents' counts or the network's size",
            )
        if (influence < 0).any() or not influence.any():
            raise fail(
                "influence",
                "numbers of at least 0, some above",
                f"{influence.min():g} to {influence.max():g}",
                "give the stationary distribution",
            )
        fixed = tuple(as_integer("fixed", i, minimum=0) for i in self.fixed)
        if fixed and max(fixed) >= model.agents:
            raise fail(
                "fixed",
                f"agents numbered 0 to {model.agents - 1}",
                max(fixed),
                "number the agents from 0",
            )
        if len(set(fixed)) != len(fixed):
            raise fail("fixed", "every agent once", list(fixed), "leave out the repetition")
        if len(fixed) == model.agents and model.agents > 1:
            raise fail("fixed", "some agent left out", "all agents", "free two agents or more")
        object.__setattr__(self, "influence", influence)
        # One agent keeps its data whether it is told to or not.
        object.__setattr__(self, "fixed", tuple(sorted(fixed)) if model.agents > 1 else ())
        aim = as_target(model, self.target)
        object.__setattr__(self, "target", aim.target)
        object.__setattr__(self, "wrong", tuple(aim.wrong.tolist()))

    # What is alike ------------------------------------------------------------------------------

    @property
    def agents(self) -> int:
        """N."""
        return self.model.agents

    @property
    def best(self) -> int:
        """The target, found."""
        assert isinstance(self.target, int)
        return self.target

    @cached_property
    def sorts(self) -> IntArray:
        """Shape (N,): the sort of each data set."""
        keys: dict[Hashable, int] = {}
        of_kind = np.full(len(self.model.kinds), -1, dtype=np.int64)
        for k in self.model.assignment:
            if of_kind[k] < 0:
                key = law_key(self.model.kinds[k])
                if not self.joins_influence:
                    key = (key, self.model.log_priors[k].tobytes())
                of_kind[k] = keys.setdefault(key, len(keys))
        return read_only(of_kind[self.model.assignment])

    @cached_property
    def representatives(self) -> IntArray:
        """Shape (S,): a kind of the model for each sort."""
        first = np.unique(self.sorts, return_index=True)[1]
        return read_only(self.model.assignment[first])

    @cached_property
    def free(self) -> IntArray:
        """Shape (F,): the agents whose data may move, the most influential first."""
        order = np.argsort(-self.influence, kind="stable")
        return read_only(order[~np.isin(order, self.fixed)].astype(np.int64))

    @cached_property
    def weights(self) -> FloatArray:
        """Shape (F,): the influence of the free agents, decreasing."""
        return read_only(self.influence[self.free])

    @cached_property
    def groups(self) -> IntArray:
        """Shape (F,): the group of each free agent, not decreasing from 0."""
        if not self.joins_influence:
            return read_only(np.arange(self.free.size))
        fall = self.weights[:-1] - self.weights[1:]
        new = fall > _SAME_INFLUENCE * self.weights[:-1]
        return read_only(np.concatenate([[0], np.cumsum(new)]).astype(np.int64))

    @cached_property
    def sizes(self) -> IntArray:
        """Shape (C,): the number of agents in each group."""
        return read_only(np.bincount(self.groups).astype(np.int64))

    @cached_property
    def stock(self) -> IntArray:
        """Shape (S,): how many data sets of each sort there are to place."""
        counts = np.bincount(self.sorts[self.free], minlength=self.representatives.size)
        return read_only(counts.astype(np.int64))

    @property
    def is_trivial(self) -> bool:
        """Whether all placements are alike: one free agent, one sort, or one group."""
        return int((self.stock > 0).sum()) < 2 or self.sizes.size < 2

    # Rates --------------------------------------------------------------------------------------

    @cached_property
    def information(self) -> FloatArray:
        """Shape (S, H): I(target, θ) of each sort, in nats per observation."""
        found = self.model.comparison(self.best).values[self.representatives]
        return read_only(found[:, list(self.wrong)])

    @cached_property
    def base(self) -> FloatArray:
        """Shape (H,): what the agents that keep their data add to the rates."""
        kept = list(self.fixed)
        return read_only(self.influence[kept] @ self.information[self.sorts[kept]])

    def rates(self, fillings: IntArray) -> FloatArray:
        """Σ_j v_j I_j(target, θ) of every filling, shape (P, H), for fillings of shape (P, F)."""
        values = np.tile(self.base, (len(fillings), 1))
        for place, weight in enumerate(self.weights):
            values += (weight * self.information)[fillings[:, place]]
        return values

    @cached_property
    def least_rates(self) -> FloatArray:
        """Shape (H,): rates up to this count as zero, the network does not settle on the target.

        For each hypothesis what rounding may do to its own rate; none, if the target is optimal.
        """
        if self.model.optimal_hypotheses:
            return read_only(np.zeros(len(self.wrong)))
        doubt = self.model.comparison(self.best).doubt[self.representatives][:, list(self.wrong)]
        return read_only(float(self.influence.sum()) * doubt.max(axis=0))

    def learns(self, filling: IntArray) -> bool:
        """Whether the network settles on the target under a filling of shape (F,)."""
        return bool((self.rates(filling[None])[0] > self.least_rates).all())

    # Fillings -----------------------------------------------------------------------------------

    @cached_property
    def original(self) -> IntArray:
        """Shape (F,): the filling as it is."""
        return read_only(self.sorts[self.free])

    def everywhere(self, fillings: IntArray) -> IntArray:
        """The sort at each of all N agents, shape (P, N), agents in their own order."""
        whole = np.tile(self.sorts, (len(fillings), 1))
        whole[:, self.free] = fillings
        return whole

    def assignment(self, filling: IntArray) -> IntArray:
        """The data set at each agent, shape (N,): as many as possible stay where they are."""
        wanted = filling.copy()
        for group in range(self.sizes.size):
            places = np.flatnonzero(self.groups == group)
            left = np.bincount(wanted[places], minlength=self.stock.size)
            stays = []
            for place in places:
                sort = self.original[place]
                if left[sort]:
                    left[sort] -= 1
                    stays.append(place)
            rest = [place for place in places if place not in set(stays)]
            wanted[stays] = self.original[stays]
            wanted[rest] = np.repeat(np.arange(left.size), left)
        result = np.arange(self.agents)
        moves = np.flatnonzero(wanted != self.original)
        for sort in np.unique(wanted[moves]):
            to = moves[wanted[moves] == sort]
            source = moves[self.original[moves] == sort]
            result[self.free[to]] = self.free[source]
        return read_only(result)

    def placed(self, assignment: IntArray) -> FiniteModel:
        """The model whose agent i observes data set `assignment[i]`."""
        kinds = self.model.assignment[assignment]
        return FiniteModel(self.model.hypotheses, self.model.kinds, kinds, self.model.log_priors)

    # Counting -----------------------------------------------------------------------------------

    @cached_property
    def placements(self) -> int:
        """How many placements differ in who holds which sort."""
        return arrangements(self.stock.tolist())

    def equivalent(self, filling: IntArray) -> int:
        """How many placements differ from this one by exchanges within groups only."""
        table = np.zeros((self.sizes.size, self.stock.size), dtype=np.int64)
        np.add.at(table, (self.groups, filling), 1)
        return prod(arrangements(row) for row in table.tolist())

    @cached_property
    def classes(self) -> int | None:
        """How many classes of equivalent placements there are; None where counting takes long."""
        return count_classes(self.sizes.tolist(), self.stock.tolist())


def law_key(kind: Agent) -> Hashable:
    """Equal for kinds that are the same law to the last bit."""
    if isinstance(kind, FiniteAgent):
        arrays: tuple[FloatArray, ...] = (kind.probabilities, kind.log_likelihoods)
        return ("finite", kind.entropy, kind.tables, *((a.shape, a.tobytes()) for a in arrays))
    arrays = (kind.inputs, kind.truth_means, kind.means)
    numbers = (kind.truth_std, kind.std, kind.batch)
    return ("normal", *numbers, *((a.shape, a.tobytes()) for a in arrays))


# Which placements the network itself cannot tell apart -------------------------------------------


# Weights are compared after rounding to this: sums of quotients differ in the last place.
_DECIMALS = 13


@dataclass(frozen=True, eq=False)
class Orbits:
    """Shape (P,) each: the orbit of every row, and for every orbit a row and its size."""

    labels: IntArray
    rows: IntArray
    sizes: IntArray


def automorphisms(weights: FloatArray, colours: IntArray) -> list[IntArray]:
    """Permutations, shape (N,) each, that generate all those that keep W and the colours.

    Found point by point: with agents 0 … i − 1 held, where can agent i go? At most N(N − 1)/2.
    """
    rounded = np.round(weights, _DECIMALS)
    count = len(rounded)
    found: list[IntArray] = []
    for i in reversed(range(count)):
        reached = {i}
        for j in range(i + 1, count):
            if j in reached:
                continue
            images = _extend(rounded, colours, [*range(i), j])
            if images is not None:
                found.append(np.array(images, dtype=np.int64))
                reached = _orbit(i, [p for p in found if (p[:i] == np.arange(i)).all()])
    return found


def _extend(weights: FloatArray, colours: IntArray, images: list[int]) -> list[int] | None:
    """Complete the images of agents 0, 1, … to an automorphism, by backtracking."""
    here = len(images) - 1
    image = images[here]
    known = np.array(images)
    alike = (
        colours[here] == colours[image]
        and image not in images[:here]
        and (weights[here, : here + 1] == weights[image, known]).all()
        and (weights[: here + 1, here] == weights[known, image]).all()
    )
    if not alike:
        return None
    if len(images) == len(weights):
        return images
    for following in range(len(weights)):
        complete = _extend(weights, colours, [*images, following])
        if complete is not None:
            return complete
    return None


def _orbit(start: int, permutations: list[IntArray]) -> set[int]:
    reached, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for permutation in permutations:
            there = int(permutation[here])
            if there not in reached:
                reached.add(there)
                waiting.append(there)
    return reached


def orbits(rows: IntArray, permutations: list[IntArray]) -> Orbits:
    """Group the rows, shape (P, N), all different and closed under the permutations of columns."""
    order = np.lexsort(rows.T[::-1])
    ordered = np.ascontiguousarray(rows[order].astype(">i2"))  # bytes that sort like the numbers
    keys = ordered.view(np.dtype((np.void, ordered.shape[1] * 2))).ravel()
    edges = [np.arange(len(rows))]
    for permutation in permutations:
        moved = np.ascontiguousarray(ordered[:, permutation])
        edges.append(np.searchsorted(keys, moved.view(keys.dtype).ravel()))
    starts = np.tile(np.arange(len(rows)), len(edges))
    graph = sparse.coo_array(
        (np.ones(starts.size), (starts, np.concatenate(edges))), shape=(len(rows), len(rows))
    )
    count, of_ordered = csgraph.connected_components(graph, directed=False)
    labels = np.empty(len(rows), dtype=np.int64)
    labels[order] = of_ordered
    first = np.unique(labels, return_index=True)[1].astype(np.int64)
    sizes = np.bincount(labels, minlength=count).astype(np.int64)
    return Orbits(read_only(labels), read_only(first), read_only(sizes))


# All classes of equivalent placements, in a table ------------------------------------------------


# Of 9! placements of nine agents there are 3.3 million; 64 MiB.
MOST_ENTRIES = 8_000_000


def every_filling(sizes: Sequence[int], stock: Sequence[int]) -> IntArray | None:
    """One filling of each class, shape (P, F); None if there are more than `MOST_ENTRIES` entries.

    Agents of a group hold sorts that do not decrease, so that no two fillings are equivalent.

    Parameters
    ----------
    sizes, stock
        How many agents each group has, and how many data sets each sort.
    """
    count = count_classes(sizes, stock)
    if count is None or count * sum(sizes) > MOST_ENTRIES:
        return None
    left = np.array([stock], dtype=np.int16)
    chosen = np.zeros((1, 0), dtype=np.int16)
    for size in sizes:
        takes = np.array(shares(stock, size), dtype=np.int16)
        runs = np.array(
            [np.repeat(np.arange(share.size), share) for share in takes], dtype=np.int16
        )
        parts_left, parts_chosen = [], []
        for share, run in zip(takes, runs.reshape(len(takes), size), strict=True):
            fits = (left >= share).all(axis=1)
            parts_left.append(left[fits] - share)
            parts_chosen.append(
                np.hstack([chosen[fits], np.broadcast_to(run, (int(fits.sum()), run.size))])
            )
        left, chosen = np.concatenate(parts_left), np.concatenate(parts_chosen)
    return chosen.astype(np.int64)


def fillings_of(problem: PlacementProblem) -> IntArray:
    """All classes.

    Raises
    ------
    ValueError
        If there are too many.
    """
    found = every_filling(problem.sizes.tolist(), problem.stock.tolist())
    if found is None:
        many = "too many to count" if problem.classes is None else f"{problem.classes}"
        raise fail(
            "method",
            "so few different placements that all can be tried, as with nine agents",
            f"exhaustive, with {many} for {problem.free.size} agents",
            "use local, or milp for the rate",
        )
    return found


def network_orbits(network: Network, problem: PlacementProblem) -> tuple[IntArray, Orbits] | None:
    """All placements and their classes under the network's symmetries; None if too many."""
    fillings = every_filling(problem.sizes.tolist(), problem.stock.tolist())
    if fillings is None:
        return None
    colours = np.full(problem.agents, -1, dtype=np.int64)
    colours[list(problem.fixed)] = problem.sorts[list(problem.fixed)]
    symmetries = automorphisms(as_dense(network.weights), colours)
    return fillings, orbits(problem.everywhere(fillings), symmetries)
