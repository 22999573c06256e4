"""Observations: drawing them, and looking up what they say.

All that learning needs of an observation is its row of log-likelihoods, one per hypothesis. An
agent with finitely many outcomes therefore draws one *symbol* a round, the outcome's row in a
table, whatever the number of hypotheses. For a Gaussian agent the symbol is the input x, and the
row is linear in a standard normal number n: dropping what is common to all hypotheses,

    log ℓ(y | θ, x) = −(μ_x + σn − m_θx)²/2s² ≅ −(μ_x − m_θx)²/2s² − n σ(μ_x − m_θx)/s².

Symbols are drawn by Walker's alias method from one 64-bit word each: an outcome's probability is
met to within 2⁻⁶³ plus the rounding of double-precision probabilities, about 1e-16.

Several replicates of one agent can be drawn by one word as well: g independent replicates are
again a finite law, of Oᵍ outcomes whose rows have g·M entries. That pays where O is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from theory import FiniteModel, GaussianAgent
from theory.learning.batches import type_law
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer

# Joint tables of several replicates pay only while they stay near the core, and where drawing and
# looking up are not drowned by a product whose cost grows with the number of agents.
JOINT_TABLE_BYTES = 1 << 17
GROUPS = (8, 6, 4, 3, 2)
JOINT_AGENTS = 64


@dataclass(frozen=True, eq=False)
class Draws:
    """Observations of T consecutive rounds, as rows of an :class:`ObservationTable`.

    Attributes
    ----------
    symbols
        Shape (T, N, R/g).
    noise
        Shape (T, N, R·C), the standard normal numbers, C for each replicate of an agent; of size 0
        where no agent is Gaussian.
    """

    symbols: IntArray
    noise: FloatArray


@dataclass(frozen=True, eq=False)
class ObservationTable:
    """What each observation says: row = offsets[symbol] + n · slopes[symbol].

    Attributes
    ----------
    offsets
        Shape (S, g·C), in nats: C columns for each of the g replicates of a symbol.
    slopes
        Shape (S, q·C), those of one channel after the other; or empty where no agent is Gaussian.
    group
        How many replicates one symbol stands for, g; 1 where an agent is Gaussian.
    channels
        How many normal numbers n one observation takes, q.
    begin, outcomes
        Shape (N,): each agent's first row and how many it has; empty where every observation is
        given, and has a row of its own.
    """

    offsets: FloatArray
    slopes: FloatArray
    group: int = 1
    channels: int = 1
    begin: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    outcomes: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def columns(self) -> int:
        """The number C of columns of a replicate."""
        return int(self.offsets.shape[1]) // self.group

    @property
    def largest(self) -> FloatArray:
        """Each column's largest size, with ten standard deviations of the noise, shape (C,)."""
        sizes = np.abs(self.offsets).max(axis=0)
        if self.slopes.size:
            each = np.abs(self.slopes).max(axis=0).reshape(self.channels, -1)
            sizes = sizes + 10 * each.sum(axis=0)
        return np.asarray(sizes.reshape(self.group, -1).max(axis=0))

    def look_up(self, symbols: IntArray, noise: FloatArray, out: FloatArray) -> None:
        """Write the rows of some draws to `out`, shape (T, N, R·C), contiguous."""
        rows = out.reshape(*symbols.shape, self.offsets.shape[1])
        # Symbols are in range by construction; "clip" spares the copy that "raise" would make.
        self.offsets.take(symbols, axis=0, out=rows, mode="clip")
        if noise.size:
            for channel in range(self.channels):
                columns = slice(channel * self.columns, (channel + 1) * self.columns)
                rows += noise[..., channel :: self.channels, None] * self.slopes[symbols, columns]


class Source(Protocol):
    """Anything that yields the observations of the next rounds."""

    table: ObservationTable

    def draw(self, rounds: int) -> Draws:
        """The next `rounds` rounds."""
        ...


def kind_rows(model: FiniteModel) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Per kind of agent: probabilities (O,), offsets (O, M) and slopes (O, C, M) of log ℓ.

    C is the number of normal numbers that an observation takes: 1, or as many as a Gaussian agent
    that draws batches has inputs.
    """
    return [
        _gaussian_rows(kind)
        if isinstance(kind, GaussianAgent)
        else (
            kind.probabilities,
            kind.log_likelihoods.T,
            np.zeros((kind.probabilities.size, 1, kind.hypotheses)),
        )
        for kind in model.kinds
    ]


def _gaussian_rows(kind: GaussianAgent) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same of one Gaussian agent.

    Of a batch c_x labels belong to input x. They speak through their mean, normal of deviation
    σ/√c_x: their log-likelihoods are −c_x gap²/2s² − n_x √c_x σ gap/s² up to a constant.
    """
    gap = kind.truth_means[:, None] - kind.means.T
    scale = 1.0 / kind.std**2
    offsets, slopes = -scale * gap**2 / 2, -scale * kind.truth_std * gap
    if kind.batch == 1:
        return kind.inputs, offsets, slopes[:, None, :]
    used, counts = kind.inputs > 0, kind.input_counts
    law = type_law(kind.inputs[used], counts)
    return law, counts @ offsets[used], np.sqrt(counts)[:, :, None] * slopes[used]


def features_of(model: FiniteModel) -> int:
    """Counts and sums of one agent's observations, at most, that what they say is linear in.

    All outcomes but the first, and every normal number at each.
    """
    rows = kind_rows(model)
    outcomes = max(probabilities.size for probabilities, _, _ in rows)
    gaussian = any(isinstance(kind, GaussianAgent) for kind in model.kinds)
    channels = max(slopes.shape[1] for _, _, slopes in rows) if gaussian else 0
    return int(outcomes - 1 + outcomes * channels)


class Sampler:
    """Draws every agent's observations, round by round.

    Parameters
    ----------
    model
        The agents' laws.
    best
        If given, rows hold the log-ratios z(best, θ) = log ℓ(best) − log ℓ(θ) for all other θ; if
        None, log ℓ(θ) for all θ, up to a constant in common.
    group
        Replicates drawn by one word, g; 1 where an agent is Gaussian.
    order
        Agent of each row of the output, if not 0, ..., N − 1.
    basis
        Orthonormal rows, shape (r, M − 1): if given, coordinates in it take the log-ratios' place
        (:mod:`exact.compression`).
    """

    def __init__(
        self,
        model: FiniteModel,
        *,
        best: int | None = None,
        group: int = 1,
        order: IntArray | None = None,
        basis: FloatArray | None = None,
    ) -> None:
        kinds = kind_rows(model)
        gaussian = any(isinstance(kind, GaussianAgent) for kind in model.kinds)
        if best is not None:
            kinds = [(p, ratios(a, best), ratios(b, best)) for p, a, b in kinds]
        if basis is not None:
            kinds = [(p, a @ basis.T, _times(b, basis.T)) for p, a, b in kinds]
        channels = max(b.shape[1] for _, _, b in kinds)
        laws = [joint_law(p, group) for p, _, _ in kinds]
        alias = [alias_table(law) for law in laws]
        assignment = model.assignment if order is None else model.assignment[order]
        sizes = np.array([law.size for law in laws])
        rows = starts(sizes)

        self.table = ObservationTable(
            offsets=np.concatenate([joint_rows(a, group) for _, a, _ in kinds]),
            slopes=np.concatenate([_padded(b, channels) for _, _, b in kinds])
            if gaussian
            else np.empty((0, 0)),
            group=group,
            channels=channels,
            begin=rows[assignment],
            outcomes=sizes[assignment],
        )
        self._gaussian = gaussian
        self._agents = assignment.size
        self._bits = np.array([table.bits for table in alias], dtype=np.uint64)[assignment]
        columns = starts([table.thresholds.size for table in alias])
        self._columns = columns.astype(np.uint64)[assignment]
        self._thresholds = np.concatenate([table.thresholds for table in alias])
        self._choices = np.concatenate(
            [table.choices + row for table, row in zip(alias, rows, strict=True)]
        )
        self.restart(np.random.SeedSequence(0))

    def restart(self, seed: np.random.SeedSequence, *, replicates: int | None = None) -> None:
        """Start afresh, R replicates (a multiple of g) on the two streams that `seed` spawns."""
        symbols, noise = seed.spawn(2)
        self._replicates = self.table.group if replicates is None else replicates
        # SFC64 was the quickest of numpy's generators at raw words and at normal numbers.
        self._words = np.random.SFC64(symbols)
        self._normal = np.random.Generator(np.random.SFC64(noise))

    def draw(self, rounds: int) -> Draws:
        """The next `rounds` rounds; the same numbers however the rounds are cut up."""
        from exact.dense_kernel import alias_symbols

        shape = (rounds, self._agents, self._replicates // self.table.group)
        words = self._words.random_raw(int(np.prod(shape))).reshape(shape)
        symbols = np.empty(shape, dtype=np.int64)
        alias_symbols(
            words,
            self._bits,
            self._columns,
            self._thresholds,
            self._choices,
            symbols,
        )
        if not self._gaussian:
            return Draws(symbols, np.empty((rounds, self._agents, 0)))
        numbers = (*shape[:2], self._replicates * self.table.channels)
        return Draws(symbols, self._normal.standard_normal(numbers))


@dataclass(frozen=True, eq=False)
class AliasTable:
    """2**bits columns: a threshold in units of 2⁻⁶⁴, and the outcomes above and below it."""

    bits: int
    thresholds: np.ndarray[tuple[int], np.dtype[np.uint64]]
    choices: IntArray


def alias_table(probabilities: FloatArray) -> AliasTable:
    """Vose's construction, on a power of two of columns so that bits choose one.

    Examples
    --------
    >>> table = alias_table(np.array([0.75, 0.25]))
    >>> table.bits, table.choices.tolist(), (table.thresholds >> np.uint64(62)).tolist()
    (1, [[0, 0], [0, 1]], [3, 2])
    """
    outcomes = probabilities.size
    bits = max(1, (outcomes - 1).bit_length())
    columns = 1 << bits
    shares = np.zeros(columns)
    shares[:outcomes] = probabilities / probabilities.sum() * columns
    own = np.arange(columns)
    aliases = own.copy()
    small = [int(c) for c in np.flatnonzero(shares < 1)]
    large = [int(c) for c in np.flatnonzero(shares >= 1)]
    while small and large:
        needy, rich = small.pop(), large[-1]
        aliases[needy] = rich
        shares[rich] -= 1 - shares[needy]
        if shares[rich] < 1:
            small.append(large.pop())
    # What is left over has a share of one up to rounding and keeps its own outcome. Columns past
    # the last outcome must never do so, whatever the rounding: they have an alias and no share.
    aliases[outcomes:][aliases[outcomes:] >= outcomes] = int(np.argmax(probabilities))
    shares[outcomes:] = 0.0
    thresholds = np.minimum(shares, 1 - 2.0**-53) * 2.0**64
    return AliasTable(bits, thresholds.astype(np.uint64), np.stack([aliases, own], axis=1))


def joint_law(probabilities: FloatArray, group: int) -> FloatArray:
    """The law of `group` independent draws, the first one varying slowest."""
    law = probabilities
    for _ in range(group - 1):
        law = np.outer(law, probabilities).ravel()
    return law


def joint_rows(rows: FloatArray, group: int) -> FloatArray:
    """The rows of `group` draws side by side, in the order of :func:`joint_law`."""
    outcomes = rows.shape[0]
    combinations = np.indices((outcomes,) * group).reshape(group, -1).T
    return np.ascontiguousarray(rows[combinations].reshape(len(combinations), -1))


def group_size(model: FiniteModel, *, columns: int, replicates: int) -> int:
    """How many replicates one word had better draw, by the size of the joint tables."""
    gaussian = any(isinstance(kind, GaussianAgent) for kind in model.kinds)
    if gaussian or model.agents > JOINT_AGENTS:
        return 1
    sizes = [probabilities.size for probabilities, _, _ in kind_rows(model)]
    row = 8 * columns
    for group in GROUPS:
        small = sum(size**group for size in sizes) * group * row <= JOINT_TABLE_BYTES
        # Replicates beyond the wanted ones are drawn to fill the last group, and thrown away.
        if small and replicates >= 16 * group:
            return group
    return 1


def _times(slopes: FloatArray, matrix: FloatArray) -> FloatArray:
    """Slopes of shape (O, C, M) times a matrix, as one product of two matrices."""
    product = slopes.reshape(-1, slopes.shape[2]) @ matrix
    return product.reshape(*slopes.shape[:2], -1)


def _padded(slopes: FloatArray, channels: int) -> FloatArray:
    """Slopes of shape (O, C, M) as rows of as many channels, those that lack being zero."""
    missing = channels - slopes.shape[1]
    return np.pad(slopes, ((0, 0), (0, missing), (0, 0))).reshape(len(slopes), -1)


def ratios(values: FloatArray, best: int) -> FloatArray:
    """values[..., best] − values for all columns but `best`."""
    return np.delete(values[..., [best]] - values, best, axis=-1)


def starts(sizes: Sequence[int] | IntArray) -> IntArray:
    """Where each of several pieces begins once they are laid end to end."""
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


class Given:
    """Observations that are given: every one is its own row of the table.

    `rows` has shape (T, N, R, C).
    """

    def __init__(self, rows: FloatArray, *, order: IntArray | None = None) -> None:
        columns = rows.shape[-1]
        self.table = ObservationTable(
            offsets=np.ascontiguousarray(rows.reshape(-1, columns)), slopes=np.empty((0, columns))
        )
        symbols = np.arange(self.table.offsets.shape[0]).reshape(rows.shape[:-1])
        self._symbols = symbols if order is None else symbols[:, order]
        self._next = 0

    def draw(self, rounds: int) -> Draws:
        """The next `rounds` rounds."""
        symbols = self._symbols[self._next : self._next + rounds]
        self._next += rounds
        return Draws(np.ascontiguousarray(symbols), np.empty((*symbols.shape[:2], 0)))


@typed
def draw_log_likelihoods(
    model: FiniteModel, *, rounds: int, seed: int, replicates: int | None = None
) -> FloatArray:
    """What every agent observes in `rounds` rounds, as log-likelihoods.

    Parameters
    ----------
    model
        The agents' laws.
    rounds, seed
        T ≥ 1, and a seed: the same seed gives the same observations.
    replicates
        R independent repetitions; None for one, without an axis of its own.

    Returns
    -------
    FloatArray
        Shape (T, N, M), or (T, R, N, M): log ℓ_i(y | θ, x) in nats; for Gaussian agents up to a
        constant common to all hypotheses.

    Raises
    ------
    ValueError
        If `rounds` or `replicates` is not a whole number of at least 1.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin])
    >>> draw_log_likelihoods(model, rounds=3, seed=0).shape
    (3, 1, 2)
    """
    rounds = as_integer("rounds", rounds, minimum=1)
    seed = as_integer("seed", seed, minimum=0)
    count = 1 if replicates is None else as_integer("replicates", replicates, minimum=1)
    sampler = Sampler(model)
    sampler.restart(np.random.SeedSequence(seed), replicates=count)
    rows = np.empty((rounds, model.agents, count, len(model.hypotheses)))
    draws = sampler.draw(rounds)
    sampler.table.look_up(draws.symbols, draws.noise, rows)
    return rows[:, :, 0] if replicates is None else rows.swapaxes(1, 2)
