"""One of several classes: outputs are logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.nets.likelihood import Categorical
from empirical.train.likelihoods.labels import as_whole
from theory.validation import as_integer


@dataclass(frozen=True)
class Classes:
    """ℓ(y | outputs) = softmax(outputs)_y; labels are class numbers from 0.

    Parameters
    ----------
    count
        The number of classes, at least 2.

    Examples
    --------
    >>> likelihood = Classes(3)
    >>> outputs = torch.zeros(1, 1, 3)
    >>> f"{likelihood.log_density(outputs, torch.tensor([[2]])).exp().item():.4f}"
    '0.3333'
    """

    count: int

    def __post_init__(self) -> None:
        as_integer("count", self.count, minimum=2)

    @property
    def outputs(self) -> int:
        """One logit a class."""
        return self.count

    @property
    def constants(self) -> int:
        """No constants."""
        return 0

    @property
    def label_size(self) -> int:
        """A label is one class number."""
        return 1

    @property
    def words(self) -> dict[str, Any]:
        """Its name and the number of classes."""
        return {"kind": "classes", "count": self.count}

    def as_labels(self, argument: str, labels: NDArray[Any]) -> NDArray[np.int64 | np.float32]:
        """Class numbers, int64, shape (n,)."""
        return as_whole(argument, labels, size=1, below=self.count)

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean cross-entropy in nats, shape (N,), and its derivative."""
        return Categorical().loss(outputs, _places(labels))

    def log_density(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Log probability of each label, shape (N, B)."""
        logs = torch.log_softmax(outputs, dim=2)
        return logs.gather(2, _places(labels)[:, :, None])[:, :, 0]

    def mean(self, outputs: Tensor) -> Tensor:
        """Probabilities of the classes, shape (N, B, count)."""
        return torch.softmax(outputs, dim=2)

    def variance(self, outputs: Tensor) -> Tensor:
        """p(1 − p) of each class."""
        p = self.mean(outputs)
        return p * (1.0 - p)


def _places(labels: Tensor) -> Tensor:
    return labels.reshape(labels.shape[:2]).long()
