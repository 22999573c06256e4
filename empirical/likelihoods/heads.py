"""Several labels at once, each with a likelihood of its own; and likelihoods by their words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.likelihoods.laws import Classes, Counts, Gaussian, Likelihood, Settings
from theory.validation import fail, meant

# Several labels at once, each with a likelihood of its own ---------------------------------------


def _parts(argument: str, parts: Any) -> tuple[Likelihood, ...]:
    if not isinstance(parts, list | tuple) or not parts:
        raise fail(argument, "a list of likelihoods", repr(parts), "list one a head")
    return tuple(
        part if hasattr(part, "loss") else likelihood_of(part, argument=f"{argument}[{k}]")
        for k, part in enumerate(parts)
    )


_Head = tuple[Likelihood, Tensor, Tensor]


@dataclass(frozen=True)
class Heads(Likelihood):
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
    >>> both = Heads((Classes(3), Gaussian("learned")))
    >>> both.outputs, both.constants, both.label_size
    (5, 1, 2)
    """

    parts: tuple[Likelihood, ...]
    kind = "heads"
    settings: ClassVar[Settings] = {"parts": (_parts, "a list of likelihoods")}

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
        return {"kind": self.kind, "parts": [part.words for part in self.parts]}

    def as_labels(self, argument: str, labels: NDArray[Any]) -> NDArray[np.int64 | np.float32]:
        """Each head's labels as it checks them; int64 if all are, else float32; (n,) or (n, k)."""
        array = np.asarray(labels)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != self.label_size:
            wanted = f"{self.label_size} numbers a label, head after head"
            got = f"shape {np.asarray(labels).shape}"
            raise fail(argument, wanted, got, "change the labels or the heads")
        ends = np.cumsum([part.label_size for part in self.parts])[:-1]
        found = [
            part.as_labels(f"{argument} of head {head}", own).reshape(array.shape[0], -1)
            for head, (part, own) in enumerate(
                zip(self.parts, np.split(array, ends, axis=1), strict=True)
            )
        ]
        together = np.concatenate(found, axis=1)
        if together.dtype != np.int64:
            together = together.astype(np.float32)
        return together[:, 0] if self.label_size == 1 else together

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The heads' losses together, shape (N,), and the derivative."""
        losses, inputs, constants = [], [], []
        for part, own, its in self._split(outputs, labels):
            loss, grad = part.loss(own, its)
            sizes = [part.outputs - part.constants, part.constants]
            varying, constant = torch.split_with_sizes(grad, sizes, dim=2)
            losses.append(loss)
            inputs.append(varying)
            constants.append(constant)
        return torch.stack(losses).sum(dim=0), torch.cat(inputs + constants, dim=2)

    def log_density(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """The heads' log densities together, shape (N, B)."""
        each = [part.log_density(own, its) for part, own, its in self._split(outputs, labels)]
        return torch.stack(each).sum(dim=0)

    def mean(self, outputs: Tensor) -> Tensor:
        """What each head predicts, one after the other."""
        split = zip(self.parts, self.split_outputs(outputs), strict=True)
        return torch.cat([part.mean(own) for part, own in split], dim=2)

    def variance(self, outputs: Tensor) -> Tensor:
        """Each head's variance, one after the other."""
        split = zip(self.parts, self.split_outputs(outputs), strict=True)
        return torch.cat([part.variance(own) for part, own in split], dim=2)

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

    def _split(self, outputs: Tensor, labels: Tensor) -> Iterator[_Head]:
        """Each head, its outputs and its labels."""
        return zip(self.parts, self.split_outputs(outputs), self.split_labels(labels), strict=True)


# A likelihood from the words that name it in files and records -----------------------------------


_KINDS = {one.kind: one for one in (Classes, Gaussian, Counts, Heads)}


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
    Gaussian(std='learned', count=1)
    """
    if not isinstance(words, Mapping):
        raise fail(argument, 'a table such as {"kind": "classes"}', repr(words), "write a table")
    kind = words.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        remedy = meant(str(kind), _KINDS, otherwise="choose one of them")
        raise fail(f"{argument}.kind", f"one of {', '.join(_KINDS)}", repr(kind), remedy)
    build: Callable[..., Likelihood] = _KINDS[kind]
    settings = _KINDS[kind].settings
    for key in words:
        if key not in ("kind", *settings):
            raise fail(argument, f"settings {', '.join(settings)}", repr(key), "leave it out")
    given = {}
    for key, (check, needed) in settings.items():
        if key in words:
            given[key] = check(f"{argument}.{key}", words[key])
        elif needed:
            raise fail(f"{argument}.{key}", needed, "none", "add it")
    return build(**given)
