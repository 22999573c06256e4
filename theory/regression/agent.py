"""What one agent of a regression sees: its inputs' law, its noise, and what it believes of both.

Agent j draws, each round, `batch` independent pairs of an input x in ℝᵈ and a label
y = xᵀθ* + N(0, α_j²). It claims noise of s_j and raises its likelihood to the power t_j, so that
one pair adds (t_j/s_j²) x xᵀ to the precision of its belief and (t_j/s_j²) x y to its information
vector. With s_j = α_j and t_j = 1 that is Bayes' rule.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from theory.regression.positive import as_positive_semidefinite
from theory.showing import Value
from theory.validation import FloatArray, as_float_array, as_integer, as_positive, fail, read_only

# Second and fourth moments of an agent's inputs, under the three laws an agent may have ----------


def symmetric(matrix: FloatArray) -> FloatArray:
    """The symmetric part over the last two axes."""
    return np.asarray((matrix + matrix.swapaxes(-1, -2)) / 2)


def root_of(moment: FloatArray) -> FloatArray:
    """A root R of a positive semidefinite matrix, R Rᵀ, that turns white noise into inputs.

    Where coordinates have units beyond a million apart they are scaled first, by powers of two:
    rounding of the large ones would drown the small ones.
    """
    diagonal = np.diagonal(moment)
    unit = np.ldexp(1.0, np.frexp(np.where(diagonal > 0, diagonal, 1.0))[1] // 2)
    if unit.max() <= 2.0**20 * unit.min():
        unit = np.ones_like(unit)
    values, vectors = np.linalg.eigh(moment / unit / unit[:, None])
    return np.asarray(unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def uniform_second_moment(ranges: FloatArray) -> FloatArray:
    """E x xᵀ, shape (d, d), of independent coordinates uniform on `ranges`, shape (d, 2).

    Examples
    --------
    >>> uniform_second_moment(np.array([[1.0, 1.0], [-1.5, 1.5]])).tolist()
    [[1.0, 0.0], [0.0, 0.75]]
    """
    low, high = np.asarray(ranges, dtype=np.float64).T
    centre = (low + high) / 2
    return np.asarray(np.outer(centre, centre) + np.diag((high - low) ** 2 / 12))


def uniform_fourth_moment(ranges: FloatArray, matrix: FloatArray) -> FloatArray:
    """E x xᵀ M x xᵀ for independent uniform coordinates and symmetric M (docs: regression).

    With x = c + u, where u has variances w and fourth moments q, this is
    (cᵀMc + τ)(c cᵀ + diag w) + 2(c gᵀ + g cᵀ) + 2 (w wᵀ) ∘ M + diag(M_aa (q_a − 3w_a²))
    with g = w ∘ Mc and τ = Σ_a M_aa w_a.
    """
    low, high = ranges.T
    c, half = (low + high) / 2, (high - low) / 2
    w = half**2 / 3
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    image = matrix @ c
    level = np.asarray(image @ c + diagonal @ w)
    cross = c[:, None] * (w * image)[..., None, :]
    result = level[..., None, None] * (np.outer(c, c) + np.diag(w))
    result = result + 2 * (cross + cross.swapaxes(-1, -2)) + 2 * np.outer(w, w) * matrix
    here = np.arange(w.size)
    # q − 3w² = h⁴/5 − h⁴/3.
    result[..., here, here] -= diagonal * half**4 * 2 / 15
    return symmetric(result)


def normal_fourth_moment(second_moment: FloatArray, matrix: FloatArray) -> FloatArray:
    """E x xᵀ M x xᵀ = 2 S M S + tr(S M) S for normal x of mean zero and symmetric M."""
    S = second_moment
    trace = (S * matrix).sum(axis=(-2, -1))
    return symmetric(2 * S @ matrix @ S + trace[..., None, None] * S)


def data_fourth_moment(inputs: FloatArray, matrix: FloatArray) -> FloatArray:
    """The average of x xᵀ M x xᵀ over the rows x of `inputs`, shape (m, d)."""
    lengths = ((inputs @ matrix) * inputs).sum(axis=-1)
    return symmetric((inputs.T * lengths[..., None, :]) @ inputs / len(inputs))


# What one agent of a regression sees -------------------------------------------------------------


Law = Literal["uniform", "normal", "data"]


# Inputs, labels and noise are multiplied up to eight at a time.
LARGEST = 1e20


def check_size(argument: str, values: FloatArray, largest: float) -> None:
    """Check that no entry exceeds `largest` in size.

    Raises
    ------
    ValueError
        If one does.
    """
    size = float(np.abs(values).max(initial=0.0))
    if size > largest:
        raise fail(argument, f"sizes of at most {largest:g}", f"{size:g}", "choose other units")


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionAgent(Value):
    """One agent, or one kind of agent; exactly one of the first three arguments says its inputs.

    Parameters
    ----------
    ranges
        Shape (d, 2): coordinate k is uniform on [ranges[k, 0], ranges[k, 1]], independently of the
        others; [1, 1] is a bias, [0, 0] a coordinate the agent never sees.
    second_moment
        Shape (d, d), positive semidefinite: inputs are normal with mean zero and this E x xᵀ.
        Whatever the law, the attribute of this name is E x xᵀ.
    inputs
        Shape (m, d): rows of a data set, drawn with replacement.
    targets
        Shape (m,), only with `inputs`: the label of each row, drawn along with it. Without it
        labels are xᵀθ* plus noise.
    noise_std
        α > 0, the true standard deviation of the labels' noise; with `targets` it is what the
        agent claims unless `claimed_noise_std` is given, and describes nothing else.
    claimed_noise_std
        s > 0: what the agent takes it to be; left out: the truth.
    batch
        Pairs a round, at least 1.
    tempering
        t > 0: the power to which the agent raises its likelihood.

    Raises
    ------
    ValueError
        If not exactly one law is given, shapes disagree, a number is not finite, a range is
        reversed, the second moment is not positive semidefinite, or a standard deviation, the
        tempering or the batch is not positive.

    Examples
    --------
    >>> agent = RegressionAgent(ranges=[[1, 1], [-1, 1], [0, 0]], noise_std=0.8)
    >>> agent.law, agent.dimension, agent.second_moment.diagonal().round(3).tolist()
    ('uniform', 3, [1.0, 0.333, 0.0])
    """

    ranges: FloatArray | None = None
    second_moment: FloatArray = None  # type: ignore[assignment]
    inputs: FloatArray | None = None
    targets: FloatArray | None = None
    noise_std: float
    claimed_noise_std: float = None  # type: ignore[assignment]
    batch: int = 1
    tempering: float = 1.0

    if TYPE_CHECKING:
        # What may be left out is filled in, so that the attributes above are never None.
        def __init__(
            self,
            *,
            ranges: ArrayLike | None = None,
            second_moment: ArrayLike | None = None,
            inputs: ArrayLike | None = None,
            targets: ArrayLike | None = None,
            noise_std: float,
            claimed_noise_std: float | None = None,
            batch: int = 1,
            tempering: float = 1.0,
        ) -> None: ...

    def __post_init__(self) -> None:
        given = [self.ranges is not None, self.second_moment is not None, self.inputs is not None]
        if sum(given) != 1:
            raise fail(
                "agent",
                "exactly one of ranges, second_moment and inputs",
                f"{sum(given)} of them",
                "say once which inputs the agent draws",
            )
        if self.ranges is not None:
            moment = self._take_ranges()
        elif self.inputs is not None:
            moment = self._take_inputs()
        else:
            moment = as_positive_semidefinite("second_moment", self.second_moment)
        if self.targets is not None and self.inputs is None:
            raise fail("targets", "none without inputs", "some", "give the rows they are labels of")
        object.__setattr__(self, "second_moment", read_only(np.array(moment)))
        noise = as_positive("noise_std", self.noise_std)
        claimed = noise if self.claimed_noise_std is None else self.claimed_noise_std
        object.__setattr__(self, "noise_std", noise)
        object.__setattr__(self, "claimed_noise_std", as_positive("claimed_noise_std", claimed))
        object.__setattr__(self, "batch", as_integer("batch", self.batch, minimum=1))
        object.__setattr__(self, "tempering", as_positive("tempering", self.tempering))
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Refuse numbers whose fourth powers and quotients would leave the range of doubles."""
        for argument in ("noise_std", "claimed_noise_std", "tempering"):
            value = float(getattr(self, argument))
            if not 1 / LARGEST <= value <= LARGEST:
                wanted = f"a size of {1 / LARGEST:g} to {LARGEST:g}"
                raise fail(argument, wanted, f"{value:g}", "choose other units")
        check_size("second_moment", self.second_moment, LARGEST**2)

    def _take_ranges(self) -> FloatArray:
        ranges = as_float_array("ranges", self.ranges, ndim=2)  # type: ignore[arg-type]
        check_size("ranges", ranges, LARGEST)
        if ranges.shape[1] != 2 or ranges.shape[0] == 0:
            raise fail("ranges", "shape (d, 2)", f"shape {ranges.shape}", "give [low, high] pairs")
        backwards = np.flatnonzero(ranges[:, 0] > ranges[:, 1])
        if backwards.size:
            k = int(backwards[0])
            raise fail(f"ranges[{k}]", "[low, high]", ranges[k].tolist(), "swap the two")
        object.__setattr__(self, "ranges", ranges)
        return uniform_second_moment(ranges)

    def _take_inputs(self) -> FloatArray:
        inputs = as_float_array("inputs", self.inputs, ndim=2)  # type: ignore[arg-type]
        check_size("inputs", inputs, LARGEST)
        if inputs.size == 0:
            raise fail("inputs", "at least one row and one column", "none", "give some data")
        object.__setattr__(self, "inputs", inputs)
        if self.targets is not None:
            targets = as_float_array("targets", self.targets, ndim=1)
            check_size("targets", targets, LARGEST)
            if targets.size != len(inputs):
                raise fail(
                    "targets", f"one for each of {len(inputs)} rows", targets.size, "match them"
                )
            object.__setattr__(self, "targets", targets)
        return symmetric(inputs.T @ inputs / len(inputs))

    def changed(self, **changes: Any) -> RegressionAgent:
        """The same agent with other values of some arguments."""
        same = {name.name: getattr(self, name.name) for name in fields(self)}
        if self.law != "normal":
            del same["second_moment"]
        return RegressionAgent(**{**same, **changes})

    def _title(self) -> str:
        return f"RegressionAgent, {self.law} inputs of dimension {self.dimension}"

    @property
    def law(self) -> Law:
        """Which of the three laws the inputs follow: "uniform", "normal" or "data"."""
        if self.ranges is not None:
            return "uniform"
        return "normal" if self.inputs is None else "data"

    @property
    def dimension(self) -> int:
        """The number d of coefficients."""
        return int(self.second_moment.shape[0])

    @property
    def weight(self) -> float:
        """t/s²: what one pair adds to the belief's precision, in units of x xᵀ."""
        return self.tempering / self.claimed_noise_std**2

    @property
    def overweight(self) -> float:
        """What t α²/s² is: 1 where the likelihood has the weight Bayes' rule gives it."""
        return self.weight * self.noise_std**2

    def fourth_moment(self, matrix: FloatArray) -> FloatArray:
        """E x xᵀ M x xᵀ for symmetric M, shape (..., d, d)."""
        if self.ranges is not None:
            return uniform_fourth_moment(self.ranges, matrix)
        if self.inputs is not None:
            return data_fourth_moment(self.inputs, matrix)
        return normal_fourth_moment(self.second_moment, matrix)

    def spread(self, matrix: FloatArray) -> FloatArray:
        """E Δ M Δ with Δ = x xᵀ − S, for symmetric M, shape (..., d, d): how x xᵀ scatters."""
        S = self.second_moment
        return symmetric(self.fourth_moment(matrix) - S @ matrix @ S)

    def correlation(self, theta: FloatArray) -> FloatArray:
        """E x y, shape (d,), if the labels' law is xᵀ`theta` plus noise; `targets` go first."""
        if self.inputs is not None and self.targets is not None:
            return np.asarray(self.inputs.T @ self.targets / len(self.targets))
        return np.asarray(self.second_moment @ theta)

    def score_covariance(self, theta: FloatArray, at: FloatArray) -> FloatArray:
        """The covariance of x (y − xᵀ`at`), shape (d, d), if the labels follow `theta`.

        Where `at` is `theta` and there are no targets, this is α² S.
        """
        if self.inputs is not None and self.targets is not None:
            scores = self.inputs * (self.targets - self.inputs @ at)[:, None]
            scores = scores - scores.mean(axis=0)
            return symmetric(scores.T @ scores / len(scores))
        gap = theta - at
        noise = self.noise_std**2 * self.second_moment
        return noise + self.spread(np.outer(gap, gap)) if gap.any() else noise

    def score_drift(self, theta: FloatArray, at: FloatArray, inverse: FloatArray) -> FloatArray:
        """E (x xᵀ − S) M x (y − xᵀ`at`) for symmetric M = `inverse`, shape (d,).

        How the score goes with the precision that the same pair brings; zero where `at` is `theta`
        and there are no targets.
        """
        if self.inputs is not None and self.targets is not None:
            scores = self.inputs * (self.targets - self.inputs @ at)[:, None]
            along = (self.inputs @ inverse * self.inputs).sum(axis=1)
            mean = along @ scores / len(scores)
            return np.asarray(mean - self.second_moment @ inverse @ scores.mean(axis=0))
        return np.asarray(self.spread(inverse) @ (theta - at))

    def draw_inputs(self, generator: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent inputs: `shape` and one axis more, of length d."""
        if self.ranges is not None:
            low, high = self.ranges.T
            return np.asarray(generator.uniform(low, high, size=(*shape, self.dimension)))
        if self.inputs is not None:
            return self.inputs[generator.integers(len(self.inputs), size=shape)]
        white = generator.standard_normal((*shape, self.dimension))
        return np.asarray(white @ root_of(self.second_moment).T)
