"""A real regression, split over agents: scikit-learn's diabetes data.

442 patients: ten features at baseline, and the progression of the disease a year later. They come
with the installation of scikit-learn (Efron, Hastie, Johnstone and Tibshirani, 2004). Features and
labels are centred and scaled to unit variance on the training rows, after a bias of ones.

Two ways to split them over agents:

*By features.* Each agent measures a group of features on all patients, and puts zeros in place of
the others, as the papers' agents do. Its model is then wrong: what the missing features explain is
noise to it, correlated with what it sees. With groups that share no feature (the bias apart) and
centred features, S_j has no entries outside group j, and neither has x_j y, so that the network
settles on

    θ_v = A⁻¹ Σ_j v_j c_j E x_j y,      A = Σ_j v_j c_j S_j,

whose block for group j is S_j⁻¹ E x_j y: the agent's *own* regression, whatever the weights. The
network's prediction adds up what the groups' separate regressions say, and counts twice what two
groups both tell. Cooperation does not undo that: no agent ever sees two groups on one patient. Only
where groups are uncorrelated, as principal components are, is θ_v the regression on all features.

*By rows.* Each agent has all features of its own patients. The model is as right as a central one,
and θ_v is near the regression on all rows: the weights v say how much each share counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from theory.regression import RegressionAgent, RegressionModel
from theory.showing import Shown
from theory.validation import FloatArray, as_float_array, as_integer, fail, read_only

# What a nurse measures, what cholesterol tests give, and the rest of the blood serum.
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "body": ("age", "sex", "bmi", "bp"),
        "cholesterol": ("s1", "s2", "s3", "s4"),
        "serum": ("s5", "s6"),
    }
)
TEST_ROWS = 142


@dataclass(frozen=True, eq=False)
class RegressionTable(Shown):
    """Rows to learn from and rows to test on, standardised, a bias of ones first.

    Attributes
    ----------
    features
        The names of the d columns, the bias included.
    inputs, targets
        Training rows, shape (m, d) and (m,).
    test_inputs, test_targets
        Test rows, in the units of the training rows.
    """

    features: tuple[str, ...]
    inputs: FloatArray
    targets: FloatArray
    test_inputs: FloatArray
    test_targets: FloatArray

    @property
    def least_squares(self) -> FloatArray:
        """The regression on all features of all training rows, shape (d,): the central answer."""
        return np.asarray(np.linalg.lstsq(self.inputs, self.targets, rcond=None)[0])

    @property
    def noise_std(self) -> float:
        """What that regression leaves unexplained: the root of its mean squared residual."""
        residuals = self.targets - self.inputs @ self.least_squares
        return float(np.sqrt(residuals @ residuals / len(residuals)))

    def test_error(self, theta: ArrayLike) -> FloatArray:
        """Mean squared error on the test rows of coefficients of shape (..., d): shape (...)."""
        gaps = self.test_targets - np.asarray(theta) @ self.test_inputs.T
        return np.asarray((gaps**2).mean(axis=-1))

    def principal_components(self) -> RegressionTable:
        """The same rows in principal components: uncorrelated on the training rows, unit variance.

        Whoever rotates needs the correlations of all features, but no labels. Components are in
        decreasing order of the variance they carry.
        """
        rows = self.inputs[:, 1:]
        values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
        turn = (vectors / np.sqrt(values))[:, ::-1]

        def turned(inputs: FloatArray) -> FloatArray:
            return read_only(np.hstack([inputs[:, :1], inputs[:, 1:] @ turn]))

        names = tuple(f"pc{k}" for k in range(1, len(self.features)))
        return RegressionTable(
            features=("bias", *names),
            inputs=turned(self.inputs),
            targets=self.targets,
            test_inputs=turned(self.test_inputs),
            test_targets=self.test_targets,
        )

    def columns(self, names: Sequence[str]) -> list[int]:
        """Where features are, by name.

        Raises
        ------
        ValueError
            If there is no such feature.
        """
        for name in names:
            if name not in self.features:
                known = ", ".join(self.features)
                raise fail("groups", f"names among {known}", repr(name), "name existing features")
        return [self.features.index(name) for name in names]


def load_diabetes(*, seed: int, test_rows: int = TEST_ROWS) -> RegressionTable:
    """The diabetes data, split at random into rows to learn from and rows to test on.

    Parameters
    ----------
    seed
        The split's; the same seed gives the same rows.
    test_rows
        How many of the 442 rows to test on, between 1 and 400.

    Examples
    --------
    >>> table = load_diabetes(seed=0)
    >>> table.inputs.shape, table.test_inputs.shape, table.features[:4]
    ((300, 11), (142, 11), ('bias', 'age', 'sex', 'bmi'))
    >>> table.test_error(table.least_squares) < table.test_error(np.zeros(11))
    np.True_
    """
    from sklearn.datasets import load_diabetes as load

    data = load(scaled=False)
    test_rows = as_integer("test_rows", test_rows, minimum=1, maximum=400)
    rng = np.random.default_rng(as_integer("seed", seed, minimum=0))
    order = rng.permutation(len(data.target))
    rows, labels = np.asarray(data.data)[order], np.asarray(data.target)[order]
    learn, test = slice(test_rows, None), slice(test_rows)
    centre, scale = rows[learn].mean(axis=0), rows[learn].std(axis=0)
    inputs = np.hstack([np.ones((len(rows), 1)), (rows - centre) / scale])
    targets = (labels - labels[learn].mean()) / labels[learn].std()
    return RegressionTable(
        features=("bias", *data.feature_names),
        inputs=read_only(inputs[learn]),
        targets=read_only(targets[learn]),
        test_inputs=read_only(inputs[test]),
        test_targets=read_only(targets[test]),
    )


def split_features(
    table: RegressionTable,
    groups: Mapping[str, Sequence[str]] = GROUPS,
    *,
    prior_variance: float = 1.0,
    tempering: float = 1.0,
) -> RegressionModel:
    """One agent for each group of features, which sees them (and the bias) on all training rows.

    Each round an agent draws a row with replacement. It takes the noise to be what its own features
    leave unexplained, and starts from a normal prior with mean zero. Errors are measured against
    the regression on all features, on inputs like the training rows.

    Raises
    ------
    ValueError
        If a group is empty or names no feature.

    Examples
    --------
    >>> model = split_features(load_diabetes(seed=0))
    >>> model.agents, model.dimension, model.has_targets
    (3, 11, True)
    """
    agents = []
    for name, features in groups.items():
        if not features:
            raise fail("groups", "at least one feature", f"none in {name!r}", "drop the group")
        seen = table.columns(["bias", *features])
        rows = np.zeros_like(table.inputs)
        rows[:, seen] = table.inputs[:, seen]
        agents.append(_agent(rows, table.targets, tempering))
    if not agents:
        raise fail("groups", "at least one group", "none", "say which agent sees which features")
    return _model(table, agents, prior_variance)


def split_rows(
    table: RegressionTable,
    shares: Sequence[float],
    *,
    seed: int,
    prior_variance: float = 1.0,
    tempering: float = 1.0,
) -> RegressionModel:
    """One agent for each share of the training rows, which sees all features of its own rows.

    Parameters
    ----------
    shares
        Positive numbers: how the rows are dealt, in proportion.
    seed
        Of the deal.

    Raises
    ------
    ValueError
        If a share is not positive, or too small for a row.

    Examples
    --------
    >>> model = split_rows(load_diabetes(seed=0), [0.5, 0.25, 0.25], seed=0)
    >>> [len(kind.inputs) for kind in model.kinds]
    [150, 75, 75]
    """
    parts = as_float_array("shares", shares, ndim=1)
    if parts.size == 0 or not (parts > 0).all():
        raise fail("shares", "positive numbers", parts.tolist(), "give every agent some rows")
    ends = np.rint(np.cumsum(parts) / parts.sum() * len(table.targets)).astype(int)
    if (np.diff(ends, prepend=0) == 0).any():
        raise fail("shares", "a row for every agent", parts.tolist(), "deal to fewer agents")
    order = np.random.default_rng(as_integer("seed", seed, minimum=0)).permutation(ends[-1])
    dealt = np.split(order, ends[:-1])
    agents = [
        _agent(table.inputs[rows], table.targets[rows], tempering, noise_std=table.noise_std)
        for rows in dealt
    ]
    return _model(table, agents, prior_variance)


def _agent(
    rows: FloatArray, targets: FloatArray, tempering: float, noise_std: float | None = None
) -> RegressionAgent:
    if noise_std is None:
        own = np.linalg.lstsq(rows, targets, rcond=None)[0]
        noise_std = float(np.sqrt(np.mean((targets - rows @ own) ** 2)))
    return RegressionAgent(inputs=rows, targets=targets, noise_std=noise_std, tempering=tempering)


def _model(
    table: RegressionTable, agents: Sequence[RegressionAgent], prior_variance: float
) -> RegressionModel:
    d = len(table.features)
    return RegressionModel.from_agents(
        table.least_squares,
        agents,
        prior_covariance=prior_variance * np.eye(d),
        test_second_moment=table.inputs.T @ table.inputs / len(table.inputs),
    )
