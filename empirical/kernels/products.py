"""Which kernel torch multiplies float32 matrices by: the fastest of equal accuracy, for a while.

Torch has two settings of interest, ``"highest"`` and ``"medium"`` (`set_float32_matmul_precision`).
On some processors "medium" only takes another library, which is twice as fast and as accurate; on
others it rounds the factors to bfloat16, which costs five of seven digits; GPUs round them to
TensorFloat-32, which costs four. So it is tried: "medium" counts only where the error of a product
of a net's size is that of float32, and is taken where it is quicker as well.

A choice changes bits. It is therefore made once in a process, is the same in all processes of a
run, and belongs to the state of a run, which goes on with the choice that it began with.

Nets of dense layers have products of their own on a CPU
(:mod:`empirical.kernels.product`), which none of this touches.
"""

from __future__ import annotations

import functools
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from theory.validation import fail

SETTINGS = ("auto", "highest", "medium", "bfloat16")

# The tried product: a batch times a layer of a few hundred units.
SHAPE = (64, 784, 256)
TRIALS = 15
# Largest error over largest entry. A sum of 784 products in float32 is right to 1e-6 and better;
# factors rounded to TensorFloat-32 or bfloat16 are wrong by 1e-4 and 1e-3.
LARGEST_ERROR = 1e-5
# "medium" is worth taking from this gain on; less is within the noise of a shared machine.
LEAST_GAIN = 1.15


@dataclass(frozen=True)
class Trial:
    """What one product was measured to do.

    Attributes
    ----------
    error
        Largest error over the largest entry, against float64.
    seconds
        Median of a product's seconds.
    """

    error: float
    seconds: float


def chosen(setting: str, *, device: str = "cpu") -> str:
    """The product that a setting means here: ``"highest"``, ``"medium"`` or ``"bfloat16"``.

    Parameters
    ----------
    setting
        ``"auto"``: the fastest that is as accurate as float32, by a measurement of some
        milliseconds, made once in a process. ``"highest"`` and ``"medium"``: torch's of that name.
        ``"bfloat16"``: factors rounded to bfloat16, summed in float32.

    Raises
    ------
    ValueError
        If there is no such setting, or "medium" is asked for where it is not accurate.
    """
    if setting not in SETTINGS:
        words = " or ".join(map(repr, SETTINGS))
        raise fail("products", words, repr(setting), "choose one of them")
    if setting in ("highest", "bfloat16"):
        return setting
    medium = trial("medium", device)
    accurate = medium.error <= LARGEST_ERROR
    if setting == "medium":
        if not accurate:
            raise fail(
                "products",
                f"errors of at most {LARGEST_ERROR:g} by 'medium'",
                f"{medium.error:.1g} on this machine",
                "choose 'highest', or 'bfloat16' if so much rounding is meant",
            )
        return setting
    if not accurate:
        return "highest"
    gain = trial("highest", device).seconds / medium.seconds
    return "medium" if gain >= LEAST_GAIN else "highest"


@functools.cache
def trial(product: str, device: str = "cpu") -> Trial:
    """Measure a product on a device; once in a process."""
    generator = torch.Generator().manual_seed(0)
    rows, inner, columns = SHAPE
    left = torch.randn(rows, inner, generator=generator).to(device)
    right = torch.randn(inner, columns, generator=generator).to(device)
    exact = left.double() @ right.double()
    with products(product, device=device):
        found = (left @ right).double()
        seconds = [_timed(left, right) for _ in range(TRIALS)]
    error = float((found - exact).abs().max() / exact.abs().max())
    return Trial(error, statistics.median(seconds))


def _timed(left: Tensor, right: Tensor) -> float:
    if left.is_cuda:
        torch.cuda.synchronize()
    start = time.perf_counter()
    left @ right
    if left.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


@contextmanager
def products(choice: str, *, device: str = "cpu") -> Iterator[None]:
    """Let torch multiply by this product in the block, and as the caller had it behind it.

    Blocks may lie within each other. The setting is the whole process's: several threads may be in
    blocks of one choice at a time, and a thread that asks for another waits until they are out.

    Parameters
    ----------
    choice
        What :func:`chosen` returned. With ``"bfloat16"``, torch's autocast rounds the factors
        (:class:`torch.autocast`), and what is not a product stays in float32. A GPU rounds the
        factors of convolutions to TensorFloat-32 by ``"medium"`` alone, though torch would by
        default.
    """
    if choice not in SETTINGS[1:]:
        words = " or ".join(map(repr, SETTINGS[1:]))
        raise fail("choice", words, repr(choice), "take what chosen() returns")
    rounded = choice == "bfloat16"
    with ExitStack() as stack:
        stack.enter_context(_GLOBAL.held("highest" if rounded else choice))
        if rounded:
            # Without a cache of casts, which would outlive weights that move in place.
            stack.enter_context(torch.autocast(device, dtype=torch.bfloat16, cache_enabled=False))
        yield


def in_use() -> tuple[str, bool]:
    """What float32 products on a CPU are at present: torch's setting, and whether it rounds."""
    return _CPU.matmul.fp32_precision, torch.is_autocast_enabled("cpu")


_CPU: Any = torch.backends.mkldnn
_CUDNN: Any = torch.backends.cudnn
# Convolutions and recurrent layers of a GPU, which torch rounds unless it is told not to.
_LAYERS = _CUDNN.conv, _CUDNN.rnn
_PLACES: tuple[Any, ...] = _CPU.matmul, torch.backends.cuda.matmul, *_LAYERS


@dataclass(frozen=True)
class _Setting:
    """Torch's global setting, by its old name (None where only the new ones were used) and new."""

    name: str | None
    precisions: tuple[str, ...]

    @classmethod
    def now(cls) -> _Setting:
        try:
            name = torch.get_float32_matmul_precision()
        except RuntimeError:  # the new names say what the old one cannot
            name = None
        return cls(name, tuple(place.fp32_precision for place in _PLACES))

    @staticmethod
    def take(choice: str) -> None:
        torch.set_float32_matmul_precision(choice)
        for layer in _LAYERS:
            layer.fp32_precision = "tf32" if choice == "medium" else "ieee"

    def put_back(self) -> None:
        if self.name is not None:
            torch.set_float32_matmul_precision(self.name)
        for place, precision in zip(_PLACES, self.precisions, strict=True):
            place.fp32_precision = precision


class _Global:
    """Who has torch's global setting changed at present."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._inside: list[tuple[int, str]] = []  # threads and choices of blocks, oldest first
        self._callers = _Setting.now()

    @contextmanager
    def held(self, choice: str) -> Iterator[None]:
        own = threading.get_ident()

        def fits() -> bool:
            return all(chosen == choice for thread, chosen in self._inside if thread != own)

        with self._free:
            if not fits() and any(thread == own for thread, _ in self._inside):
                raise RuntimeError("products: another thread multiplies by another product")
            self._free.wait_for(fits)
            if not self._inside:
                self._callers = _Setting.now()
            self._inside.append((own, choice))
            _Setting.take(choice)
        try:
            yield
        finally:
            with self._free:
                del self._inside[_last(self._inside, own)]
                if self._inside:
                    _Setting.take(self._inside[-1][1])
                else:
                    self._callers.put_back()
                self._free.notify_all()


def _last(inside: list[tuple[int, str]], thread: int) -> int:
    return max(place for place, (own, _) in enumerate(inside) if own == thread)


_GLOBAL = _Global()
