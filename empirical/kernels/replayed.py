"""Launches of a GPU recorded once and replayed as one graph; elsewhere a function is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_CUDA: Any = torch.cuda


class Replayed:
    """A function of tensors that costs one launch, however many it makes.

    Its first call of a shape is as any other; by the second its launches are recorded, and from
    then on they are replayed. So everything that it reads and that may change must come as an
    argument or stand in a tensor that stays in place, and it may neither wait for the device nor
    copy anything to it. What it returns is overwritten by its next call.

    Parameters
    ----------
    work
        Of tensors, to a tensor; the first of them says where it runs.
    """

    def __init__(self, work: Callable[..., Tensor]) -> None:
        self._work = work
        self._recorded: dict[tuple[object, ...], _Recorded] = {}

    def __call__(self, *given: Any) -> Tensor:
        """What the function returns."""
        if given[0].device.type != "cuda":
            return self._work(*given)
        key = tuple((one.shape, one.dtype) for one in given)
        if key not in self._recorded:
            self._recorded[key] = _Recorded(self._work, given)
        return self._recorded[key](given)


class _Recorded:
    """The graph of one shape, and the places that it reads arguments from."""

    def __init__(self, work: Callable[..., Tensor], given: tuple[Tensor, ...]) -> None:
        self._work, self._places = work, tuple(torch.empty_like(one) for one in given)
        self._graph: Any = None

    def __call__(self, given: tuple[Tensor, ...]) -> Tensor:
        for place, one in zip(self._places, given, strict=True):
            place.copy_(one)
        if self._graph is None:
            # Libraries set up what they need, on a stream of its own, as for a recording.
            self._graph, here = _CUDA.CUDAGraph(), _CUDA.current_stream()
            beside = _CUDA.Stream()
            beside.wait_stream(here)
            with _CUDA.stream(beside):
                found = self._work(*self._places)
            here.wait_stream(beside)
            return found
        if not hasattr(self, "_found"):
            with _CUDA.graph(self._graph):
                self._found = self._work(*self._places)
        self._graph.replay()
        return self._found
