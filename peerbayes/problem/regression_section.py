"""The ``[regression]`` table of a problem file: a linear-Gaussian problem.

Every agent observes y = θ* · x + noise for inputs x of its own law: coordinates that are
independent and uniform on ranges (a range of one point is a constant, 0 a coordinate that is not
seen), or normal inputs of a given second moment. Checked here, with the place in the file:
everything has as many coordinates as θ*, ranges are not reversed, covariances are symmetric and
positive (semi)definite, and every agent sees something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from pydantic import (
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from typing_extensions import TypeAliasType

from peerbayes.messages import Place, describe, problem_error
from peerbayes.problem.entries import (
    Name,
    Number,
    PositiveNumber,
    Rational,
    Row,
    Section,
    at_most_one,
    check_length,
    check_one,
    dumped,
    entry,
    exactly_one,
    inside,
    json_number,
    key,
    number_text,
    parse_number,
)
from peerbayes.problem.model_section import COUNT, NAME, AgentEntry
from theory.validation import FloatArray, fail

# Of two entries that should be equal, relative to them: what typing and rounding may spoil.
_SYMMETRY = 1e-12
# Exact definiteness is decided by elimination in fractions, whose size grows with the dimension.
_MOST_EXACT = 60

Matrix = Row[Row[Number]]


def _parse_range(value: object) -> tuple[Rational, Rational]:
    """A range [low, high]; a number stands for the range of that one point."""
    if not isinstance(value, list | tuple):
        number = parse_number(value)
        return number, number
    if len(value) != 2:
        raise problem_error((), "a range [low, high]", describe(value), "give both ends")
    ends = []
    for k, end in enumerate(value):
        with inside(k):
            ends.append(parse_number(end))
    low, high = ends
    if low > high:
        got = f"[{number_text(low)}, {number_text(high)}]"
        raise problem_error((), "a range [low, high]", got, "swap its ends")
    return low, high


def _dump_range(value: tuple[Rational, Rational]) -> list[str | float]:
    return [dumped(end) for end in value]


_JSON_NUMBER: dict[str, Any] = json_number(signed=True).json_schema or {}
_JSON_PAIR = {"type": "array", "items": _JSON_NUMBER, "minItems": 2, "maxItems": 2}
_MEANING = "uniform on [low, high]; a number is a constant; 0 is not seen"
Range = TypeAliasType(
    "Range",
    Annotated[
        tuple[Rational, Rational],
        PlainValidator(_parse_range),
        PlainSerializer(_dump_range),
        WithJsonSchema({"anyOf": [_JSON_NUMBER, _JSON_PAIR], "description": _MEANING}),
    ],
)


_PRIORS = ("prior_std", "prior_variance", "prior_covariance")
_ONE_PRIOR = f"one of {', '.join(_PRIORS)}"


class PriorSection(Section):
    """A normal prior: at most one of three forms of its covariance."""

    prior_mean: Row[Number] | None = key("Left out: zero.", None)
    prior_std: PositiveNumber | None = key(
        "Standard deviation of every coordinate, independent.", None
    )
    prior_variance: PositiveNumber | None = key("Variance of every coordinate, independent.", None)
    prior_covariance: Matrix | None = key("Covariance matrix, positive definite.", None)

    @property
    def prior_forms(self) -> list[str]:
        """Which of the three keys are given."""
        return [name for name in _PRIORS if getattr(self, name) is not None]

    def covariance(self, dimension: int) -> Sequence[Sequence[Rational]] | None:
        """The prior's covariance, exact where the file is; None if none is given."""
        variance = self.prior_variance
        if self.prior_std is not None:
            variance = self.prior_std * self.prior_std
        if variance is None:
            return self.prior_covariance
        zero, each = Fraction(0), range(dimension)
        return [[variance if i == j else zero for j in each] for i in each]

    def check_prior(self, dimension: int) -> None:
        """Whether the prior fits θ*."""
        forms = self.prior_forms
        if len(forms) > 1:
            raise problem_error((), _ONE_PRIOR, " and ".join(forms), "keep one of them")
        if self.prior_mean is not None:
            _check_length(("prior_mean",), self.prior_mean, dimension)
        if self.prior_covariance is not None:
            _check_matrix(("prior_covariance",), self.prior_covariance, dimension, strict=True)


@dataclass(frozen=True)
class Prior:
    """Mean and covariance of a normal prior, exact where the file is."""

    mean: Sequence[Rational]
    covariance: Sequence[Sequence[Rational]]


class RegressionAgentSection(PriorSection, AgentEntry):
    """What an agent sees: one of ``ranges``, ``second_moment`` and ``inputs``."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [at_most_one(*_PRIORS), exactly_one("ranges", "second_moment", "inputs")]
        }
    )

    count: int = COUNT
    name: Name | None = NAME
    ranges: Row[Range] | None = key(
        "A range [low, high] for each coordinate: independent uniform inputs; [1, 1] is a bias, "
        "0 a coordinate that is not seen.",
        None,
    )
    second_moment: Matrix | None = key(
        "E x xᵀ of normal inputs of mean zero, positive semidefinite.", None
    )
    inputs: Matrix | None = key("Rows of a data set, drawn with replacement.", None)
    targets: Row[Number] | None = key(
        "The label of each row; left out: theta times the row and noise.", None
    )
    batch: int | None = key("Samples a round; left out: that of [learning], or 1.", None, ge=1)
    noise_std: PositiveNumber | None = key("True noise, if not that of the table.", None)
    claimed_noise_std: PositiveNumber | None = key(
        "Noise that the agent reckons with; left out: the true one.", None
    )
    tempering: PositiveNumber | None = key("Exponent of the agent's likelihood; left out: 1.", None)

    def check(self, dimension: int) -> None:
        """Whether the entry fits θ*, and sees something."""
        self.check_prior(dimension)
        if self.inputs is not None:
            self._check_data(dimension)
            return
        if self.targets is not None:
            raise problem_error((), "targets only beside inputs", "none", "give the inputs")
        remedy = "give a coordinate a range or a variance"
        _check_inputs(self.ranges, self.second_moment, dimension, who="an agent", remedy=remedy)

    def _check_data(self, dimension: int) -> None:
        """Whether the rows of a data set fit θ* and their labels."""
        assert self.inputs is not None
        if self.ranges is not None or self.second_moment is not None:
            wanted = "exactly one of ranges, second_moment and inputs"
            raise problem_error((), wanted, "several", "keep one of them")
        for k, row in enumerate(self.inputs):
            _check_length(("inputs", k), row, dimension)
        if self.targets is not None and len(self.targets) != len(self.inputs):
            wanted = f"a list of {len(self.inputs)} (one for each row of inputs)"
            raise problem_error(("targets",), wanted, len(self.targets), "match them")

    def build(self, noise_std: Rational, *, exact: bool = False) -> Any:
        """The agent described; `noise_std` is the table's, `exact`: of fractions."""
        if exact and self.inputs is not None:
            wanted = "ranges or a second moment, for exact numbers"
            raise fail("inputs", wanted, "a data set", "leave out --exact")
        names = ("ranges", "second_moment", "inputs", "targets", "claimed_noise_std", "tempering")
        given = {name: getattr(self, name) for name in names}
        laws = {name: value for name, value in given.items() if value is not None}
        laws["noise_std"] = noise_std if self.noise_std is None else self.noise_std
        if exact:
            from theory.regression.rational_model import RationalRegressionAgent

            return RationalRegressionAgent(batch=self.batch or 1, **laws)
        from theory.regression import RegressionAgent

        return RegressionAgent(batch=self.batch or 1, **laws)


class RegressionSection(PriorSection):
    """A linear-Gaussian problem: θ*, noise, prior, what the agents see, and what is tested."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [at_most_one(*_PRIORS), exactly_one("test_ranges", "test_second_moment")]
        }
    )

    theta: Row[Number] = key("The true coefficients.")
    noise_std: PositiveNumber = key("Standard deviation of the noise.")
    agents: Row[RegressionAgentSection] = key("The agents, in the network's order.")
    node: RegressionAgentSection | None = key(
        "What a central node sees; left out: the test's inputs.", None
    )
    test_ranges: Row[Range] | None = key(
        "Inputs of the test, as ranges; or give test_second_moment.", None
    )
    test_second_moment: Matrix | None = key("E x xᵀ of the test's inputs.", None)

    @model_validator(mode="after")
    def _consistent(self) -> RegressionSection:
        dimension = len(self.theta)
        self.check_prior(dimension)
        ranges, moment = self.test_ranges, self.test_second_moment
        remedy = "give a coordinate a range"
        _check_inputs(ranges, moment, dimension, prefix="test_", who="a test", remedy=remedy)
        entries: list[tuple[Place, RegressionAgentSection]] = [
            (("agents", k), agent) for k, agent in enumerate(self.agents)
        ]
        if self.node is not None:
            entries.append((("node",), self.node))
        for where, agent in entries:
            with inside(*where):
                agent.check(dimension)
                if not self.prior_forms and not agent.prior_forms:
                    remedy = "add one, here or to [regression]"
                    raise problem_error((), _ONE_PRIOR, "none", remedy)
        return self

    @property
    def test_moment(self) -> Sequence[Sequence[Rational]]:
        """E x xᵀ of the test's inputs, exact where the file is."""
        return moment_of(self.test_ranges, self.test_second_moment)

    def prior_of(self, agent: RegressionAgentSection) -> Prior:
        """Mean and covariance of an agent's prior: its own where it has one."""
        dimension = len(self.theta)
        mean = agent.prior_mean if agent.prior_mean is not None else self.prior_mean
        covariance = agent.covariance(dimension) or self.covariance(dimension)
        assert covariance is not None
        return Prior([Fraction(0)] * dimension if mean is None else mean, covariance)

    def build(self, *, exact: bool = False) -> Any:
        """The model described; `exact`: of fractions, as which doubles are read too.

        Raises
        ------
        ValueError
            If it is to be exact, and the agents have different priors or a data set.
        """
        counts = [agent.count for agent in self.agents]
        priors = [self.prior_of(agent) for agent in self.agents]
        other = next((k for k, prior in enumerate(priors) if prior != priors[0]), None)
        if exact and other is not None:
            wanted = "the prior of the first agent, for exact numbers"
            remedy = "give one prior under [regression], or leave out --exact"
            raise fail(f"agents[{other}]", wanted, "another", remedy)
        kinds: list[Any] = []
        for k, agent in enumerate(self.agents):
            with entry(k):
                kinds.append(agent.build(self.noise_std, exact=exact))
        if exact:
            from theory.regression.rational_model import RationalRegressionModel

            first, assignment = priors[0], np.repeat(np.arange(len(kinds)), counts).tolist()
            moment = self.test_moment
            return RationalRegressionModel(
                self.theta, kinds, first.covariance, moment, first.mean, assignment
            )
        from theory.regression import RegressionModel

        def of_all(values: list[Any]) -> FloatArray:
            # One prior for all takes d² numbers, one for each agent N d².
            return array(values[0]) if other is None else np.repeat(array(values), counts, axis=0)

        return RegressionModel.from_agents(
            array(self.theta),
            kinds,
            counts=counts,
            prior_mean=of_all([prior.mean for prior in priors]),
            prior_covariance=of_all([prior.covariance for prior in priors]),
            test_second_moment=array(self.test_moment),
        )


def array(values: object) -> FloatArray:
    """Nested rows of numbers as an array of doubles."""
    return np.array(values, dtype=np.float64)


def moment_of(
    ranges: Sequence[tuple[Rational, Rational]] | None,
    second_moment: Sequence[Sequence[Rational]] | None,
) -> Sequence[Sequence[Rational]]:
    """E x xᵀ of independent uniform coordinates, or the matrix given; exact where it can be.

    E x² on [a, b] is (a² + ab + b²)/3, and E x_i x_j the product of the midpoints.

    >>> moment_of([(Fraction(1), Fraction(1)), (Fraction(0), Fraction(1))], None)
    [[Fraction(1, 1), Fraction(1, 2)], [Fraction(1, 2), Fraction(1, 3)]]
    """
    if second_moment is not None:
        return second_moment
    assert ranges is not None
    middle = [(low + high) / 2 for low, high in ranges]
    square = [(low * low + low * high + high * high) / 3 for low, high in ranges]
    indices = range(len(ranges))
    return [[square[i] if i == j else middle[i] * middle[j] for j in indices] for i in indices]


def _check_inputs(
    ranges: Sequence[tuple[Rational, Rational]] | None,
    second_moment: Sequence[Sequence[Rational]] | None,
    dimension: int,
    *,
    prefix: str = "",
    who: str,
    remedy: str,
) -> None:
    """Whether inputs have one law, which fits θ* and sees something; else see the `remedy`."""
    wanted = f"exactly one of {prefix}ranges and {prefix}second_moment"
    check_one(wanted, ranges, second_moment, neither="add one")
    place = f"{prefix}second_moment" if ranges is None else f"{prefix}ranges"
    if ranges is not None:
        _check_length((place,), ranges, dimension)
    if second_moment is not None:
        _check_matrix((place,), second_moment, dimension, strict=False)
    if not any(share for row in moment_of(ranges, second_moment) for share in row):
        raise problem_error((place,), f"{who} that sees something", "only zeros", remedy)


def _check_length(place: Place, row: Sequence[object], dimension: int) -> None:
    check_length(place, row, dimension, "one for each coordinate of theta")


def _check_matrix(
    place: Place, matrix: Sequence[Sequence[Rational]], dimension: int, *, strict: bool
) -> None:
    """Square, symmetric, and positive definite (`strict`) or semidefinite."""
    _check_length(place, matrix, dimension)
    for i, row in enumerate(matrix):
        _check_length((*place, i), row, dimension)
    for i in range(dimension):
        for j in range(i):
            a, b = matrix[i][j], matrix[j][i]
            exact = isinstance(a, Fraction) and isinstance(b, Fraction)
            if a != b and (
                exact or abs(float(a) - float(b)) > _SYMMETRY * max(abs(float(a)), abs(float(b)))
            ):
                got = f"{number_text(a)} here and {number_text(b)} at [{j}][{i}]"
                remedy = "make both the same"
                raise problem_error((*place, i, j), "a symmetric matrix", got, remedy)
    if not _is_definite(matrix, strict=strict):
        wanted = f"a positive {'definite' if strict else 'semidefinite'} matrix"
        low = float(np.linalg.eigvalsh(array(matrix)).min())
        got = f"the smallest eigenvalue {low:.3g}"
        raise problem_error(place, wanted, got, "mend its entries")


def _is_definite(matrix: Sequence[Sequence[Rational]], *, strict: bool) -> bool:
    """By elimination in fractions if all is exact, else in doubles, whatever the units."""
    from theory.regression.positive import is_positive

    exact = all(isinstance(entry, Fraction) for row in matrix for entry in row)
    if not exact or len(matrix) > _MOST_EXACT:
        doubles = array(matrix)
        return is_positive((doubles + doubles.T) / 2, strict=strict)
    rest = [[Fraction(entry) for entry in row] for row in matrix]
    while rest:
        pivot, first = rest[0][0], rest[0]
        if pivot < 0 or (pivot == 0 and (strict or any(first))):
            return False
        inner = range(1, len(rest))
        share = [rest[i][0] / pivot if pivot else Fraction(0) for i in inner]
        rest = [[rest[i][j] - share[i - 1] * first[j] for j in inner] for i in inner]
    return True
