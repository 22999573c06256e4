"""Several labels at once, each with a likelihood of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.nets.likelihood import Categorical
from empirical.train.likelihoods.gaussian import (
    Counts,
    GaussianNoise,
    InputNoise,
    LearnedNoise,
    as_whole,
)
from theory.validation import as_integer, fail, meant

# One of several classes --------------------------------------------------------------------------


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


# What a likelihood has to say, of training and of prediction -------------------------------------


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


# Several labels at once, each with a likelihood of its own ---------------------------------------


@dataclass(frozen=True)
class Heads:
    """ℓ(y | outputs) = Π_h ℓ_h(y_h | outputs_h): heads are independent given the outputs.

    A label is the heads' labels one after the other, in one row of numbers. Outputs are those that
    the net puts out, head after head, then the heads' constants, head after head.

    Parameters
    ----------
    parts
        The heads' likelihoods, at least one.

    Raises
    ------
    ValueError
        If there are none.

    Examples
    --------
    >>> from empirical.train.likelihoods.heads import Classes
    >>> from empirical.train.likelihoods.gaussian import LearnedNoise
    >>> both = Heads((Classes(3), LearnedNoise()))
    >>> both.outputs, both.constants, both.label_size
    (5, 1, 2)
    """

    parts: tuple[Likelihood, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            raise fail("parts", "at least one likelihood", "none", "name the heads' likelihoods")

    @property
    def outputs(self) -> int:
        """Those of all heads."""
        return sum(part.outputs for part in self.parts)

    @property
    def constants(self) -> int:
        """Those of all heads."""
        return sum(part.constants for part in self.parts)

    @property
    def label_size(self) -> int:
        """That of all heads."""
        return sum(part.label_size for part in self.parts)

    @property
    def words(self) -> dict[str, Any]:
        """Its name, and those of the heads."""
        return {"kind": "heads", "parts": [part.words for part in self.parts]}

    def as_labels(self, argument: str, labels: NDArray[Any]) -> NDArray[np.int64 | np.float32]:
        """Each head's labels as it checks them; int64 if all are, else float32; (n,) or (n, k)."""
        array = np.asarray(labels)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != self.label_size:
            raise fail(
                argument,
                f"{self.label_size} numbers a label, head after head",
                f"shape {np.asarray(labels).shape}",
                "change the labels or the heads",
            )
        found = []
        for head, (part, own) in enumerate(
            zip(self.parts, np.split(array, self._ends(), axis=1), strict=True)
        ):
            checked = part.as_labels(f"{argument} of head {head}", own)
            found.append(checked.reshape(array.shape[0], -1))
        together = np.concatenate(found, axis=1)
        if together.dtype != np.int64:
            together = together.astype(np.float32)
        return together[:, 0] if self.label_size == 1 else together

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The heads' losses together, shape (N,), and the derivative."""
        each = [
            part.loss(own, its)
            for part, own, its in zip(
                self.parts, self.split_outputs(outputs), self.split_labels(labels), strict=True
            )
        ]
        loss = torch.stack([loss for loss, _ in each]).sum(dim=0)
        inputs, constants = [], []
        for part, (_, grad) in zip(self.parts, each, strict=True):
            sizes = [part.outputs - part.constants, part.constants]
            varying, own = torch.split_with_sizes(grad, sizes, dim=2)
            inputs.append(varying)
            constants.append(own)
        return loss, torch.cat(inputs + constants, dim=2)

    def log_density(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """The heads' log densities together, shape (N, B)."""
        each = zip(self.parts, self.split_outputs(outputs), self.split_labels(labels), strict=True)
        return torch.stack([part.log_density(own, its) for part, own, its in each]).sum(dim=0)

    def mean(self, outputs: Tensor) -> Tensor:
        """What each head predicts, one after the other."""
        return self._joined("mean", outputs)

    def variance(self, outputs: Tensor) -> Tensor:
        """Each head's variance, one after the other."""
        return self._joined("variance", outputs)

    def split_outputs(self, outputs: Tensor) -> list[Tensor]:
        """Each head's outputs, its constants among them, from shape (N, B, outputs)."""
        own = [part.outputs - part.constants for part in self.parts]
        sizes = [*own, *(part.constants for part in self.parts)]
        pieces = torch.split_with_sizes(outputs, sizes, dim=2)
        heads = len(self.parts)
        return [
            torch.cat([varying, constant], dim=2)
            for varying, constant in zip(pieces[:heads], pieces[heads:], strict=True)
        ]

    def split_labels(self, labels: Tensor) -> list[Tensor]:
        """Each head's labels, shape (N, B) where a label is one number, else (N, B, k)."""
        flat = labels.reshape(*labels.shape[:2], -1)
        pieces = torch.split_with_sizes(flat, [part.label_size for part in self.parts], dim=2)
        return [piece[:, :, 0] if piece.shape[2] == 1 else piece for piece in pieces]

    def _ends(self) -> list[int]:
        """Where each head's labels end, but for the last."""
        return list(np.cumsum([part.label_size for part in self.parts])[:-1])

    def _joined(self, name: str, outputs: Tensor) -> Tensor:
        split: Sequence[Tensor] = self.split_outputs(outputs)
        return torch.cat(
            [getattr(part, name)(own) for part, own in zip(self.parts, split, strict=True)], dim=2
        )


# A likelihood from the words that name it in files and records -----------------------------------


def likelihood_of(words: Mapping[str, Any], *, argument: str = "likelihood") -> Likelihood:
    """The likelihood that a table of JSON or TOML names; the inverse of its ``words``.

    Parameters
    ----------
    words
        ``kind`` and its settings:

        ============  ======================================================================
        ``classes``   ``count``
        ``gaussian``  ``std``: a number, ``"learned"`` or ``"input"``; ``count``, if not 1
        ``counts``    ``count``, if not 1; ``dispersion = "learned"``, if not Poisson
        ``heads``     ``parts``: a list of such tables
        ============  ======================================================================
    argument
        How messages call the table.

    Raises
    ------
    ValueError
        If the kind or a setting is unknown, missing, or out of its domain.

    Examples
    --------
    >>> likelihood_of({"kind": "gaussian", "std": "learned"})
    LearnedNoise(count=1)
    """
    if not isinstance(words, Mapping):
        raise fail(argument, 'a table such as {"kind": "classes"}', repr(words), "write a table")
    kind = words.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        remedy = meant(str(kind), _KINDS, otherwise="choose one of them")
        raise fail(f"{argument}.kind", f"one of {', '.join(_KINDS)}", repr(kind), remedy)
    known, build = _KINDS[kind]
    for key in words:
        if key not in ("kind", *known):
            raise fail(argument, f"settings {', '.join(known)}", repr(key), "leave it out")
    return build({key: words[key] for key in known if key in words}, argument)


def _needed(words: Mapping[str, Any], key: str, argument: str, what: str) -> Any:
    if key not in words:
        raise fail(f"{argument}.{key}", what, "none", "add it")
    return words[key]


def _count(words: Mapping[str, Any], argument: str) -> int:
    return as_integer(f"{argument}.count", words.get("count", 1), minimum=1)


def _classes(words: Mapping[str, Any], argument: str) -> Likelihood:
    count = _needed(words, "count", argument, "the number of classes")
    return Classes(as_integer(f"{argument}.count", count, minimum=2))


def _gaussian(words: Mapping[str, Any], argument: str) -> Likelihood:
    wanted = 'a number above 0, "learned" or "input"'
    std, count = _needed(words, "std", argument, wanted), _count(words, argument)
    if std == "learned":
        return LearnedNoise(count)
    if std == "input":
        return InputNoise(count)
    if isinstance(std, bool) or not isinstance(std, int | float) or not 0 < std < float("inf"):
        raise fail(f"{argument}.std", wanted, repr(std), "choose one")
    return GaussianNoise(float(std), count)


def _counts(words: Mapping[str, Any], argument: str) -> Likelihood:
    dispersion = words.get("dispersion")
    if dispersion not in (None, "learned"):
        wanted = '"learned", or nothing for Poisson'
        raise fail(f"{argument}.dispersion", wanted, repr(dispersion), "choose one")
    return Counts(_count(words, argument), dispersion)


def _heads(words: Mapping[str, Any], argument: str) -> Likelihood:
    parts = _needed(words, "parts", argument, "a list of likelihoods")
    if not isinstance(parts, list | tuple) or not parts:
        raise fail(f"{argument}.parts", "a list of likelihoods", repr(parts), "list one a head")
    return Heads(
        tuple(
            likelihood_of(part, argument=f"{argument}.parts[{k}]") for k, part in enumerate(parts)
        )
    )


_KINDS: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any], str], Likelihood]]] = {
    "classes": (("count",), _classes),
    "gaussian": (("std", "count"), _gaussian),
    "counts": (("count", "dispersion"), _counts),
    "heads": (("parts",), _heads),
}
