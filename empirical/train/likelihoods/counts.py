"""Counts of events: Poisson, or negative binomial where they spread more than that.

Outputs are log means η = log μ. With dispersion α, learned as a constant a = log α, the variance
is μ + α μ² and, with r = 1/α,

    log ℓ(y) = log Γ(y + r) − log Γ(r) − log Γ(y + 1) + r log(r / (r + μ)) + y log(μ / (r + μ))

which tends to Poisson's y η − μ − log Γ(y + 1) as α goes to 0. Sums are taken in float64: at small
α the two first terms are large and nearly equal. η is kept within ±30, a within ±15: beyond, they
count as the end, and the derivative is that of the end where it leads back, and zero elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.train.likelihoods.labels import as_whole, columns, pointing_in, within
from theory.validation import as_integer, fail

LARGEST_LOG_MEAN = 30.0
LARGEST_LOG_DISPERSION = 15.0


@dataclass(frozen=True)
class Counts:
    """ℓ(y | outputs): k counts, independent given their means exp(output).

    Parameters
    ----------
    count
        The number k of counts in a label.
    dispersion
        None for Poisson; ``"learned"`` for the negative binomial whose k log α are trained
        constants, which stand behind the log means.

    Raises
    ------
    ValueError
        If `dispersion` is another word.
    """

    count: int = 1
    dispersion: str | None = None

    def __post_init__(self) -> None:
        as_integer("count", self.count, minimum=1)
        if self.dispersion not in (None, "learned"):
            raise fail(
                "dispersion",
                '"learned", or nothing for Poisson',
                repr(self.dispersion),
                "choose one",
            )

    @property
    def outputs(self) -> int:
        """The log means, then the log dispersions if they are learned."""
        return self.count + self.constants

    @property
    def constants(self) -> int:
        """The log dispersions."""
        return 0 if self.dispersion is None else self.count

    @property
    def label_size(self) -> int:
        """A label is k counts."""
        return self.count

    @property
    def words(self) -> dict[str, Any]:
        """Its name, k, and how counts spread."""
        spread = {} if self.dispersion is None else {"dispersion": self.dispersion}
        return {"kind": "counts", "count": self.count, **spread}

    def as_labels(self, argument: str, labels: NDArray[Any]) -> NDArray[np.int64 | np.float32]:
        """Whole numbers from 0 to 2²⁴, as float32, shape (n,) or (n, k)."""
        return as_whole(argument, labels, size=self.count).astype(np.float32)

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean −log probability in nats, shape (N,), and its derivative."""
        y = columns(labels, self.count).double()
        log_mean, low, high = within(outputs[:, :, : self.count].double(), LARGEST_LOG_MEAN)
        if self.dispersion is None:
            log_pmf, by_mean = _poisson(log_mean, y)
            parts = [pointing_in(-by_mean, low, high)]
        else:
            log_alpha, small, large = within(
                outputs[:, :, self.count :].double(), LARGEST_LOG_DISPERSION
            )
            log_pmf, by_mean, by_alpha = _negative_binomial(log_mean, log_alpha, y)
            parts = [pointing_in(-by_mean, low, high), pointing_in(-by_alpha, small, large)]
        grad = torch.cat(parts, dim=2).div_(y.shape[1])
        nll = -log_pmf.sum(dim=2).mean(dim=1)
        return nll.to(outputs.dtype), grad.to(outputs.dtype)

    def log_density(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Log probability of each label, shape (N, B)."""
        y = columns(labels, self.count).double()
        log_mean = self._log_mean(outputs).double()
        if self.dispersion is None:
            log_pmf = _poisson(log_mean, y)[0]
        else:
            log_pmf = _negative_binomial(log_mean, self._log_alpha(outputs).double(), y)[0]
        return log_pmf.sum(dim=2).to(outputs.dtype)

    def mean(self, outputs: Tensor) -> Tensor:
        """μ, shape (N, B, k)."""
        return torch.exp(self._log_mean(outputs))

    def variance(self, outputs: Tensor) -> Tensor:
        """μ, or μ + α μ²."""
        mean = self.mean(outputs)
        if self.dispersion is None:
            return mean
        return mean + torch.exp(self._log_alpha(outputs)) * mean * mean

    def _log_mean(self, outputs: Tensor) -> Tensor:
        return within(outputs[:, :, : self.count], LARGEST_LOG_MEAN)[0]

    def _log_alpha(self, outputs: Tensor) -> Tensor:
        return within(outputs[:, :, self.count :], LARGEST_LOG_DISPERSION)[0]


def _poisson(log_mean: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Log probabilities, and their derivative by the log mean."""
    mean = torch.exp(log_mean)
    return y * log_mean - mean - torch.lgamma(y + 1.0), y - mean


def _negative_binomial(
    log_mean: Tensor, log_alpha: Tensor, y: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Log probabilities, and their derivatives by the log mean and by the log dispersion."""
    r, mean = torch.exp(-log_alpha), torch.exp(log_mean)
    share = torch.sigmoid(-(log_mean + log_alpha))  # r / (r + μ)
    log_share = torch.nn.functional.logsigmoid(-(log_mean + log_alpha))
    log_rest = torch.nn.functional.logsigmoid(log_mean + log_alpha)
    log_pmf = (
        torch.lgamma(y + r) - torch.lgamma(r) - torch.lgamma(y + 1.0) + r * log_share + y * log_rest
    )
    by_mean = (y - mean) * share
    gap = torch.digamma(y + r) - torch.digamma(r)
    by_alpha = by_mean - r * (gap + log_share)
    return log_pmf, by_mean, by_alpha
