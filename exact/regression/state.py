"""The beliefs of all agents in all replicates of a chunk, carried from round to round.

With z_t the precision and information that round t's samples add, the public beliefs follow

    B_t = z_t + W B_{t−1},   B_1 = z_1 + prior,   private beliefs = W B_t,

for every entry of Ω and of h: a row for each agent, of one column for each live pair of coordinates
and each coordinate, times the replicates. A pair is *live* if the prior couples the two or some
agent sees both; the others stay zero. All columns go through one product with W a round.

**Rounds between records.** Wᵐ differs from 1 vᵀ by no more than rounding from some m on. A belief
at round n then depends on what was observed before round n − m only through vᵀB, for which

    vᵀ B_t = vᵀ z_t + vᵀ B_{t−1},

a sum that costs 1/N of a product with W. So only the last m rounds before a recorded one are run
through W; for the rounds before them vᵀB is carried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.sparse import csr_array

from exact.propagation import aligned
from exact.regression.beliefs import GaussianBeliefs
from theory import Network
from theory.regression import RegressionAgent, RegressionModel
from theory.regression.agent import root_of
from theory.validation import FloatArray, IntArray

# Drawing what agents of a regression observe, for many replicates and rounds at a time -----------


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples of a round, S of them, and their rows of inputs.

    Attributes
    ----------
    drawer, owner
        Shape (S,): the agent that draws each, and the learner who gets it.
    start, coordinates
        Sample s has the rows start[s] to start[s + 1] − 1, of these coordinates.
    weight
        Shape (S,): t/s², what a sample's x xᵀ counts in a precision.
    noise_std
        Shape (S,): what the drawn noise is multiplied by; 1 where labels are data.
    follows
        Shape (S,): 1 where labels are xᵀθ* plus noise, 0 where they are data.
    """

    drawer: IntArray
    owner: IntArray
    start: IntArray
    coordinates: IntArray
    weight: FloatArray
    noise_std: FloatArray
    follows: FloatArray

    @property
    def rows(self) -> int:
        """The number of rows of inputs."""
        return int(self.coordinates.size)


def samples_of(model: RegressionModel) -> Samples:
    """What the agents of a model draw each round, agent by agent."""
    agents = [model.agent(i) for i in range(model.agents)]
    drawer = np.repeat(np.arange(model.agents), [agent.batch for agent in agents]).astype(np.int64)
    seen = {id(kind): seen_coordinates(kind) for kind in model.kinds}
    drawn = [agents[i] for i in drawer]
    lists = [seen[id(agent)] for agent in drawn]
    return Samples(
        drawer=drawer,
        owner=drawer,
        start=np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64),
        coordinates=np.concatenate(lists).astype(np.int64),
        weight=np.array([agent.weight for agent in drawn]),
        noise_std=np.array([1.0 if a.targets is not None else a.noise_std for a in drawn]),
        follows=np.array([float(agent.targets is None) for agent in drawn]),
    )


def seen_coordinates(agent: RegressionAgent) -> IntArray:
    """The coordinates of an agent's inputs that are not always zero."""
    if agent.ranges is not None:
        return np.flatnonzero(agent.ranges.any(axis=1))
    return np.flatnonzero(agent.second_moment.diagonal() > 0)


class Observer:
    """Draws rounds of samples: inputs, and noise or the labels of data.

    Parameters
    ----------
    model, samples
        The agents, and :func:`samples_of` them.
    replicates
        R.
    shared
        Whether all replicates see the same inputs.
    seed, chunk
        Streams belong to a seed and a chunk of replicates; those of shared inputs to the seed.
    """

    def __init__(
        self,
        model: RegressionModel,
        samples: Samples,
        *,
        replicates: int,
        shared: bool,
        seed: int,
        chunk: int,
    ) -> None:
        self._samples = samples
        self._noises = replicates
        self._inputs = 1 if shared else replicates
        self._noise = stream(seed, 0, chunk)
        uniform: list[int] = []
        bounds: list[FloatArray] = []
        self._constant: list[tuple[int, float]] = []
        self._normal: list[tuple[np.random.Generator, IntArray, FloatArray]] = []
        self._data: list[tuple[np.random.Generator, IntArray, IntArray, FloatArray, FloatArray]]
        self._data = []
        key = () if shared else (chunk,)
        for k, kind in enumerate(model.kinds):
            which = np.flatnonzero(model.assignment[samples.drawer] == k)
            rows = [np.arange(samples.start[s], samples.start[s + 1]) for s in which]
            if not rows or not rows[0].size:
                continue
            table = np.array(rows)
            seen = samples.coordinates[table[0]]
            if kind.ranges is not None:
                for at, (low, high) in enumerate(kind.ranges[seen]):
                    if low == high:
                        self._constant += [(int(row), float(low)) for row in table[:, at]]
                    else:
                        uniform += table[:, at].tolist()
                        bounds += [np.array([low, high - low])] * len(table)
            elif kind.inputs is not None:
                labels = np.empty(0) if kind.targets is None else kind.targets
                own = stream(seed, k + 2, *key)
                self._data.append((own, which, table, kind.inputs[:, seen].T.copy(), labels))
            else:
                root = root_of(kind.second_moment[np.ix_(seen, seen)])
                self._normal.append((stream(seed, k + 2, *key), table, root))
        self._uniform = np.array(uniform, dtype=np.int64)
        self._bounds = np.array(bounds).reshape(-1, 2)
        self._uniform_stream = stream(seed, 1, *key)
        self._whole = np.array_equal(self._uniform, np.arange(samples.rows))

    def draw(self, rounds: int) -> tuple[FloatArray, FloatArray]:
        """Inputs, shape (rounds, rows, R or 1), and noise or labels, shape (rounds, S, R)."""
        samples = self._samples
        shape = (rounds, len(samples.owner), self._noises)
        noise = self._noise.standard_normal(shape)
        varying = self._uniform_stream.random((rounds, self._uniform.size, self._inputs))
        varying *= self._bounds[:, 1, None]
        varying += self._bounds[:, 0, None]
        if self._whole:
            return varying, noise
        inputs = np.empty((rounds, samples.rows, self._inputs))
        inputs[:, self._uniform] = varying
        for row, value in self._constant:
            inputs[:, row] = value
        for own, table, root in self._normal:
            size = (rounds, len(table), self._inputs, len(root))
            drawn = own.standard_normal(size) @ root.T
            inputs[:, table] = drawn.swapaxes(-1, -2)
        for own, which, table, columns, labels in self._data:
            chosen = own.integers(columns.shape[1], size=(rounds, len(which), self._inputs))
            inputs[:, table] = columns[:, chosen].transpose(1, 2, 0, 3)
            if labels.size:
                noise[:, which] = labels[chosen]
        return inputs, noise


def stream(seed: int, *key: int) -> np.random.Generator:
    """A generator that belongs to a seed and a key."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


# The beliefs of all agents in all replicates of a chunk, carried from round to round -------------


# Numbers drawn in one go: enough to hide the cost of a call, few enough to stay in cache.
DRAWS_AT_ONCE = 1 << 15
# Rows of W^m that differ from v by less, in sum, are taken to be v: 50 roundings of numbers near 1.
SETTLED = 1e-14
# An entry of sparse W costs five to ten times one of dense W.
SPARSE_SHARE = 0.1
# Networks beyond this size are not asked for powers of W, which are dense.
DENSE_AGENTS = 2000


@dataclass(frozen=True, eq=False)
class Columns:
    """Where the entries of a precision are kept.

    Attributes
    ----------
    pairs
        Shape (P, 2): coordinates a ≤ b of each column.
    index
        Shape (d, d), symmetric: the column of a pair, −1 for one that stays zero.
    """

    pairs: IntArray
    index: IntArray

    @classmethod
    def of(cls, model: RegressionModel, prior: GaussianBeliefs) -> Columns:
        """The live pairs of a model."""
        live = (prior.precision != 0).any(axis=0)
        for kind in model.kinds:
            seen = seen_coordinates(kind)
            live[np.ix_(seen, seen)] = True
        pairs = np.argwhere(np.triu(live))
        index = np.full(live.shape, -1, dtype=np.int64)
        index[pairs[:, 0], pairs[:, 1]] = index[pairs[:, 1], pairs[:, 0]] = np.arange(len(pairs))
        return cls(pairs, index)

    def pack(self, matrices: FloatArray) -> FloatArray:
        """The live entries of matrices of shape (..., d, d): shape (..., P)."""
        return matrices[..., self.pairs[:, 0], self.pairs[:, 1]]

    def unpack(self, entries: FloatArray) -> FloatArray:
        """Matrices of shape (..., d, d) from entries of shape (..., P)."""
        d = len(self.index)
        matrices = np.zeros((*entries.shape[:-1], d, d))
        matrices[..., self.pairs[:, 0], self.pairs[:, 1]] = entries
        matrices[..., self.pairs[:, 1], self.pairs[:, 0]] = entries
        return matrices


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Private beliefs at a recorded round, valid until the next step.

    `precision` has shape (N, P, R) (or (N, P, 1) if inputs are shared), `information` (N, d, R).
    """

    precision: FloatArray
    information: FloatArray


def settling_rounds(network: Network, *, most: int) -> int:
    """A number m of rounds after which every row of W^m is v to working accuracy; at most `most`.

    The distance max_i ‖e_i Wᵐ − v‖₁ never grows with m, so that powers 1, 2, 4, ... bracket the
    first m at which it is below 10⁻¹⁴, and bisection with the same powers finds it.
    """
    if network.agents > DENSE_AGENTS or most <= 1:
        return most
    weights = network.weights
    v = network.stationary_distribution
    powers = [np.asarray(weights if isinstance(weights, np.ndarray) else weights.toarray())]
    while distance(powers[-1], v) > SETTLED:
        if 2 ** (len(powers) - 1) >= most:
            return most
        powers.append(powers[-1] @ powers[-1])
    if len(powers) == 1:
        return 1
    # W^rounds has not settled yet, and twice as many rounds have.
    power, rounds = powers[-2], 2 ** (len(powers) - 2)
    for exponent in reversed(range(len(powers) - 2)):
        longer = power @ powers[exponent]
        if distance(longer, v) > SETTLED:
            power, rounds = longer, rounds + 2**exponent
    return int(min(most, rounds + 1))


def distance(power: FloatArray, distribution: FloatArray) -> float:
    """max_i ‖e_i Wᵐ − v‖₁."""
    return float(np.abs(power - distribution).sum(axis=1).max())


class Carrier:
    """Carries one chunk of replicates through the rounds.

    Parameters
    ----------
    weights
        W, dense or CSR; None if nobody listens to anybody.
    distribution
        v, shape (N,).
    settled
        Rounds after which W^m is 1 vᵀ.
    samples, columns, theta
        What is observed, where it goes, and the truth of labels that follow it.
    prior
        Of the agents whose beliefs are carried.
    """

    def __init__(
        self,
        weights: FloatArray | csr_array | None,
        distribution: FloatArray,
        settled: int,
        samples: Samples,
        columns: Columns,
        theta: FloatArray,
        prior: GaussianBeliefs,
    ) -> None:
        self._weights = weights
        self._v = distribution
        self._settled = settled
        self._samples = samples
        self._columns = columns
        self._theta = theta
        self._prior = prior

    def run(
        self, observer: Observer, rounds: IntArray, *, replicates: int, shared: bool
    ) -> Iterator[tuple[int, Snapshot | None]]:
        """Yield (rounds done, None) now and then, and (n, snapshot) at every recorded round n."""
        prior = self._prior
        copies = 1 if shared else replicates
        pairs = len(self._columns.pairs)
        split = pairs * copies
        width = split + prior.dimension * replicates
        state = aligned((prior.agents, width))
        other = aligned((prior.agents, width)) if self._weights is not None else state
        # Views of the state: another copy of it would be a third of the run's memory.
        precision = state[:, :split].reshape(prior.agents, pairs, copies)
        precision[:] = self._columns.pack(prior.precision)[..., None]
        information = state[:, split:].reshape(prior.agents, prior.dimension, replicates)
        information[:] = prior.information[..., None]
        first = True
        drawn = len(self._samples.owner) * replicates + self._samples.rows * copies
        batch = max(1, DRAWS_AT_ONCE // drawn)
        now = 0
        for target in rounds.tolist():
            # Rounds that need not go through W, if those before this record are enough of them.
            skip = 0 if self._weights is None else target - now - self._settled
            if skip > 0:
                mean = (self._v @ state)[None, :]
                for step in steps(skip, batch):
                    inputs, noise = observer.draw(step)
                    for t in range(step):
                        self._observe(inputs[t], noise[t], pairs, mean, pooled=True)
                    now += step
                    yield now, None
                state[:] = mean
                first = False
            for step in steps(target - now, batch):
                inputs, noise = observer.draw(step)
                for t in range(step):
                    if self._weights is None or first:
                        self._observe(inputs[t], noise[t], pairs, state)
                        first = False
                        continue
                    other[:] = 0.0
                    self._observe(inputs[t], noise[t], pairs, other)
                    add_product(self._weights, state, other)
                    state, other = other, state
                now += step
                yield now, None
            private = state
            if self._weights is not None:
                private = other
                private[:] = 0.0
                add_product(self._weights, state, private)
            precision = private[:, :split].reshape(prior.agents, pairs, copies)
            information = private[:, split:].reshape(prior.agents, prior.dimension, replicates)
            yield now, Snapshot(precision, information)

    def _observe(
        self,
        inputs: FloatArray,
        noise: FloatArray,
        pairs: int,
        out: FloatArray,
        *,
        pooled: bool = False,
    ) -> None:
        from exact.regression.kernels import observe

        samples = self._samples
        owner, weight = samples.owner, samples.weight
        if pooled:
            owner, weight = np.zeros_like(owner), weight * self._v[owner]
        observe(
            inputs,
            noise,
            owner,
            samples.start,
            samples.coordinates,
            weight,
            samples.noise_std,
            samples.follows,
            self._theta,
            self._columns.index,
            pairs,
            out,
        )


def lighter(weights: FloatArray | csr_array) -> FloatArray | csr_array:
    """W without its zeros, if so few entries are left that products with them are quicker."""
    if isinstance(weights, csr_array) or np.count_nonzero(weights) > weights.size * SPARSE_SHARE:
        return weights
    return csr_array(weights)


def add_product(weights: FloatArray | csr_array, state: FloatArray, out: FloatArray) -> None:
    """Add W · state to `out`, in place; BLAS sees the transposes of our rows."""
    if isinstance(weights, csr_array):
        from exact.regression.kernels import add_sparse_product

        add_sparse_product(weights.indptr, weights.indices, weights.data, state, out)
    else:
        dgemm(1.0, state.T, weights.T, 1.0, out.T, overwrite_c=True)


def steps(total: int, largest: int) -> Iterator[int]:
    """Cut a number of rounds into steps."""
    while total > 0:
        step = min(total, largest)
        yield step
        total -= step
