"""Data of one's own as shares: numbers of any type are taken, wrong shapes and labels refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from empirical.nets.architecture import perceptron
from empirical.nets.shares import shares_of

NET = perceptron(3, 4, outputs=2)
X, Y = np.arange(12.0).reshape(4, 3) / 12, np.array([0, 1, 1, 0])


@pytest.mark.parametrize("kind", ["float64", "float32", "list", "tensor", "whole"])
def test_numbers_of_any_type_are_the_same_shares(kind: str) -> None:
    x = {"list": X.tolist(), "tensor": torch.tensor(X), "whole": X}.get(kind, X)
    y = {"list": Y.tolist(), "tensor": torch.tensor(Y), "whole": Y.astype(float)}.get(kind, Y)
    x = x.astype(kind) if kind.startswith("float") else x  # type: ignore[union-attr]
    shares = shares_of([(x, y), (x[:2], y[:2])], NET)
    assert (shares.inputs.dtype, shares.labels.dtype) == (torch.float32, torch.int64)
    assert [rows.tolist() for rows in shares.indices] == [[0, 1, 2, 3], [4, 5]]
    np.testing.assert_array_equal(shares.inputs[:4].numpy(), X.astype(np.float32))
    np.testing.assert_array_equal(shares.labels[4:].numpy(), Y[:2])
    shares.check_fits(NET)


def test_real_labels_are_kept() -> None:
    shares = shares_of([(X, Y + 0.5)], perceptron(3, 4, outputs=1), real_labels=True)
    assert shares.labels.dtype == torch.float32
    np.testing.assert_array_equal(shares.labels.numpy(), (Y + 0.5).astype(np.float32))


@pytest.mark.parametrize(
    ("data", "net", "said"),
    [
        ([(X, Y)], torch.nn.Linear(3, 2), "architecture: expected an Architecture, got a Linear"),
        ([(X, Y)], perceptron, "architecture: expected an Architecture, got a function"),
        ([(X, Y + 1)], NET, "data[0][1]: expected classes from 0 to 1, the architecture's outputs"),
        ([(X, Y), (X, Y - 0.5)], NET, "data[1][1]: expected classes from 0 to 1"),
        ([(X, Y[:3])], NET, "data[0][1]: expected one label for each of 4 inputs"),
        ([(X[:, :2], Y)], NET, "data[0][0]: expected inputs of shape (n, 3)"),
        ([(X * np.nan, Y)], NET, "data[0][0]: expected finite numbers"),
        ([(X[:0], Y[:0])], NET, "got shape (0, 3)"),
        ([X], NET, "data[0]: expected a pair of inputs and labels, got ndarray"),
        ([], NET, "data: expected inputs and labels of at least one agent"),
        ([([[1.0], [1.0, 2.0]], [0, 1])], NET, "data[0][0]: expected an array of numbers"),
    ],
)
def test_refusals(data: object, net: object, said: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        shares_of(data, net)  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
