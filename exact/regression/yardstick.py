"""What beliefs of a regression are measured against, and the quantities that this gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exact.regression.batches import as_rows, finite
from exact.regression.factors import Factors, forward, residual
from theory.regression import RegressionModel
from theory.validation import FloatArray, fail


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What beliefs about θ − θ* are measured against.

    Attributes
    ----------
    test
        S, shape (d, d).
    directions
        Shape (P, d).
    rows_root, rows_image, rows_rest
        Of m given test rows X = QR, with r = y − Xθ*: R/√m, Qᵀr/√m and |r − QQᵀr|²/m, so that the
        mean squared error is |rows_root (θ − θ*) − rows_image|² + rows_rest; None without.
    """

    test: FloatArray
    directions: FloatArray
    rows_root: FloatArray | None = None
    rows_image: FloatArray | None = None
    rows_rest: float = 0.0

    @property
    def quantities(self) -> int:
        """Numbers kept of a belief: two errors, two for each direction, one for test rows."""
        return 2 + 2 * len(self.directions) + (self.rows_root is not None)

    def measure(self, precision: FloatArray, information: FloatArray) -> FloatArray:
        """Quantities, shape (n, R, Q), of precisions (n, R or 1, d, d), information (n, R, d)."""
        factors = Factors.of(precision)
        identity = np.broadcast_to(np.eye(precision.shape[-1]), precision.shape)
        root = forward(factors.lower, factors.scale[..., :, None] * identity)
        if precision.shape[1] == 1:
            gap = information @ (root[:, 0].swapaxes(-1, -2) @ root[:, 0])
        else:
            white = root @ information[..., None]
            gap = (root.swapaxes(-1, -2) @ white)[..., 0]
        count = len(self.directions)
        found = np.empty((*information.shape[:2], self.quantities))
        found[..., 0] = ((gap @ self.test) * gap).sum(axis=-1)
        covariance = root.swapaxes(-1, -2) @ root
        found[..., 1] = (covariance * self.test).sum(axis=(-1, -2))
        found[..., 2 : 2 + count] = gap @ self.directions.T
        spread = ((root @ self.directions.T) ** 2).sum(axis=-2)
        found[..., 2 + count : 2 + 2 * count] = spread
        if self.rows_root is not None and self.rows_image is not None:
            off = gap @ self.rows_root.T - self.rows_image
            found[..., -1] = (off**2).sum(axis=-1) + self.rows_rest
        return found


def yardstick_of(
    model: RegressionModel,
    directions: ArrayLike | None,
    test_inputs: ArrayLike | None,
    test_targets: ArrayLike | None,
) -> Yardstick:
    """What to measure against: the model's truth, the directions, and test rows if there are any.

    Raises
    ------
    ValueError
        If shapes disagree, or only one half of the test rows is given.
    """
    d = model.dimension
    rows = np.eye(d)
    if directions is not None:
        rows = as_rows("directions", directions, dimension=d)
        empty = np.flatnonzero(~rows.any(axis=1))
        if rows.shape[0] == 0 or empty.size:
            got = f"zero in row {int(empty[0])}" if empty.size else "none"
            raise fail("directions", "at least one vector, none zero", got, "leave it out")
    if (test_inputs is None) != (test_targets is None):
        raise fail("test_targets", "given with test_inputs", "one without the other", "give both")
    if test_inputs is None or test_targets is None:
        return Yardstick(model.test_second_moment, rows)
    inputs = as_rows("test_inputs", test_inputs, dimension=d)
    targets = finite("test_targets", test_targets, last=0)
    if targets.shape != inputs.shape[:1] or not targets.size:
        expected = f"one for each of {len(inputs)} test inputs, at least one"
        raise fail("test_targets", expected, f"shape {targets.shape}", "match the inputs")
    Q, R = np.linalg.qr(inputs)
    gaps = residual(inputs, model.theta[:, None], targets[:, None])[:, 0]
    image, size = Q.T @ gaps, np.sqrt(len(targets))
    rest = (gaps - Q @ image) / size
    return Yardstick(
        model.test_second_moment,
        rows,
        np.asarray(R / size),
        image / size,
        float(rest @ rest),
    )
