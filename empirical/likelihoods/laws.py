"""What a net's outputs say of a label: classes, numbers with Gaussian noise, counts of events.

Numbers y_j with Gaussian noise have

    −log ℓ = Σ_j [ s_j + ½ (y_j − m_j)² exp(−2 s_j) + ½ log 2π ],   s_j = log σ_j

with derivatives −(y_j − m_j) exp(−2 s_j) by the mean m_j and 1 − (y_j − m_j)² exp(−2 s_j) by s_j.
Learned log σ are kept within ±15 (3e-7 to 3e6 in the labels' units): beyond, they count as the
end, and the derivative is that of the end where it leads back, and zero where it leads further out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import logsigmoid

from empirical.kernels import cross_entropy
from theory.validation import as_integer, fail

# What a likelihood has to say, of training and of prediction -------------------------------------


Settings = Mapping[str, tuple[Callable[[str, Any], Any], str]]
"""Of each setting how it is checked, under which name, and what it is if it must be there."""


class Likelihood(Protocol):
    """ℓ(y | outputs) of one label given the numbers that a net puts out for its input.

    Labels are one tensor of shape (N, B), or (N, B, k) where a label is k numbers.
    """

    kind: ClassVar[str]
    settings: ClassVar[Settings]

    def __post_init__(self) -> None:
        for name, (check, _) in self.settings.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))

    @property
    def outputs(self) -> int:
        """How many numbers a net must put out, :attr:`constants` among them."""

    @property
    def constants(self) -> int:
        """How many of them, the last, are no matter of the input: trained numbers of its own.

        :func:`empirical.train.module_net.with_constants` appends them to what a net puts out.
        """
        return 0

    @property
    def label_size(self) -> int:
        """The number k of numbers in a label."""
        return 1

    @property
    def words(self) -> dict[str, Any]:
        """What names it: JSON, kept in records; ``"kind"`` is the likelihood's name."""
        own = {name: getattr(self, name) for name in self.settings}
        return {"kind": self.kind, **{k: v for k, v in own.items() if v is not None}}

    def as_labels(self, argument: str, labels: NDArray[Any]) -> NDArray[np.int64 | np.float32]:
        """Labels as they are stored, checked: numbers as float32; shape (n,) or (n, k).

        Raises
        ------
        ValueError
            If one is none that the likelihood knows; `argument` names where they came from.
        """
        return as_numbers(argument, labels, size=self.label_size)

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean of −log ℓ over a batch in nats, shape (N,), and its derivative by `outputs`.

        `outputs` has shape (N, B, outputs) and may be overwritten.
        """

    def log_density(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Log ℓ of each label in nats, shape (N, B); for a density, per unit of the label."""

    def mean(self, outputs: Tensor) -> Tensor:
        """What is predicted: probabilities of the classes, or means, shape (N, B, m)."""

    def variance(self, outputs: Tensor) -> Tensor:
        """The label's own variance around :meth:`mean`, shape (N, B, m)."""


_COUNT, _CLASSES = (partial(as_integer, minimum=least) for least in (1, 2))


# One of several classes --------------------------------------------------------------------------


@dataclass(frozen=True)
class Classes(Likelihood):
    """ℓ(y | outputs) = softmax(outputs)_y, a logit a class; labels are class numbers from 0.

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
    kind = "classes"
    settings: ClassVar[Settings] = {"count": (_CLASSES, "the number of classes")}

    @property
    def outputs(self) -> int:
        """One logit a class."""
        return self.count

    def as_labels(self, argument: str, labels: NDArray[Any]) -> NDArray[np.int64 | np.float32]:
        """Class numbers, int64, shape (n,)."""
        return as_whole(argument, labels, size=1, below=self.count)

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean cross-entropy in nats, shape (N,), and its derivative."""
        labels = _places(labels)
        if cross_entropy.fits(outputs, labels):
            return cross_entropy.cross_entropy(outputs, labels)
        logs, places = torch.log_softmax(outputs, dim=2), labels[:, :, None]
        nll = -logs.gather(2, places)[:, :, 0].mean(dim=1)
        grad = logs.exp_()
        grad.scatter_add_(2, places, grad.new_full((1, 1, 1), -1.0).expand_as(places))
        return nll, grad.mul_(1.0 / outputs.shape[1])

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
    """Class numbers as indices, shape (N, B)."""
    plain = labels.ndim == 2 and labels.dtype == torch.int64
    return labels if plain else labels.reshape(labels.shape[:2]).long()


# Numbers with Gaussian noise ---------------------------------------------------------------------


LARGEST_LOG_STD = 15.0
_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
# What stands among the outputs of log σ, in parts of it: itself, or a log variance.
_FACTORS = {"learned": 1.0, "input": 0.5}
_STD = 'a number above 0, "learned" or "input"'


def _std(argument: str, std: Any) -> float | str:
    if isinstance(std, str) and std in _FACTORS:
        return std
    number = isinstance(std, int | float | np.floating) and not isinstance(std, bool)
    if not number or not 0 < std < math.inf:
        raise fail(argument, _STD, repr(std), "choose one")
    return float(std)


@dataclass(frozen=True)
class Gaussian(Likelihood):
    """ℓ(y | outputs) = Π_j N(y_j; m_j, σ_j²); outputs are the k means, then what says σ, if any.

    Parameters
    ----------
    std
        σ in the labels' units, positive; ``"learned"``: the log σ_j are trained constants, one for
        all inputs (:func:`empirical.train.module_net.with_constants`); ``"input"``: a net puts out
        the log variances, a matter of the input.
    count
        The number k of numbers in a label.
    """

    std: float | str
    count: int = 1
    kind = "gaussian"
    settings: ClassVar[Settings] = {"std": (_std, _STD), "count": (_COUNT, "")}

    @property
    def outputs(self) -> int:
        """The means, then as many numbers for the noise unless σ is given."""
        return 2 * self.count if self.std in _FACTORS else self.count

    @property
    def constants(self) -> int:
        """The log σ, if they are learned."""
        return self.count if self.std == "learned" else 0

    @property
    def label_size(self) -> int:
        """A label is k numbers."""
        return self.count

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean −log density in nats, shape (N,), and its derivative."""
        log_std, *ends = self._log_std(outputs)
        nll, grad, squared = _terms(self.mean(outputs), log_std, labels)
        if isinstance(self.std, str):
            by_spread = pointing_in((1.0 - squared) * _FACTORS[self.std], *ends)
            grad = torch.cat([grad, by_spread], dim=2)
        return nll.mean(dim=1), grad.div_(outputs.shape[1])

    def log_density(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Log density of each label, shape (N, B)."""
        return -_terms(self.mean(outputs), self._log_std(outputs)[0], labels)[0]

    def mean(self, outputs: Tensor) -> Tensor:
        """The first k of the outputs."""
        return outputs[:, :, : self.count]

    def variance(self, outputs: Tensor) -> Tensor:
        """σ² of each number."""
        if isinstance(self.std, str):
            return torch.exp(2.0 * self._log_std(outputs)[0])
        return torch.full_like(outputs, self.std**2)

    def _log_std(self, outputs: Tensor) -> tuple[Tensor, ...]:
        """Log σ of each number; where it is among the outputs, as :func:`within` gives it."""
        if isinstance(self.std, str):
            return within(outputs[:, :, self.count :] * _FACTORS[self.std], LARGEST_LOG_STD)
        return (torch.full_like(outputs, math.log(self.std)),)


def _terms(mean: Tensor, log_std: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """−log density (N, B), its derivative by the means (N, B, k), squared standardised gaps."""
    inverse = torch.exp(-log_std)
    gap = (mean - columns(labels, mean.shape[2])) * inverse
    squared = gap * gap
    nll = (log_std + 0.5 * squared + _HALF_LOG_2_PI).sum(dim=2)
    return nll, gap * inverse, squared


# Counts of events --------------------------------------------------------------------------------


LARGEST_LOG_MEAN = 30.0
LARGEST_LOG_DISPERSION = 15.0


def _dispersion(argument: str, dispersion: str | None) -> str | None:
    if dispersion not in (None, "learned"):
        raise fail(argument, '"learned", or nothing for Poisson', repr(dispersion), "choose one")
    return dispersion


@dataclass(frozen=True)
class Counts(Likelihood):
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
    kind = "counts"
    settings: ClassVar[Settings] = {"count": (_COUNT, ""), "dispersion": (_dispersion, "")}

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

    def as_labels(self, argument: str, labels: NDArray[Any]) -> NDArray[np.int64 | np.float32]:
        """Whole numbers from 0 to 2²⁴, as float32, shape (n,) or (n, k)."""
        return as_whole(argument, labels, size=self.count).astype(np.float32)

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean −log probability in nats, shape (N,), and its derivative."""
        log_pmf, *slopes = self._terms(outputs, labels)
        grad = torch.cat(slopes, dim=2).div_(labels.shape[1])
        return -log_pmf.mean(dim=1).to(outputs.dtype), grad.to(outputs.dtype)

    def log_density(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Log probability of each label, shape (N, B)."""
        return self._terms(outputs, labels)[0].to(outputs.dtype)

    def mean(self, outputs: Tensor) -> Tensor:
        """μ, shape (N, B, k)."""
        return torch.exp(within(outputs[:, :, : self.count], LARGEST_LOG_MEAN)[0])

    def variance(self, outputs: Tensor) -> Tensor:
        """μ, or μ + α μ²."""
        mean = self.mean(outputs)
        if self.dispersion is None:
            return mean
        log_alpha = within(outputs[:, :, self.count :], LARGEST_LOG_DISPERSION)[0]
        return mean + torch.exp(log_alpha) * mean * mean

    def _terms(self, outputs: Tensor, labels: Tensor) -> list[Tensor]:
        """Log probabilities (N, B), and derivatives of −log ℓ by log means and log dispersions."""
        y, x = columns(labels, self.count).double(), outputs.double()
        log_mean, *ends = within(x[:, :, : self.count], LARGEST_LOG_MEAN)
        if self.dispersion is None:
            log_pmf, by_mean = _poisson(log_mean, y)
            return [log_pmf.sum(dim=2), pointing_in(-by_mean, *ends)]
        log_alpha, *limits = within(x[:, :, self.count :], LARGEST_LOG_DISPERSION)
        log_pmf, by_mean, by_alpha = _negative_binomial(log_mean, log_alpha, y)
        slopes = [pointing_in(-by_mean, *ends), pointing_in(-by_alpha, *limits)]
        return [log_pmf.sum(dim=2), *slopes]


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
    log_share, log_rest = logsigmoid(-(log_mean + log_alpha)), logsigmoid(log_mean + log_alpha)
    log_pmf = (
        torch.lgamma(y + r) - torch.lgamma(r) - torch.lgamma(y + 1.0) + r * log_share + y * log_rest
    )
    by_mean = (y - mean) * share
    gap = torch.digamma(y + r) - torch.digamma(r)
    by_alpha = by_mean - r * (gap + log_share)
    return log_pmf, by_mean, by_alpha


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
        raise fail(argument, "numbers", f"{array.flat[0]!r}", "replace text by numbers")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != size:
        wanted = "one number a label" if size == 1 else f"{size} numbers a label"
        got = f"shape {np.asarray(labels).shape}"
        raise fail(argument, wanted, got, "change the labels or the likelihood")
    with np.errstate(over="ignore"):
        found = array.astype(np.float32)
    if not np.isfinite(found).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(found))[0])
        got = f"{array[row, column]} in label {row}"
        remedy = "leave that example out, or rescale"
        raise fail(argument, "finite numbers below 1e38", got, remedy)
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
        got = f"{array[first]} in label {first[0]}"
        remedy = "count events from 0" if below is None else "number the classes from 0"
        raise fail(argument, f"whole numbers from 0 to {limit}", got, remedy)
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
