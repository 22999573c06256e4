"""What a likelihood has to say, of training and of prediction."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


class Likelihood(Protocol):
    """ℓ(y | outputs) of one label given the numbers that a net puts out for its input.

    Labels are one tensor of shape (N, B), or (N, B, k) where a label is k numbers.
    """

    @property
    def outputs(self) -> int:
        """How many numbers a net must put out, :attr:`constants` among them."""
        ...

    @property
    def constants(self) -> int:
        """How many of them, the last, are no matter of the input: trained numbers of its own.

        :func:`empirical.train.constants.with_constants` appends them to what a net puts out.
        """
        ...

    @property
    def label_size(self) -> int:
        """The number k of numbers in a label."""
        ...

    @property
    def words(self) -> dict[str, Any]:
        """What names it: JSON, kept in records; ``"kind"`` is the likelihood's name."""
        ...

    def as_labels(self, argument: str, labels: NDArray[Any]) -> NDArray[np.int64 | np.float32]:
        """Labels as they are stored, checked; shape (n,) or (n, k).

        Raises
        ------
        ValueError
            If one is none that the likelihood knows; `argument` names where they came from.
        """
        ...

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean of −log ℓ over a batch, shape (N,), and its derivative by `outputs`.

        `outputs` has shape (N, B, outputs) and may be overwritten.
        """
        ...

    def log_density(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Log ℓ of each label in nats, shape (N, B); for a density, per unit of the label."""
        ...

    def mean(self, outputs: Tensor) -> Tensor:
        """What is predicted: probabilities of the classes, or means, shape (N, B, m)."""
        ...

    def variance(self, outputs: Tensor) -> Tensor:
        """The label's own variance around :meth:`mean`, shape (N, B, m); p(1 − p) of a class."""
        ...
