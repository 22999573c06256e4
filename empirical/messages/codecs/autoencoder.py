"""The sorted weights by an autoencoder that all nodes were given: the codec of the paper on GAE."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from empirical.messages.autoencoder import Autoencoder, load_autoencoder
from empirical.messages.checks import check_said, words_of
from empirical.messages.codec import Heard, Layout, Memory, Said
from empirical.messages.codecs.pruned import (
    FLOAT,
    ascending,
    kept_of,
    numbers_of,
    scattered,
    split_body,
)
from empirical.messages.index_lists import pack
from theory.validation import fail


@dataclass(frozen=True)
class Autoencoded:
    """The numbers of largest square by their rank: some exact, the rest by an autoencoder.

    The body is the list of coordinates in the order of signed values; the w lowest and the w
    highest of these; the autoencoder's N_l numbers for those between; and the smallest square of
    all. A decoded value whose square is below that is set to 0, and counts as not sent. These are
    the N_p b_int + (2w + N_l + 1) b_float bits of the paper's eq. 6. How many are negative is not
    sent: with the list in this order it is not needed.

    Parameters
    ----------
    file
        The trained autoencoder (:func:`empirical.messages.autoencoder.load_autoencoder`); it says
        how many numbers are kept and sent as they are.
    """

    file: str = ""
    name: ClassVar[str] = "autoencoder"

    def words(self) -> dict[str, Any]:
        """Name and settings."""
        return words_of(self)

    def coder(self, layout: Layout) -> AutoencoderCoder:
        """Fits the nets that the autoencoder was trained for.

        Raises
        ------
        ValueError
            If the file is missing or damaged, or the nets are others.
        """
        if not self.file:
            remedy = "train it by 'peerbayes run gae --part autoencoder' and name its file"
            raise fail("file", "a trained autoencoder", "none", remedy)
        return AutoencoderCoder.of(load_autoencoder(Path(self.file)), layout)


@dataclass(frozen=True, eq=False)
class AutoencoderCoder:
    """The codec with its autoencoder at hand."""

    autoencoder: Autoencoder
    layout: Layout

    @classmethod
    def of(cls, autoencoder: Autoencoder, layout: Layout) -> AutoencoderCoder:
        """The codec for the messages of one run.

        Raises
        ------
        ValueError
            If the autoencoder was trained for other nets.
        """
        kept_of(Autoencoded.name, 1, layout)
        if autoencoder.size != layout.size:
            wanted = f"one trained for nets of {layout.size} weights"
            got, remedy = f"one for {autoencoder.size}", "train one for these nets"
            raise fail("autoencoder", wanted, got, remedy)
        return cls(autoencoder, layout)

    def memory(self) -> Memory:
        """Nothing."""
        return {}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """The body; see :class:`Autoencoded`."""
        check_said(said, self.layout)
        values, w = numbers_of(said), self.autoencoder.exact
        places = ascending(values, self.autoencoder.kept)
        curve = values[places]
        middle = torch.from_numpy(curve[w : curve.size - w].copy())
        latent = self.autoencoder.encode(middle).numpy()
        threshold = np.square(curve).min(keepdims=True)
        floats = np.concatenate([curve[:w], curve[curve.size - w :], latent, threshold])
        return pack(places, values.size) + floats.astype(FLOAT).tobytes()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """What it says; see :class:`Autoencoded`."""
        own, w = self.autoencoder, self.autoencoder.exact
        number = 2 * w + own.latent + 1
        head = split_body(Autoencoded.name, body, own.kept, self.layout.size, floats=number)
        latent, threshold = torch.from_numpy(head.floats[2 * w : -1].copy()), head.floats[-1]
        middle = own.decode(latent).numpy()
        curve = np.concatenate([head.floats[:w], middle, head.floats[w : 2 * w]])
        kept = np.square(curve) >= threshold
        return scattered(self.layout, head.places, np.where(kept, curve, np.float32(0)), said=kept)
