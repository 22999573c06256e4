"""Numbers with Gaussian noise: of a given, a learned, or an input's own standard deviation.

A label is k numbers y_j, and

    −log ℓ = Σ_j [ s_j + ½ (y_j − m_j)² exp(−2 s_j) + ½ log 2π ],   s_j = log σ_j

with derivatives −(y_j − m_j) exp(−2 s_j) by the mean m_j and 1 − (y_j − m_j)² exp(−2 s_j) by s_j.
Learned log σ are kept within ±15 (3e-7 to 3e6 in the labels' units): beyond, they count as the
end, and the derivative is that of the end where it leads back, and zero where it leads further out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.train.likelihoods.labels import as_numbers, columns, pointing_in, within
from theory.validation import as_integer, as_positive

LARGEST_LOG_STD = 15.0
_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class GaussianNoise:
    """ℓ(y | outputs) = Π_j N(y_j; output_j, σ²), σ given.

    Parameters
    ----------
    std
        σ in the labels' units, positive.
    count
        The number k of numbers in a label.
    """

    std: float
    count: int = 1

    def __post_init__(self) -> None:
        as_positive("std", self.std)
        as_integer("count", self.count, minimum=1)

    @property
    def outputs(self) -> int:
        """The means."""
        return self.count

    @property
    def constants(self) -> int:
        """No constants."""
        return 0

    @property
    def label_size(self) -> int:
        """A label is k numbers."""
        return self.count

    @property
    def words(self) -> dict[str, Any]:
        """Its name, σ and k."""
        return {"kind": "gaussian", "std": self.std, "count": self.count}

    def as_labels(self, argument: str, labels: NDArray[Any]) -> NDArray[np.int64 | np.float32]:
        """Finite numbers, float32, shape (n,) or (n, k)."""
        return as_numbers(argument, labels, size=self.count)

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean −log density in nats, shape (N,), and its derivative."""
        nll, grad, _ = _terms(outputs, self._log_std(outputs), labels)
        return nll.mean(dim=1), grad.div_(outputs.shape[1])

    def log_density(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Log density of each label, shape (N, B)."""
        return -_terms(outputs, self._log_std(outputs), labels)[0]

    def mean(self, outputs: Tensor) -> Tensor:
        """The outputs."""
        return outputs

    def variance(self, outputs: Tensor) -> Tensor:
        """σ² for each number."""
        return torch.full_like(outputs, self.std**2)

    def _log_std(self, outputs: Tensor) -> Tensor:
        return torch.full_like(outputs, math.log(self.std))


class _OutputNoise:
    """Means m and log σ among the outputs: what the two likelihoods below have in common."""

    count: int
    _factor: float  # of what stands among the outputs, to give log σ

    @property
    def outputs(self) -> int:
        """The means, then as many numbers for the noise."""
        return 2 * self.count

    @property
    def label_size(self) -> int:
        """A label is k numbers."""
        return self.count

    def as_labels(self, argument: str, labels: NDArray[Any]) -> NDArray[np.int64 | np.float32]:
        """Finite numbers, float32, shape (n,) or (n, k)."""
        return as_numbers(argument, labels, size=self.count)

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean −log density in nats, shape (N,), and its derivative by both halves."""
        mean, spread = outputs[:, :, : self.count], outputs[:, :, self.count :]
        log_std, low, high = within(spread * self._factor, LARGEST_LOG_STD)
        nll, by_mean, squared = _terms(mean, log_std, labels)
        by_spread = pointing_in((1.0 - squared) * self._factor, low, high)
        grad = torch.cat([by_mean, by_spread], dim=2)
        return nll.mean(dim=1), grad.div_(outputs.shape[1])

    def log_density(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Log density of each label, shape (N, B)."""
        return -_terms(self.mean(outputs), self._log_std(outputs), labels)[0]

    def mean(self, outputs: Tensor) -> Tensor:
        """The first half of the outputs."""
        return outputs[:, :, : self.count]

    def variance(self, outputs: Tensor) -> Tensor:
        """σ² of each number."""
        return torch.exp(2.0 * self._log_std(outputs))

    def _log_std(self, outputs: Tensor) -> Tensor:
        return within(outputs[:, :, self.count :] * self._factor, LARGEST_LOG_STD)[0]


@dataclass(frozen=True)
class LearnedNoise(_OutputNoise):
    """ℓ(y | outputs) = Π_j N(y_j; m_j, σ_j²); log σ_j is trained, one for all inputs.

    Outputs are the k means, then the k log σ: a net puts out the means, and the log σ are
    constants (:func:`empirical.train.constants.with_constants`).

    Parameters
    ----------
    count
        The number k of numbers in a label.
    """

    count: int = 1
    _factor = 1.0

    def __post_init__(self) -> None:
        as_integer("count", self.count, minimum=1)

    @property
    def constants(self) -> int:
        """The log σ."""
        return self.count

    @property
    def words(self) -> dict[str, Any]:
        """Its name, that σ is learned, and k."""
        return {"kind": "gaussian", "std": "learned", "count": self.count}


@dataclass(frozen=True)
class InputNoise(_OutputNoise):
    """ℓ(y | outputs) = Π_j N(y_j; m_j, exp(r_j)): a net puts out k means m, then k log variances r.

    Parameters
    ----------
    count
        The number k of numbers in a label.
    """

    count: int = 1
    _factor = 0.5

    def __post_init__(self) -> None:
        as_integer("count", self.count, minimum=1)

    @property
    def constants(self) -> int:
        """None: the noise is a matter of the input."""
        return 0

    @property
    def words(self) -> dict[str, Any]:
        """Its name, that σ comes from the input, and k."""
        return {"kind": "gaussian", "std": "input", "count": self.count}


def _terms(mean: Tensor, log_std: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """−log density (N, B), its derivative by the means (N, B, k), squared standardised gaps."""
    inverse = torch.exp(-log_std)
    gap = (mean - columns(labels, mean.shape[2])) * inverse
    squared = gap * gap
    nll = (log_std + 0.5 * squared + _HALF_LOG_2_PI).sum(dim=2)
    return nll, gap * inverse, squared
