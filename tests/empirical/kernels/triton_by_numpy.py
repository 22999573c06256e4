"""Kernels written for Triton, tried without a GPU: their programs in turn, by numpy."""

from types import SimpleNamespace

import numpy as np
import torch


class Register(np.ndarray):
    """Numbers as a kernel holds them."""

    def to(self, kind, bitcast=False):
        return self.view(kind) if bitcast else self.astype(kind)


class Address:
    """A place in a tensor, or several."""

    def __init__(self, memory, places=0):
        self.memory, self.places = memory, places

    def __add__(self, places):
        return Address(self.memory, self.places + places)


class Launched:
    """A kernel of a module whose `tl` is this in place of `triton.language`."""

    program = 0  # that runs now

    def __init__(self, kernel, module, monkeypatch):
        self._kernel = kernel
        monkeypatch.setattr(module, "tl", SimpleNamespace(
            int32=np.int32, int64=np.int64, uint8=np.uint8, uint32=np.uint32, float32=np.float32,
            log=np.log, sqrt=np.sqrt, sin=np.sin, cos=np.cos, maximum=np.maximum,
            where=_where, arange=lambda *ends: np.arange(*ends, dtype=np.int32).view(Register),
            zeros=lambda shape, kind: np.zeros(shape, kind).view(Register),
            program_id=lambda axis: np.array([Launched.program], np.int32).view(Register),
            load=_load, store=_store,
        ))  # fmt: skip

    def __getitem__(self, grid):
        (programs,) = grid

        def launch(*given, **settings):
            flat = [_address(one) if torch.is_tensor(one) else one for one in given]
            for Launched.program in range(programs):
                self._kernel(*flat, **settings)

        return launch


def _address(tensor):
    """Its first number, in the order of the memory."""
    return Address(tensor.detach().as_strided((tensor.numel(),), (1,)).numpy())


def _where(holds, one, other):
    found = np.where(holds, one, other)
    return found.astype(np.float32 if found.dtype.kind == "f" else found.dtype).view(Register)


def _load(at, mask=None, other=None):
    places = np.atleast_1d(at.places)
    if mask is None:
        return at.memory[places].view(Register)
    values = np.full(places.shape, other, at.memory.dtype)
    values[mask] = at.memory[places[mask]]
    return values.view(Register)


def _store(at, values, mask):
    assert values.dtype == at.memory.dtype
    at.memory[at.places[mask]] = values[mask]
