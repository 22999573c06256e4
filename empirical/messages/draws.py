"""Random numbers that both ends of a stream draw from a message's seed, the same on every machine.

They are whole numbers by Philox4x64-10 (Salmon et al. 2011), which is fixed for good; how a library
makes floats, choices and permutations of them is not.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def whole_numbers(seed: int, count: int) -> NDArray[np.uint64]:
    """So many independent uniform numbers of 64 bits, shape (count,)."""
    raw: NDArray[np.uint64] = np.random.Philox(key=seed).random_raw(count)
    return raw


def chosen(seed: int, k: int, size: int) -> Tensor:
    """Which k of so many coordinates are drawn, every set as likely, shape (size,), bool.

    Examples
    --------
    >>> int(chosen(3, 2, 9).sum())
    2
    """
    if k >= size:
        return torch.ones(size, dtype=torch.bool)
    numbers = whole_numbers(seed, size)
    last = np.partition(numbers, k - 1)[k - 1]
    taken = numbers < last
    ties = np.flatnonzero(numbers == last)[: k - int(taken.sum())]
    taken[ties] = True
    return torch.from_numpy(taken)


def signed(seed: int, *shape: int) -> Tensor:
    """Uniform numbers in [−1, 1) on a grid of 2⁻²³, float32."""
    numbers = whole_numbers(seed, int(np.prod(shape))) >> np.uint64(40)
    return torch.from_numpy((numbers.astype(np.float32) / 2**23 - 1).reshape(shape))
