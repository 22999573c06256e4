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
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import (
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from peerbayes.messages import Place, describe, problem_error
from peerbayes.problem.entries import (
    Number,
    PositiveNumber,
    Rational,
    Row,
    Section,
    at_most_one,
    exactly_one,
    json_number,
    number_text,
    parse_number,
)
from theory.validation import FloatArray, fail

if TYPE_CHECKING:
    from theory.regression import RegressionAgent, RegressionModel
    from theory.regression.rational_model import RationalRegressionAgent, RationalRegressionModel

# Of two entries that should be equal, relative to them: what typing and rounding may spoil.
_SYMMETRY = 1e-12
# Exact definiteness is decided by elimination in fractions, whose size grows with the dimension.
_MOST_EXACT = 60

Matrix = Row[Row[Number]]


def _parse_range(value: object) -> tuple[Rational, Rational]:
    """A range [low, high]; a number stands for the range of that one point."""
    if isinstance(value, list | tuple):
        if len(value) != 2:
            raise problem_error((), "a range [low, high]", describe(value), "give both ends")
        ends = []
        for k, end in enumerate(value):
            try:
                ends.append(parse_number(end))
            except PydanticCustomError as error:
                context = dict(error.context or {})
                raise problem_error((k, *context.pop("place")), **context) from None
        low, high = ends
        if low > high:
            got = f"[{number_text(low)}, {number_text(high)}]"
            raise problem_error((), "a range [low, high]", got, "swap its ends")
        return low, high
    number = parse_number(value)
    return number, number


def _dump_range(value: tuple[Rational, Rational]) -> list[str | float]:
    return [str(end) if isinstance(end, Fraction) else end for end in value]


_JSON_NUMBER: dict[str, Any] = json_number(signed=True).json_schema or {}
Range = TypeAliasType(
    "Range",
    Annotated[
        tuple[Rational, Rational],
        PlainValidator(_parse_range),
        PlainSerializer(_dump_range),
        WithJsonSchema(
            {
                "anyOf": [
                    _JSON_NUMBER,
                    {"type": "array", "items": _JSON_NUMBER, "minItems": 2, "maxItems": 2},
                ],
                "description": "uniform on [low, high]; a number is a constant; 0 is not seen",
            }
        ),
    ],
)


_PRIORS = ("prior_std", "prior_variance", "prior_covariance")


class PriorSection(Section):
    """A normal prior: at most one of three forms of its covariance."""

    prior_mean: Row[Number] | None = Field(default=None, description="Left out: zero.")
    prior_std: PositiveNumber | None = Field(
        default=None, description="Standard deviation of every coordinate, independent."
    )
    prior_variance: PositiveNumber | None = Field(
        default=None, description="Variance of every coordinate, independent."
    )
    prior_covariance: Matrix | None = Field(
        default=None, description="Covariance matrix, positive definite."
    )

    @property
    def prior_forms(self) -> list[str]:
        """Which of the three keys are given."""
        return [name for name in _PRIORS if getattr(self, name) is not None]

    def covariance(self, dimension: int) -> Sequence[Sequence[Rational]] | None:
        """The prior's covariance, exact where the file is; None if none is given."""
        if self.prior_covariance is not None:
            return self.prior_covariance
        variance = self.prior_variance
        if self.prior_std is not None:
            variance = self.prior_std * self.prior_std
        return None if variance is None else diagonal(variance, dimension)

    def check_prior(self, dimension: int) -> None:
        """Whether the prior fits θ*."""
        forms = self.prior_forms
        if len(forms) > 1:
            wanted = "one of prior_std, prior_variance, prior_covariance"
            raise problem_error((), wanted, " and ".join(forms), "keep one of them")
        if self.prior_mean is not None:
            _check_length(("prior_mean",), self.prior_mean, dimension)
        if self.prior_covariance is not None:
            _check_matrix(("prior_covariance",), self.prior_covariance, dimension, strict=True)


@dataclass(frozen=True)
class Prior:
    """Mean and covariance of a normal prior, exact where the file is."""

    mean: Sequence[Rational]
    covariance: Sequence[Sequence[Rational]]


class RegressionAgentSection(PriorSection):
    """What an agent sees: one of ``ranges``, ``second_moment`` and ``inputs``."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [at_most_one(*_PRIORS), exactly_one("ranges", "second_moment", "inputs")]
        }
    )

    count: int = Field(default=1, ge=1, description="How many agents in a row share this entry.")
    ranges: Row[Range] | None = Field(
        default=None,
        description="A range [low, high] for each coordinate: independent uniform inputs; "
        "[1, 1] is a bias, 0 a coordinate that is not seen.",
    )
    second_moment: Matrix | None = Field(
        default=None, description="E x xᵀ of normal inputs of mean zero, positive semidefinite."
    )
    inputs: Matrix | None = Field(
        default=None, description="Rows of a data set, drawn with replacement."
    )
    targets: Row[Number] | None = Field(
        default=None, description="The label of each row; left out: theta times the row and noise."
    )
    batch: int | None = Field(
        default=None, ge=1, description="Samples a round; left out: that of [learning], or 1."
    )
    noise_std: PositiveNumber | None = Field(
        default=None, description="True noise, if not that of the table."
    )
    claimed_noise_std: PositiveNumber | None = Field(
        default=None, description="Noise that the agent reckons with; left out: the true one."
    )
    tempering: PositiveNumber | None = Field(
        default=None, description="Exponent of the agent's likelihood; left out: 1."
    )

    def check(self, dimension: int) -> None:
        """Whether the entry fits θ*, and sees something."""
        self.check_prior(dimension)
        if self.inputs is not None:
            self._check_data(dimension)
            return
        if self.targets is not None:
            raise problem_error((), "targets only beside inputs", "none", "give the inputs")
        _check_inputs(self.ranges, self.second_moment, dimension, prefix="")
        moment = moment_of(self.ranges, self.second_moment)
        if not any(entry for row in moment for entry in row):
            place = "ranges" if self.ranges is not None else "second_moment"
            raise problem_error(
                (place,),
                "an agent that sees something",
                "only zeros",
                "give a coordinate a range or a variance",
            )

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

    def build(self, noise_std: Rational) -> RegressionAgent:
        """The agent described; `noise_std` is the table's."""
        from theory.regression import RegressionAgent

        noise = float(self.noise_std if self.noise_std is not None else noise_std)
        claimed = self.claimed_noise_std
        laws = ("ranges", "second_moment", "inputs", "targets")
        given = {name: getattr(self, name) for name in laws}
        inputs = {name: array(value) for name, value in given.items() if value is not None}
        return RegressionAgent(
            noise_std=noise,
            claimed_noise_std=noise if claimed is None else float(claimed),
            batch=self.batch or 1,
            tempering=1.0 if self.tempering is None else float(self.tempering),
            **inputs,
        )

    def build_rational(self, noise_std: Rational) -> RationalRegressionAgent:
        """The agent described, exactly; doubles are read as the binary fractions they are."""
        from theory.regression.rational_model import RationalRegressionAgent

        if self.inputs is not None:
            wanted = "ranges or a second moment, for exact numbers"
            raise fail("inputs", wanted, "a data set", "leave out --exact")
        return RationalRegressionAgent(
            ranges=self.ranges,
            second_moment=self.second_moment,
            noise_std=self.noise_std if self.noise_std is not None else noise_std,
            claimed_noise_std=self.claimed_noise_std,
            batch=self.batch or 1,
            tempering=1 if self.tempering is None else self.tempering,
        )


class RegressionSection(PriorSection):
    """A linear-Gaussian problem: θ*, noise, prior, what the agents see, and what is tested."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [at_most_one(*_PRIORS), exactly_one("test_ranges", "test_second_moment")]
        }
    )

    theta: Row[Number] = Field(description="The true coefficients.")
    noise_std: PositiveNumber = Field(description="Standard deviation of the noise.")
    agents: Row[RegressionAgentSection] = Field(description="The agents, in the network's order.")
    node: RegressionAgentSection | None = Field(
        default=None, description="What a central node sees; left out: the test's inputs."
    )
    test_ranges: Row[Range] | None = Field(
        default=None, description="Inputs of the test, as ranges; or give test_second_moment."
    )
    test_second_moment: Matrix | None = Field(
        default=None, description="E x xᵀ of the test's inputs."
    )

    @model_validator(mode="after")
    def _consistent(self) -> RegressionSection:
        dimension = len(self.theta)
        self.check_prior(dimension)
        _check_inputs(self.test_ranges, self.test_second_moment, dimension, prefix="test_")
        if not any(entry for row in self.test_moment for entry in row):
            key = "test_ranges" if self.test_ranges is not None else "test_second_moment"
            remedy = "give a coordinate a range"
            raise problem_error((key,), "a test that sees something", "only zeros", remedy)
        entries: list[tuple[Place, RegressionAgentSection]] = [
            (("agents", k), agent) for k, agent in enumerate(self.agents)
        ]
        if self.node is not None:
            entries.append((("node",), self.node))
        for where, agent in entries:
            try:
                agent.check(dimension)
                if not self.prior_forms and not agent.prior_forms:
                    wanted = "one of prior_std, prior_variance, prior_covariance"
                    raise problem_error((), wanted, "none", "add one, here or to [regression]")
            except PydanticCustomError as error:
                context = dict(error.context or {})
                place = (*where, *context.pop("place"))
                raise problem_error(place, **context) from None
        return self

    @property
    def agent_count(self) -> int:
        """Number of agents that the entries describe together."""
        return sum(agent.count for agent in self.agents)

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

    def build(self) -> RegressionModel:
        """The model described."""
        from theory.regression import RegressionModel

        counts = [agent.count for agent in self.agents]
        priors = [self.prior_of(agent) for agent in self.agents]
        means = [prior.mean for prior in priors]
        covariances = [prior.covariance for prior in priors]
        # One prior for all takes d² numbers, one for each agent N d².
        shared = all(prior == priors[0] for prior in priors)
        return RegressionModel.from_agents(
            array(self.theta),
            self._kinds(),
            counts=counts,
            prior_mean=array(means[0]) if shared else np.repeat(array(means), counts, axis=0),
            prior_covariance=array(covariances[0])
            if shared
            else np.repeat(array(covariances), counts, axis=0),
            test_second_moment=array(self.test_moment),
        )

    def build_rational(self) -> RationalRegressionModel:
        """The model described, exactly; doubles are read as the binary fractions they are.

        Raises
        ------
        ValueError
            If the agents have different priors.
        """
        from theory.regression.rational_model import RationalRegressionModel

        priors = [self.prior_of(agent) for agent in self.agents]
        for k, prior in enumerate(priors):
            if prior != priors[0]:
                raise fail(
                    f"agents[{k}]",
                    "the prior of the first agent, for exact numbers",
                    "another",
                    "give one prior under [regression], or leave out --exact",
                )
        return RationalRegressionModel(
            self.theta,
            [agent.build_rational(self.noise_std) for agent in self.agents],
            priors[0].covariance,
            self.test_moment,
            priors[0].mean,
            [k for k, agent in enumerate(self.agents) for _ in range(agent.count)],
        )

    def _kinds(self) -> list[RegressionAgent]:
        kinds = []
        for k, agent in enumerate(self.agents):
            try:
                kinds.append(agent.build(self.noise_std))
            except ValueError as error:
                raise ValueError(f"agents[{k}]: {error}") from None
        return kinds


def array(values: object) -> FloatArray:
    """Nested rows of numbers as an array of doubles."""
    return np.array(values, dtype=np.float64)


def diagonal(value: Rational, dimension: int) -> list[list[Rational]]:
    """The matrix with this value on its diagonal."""
    zero = Fraction(0)
    return [[value if i == j else zero for j in range(dimension)] for i in range(dimension)]


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
    ranges: Sequence[object] | None,
    second_moment: Sequence[Sequence[Rational]] | None,
    dimension: int,
    *,
    prefix: str,
) -> None:
    if (ranges is None) == (second_moment is None):
        got, remedy = ("neither", "add one") if ranges is None else ("both", "keep one of them")
        wanted = f"exactly one of {prefix}ranges and {prefix}second_moment"
        raise problem_error((), wanted, got, remedy)
    if ranges is not None:
        _check_length((f"{prefix}ranges",), ranges, dimension)
    if second_moment is not None:
        _check_matrix((f"{prefix}second_moment",), second_moment, dimension, strict=False)


def _check_length(place: Place, row: Sequence[object], dimension: int) -> None:
    if len(row) != dimension:
        wanted = f"a list of {dimension} (one for each coordinate of theta)"
        raise problem_error(place, wanted, len(row), f"make it {dimension} long")


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
