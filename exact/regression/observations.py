"""Drawing what agents of a regression observe, for many replicates and rounds at a time.

A round has one *sample* for each pair an agent draws. Of a sample's input only the coordinates
that can differ from zero are kept, one row each, so that an agent that sees two of fifty costs
what two do. Inputs and noise come from streams of their own, kind by kind: how many rounds are
drawn at a time changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.regression import RegressionAgent, RegressionModel
from theory.regression.moments import root_of
from theory.validation import FloatArray, IntArray


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
