"""The log-ratio of every agent as a sum of independent terms, in rationals.

After n rounds the log-ratio of agent i is

    Λ_i = Σ_j [P_0]_ij π_j + Σ_s Σ_j [P_s]_ij z_j^(s),        P_s = W_n W_{n−1} ⋯ W_s,  P_0 = P_1

(docs: mathematics/laws), so that its law is a convolution of one small law for each round and
agent. :class:`Problem` holds the small laws: numbers are written as combinations of 1 and of the
logarithms of pairwise coprime integers, which are independent over the rationals, so that two sums
are equal exactly if their coefficients are. Models of doubles are rounded to a grid instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, log2
from typing import Any

import flint
import numpy as np

from theory import Agent, FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.network.structure import as_dense
from theory.numbers import LogSum, as_fmpq, as_fraction, exact_distribution
from theory.rational import RationalAgent, RationalFiniteAgent, RationalModel, RationalNetwork
from theory.validation import FloatArray, as_distribution, as_integer, fail

# Positive rationals as products of powers of pairwise coprime integers ---------------------------


def coprime_base(numbers: Iterable[int]) -> tuple[int, ...]:
    """Pairwise coprime integers above 1 of which all `numbers` are products of powers.

    Examples
    --------
    >>> coprime_base([12, 18, 1])
    (2, 3)
    >>> coprime_base([10, 25])
    (2, 5)
    """
    done: list[int] = []
    waiting = [number for number in numbers if number > 1]
    while waiting:
        number = waiting.pop()
        for index, other in enumerate(done):
            common = gcd(number, other)
            if common > 1:
                del done[index]
                parts = (common, number // common, other // common)
                waiting += [part for part in parts if part > 1]
                break
        else:
            done.append(number)
    return tuple(sorted(done))


def exponents(value: Fraction, base: tuple[int, ...]) -> tuple[int, ...]:
    """The powers of the members of `base` whose product is `value`.

    Raises
    ------
    ArithmeticError
        If `value` is no such product.

    Examples
    --------
    >>> exponents(Fraction(9, 4), (2, 3))
    (-2, 2)
    """
    over, under = value.numerator, value.denominator
    found = []
    for member in base:
        power = 0
        while over % member == 0:
            over //= member
            power += 1
        while under % member == 0:
            under //= member
            power -= 1
        found.append(power)
    if over != 1 or under != 1:
        raise ArithmeticError(f"{value} is no product of powers of {base}")
    return tuple(found)


# The log-ratio of every agent as a sum of independent terms, in rationals ------------------------


Model = FiniteModel | RationalModel
Weights = Network | RationalNetwork | Sequence[object]
# The coefficients of a number: of 1 first, then of the logarithms of the base.
Vector = tuple[Fraction, ...]
# Doubles, shape (N, N), or a flint matrix of rationals.
Matrix = Any


@dataclass(frozen=True)
class Reference:
    """Whom the hypotheses are compared with.

    Attributes
    ----------
    best
        Log-ratios are Λ(best, θ).
    others
        The other hypotheses that are no error.
    wrong
        The hypotheses outside, as far as they were asked for.
    """

    best: int
    others: tuple[int, ...]
    wrong: tuple[int, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """All hypotheses but `best`, in increasing order."""
        return tuple(sorted((*self.others, *self.wrong)))


@dataclass(frozen=True, eq=False)
class KindTable:
    """What a kind of agent may observe in a round.

    Attributes
    ----------
    probabilities
        Length O: fractions, or doubles where the model holds doubles.
    values
        z(best, θ) of outcome o and column c, as O rows of C vectors; doubles, shape (O, C), where
        the model holds doubles.
    priors
        The prior log-odds of the C columns, in the same form.
    """

    probabilities: tuple[Fraction, ...] | FloatArray
    values: tuple[tuple[Vector, ...], ...] | FloatArray
    priors: tuple[Vector, ...] | FloatArray


@dataclass(frozen=True, eq=False)
class Problem:
    """A network and a model, made ready for enumeration.

    Attributes
    ----------
    model, reference
        As asked for.
    agents
        The agents whose log-ratios are followed.
    network
        None where weights were given for each round.
    sequence
        The weights of each round then.
    """

    model: Model
    reference: Reference
    agents: tuple[int, ...]
    network: Network | RationalNetwork | None
    sequence: tuple[Matrix, ...]

    @property
    def is_rational(self) -> bool:
        """Whether merging and ties are exact."""
        return isinstance(self.model, RationalModel)

    @cached_property
    def base(self) -> tuple[int, ...]:
        """Pairwise coprime integers over which all log-ratios are written."""
        if not isinstance(self.model, RationalModel):
            return ()
        found: set[int] = set()
        for kind in self.model.kinds:
            assert isinstance(kind, RationalFiniteAgent)
            for row in kind.likelihoods:
                for value in row:
                    found |= {value.numerator, value.denominator}
        for prior in self.model.priors:
            for value in prior:
                found |= {value.numerator, value.denominator}
        return coprime_base(found)

    @cached_property
    def tables(self) -> tuple[KindTable, ...]:
        """One table for each kind of agent."""
        if isinstance(self.model, RationalModel):
            return tuple(self._rational_table(k) for k in range(len(self.model.kinds)))
        best, columns = self.reference.best, list(self.reference.columns)
        tables = []
        for kind, priors in zip(self.model.kinds, self.model.log_priors, strict=True):
            assert isinstance(kind, FiniteAgent)
            rows = np.empty((len(columns), kind.probabilities.size))
            for row, column in zip(rows, columns, strict=True):
                row[:] = kind.log_ratio_law(best, column).means
            tables.append(KindTable(kind.probabilities, rows.T, priors[best] - priors[columns]))
        return tuple(tables)

    def _rational_table(self, index: int) -> KindTable:
        model = self.model
        assert isinstance(model, RationalModel)
        agent, priors = model.kinds[index], model.priors[index]
        assert isinstance(agent, RationalFiniteAgent)
        kind = agent.outcomes
        best, columns = self.reference.best, self.reference.columns

        def vector(offset: Fraction, argument: Fraction) -> Vector:
            powers = exponents(argument, self.base)
            return (offset, *(Fraction(power) for power in powers))

        values = tuple(
            tuple(
                vector(
                    kind.log_likelihoods[best][o] - kind.log_likelihoods[c][o],
                    kind.likelihoods[best][o] / kind.likelihoods[c][o],
                )
                for c in columns
            )
            for o in range(len(kind.probabilities))
        )
        odds = tuple(vector(Fraction(0), priors[best] / priors[c]) for c in columns)
        return KindTable(kind.probabilities, values, odds)

    def influences(self, rounds: int) -> list[Matrix]:
        """P_n, P_{n−1}, …, P_1, newest first; equal matrices are one object where that is seen."""
        found: list[Matrix] = []
        if self.network is None:
            for weights in reversed(self.sequence[:rounds]):
                found.append(_product(found[-1], weights) if found else weights)
            return found
        if isinstance(self.network, RationalNetwork):
            W = self.network.matrix
            for _ in range(rounds):
                if len(found) > 1 and found[-1] == found[-2]:
                    found.append(found[-1])
                else:
                    found.append(found[-1] * W if found else W)
            return found
        powers = self.network.powers()
        for _ in range(rounds):
            settled = len(found) > 1 and np.array_equal(found[-1], found[-2])
            found.append(found[-1] if settled else next(powers))
        return found


def _product(first: Matrix, second: Matrix) -> Matrix:
    return first @ second if isinstance(first, np.ndarray) else first * second


def problem(
    network: Weights,
    model: Model,
    *,
    agents: Sequence[int] | None = None,
    hypotheses: Sequence[int] | None = None,
    reference: Sequence[int] | None = None,
) -> Problem:
    """Check and gather what a law is asked of.

    Raises
    ------
    ValueError
        If agents have infinitely many outcomes, numbers of agents differ, an index is out of
        range, or it is not said whom to compare with.
    """
    given: object = model
    if not isinstance(given, FiniteModel | RationalModel):
        got = type(given).__name__
        raise fail("model", "a FiniteModel or a RationalModel", got, "build one")
    for k in sorted({int(k) for k in model.assignment}):
        if not isinstance(model.kinds[k], FiniteAgent | RationalFiniteAgent):
            raise fail(
                f"agents of kind {k}",
                "finitely many outcomes, to be enumerated",
                type(model.kinds[k]).__name__,
                "use exact.rare_errors, or theory.gaussian_pair",
            )
    rational = isinstance(model, RationalModel)
    static: Network | RationalNetwork | None = None
    sequence: tuple[Matrix, ...] = ()
    if isinstance(network, RationalNetwork):
        static = network if rational else network.as_network()
    elif isinstance(network, Network):
        static = RationalNetwork.from_network(network) if rational else network
    else:
        sequence = tuple(_matrix(t, weights, rational) for t, weights in enumerate(network))
        if not sequence:
            raise fail("network", "weights for each round", "none", "give a list of matrices")
    size = static.agents if static is not None else _size(sequence[0])
    if size != model.agents:
        raise fail(
            "model",
            f"one agent for each of the network's {size}",
            model.agents,
            "describe as many agents as the network has",
        )
    if agents is None:
        chosen = tuple(range(size))
    else:
        chosen = tuple(
            as_integer("agents", a, minimum=0, maximum=size - 1) for a in dict.fromkeys(agents)
        )
        if not chosen:
            raise fail("agents", "at least one agent", "none", "name one, or leave it out")
    compared = _reference(static, model, hypotheses, reference)
    return Problem(model, compared, chosen, static, sequence)


def _reference(
    network: Network | RationalNetwork | None,
    model: Model,
    hypotheses: Sequence[int] | None,
    reference: Sequence[int] | None,
) -> Reference:
    count = len(model.hypotheses)
    if reference is not None:
        names = [as_integer("reference", m, minimum=0, maximum=count - 1) for m in reference]
        found = tuple(dict.fromkeys(names))
    else:
        found = model.optimal_hypotheses
        if not found and network is not None:
            # The weights have the model's own kind of numbers.
            found = model.compromise(network.stationary_distribution)  # type: ignore[arg-type]
    if not found:
        raise fail(
            "reference",
            "the hypotheses that are no error, where none is best for all agents",
            "none",
            "name them: reference=[0]",
        )
    wrong = tuple(m for m in range(count) if m not in found)
    if hypotheses is not None:
        asked = {as_integer("hypotheses", m, minimum=0, maximum=count - 1) for m in hypotheses}
        wrong = tuple(m for m in wrong if m in asked)
    if not wrong:
        raise fail(
            "hypotheses",
            "a hypothesis to reject",
            f"only {[model.hypotheses[m] for m in found]}, which are best",
            "name another",
        )
    return Reference(found[0], found[1:], wrong)


def _matrix(index: int, weights: object, rational: bool) -> Matrix:
    argument = f"network[{index}]"
    if isinstance(weights, Network):
        weights = as_dense(weights.weights)
    if isinstance(weights, RationalNetwork):
        weights = weights.rows
    if not rational:
        rows = [[float(as_fraction(x)) for x in row] for row in _rows(argument, weights)]
        matrix = as_distribution(argument, rows, ndim=2)
        if matrix.shape[0] != matrix.shape[1]:
            shape = f"shape {matrix.shape}"
            raise fail(argument, "a square matrix", shape, "give each agent one row")
        return matrix
    listed = [
        [as_fmpq(x) for x in exact_distribution(row, argument=f"{argument}[{i}]")]
        for i, row in enumerate(_rows(argument, weights))
    ]
    if any(len(row) != len(listed) for row in listed):
        raise fail(argument, "a square matrix", "something else", "give each agent one row")
    return flint.fmpq_mat(listed)


def _rows(argument: str, weights: object) -> list[list[Any]]:
    if isinstance(weights, np.ndarray):
        weights = weights.tolist()
    try:
        return [list(row) for row in weights]  # type: ignore[attr-defined]
    except TypeError:
        raise fail(
            argument, "a square matrix", type(weights).__name__, "give one row an agent"
        ) from None


def _size(matrix: Matrix) -> int:
    return int(matrix.nrows() if isinstance(matrix, flint.fmpq_mat) else matrix.shape[0])


def grid_step(merge_within: float, *, terms: int) -> Fraction:
    """The largest power of two h such that rounding `terms` numbers to it moves sums little."""
    return Fraction(2) ** int(np.floor(log2(merge_within / max(1, terms))))


# The nearest doubles of a model of fractions -----------------------------------------------------


def in_doubles(model: Model) -> FiniteModel:
    """The model itself, or the nearest one whose numbers are doubles.

    Examples
    --------
    >>> from theory.rational import RationalModel
    >>> coin = RationalFiniteAgent.from_tables(
    ...     inputs=[1], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
    ... )
    >>> in_doubles(RationalModel.from_agents(["fair", "loaded"], [coin])).agents
    1
    """
    if isinstance(model, FiniteModel):
        return model
    priors = np.array([[_log(p) for p in row] for row in model.priors])
    return FiniteModel(
        model.hypotheses,
        tuple(_agent(kind) for kind in model.kinds),
        np.array(model.assignment),
        priors,
    )


def _agent(kind: RationalAgent) -> Agent:
    if isinstance(kind, RationalFiniteAgent):
        logs = [
            [_log(likelihood, offset) for likelihood, offset in zip(claims, row, strict=True)]
            for claims, row in zip(kind.likelihoods, kind.log_likelihoods, strict=True)
        ]
        entropy = kind.negative_entropy.enclosure()
        probabilities = np.array([float(p) for p in kind.probabilities])
        one = FiniteAgent(probabilities, np.array(logs), -(entropy.lower + entropy.upper) / 2)
        return one.batched(kind.batch)
    return GaussianAgent(
        inputs=np.array([float(p) for p in kind.inputs]),
        truth_means=np.array([float(m) for m in kind.truth_means]),
        truth_std=float(kind.truth_std),
        means=np.array([[float(m) for m in row] for row in kind.means]),
        std=float(kind.std),
        batch=kind.batch,
    )


def _log(value: Fraction, offset: Fraction = Fraction(0)) -> float:
    found = (LogSum.log(value) + LogSum.constant(offset)).enclosure()
    return (found.lower + found.upper) / 2
