"""The autoencoder of sorted weights: dense layers, kept in a file with a checksum.

The encoder narrows a curve of n sorted values to 128, 64 and N_l numbers, the decoder mirrors it;
ReLU behind every layer but the last, the latent one included. For n = 49 500 and N_l = 50 these
are 12 744 718 weights, which every node must be given before the first message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.keeping import load_tensors, save_tensors
from theory.validation import fail

KIND = "gae-autoencoder"
HIDDEN = (128, 64)


def widths(between: int, latent: int) -> tuple[int, ...]:
    """Widths of all layers, from a curve of `between` values to itself.

    >>> widths(49_500, 50)
    (49500, 128, 64, 50, 64, 128, 49500)
    """
    return (between, *HIDDEN, latent, *reversed(HIDDEN), between)


def weights_of(between: int, latent: int) -> int:
    """How many weights the autoencoder has.

    >>> weights_of(49_500, 50)
    12744718
    """
    return sum((a + 1) * b for a, b in pairwise(widths(between, latent)))


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """A trained autoencoder.

    Attributes
    ----------
    layers
        Weights, shape (in, out), and biases, shape (out,), of each layer.
    size
        Weights of the nets whose curves it was trained on.
    kept, exact
        How many weights of such a net are sorted, and how many at each end are not coded.
    words
        What else is known of its training; kept in the file.
    """

    layers: tuple[tuple[Tensor, Tensor], ...]
    size: int
    kept: int
    exact: int
    words: Mapping[str, Any]

    @property
    def between(self) -> int:
        """Values of a curve."""
        return self.layers[0][0].shape[0]

    @property
    def latent(self) -> int:
        """Numbers that a curve is narrowed to."""
        return self.layers[len(self.layers) // 2 - 1][0].shape[1]

    def encode(self, curves: Tensor) -> Tensor:
        """What is sent of curves, shape (…, between) → (…, latent); no entry is negative."""
        for weights, biases in self.layers[: len(self.layers) // 2]:
            curves = torch.relu(curves @ weights + biases)
        return curves

    def decode(self, latent: Tensor) -> Tensor:
        """Curves again, shape (…, latent) → (…, between)."""
        half = self.layers[len(self.layers) // 2 :]
        for weights, biases in half[:-1]:
            latent = torch.relu(latent @ weights + biases)
        return latent @ half[-1][0] + half[-1][1]

    def save(self, path: Path) -> str:
        """Write the file, in one step; returns its SHA-256.

        Raises
        ------
        ValueError
            If it cannot be written.
        """
        tensors = {}
        for number, (weights, biases) in enumerate(self.layers):
            tensors[f"{number}.weight"], tensors[f"{number}.bias"] = weights, biases
        head = {"kind": KIND, "size": self.size, "kept": self.kept, "exact": self.exact}
        return save_tensors(path, tensors, {**self.words, **head})


def load_autoencoder(path: Path) -> Autoencoder:
    """Read an autoencoder, and verify its checksum.

    Raises
    ------
    ValueError
        If there is no such file, it is damaged, or is something else; in one line.
    """
    if not path.is_file():
        remedy = "train it by 'peerbayes run gae --part autoencoder', or name another file"
        raise fail(str(path), "a trained autoencoder", "no such file", remedy)
    kept = load_tensors(path)
    if kept.words.get("kind") != KIND:
        raise fail(str(path), "a trained autoencoder", "another file", "name another file")
    count = len(kept.tensors) // 2
    layers = tuple(
        (kept.tensors[f"{number}.weight"], kept.tensors[f"{number}.bias"])
        for number in range(count)
    )
    size, kept_weights, exact = (int(kept.words[name]) for name in ("size", "kept", "exact"))
    return Autoencoder(layers, size, kept_weights, exact, kept.words)


def untrained(
    between: int, latent: int, *, size: int, kept: int, exact: int, random: np.random.Generator
) -> Autoencoder:
    """One with Glorot's uniform weights and zero biases."""
    layers = []
    for rows, columns in pairwise(widths(between, latent)):
        limit = (6 / (rows + columns)) ** 0.5
        drawn = random.uniform(-limit, limit, (rows, columns)).astype(np.float32)
        layers.append((torch.from_numpy(drawn), torch.zeros(columns)))
    return Autoencoder(tuple(layers), size, kept, exact, {})
