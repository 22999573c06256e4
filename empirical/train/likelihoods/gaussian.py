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

from theory.validation import as_integer, as_positive, fail

# Labels as they come from files ------------------------------------------------------------------


# Whole numbers above this one are not all float32.
_LARGEST_WHOLE = 2**24


def as_numbers(argument: str, labels: NDArray[Any], *, size: int) -> NDArray[np.float32]:
    """Finite float32 numbers, shape (n,) for `size` 1, else (n, size).

    Raises
    ------
    ValueError
        If there are none, or they are text, missing, too large, or of another shape.
    """
    array = np.asarray(labels)
    if array.size == 0:
        raise fail(argument, "at least one label", "none", "give labels")
    if array.dtype.kind not in "biuf":
        raise fail(
            argument,
            "numbers",
            f"{array.flat[0]!r}" if array.size else "none",
            "replace text by numbers",
        )
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != size:
        raise fail(
            argument,
            "one number a label" if size == 1 else f"{size} numbers a label",
            f"shape {np.asarray(labels).shape}",
            "change the labels or the likelihood",
        )
    with np.errstate(over="ignore"):
        found = array.astype(np.float32)
    if not np.isfinite(found).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(found))[0])
        raise fail(
            argument,
            "finite numbers below 1e38",
            f"{array[row, column]} in label {row}",
            "leave that example out, or rescale",
        )
    return found[:, 0] if size == 1 else found


def as_whole(
    argument: str, labels: NDArray[Any], *, size: int, below: int | None = None
) -> NDArray[np.int64]:
    """Whole numbers of at least 0, shape (n,) for `size` 1, else (n, size).

    Parameters
    ----------
    below
        All are less than this, for class numbers.

    Raises
    ------
    ValueError
        As :func:`as_numbers`; and if one is not whole, negative, or too large.
    """
    as_numbers(argument, labels, size=size)
    array = np.asarray(labels).reshape(-1) if size == 1 else np.asarray(labels)
    limit = _LARGEST_WHOLE if below is None else below - 1
    wrong = (array != np.floor(array)) | (array < 0) | (array > limit)
    if wrong.any():
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise fail(
            argument,
            f"whole numbers from 0 to {limit}",
            f"{array[first]} in label {first[0]}",
            "count events from 0" if below is None else "number the classes from 0",
        )
    return array.astype(np.int64)


def columns(labels: Tensor, size: int) -> Tensor:
    """Labels as a tensor of shape (N, B, size), whether or not that axis was written."""
    return labels.reshape(*labels.shape[:2], size)


def within(values: Tensor, bound: float) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs kept within ±`bound`, and where they are at or beyond its ends, below and above."""
    return values.clamp(-bound, bound), values <= -bound, values >= bound


def pointing_in(grad: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """A derivative at values kept :func:`within` bounds, zero where a step would lead out.

    Descent goes against the derivative: at the lower end a positive one leads out, at the upper
    end a negative one.
    """
    out = (low & (grad > 0)) | (high & (grad < 0))
    return torch.where(out, 0.0, grad)


# Counts of events --------------------------------------------------------------------------------


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


# Numbers with Gaussian noise ---------------------------------------------------------------------


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
