"""A regression whose numbers are fractions, so that its constants are.

`RationalRegressionModel` is to fractions what `RegressionModel` is to doubles. Numbers may be whole
numbers, fractions, strings such as "4/5" or "0.8", or doubles, which are read as the binary
fractions they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import flint
import numpy as np

from theory.learning.batches import BatchedKinds, as_batches
from theory.network import Network
from theory.numbers import as_fmpq, as_fraction
from theory.numbers.rational import Exact
from theory.rational import RationalNetwork
from theory.regression.agent import RegressionAgent
from theory.regression.model import RegressionModel
from theory.showing import Value
from theory.validation import as_integer, fail

# A regression whose numbers are fractions, so that its constants are -----------------------------


Number: TypeAlias = "Exact | float | str"
Rows: TypeAlias = "Sequence[Sequence[Number]]"


@dataclass(frozen=True, eq=False, kw_only=True)
class RationalRegressionAgent(Value):
    """A `RegressionAgent` with uniform or normal inputs, in fractions.

    Parameters
    ----------
    ranges, second_moment
        One of the two, as for `RegressionAgent`; nested sequences, d by 2 or d by d.
        Whatever the law, `moment` is E x xᵀ.
    noise_std, claimed_noise_std, tempering
        Positive; the last two are the truth and 1 if left out.
    batch
        Pairs a round.

    Raises
    ------
    ValueError
        As for `RegressionAgent`.

    Examples
    --------
    >>> agent = RationalRegressionAgent(ranges=[[1, 1], ["-3/2", "3/2"]], noise_std="4/5")
    >>> agent.moment[1, 1]
    3/4
    """

    ranges: Rows | None = None
    second_moment: Rows | None = None
    noise_std: Number
    claimed_noise_std: Number | None = None
    batch: int = 1
    tempering: Number = 1

    def __post_init__(self) -> None:
        if (self.ranges is None) == (self.second_moment is None):
            raise fail(
                "agent", "exactly one of ranges and second_moment", "both or none", "give one"
            )
        for name in ("ranges", "second_moment"):
            rows = getattr(self, name)
            if rows is not None:
                object.__setattr__(self, name, _rows(name, rows))
        for k, (low, high) in enumerate(self._ranges):
            if low > high:
                raise fail(f"ranges[{k}]", "[low, high]", f"[{low}, {high}]", "swap the two")
        claimed = self.noise_std if self.claimed_noise_std is None else self.claimed_noise_std
        object.__setattr__(self, "claimed_noise_std", claimed)
        for name in ("noise_std", "claimed_noise_std", "tempering"):
            object.__setattr__(self, name, _positive(name, getattr(self, name)))
        object.__setattr__(self, "batch", as_integer("batch", self.batch, minimum=1))
        check_semidefinite("second_moment", self.moment)

    @property
    def _ranges(self) -> list[tuple[Fraction, Fraction]]:
        if self.ranges is None:
            return []
        if any(len(row) != 2 for row in self.ranges):
            raise fail("ranges", "shape (d, 2)", "rows of other lengths", "give [low, high] pairs")
        return [(as_fraction(row[0]), as_fraction(row[1])) for row in self.ranges]

    @property
    def moment(self) -> flint.fmpq_mat:
        """E x xᵀ, exactly; d by d."""
        if self.second_moment is not None:
            return matrix_of("second_moment", self.second_moment)
        return uniform_moment(self._ranges)

    @property
    def dimension(self) -> int:
        """The number d of coefficients."""
        return int(self.moment.nrows())

    @property
    def weight(self) -> Fraction:
        """t/s², exactly."""
        return as_fraction(self.tempering) / as_fraction(self._claimed) ** 2

    @property
    def overweight(self) -> Fraction:
        """What t α²/s² is, exactly: 1 where the likelihood weighs as Bayes' rule says."""
        return self.weight * as_fraction(self.noise_std) ** 2

    @property
    def _claimed(self) -> Number:
        assert self.claimed_noise_std is not None
        return self.claimed_noise_std

    def as_agent(self) -> RegressionAgent:
        """The nearest doubles."""
        floats = {
            name: np.array([[float(as_fraction(x)) for x in row] for row in getattr(self, name)])
            for name in ("ranges", "second_moment")
            if getattr(self, name) is not None
        }
        return RegressionAgent(
            **floats,
            noise_std=float(as_fraction(self.noise_std)),
            claimed_noise_std=float(as_fraction(self._claimed)),
            batch=self.batch,
            tempering=float(as_fraction(self.tempering)),
        )


@dataclass(frozen=True, eq=False)
class RationalRegressionModel(Value):
    """Truth, agents, one prior for all, and the test law, in fractions.

    Parameters
    ----------
    theta
        θ*, d numbers.
    kinds
        The K distinct agents, or one entry per agent.
    prior_covariance, test_second_moment
        d by d; positive definite, and positive semidefinite: decided exactly.
    prior_mean
        d numbers; zero if left out.
    assignment
        Which kind each agent is; left out: one agent per entry of `kinds`.

    Raises
    ------
    ValueError
        As for `RegressionModel`.
    """

    theta: Sequence[Number]
    kinds: Sequence[RationalRegressionAgent]
    prior_covariance: Rows
    test_second_moment: Rows
    prior_mean: Sequence[Number] | None = None
    assignment: Sequence[int] | None = None

    def __post_init__(self) -> None:
        theta = tuple(_fraction("theta", x) for x in self.theta)
        mean = (0,) * len(theta) if self.prior_mean is None else tuple(self.prior_mean)
        if not self.kinds:
            raise fail("agents", "at least one agent", "none", "describe the agents")
        for index, kind in enumerate(self.kinds):
            if kind.dimension != len(theta):
                raise fail(
                    f"agents[{index}]",
                    f"inputs of dimension {len(theta)}, as theta has",
                    f"dimension {kind.dimension}",
                    "give every agent all coordinates, zero where it sees nothing",
                )
        chosen = range(len(self.kinds)) if self.assignment is None else self.assignment
        assignment = tuple(int(k) for k in chosen)
        if not assignment or not set(assignment) <= set(range(len(self.kinds))):
            raise fail(
                "assignment",
                f"one kind from 0 to {len(self.kinds) - 1} per agent",
                sorted(set(assignment)),
                "name existing kinds",
            )
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "kinds", tuple(self.kinds))
        object.__setattr__(self, "prior_mean", tuple(_fraction("prior_mean", x) for x in mean))
        object.__setattr__(self, "assignment", assignment)
        for name, strict in (("prior_covariance", True), ("test_second_moment", False)):
            rows = _rows(name, getattr(self, name))
            matrix = matrix_of(name, rows)
            if matrix.nrows() != len(theta):
                raise fail(name, f"{len(theta)} rows", matrix.nrows(), "match theta")
            check_semidefinite(name, matrix, strict=strict)
            object.__setattr__(self, name, rows)
        if len(mean) != len(theta):
            raise fail("prior_mean", f"{len(theta)} numbers", len(mean), "match theta")

    @property
    def agents(self) -> int:
        """The number N of agents."""
        assert self.assignment is not None
        return len(self.assignment)

    def batched(self, batch: int | Sequence[int]) -> RationalRegressionModel:
        """The same problem whose agents draw `batch` pairs a round; as `RegressionModel.batched`.

        Raises
        ------
        ValueError
            If a number is not whole and at least 1, or there is not one for each agent.
        """
        assert self.assignment is not None
        sizes = as_batches(batch, self.agents)
        found = BatchedKinds.of(self.assignment, sizes, len(self.kinds))
        kinds = tuple(replace(self.kinds[k], batch=b) for k, b in found.pairs)
        return replace(self, kinds=kinds, assignment=found.assignment)

    @property
    def dimension(self) -> int:
        """The number d of coefficients."""
        return len(self.theta)

    def as_model(self) -> RegressionModel:
        """The nearest doubles."""
        assert self.prior_mean is not None
        return RegressionModel(
            [float(as_fraction(x)) for x in self.theta],
            tuple(kind.as_agent() for kind in self.kinds),
            [[float(as_fraction(x)) for x in row] for row in self.prior_covariance],
            [[float(as_fraction(x)) for x in row] for row in self.test_second_moment],
            [float(as_fraction(x)) for x in self.prior_mean],
            self.assignment,
        )


def uniform_moment(pairs: Sequence[Sequence[Fraction]]) -> flint.fmpq_mat:
    """E x xᵀ of independent coordinates uniform on ranges (low, high), exactly; d by d."""
    centres = [(low + high) / 2 for low, high in pairs]
    result = flint.fmpq_mat(len(pairs), len(pairs))
    for a, (low, high) in enumerate(pairs):
        for b, centre in enumerate(centres):
            spread = (high - low) ** 2 / 12 if a == b else 0
            result[a, b] = as_fmpq(centres[a] * centre + spread)
    return result


def matrix_of(argument: str, rows: Rows) -> flint.fmpq_mat:
    """A square matrix of fractions.

    Raises
    ------
    ValueError
        If it is not square.
    """
    if not rows or any(len(row) != len(rows) for row in rows):
        raise fail(
            argument,
            "a square matrix",
            f"rows of lengths {sorted({len(row) for row in rows})}",
            "give d rows of d numbers",
        )
    return flint.fmpq_mat([[as_fmpq(as_fraction(x)) for x in row] for row in rows])


def check_semidefinite(argument: str, matrix: flint.fmpq_mat, *, strict: bool = False) -> None:
    """Decide, by elimination in fractions, that a matrix is symmetric and positive (semi)definite.

    Raises
    ------
    ValueError
        If it is not.
    """
    d = matrix.nrows()
    if matrix != matrix.transpose():
        raise fail(argument, "a symmetric matrix", "one that is not", "make it symmetric")
    rows = [list(row) for row in matrix.table()]
    for k in range(d):
        pivot = rows[k][k]
        empty = pivot == 0 and all(entry == 0 for entry in rows[k][k:])
        if pivot < 0 or (pivot == 0 and (strict or not empty)):
            raise fail(
                argument,
                "a positive definite matrix" if strict else "a positive semidefinite matrix",
                f"a pivot of {pivot} in row {k}",
                "make every variance positive and every correlation below 1"
                if strict
                else "give E x xᵀ of some x",
            )
        for i in range(k + 1, d if pivot else 0):
            factor = rows[i][k] / pivot
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]


def _rows(argument: str, rows: Rows) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(_fraction(f"{argument}[{i}]", x) for x in row) for i, row in enumerate(rows))


def _fraction(argument: str, value: Number) -> Fraction:
    try:
        return as_fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise fail(
            argument, "a fraction", repr(value), 'write it as "1/3", "0.3" or a number'
        ) from None


def _positive(argument: str, value: Number) -> Fraction:
    number = _fraction(argument, value)
    if number <= 0:
        raise fail(argument, "a number above 0", number, "make it positive")
    return number


# The two regressions of the papers, in fractions -------------------------------------------------


@dataclass(frozen=True, eq=False)
class RegressionCase:
    """A network and a model in doubles, with `node`, what the papers' central node sees."""

    network: Network
    model: RegressionModel
    node: RegressionAgent


@dataclass(frozen=True, eq=False)
class RationalRegressionCase:
    """A network and a model in fractions, with `node`, what the papers' central node sees."""

    network: RationalNetwork
    model: RationalRegressionModel
    node: RationalRegressionAgent

    def as_floats(self) -> RegressionCase:
        """The nearest doubles."""
        return RegressionCase(
            self.network.as_network(), self.model.as_model(), self.node.as_agent()
        )


def two_nodes() -> RationalRegressionCase:
    """P1 section 5.1: θ* = (−.3, .5, .8), α = .8, prior N(0, I/2).

    Examples
    --------
    >>> two_nodes().network.stationary_distribution
    (Fraction(6, 7), Fraction(1, 7))
    """
    weights = [["9/10", "1/10"], ["3/5", "2/5"]]
    return _case(weights, ["-3/10", "1/2", "4/5"], ["1", "3/2"], name="P1: two nodes")


def four_agents() -> RationalRegressionCase:
    """P2 sections 4.1 and 1.3: θ* = (−.3, .5, .5, .1, .2), α = .8, prior N(0, I/2).

    Examples
    --------
    >>> print(*four_agents().network.stationary_distribution)
    3/14 5/14 3/14 3/14
    """
    weights = [
        ["1/2", "1/2", "0", "0"],
        ["3/10", "1/10", "3/10", "3/10"],
        ["0", "1/2", "1/2", "0"],
        ["0", "1/2", "0", "1/2"],
    ]
    theta = ["-3/10", "1/2", "1/2", "1/10", "1/5"]
    return _case(weights, theta, ["1", "3/2", "5/4", "3/4"], name="P2: four agents")


def _case(
    weights: Sequence[Sequence[str]], theta: Sequence[str], half_widths: Sequence[str], *, name: str
) -> RationalRegressionCase:
    bias, hidden = ["1", "1"], ["0", "0"]
    seen = [[f"-{h}", h] for h in half_widths]
    agents = tuple(
        RationalRegressionAgent(
            ranges=[bias] + [pair if k == j else hidden for k, pair in enumerate(seen)],
            noise_std="4/5",
        )
        for j in range(len(seen))
    )
    node = RationalRegressionAgent(ranges=[bias, *seen], noise_std="4/5")
    d = len(theta)
    prior = [["1/2" if a == b else "0" for b in range(d)] for a in range(d)]
    test = [[str(x) for x in row] for row in node.moment.table()]
    model = RationalRegressionModel(theta, agents, prior, test)
    return RationalRegressionCase(RationalNetwork.from_rows(weights, name=name), model, node)
