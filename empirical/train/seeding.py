"""What a torch module draws from torch's global generator, made to depend on a seed alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import torch
from torch import nn

from empirical.train.net import NoiseKey
from theory.validation import as_integer, fail

# The generators are the whole process's: one thread at a time draws from them.
_ALONE = threading.RLock()


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Torch's global generators begin from a seed, and are the caller's again afterwards.

    While one thread is in such a block, others wait before theirs: runs side by side draw the
    numbers that they draw alone.
    """
    device = torch.device(device)
    devices = [] if device.type == "cpu" else [device]
    with _ALONE, torch.random.fork_rng(devices=devices):
        if device.type == "cpu":
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)
        yield


def seed_of(key: NoiseKey) -> int:
    """A seed for one agent's noise in one step, of 63 bits; other keys have unrelated ones."""
    words = np.random.SeedSequence((key.seed, key.agent, key.step)).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))


def built(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    """The module that a function returns when torch's global generator begins from a seed.

    Raises
    ------
    ValueError
        If it returns no module, or wants arguments.
    """
    wanted = "a torch.nn.Module, or a function without arguments that returns one"
    with seeded(as_integer("seed", seed, minimum=0)):
        try:
            module = build()
        except TypeError as error:
            first = str(error).partition("\n")[0]
            raise fail(
                "module", wanted, f"TypeError ({first})", "give the module itself"
            ) from error
    if not isinstance(module, nn.Module):
        raise fail(
            "module",
            wanted,
            f"a function that returns {type(module).__name__}",
            "return the module",
        )
    return module


def unknown_start(*_: Any) -> NoReturn:
    """Stands where a function of the user's built nets, in what was pickled or copied.

    Raises
    ------
    ValueError
        When it is called.
    """
    got, remedy = "a net that was pickled or copied", "make it anew, of its module"
    raise fail("net", "a net with its first weights", got, remedy)
