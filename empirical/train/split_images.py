"""Images split for a comparison: to learn from, to choose settings by, and to judge by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from empirical.data import Images
from empirical.nets.shares import Shares, as_inputs, as_labels
from theory.validation import IntArray

# What is held out of the training images is the same for all methods, settings and seeds.
HELD_OUT_SEED, HELD_OUT_SHARE = 0, 6


class SplitImages:
    """Images to learn from, to choose settings by, and to judge by; and those of another kind.

    A sixth of the training images, at random, is held out: nobody ever learns from it.

    Parameters
    ----------
    train, test
        Images of the same kind.
    others
        Of another kind, which entropy is to tell from the test images; None if there are none.
    device
        Where tensors are.
    """

    def __init__(
        self, train: Images, test: Images, others: Images | None, *, device: str = "cpu"
    ) -> None:
        self.input_shape = (int(np.prod(train.pixels.shape[1:])),)
        self.classes = len(train.classes)
        self._inputs, self._labels = self._tensors(train, device)
        self.test = self._tensors(test, device)
        self.others = None if others is None else self._tensors(others, device)[0]
        count = len(train)
        order = np.random.default_rng(HELD_OUT_SEED).permutation(count)
        self._held_out = order[: count // HELD_OUT_SHARE]
        self._rest = np.setdiff1d(np.arange(count), self._held_out)

    def _tensors(self, images: Images, device: str) -> tuple[Tensor, Tensor]:
        inputs = as_inputs(images, input_shape=self.input_shape, device=device)
        return inputs, as_labels(images, device=device)

    @property
    def validation(self) -> tuple[Tensor, Tensor]:
        """The images held out, and their labels."""
        return self._inputs[self._held_out], self._labels[self._held_out]

    def shares(self, deal: Callable[[IntArray], Sequence[IntArray]]) -> Shares:
        """The other training images, dealt by a rule from their labels to rows of each agent."""
        dealt = deal(self._labels.cpu().numpy()[self._rest])
        rows = (torch.from_numpy(self._rest[own]).to(self._inputs.device) for own in dealt)
        return Shares(self._inputs, self._labels, tuple(rows))
