"""Many launches of a GPU as one: recorded and replayed as a graph, or compiled to one kernel.

Elsewhere functions are called as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_CUDA: Any = torch.cuda


# Numbers of a tensor from which reading it once pays for some seconds of compiling.
FUSED_FROM = 2**22


def fused(function: Callable[..., None], like: Tensor) -> Callable[..., None]:
    """On a GPU the function as one kernel, so that each number is read and written once.

    Torch compiles it for each shape when it is first seen. Elsewhere, and for few numbers, it is
    itself.

    Parameters
    ----------
    function
        Changes tensors number by number in place; what differs from call to call are tensors.
    like
        One of these tensors.
    """
    device = like.device.type
    return (
        _compiled(function, device) if device == "cuda" and like.numel() >= FUSED_FROM else function
    )


@functools.cache
def _compiled(function: Callable[..., None], device: str) -> Callable[..., None]:
    """By trying something small first: it takes Triton and a C compiler."""
    try:
        torch.compile(lambda x: 2.0 * x + 1.0)(torch.ones(2, device=device))
    except Exception:  # whatever keeps torch from it
        return function
    return torch.compile(function, fullgraph=True)


class Replayed:
    """A function of tensors that costs one launch, however many it makes.

    Its first call of a shape is as any other; by the second its launches are recorded, and from
    then on they are replayed. So everything that it reads and that may change must come as an
    argument or stand in a tensor that stays in place, and it may neither wait for the device nor
    copy anything to it. What it returns is overwritten by its next call. Where a library that it
    calls refuses to be recorded it is called each time.

    Parameters
    ----------
    work
        Of tensors, to a tensor; the first of them says where it runs.
    """

    def __init__(self, work: Callable[..., Tensor]) -> None:
        self._work = work
        self._recorded: dict[tuple[object, ...], _Recorded] = {}
        self._memory: list[Any] = []

    def __call__(self, *given: Any) -> Tensor:
        """What the function returns."""
        if given[0].device.type != "cuda":
            return self._work(*given)
        key = tuple((one.shape, one.dtype) for one in given)
        if key not in self._recorded:
            self._recorded[key] = _Recorded(self._work, given, self._memory)
        return self._recorded[key](given)


class _Recorded:
    """The graph of one shape, and the places that it reads arguments from.

    Graphs of all shapes work in the same memory, for none of them runs beside another.
    """

    def __init__(
        self, work: Callable[..., Tensor], given: tuple[Tensor, ...], memory: list[Any]
    ) -> None:
        self._memory = memory
        self._work, self._places = work, tuple(torch.empty_like(one) for one in given)
        # What comes next: set up, record, then replay, or call where libraries refuse a recording.
        self._next: Callable[[], Tensor] = self._set_up

    def __call__(self, given: tuple[Tensor, ...]) -> Tensor:
        for place, one in zip(self._places, given, strict=True):
            place.copy_(one)
        return self._next()

    def _call(self) -> Tensor:
        return self._work(*self._places)

    def _set_up(self) -> Tensor:
        """On a stream of its own, as for a recording, libraries make what they need."""
        here, beside = _CUDA.current_stream(), _CUDA.Stream()
        beside.wait_stream(here)
        with _CUDA.stream(beside):
            found = self._call()
        here.wait_stream(beside)
        self._next = self._record
        return found

    def _record(self) -> Tensor:
        """What is recorded is not done; replaying does it."""
        graph = _CUDA.CUDAGraph()
        try:
            with _CUDA.graph(graph, *self._memory):
                found = self._call()
        except RuntimeError:
            self._next = self._call
            return self._call()
        self._memory[:] = [graph.pool()]

        def replay() -> Tensor:
            graph.replay()
            return found

        self._next = replay
        return replay()
