"""Coefficients of a wavelet transform that moved most since they were last sent: a baseline.

After JWINS (Dhasade et al. 2023, arXiv:2306.04377): each vector of a message, as one long signal,
is transformed; the coefficients that have changed most since they were sent are sent, the set coded
as the top-k codec codes it. The receiver puts them in the place of those it had, and transforms
back, so that every coordinate is said, some of them late.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from empirical.messages.checks import check_said, share_of, words_of
from empirical.messages.codec import Block, Heard, Layout, Memory, Said
from empirical.messages.coordinates import bound, free, free_layout
from empirical.messages.entropy import Reader, Writer
from empirical.messages.selected import Selected, check_values, largest
from theory.validation import as_integer, fail, install_extra


@dataclass(frozen=True)
class Wavelet:
    """The wavelet coefficients that changed most.

    Parameters
    ----------
    share
        Of the coefficients, in (0, 1]; rounded up to a whole number of them.
    wavelet
        A discrete wavelet of PyWavelets.
    depth
        Levels of the transform at most, at least 1; short vectors have fewer.
    values, step
        As of :class:`~empirical.messages.codecs.topk.TopK`.

    Raises
    ------
    ValueError
        If a setting is out of range.
    """

    share: float = 0.1
    wavelet: str = "sym2"
    depth: int = 4
    values: str = "steps"
    step: float = 0.1

    name = "wavelet"

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise fail("share", "a number above 0 and at most 1", self.share, "give such a share")
        as_integer("depth", self.depth, minimum=1)
        check_values(self.values, self.step)

    words = words_of

    def coder(self, layout: Layout) -> WaveletCoder:
        """See :class:`~empirical.messages.codec.Codec`."""
        return WaveletCoder(self, layout)


class WaveletCoder:
    """The codec for messages of one layout; its memory is the coefficients that were said."""

    def __init__(self, codec: Wavelet, layout: Layout) -> None:
        self._codec, self._layout = codec, layout
        if codec.wavelet not in _pywt().wavelist(kind="discrete"):
            known = "a discrete wavelet of PyWavelets"
            raise fail("wavelet", known, repr(codec.wavelet), "such as 'sym2', 'haar' or 'db4'")
        # Coefficients of zeros are zeros on every machine; those of first values might not agree.
        sizes = [len(band) for band in self._bands(np.zeros(layout.size))]
        starts = np.cumsum([0, *sizes]).tolist()
        self._cuts = starts[1:-1]
        blocks = tuple(
            Block(f"band {number}", start, (size,))
            for number, (start, size) in enumerate(zip(starts, sizes, strict=False))
        )
        zeros = {name: torch.zeros(starts[-1]) for name in free_layout(layout).names}
        own = Layout(zeros, blocks)
        self._k = share_of(own, codec.share)
        self._selected = Selected(own, codec.values, codec.step)
        self.memory = self._selected.memory

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """See :class:`~empirical.messages.codec.Coder`; `seed` is not used."""
        check_said(said, self._layout)
        given, scores = {}, np.zeros(1)
        for name, values in free(said).items():
            moved = values.numpy().astype(np.float64) - self._begin[name]
            given[name] = np.concatenate(self._bands(moved)).astype(np.float32)
            squares = (given[name] - memory[f"said {name}"].numpy()).astype(np.float64) ** 2
            scores = scores + squares / max(float(squares.mean()), 1e-300)
        writer = Writer()
        self._selected.coded(writer, memory, given, largest(scores, self._k))
        return writer.done()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """See :class:`~empirical.messages.codec.Coder`."""
        reader = Reader(body)
        self._selected.coded(reader, memory, None, None)
        reader.end()
        found = {}
        for name, coefficients in self._selected.said(memory).items():
            bands = np.split(coefficients.numpy().astype(np.float64), self._cuts)
            with np.errstate(over="ignore"):
                back = _pywt().waverec(bands, self._codec.wavelet, mode="periodization")
                values = (back[: self._layout.size] + self._begin[name]).astype(np.float32)
            if not np.isfinite(values).all():
                raise fail("body", "finite numbers", "others", "send it again")
            found[name] = torch.from_numpy(values)
        return Heard(bound(found, self._layout.names))

    @cached_property
    def _begin(self) -> dict[str, NDArray[np.float32]]:
        begin = free_layout(self._layout).begin
        return {name: values.numpy() for name, values in begin.items()}

    def _bands(self, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        pywt, wavelet = _pywt(), self._codec.wavelet
        depth = min(self._codec.depth, pywt.dwt_max_level(len(values), wavelet))
        bands: list[NDArray[np.float64]] = pywt.wavedec(
            values, wavelet, mode="periodization", level=depth
        )
        return bands


def _pywt() -> Any:
    """PyWavelets, loaded when first used."""
    try:
        import pywt
    except ModuleNotFoundError:
        raise ImportError(
            f"the codec 'wavelet' needs PyWavelets; {install_extra('messages')}"
        ) from None
    return pywt
