"""Several labels at once, each with a likelihood of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.train.likelihoods.likelihood import Likelihood
from theory.validation import fail


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
    >>> from empirical.train.likelihoods.classes import Classes
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
