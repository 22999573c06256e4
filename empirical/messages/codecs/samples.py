"""Gaussian beliefs against a replica: means in steps of their own uncertainty, or as samples.

A sample: what the receiver gets of a mean is a normal number around it, of c standard deviations of
the posterior. Both ends can draw candidates from N(replica, c² + τ²), with τ how far means of the
weight's row and column move; a message says which candidate to take, which costs little more than
the divergence between the two laws: ½ log₂(1 + τ²/c²) bits a weight on average, and nothing for
rows that did not move. Blocks hold about the same divergence each (MIRACLE, Havasi et al. 2019;
KLMS, Isik et al. 2023, arXiv:2306.12625). A mean that moved by more than three standard deviations
of its prior is first brought within them by whole multiples of six.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from empirical.kernels.noise import uniform, words
from empirical.messages.beliefs import BeliefCoder, Float32
from empirical.messages.codec import Codec, Layout, Memory, Said, fraction
from empirical.messages.entropy import Tape, integers, naturals
from empirical.messages.selected import nearest, powers
from theory.validation import FloatArray, IntArray, as_integer, as_positive, fail

# Candidates that both ends can draw from a seed, and the choice of one: compiled -----------------


# Candidate j of block b is a vector of standard normal numbers on a grid of 2⁻¹⁰, functions of
# (seed, b, j, coordinate) by Threefry and a table of 4 096 quantiles: integers from first to last.
UNIT = 1 << 10
_QUANTILES = 4096
_SHIFT = np.uint32(20)  # leaves the 12 leading bits
_U = np.uint32
# Candidates that are scored together; coordinates of one draw of words.
_LANES, _QUARTER = 32, 4
# Below every score; sums are compiled without infinities.
_LEAST = np.float32(-1e30)


@functools.lru_cache(maxsize=1)
def quantiles() -> NDArray[np.int32]:
    """Φ⁻¹((k + ½)/4096) in units of 2⁻¹⁰, rounded, shape (4096,).

    None is within 1e-6 of a rounding boundary, and the library's error is below 1e-12: the table
    is the same on every machine.
    """
    normal = NormalDist()
    half = [normal.inv_cdf((k + 0.5) / _QUANTILES) for k in range(_QUANTILES // 2)]
    lower = np.rint(np.array(half) * UNIT).astype(np.int32)
    return np.concatenate([lower, -lower[::-1]])


def key_of(seed: int) -> NDArray[np.uint32]:
    """The key of a message's seed, shape (4,)."""
    return np.random.SeedSequence(seed).generate_state(4, np.uint32).astype(np.uint32)


def drawn(starts: IntArray, indices: IntArray, size: int, seed: int) -> NDArray[np.int32]:
    """The chosen candidate of each block, in units of 2⁻¹⁰, shape (size,).

    Parameters
    ----------
    starts
        First coordinate of each block, shape (b,).
    indices
        Number of its candidate, from 0, shape (b,).
    size
        Of all blocks together.
    seed
        Of the message.
    """
    out = np.empty(size, dtype=np.int32)
    _draw(starts, indices, key_of(seed), quantiles(), out)
    return out


def chosen(
    starts: IntArray,
    limits: IntArray,
    centre: NDArray[np.float32],
    narrow: NDArray[np.float32],
    seed: int,
) -> IntArray:
    """For each block the number of a candidate that is nearly a sample of N(centre, narrow).

    The Poisson functional representation (Li & El Gamal 2018): the candidate with the largest
    log density ratio less the logarithm of its arrival time, exact where no limit is met.

    Parameters
    ----------
    starts
        First coordinate of each block, shape (b,).
    limits
        How many candidates are looked at, at most, shape (b,).
    centre, narrow
        Mean and variance of each coordinate in units of its prior's, narrow below 1, shape (n,).
    seed
        Of the message.
    """
    found = np.empty(len(starts), dtype=np.int64)
    key = key_of(seed)
    _choose(starts, limits, centre, narrow, key, quantiles().astype(np.float32) / UNIT, found)
    return found


@numba.njit(cache=True, nogil=True)
def _draw(starts: Any, indices: Any, key: Any, table: Any, out: Any) -> None:
    four = (key[0], key[1], key[2], key[3])
    for block in range(len(starts)):
        start = starts[block]
        end = starts[block + 1] if block + 1 < len(starts) else len(out)
        j = _U(indices[block])
        for first in range(start, end, 4):
            drawn = words((_U(first - start), j, _U(block), _U(0)), four)
            for k in range(min(4, end - first)):
                out[first + k] = table[drawn[k] >> _SHIFT]


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _choose(
    starts: Any, limits: Any, centre: Any, narrow: Any, key: Any, table: Any, found: Any
) -> None:
    size, four = len(centre), (key[0], key[1], key[2], key[3])
    longest = 0
    for block in range(len(starts)):
        end = starts[block + 1] if block + 1 < len(starts) else size
        longest = max(longest, end - starts[block])
    # log q/p = ½ z² − (z − y)²/(2v), but for what all candidates share: a z² + b z.
    square = np.zeros(longest + _QUARTER, dtype=np.float32)
    linear = np.zeros(longest + _QUARTER, dtype=np.float32)
    scores = np.empty(_LANES, dtype=np.float32)
    gaps = np.empty(_LANES, dtype=np.float32)
    drawn = np.empty(_QUARTER * _LANES, dtype=np.int32)
    for block in range(len(starts)):
        start = starts[block]
        end = starts[block + 1] if block + 1 < len(starts) else size
        most = 0.0
        for i in range(end - start):
            square[i] = np.float32(0.5) - np.float32(0.5) / narrow[start + i]
            linear[i] = centre[start + i] / narrow[start + i]
            most -= linear[i] * linear[i] / (4 * square[i])
        square[end - start : end - start + _QUARTER] = np.float32(0.0)
        linear[end - start : end - start + _QUARTER] = np.float32(0.0)
        best, taken, time, j = _LEAST, 0, 0.0, 0
        while j < limits[block]:
            # No later candidate is taken with less.
            least = best + (math.log(time) if j else 0.0)
            if most < least:
                break
            _arrivals(gaps, _U(j), _U(block), four)
            _scored(scores, drawn, _U(j), _U(block), four, square, linear, end - start, table)
            for lane in range(min(_LANES, limits[block] - j)):
                time += gaps[lane]
                if scores[lane] > least:
                    score = scores[lane] - math.log(time)
                    if score > best:
                        best, taken = score, j + lane
            j += _LANES
        found[block] = taken


@numba.njit(forceinline=True, fastmath=True)
def _arrivals(gaps: Any, j: Any, block: Any, four: Any) -> None:
    """Exponential times between candidates j, …."""
    for lane in range(_LANES // 4):
        a, b, c, d = words((_U(j + _U(lane)), _U(0), block, _U(1)), four)
        gaps[4 * lane], gaps[4 * lane + 1] = uniform(a), uniform(b)
        gaps[4 * lane + 2], gaps[4 * lane + 3] = uniform(c), uniform(d)
    for lane in range(_LANES):
        gaps[lane] = -np.log(gaps[lane])


@numba.njit(forceinline=True, fastmath=True)
def _scored(
    scores: Any, drawn: Any, j: Any, block: Any, four: Any, square: Any, linear: Any,
    length: Any, table: Any,
) -> None:  # fmt: skip
    """Log density ratios of candidates j, …, four coordinates at a time."""
    scores[:] = np.float32(0.0)
    for first in range(0, length, 4):
        for lane in range(_LANES):
            a, b, c, d = words((_U(first), _U(j + _U(lane)), block, _U(0)), four)
            drawn[lane] = a >> _SHIFT
            drawn[_LANES + lane] = b >> _SHIFT
            drawn[2 * _LANES + lane] = c >> _SHIFT
            drawn[3 * _LANES + lane] = d >> _SHIFT
        for quarter in range(_QUARTER):
            s, t = square[first + quarter], linear[first + quarter]
            for lane in range(_LANES):
                z = table[drawn[quarter * _LANES + lane]]
                scores[lane] += z * (s * z + t)


@numba.njit(cache=True, nogil=True)
def _cut(cost: Any, budget: float, longest: int, out: Any) -> int:
    count, spent, length = 0, 0.0, longest
    for i in range(len(cost)):
        if length == longest or spent + cost[i] > budget:
            out[count] = i
            count, spent, length = count + 1, 0.0, 0
        spent += cost[i]
        length += 1
    return count


def cut(cost: FloatArray, budget: float, longest: int) -> IntArray:
    """First coordinates of blocks that cost at most a budget each, or hold one coordinate.

    Parameters
    ----------
    cost
        Of each coordinate, shape (n,).
    budget
        Of a block.
    longest
        Coordinates in a block, at most.
    """
    out = np.empty(len(cost), dtype=np.int64)
    return out[: _cut(cost, float(budget), longest, out)]


# Samples of Gaussian beliefs: relative entropy coding in blocks ----------------------------------


# Prior standard deviations are c 2^(k/4), and moves beyond half of so many are multiples of them.
_DIVISIONS, _WRAP = 4, 6
# Coordinates of a block at most, and candidates beyond 2^(its bits).
_LONGEST, _SPARE = 256, 3
_MIXING = fraction("1 takes in all that was said")


class SamplesCoder(BeliefCoder):
    """The codec for messages of one layout."""

    codec: Samples

    def __init__(self, codec: Samples, layout: Layout) -> None:
        super().__init__(codec, layout, step=codec.width)

    def means(
        self,
        tape: Tape,
        memory: Memory,
        said: Said | None,
        unit: Float32,
        *,
        seed: int,
        pace: float,
    ) -> None:
        """How far rows move, and one candidate a block."""
        moved = rounded = None
        if said is not None:
            moved = (self.mean(said) - memory["mean"].numpy()) / unit
            rounded = np.rint(np.clip(moved, -(2**30), 2**30)).astype(np.int64)
        row = self.row(memory, "mean")
        row[:] = classes = self.scales.classes(tape, rounded, row.astype(np.int64))
        contexts = self.scales.contexts(classes)
        some = np.flatnonzero(contexts)
        own = None if moved is None else moved[some]
        prior = self._priors(tape, own, contexts[some])
        whole = None
        if own is not None:
            whole = np.rint(own / (_WRAP * prior)).astype(np.int64)
        whole = integers(tape, whole, count=len(some), contexts=contexts[some])
        centre = None if own is None else own / prior - _WRAP * whole
        starts, indices = self._blocks(tape, centre, prior, seed)
        z = drawn(starts, indices, len(some), seed).astype(np.float32) / np.float32(UNIT)
        by = np.zeros(self.layout.size, dtype=np.float32)
        by[some] = unit[some] * prior * (z + np.float32(_WRAP) * whole.astype(np.float32))
        self.move(memory, "mean", by)

    def _priors(self, tape: Tape, moved: FloatArray | None, contexts: IntArray) -> Float32:
        """√(1 + τ²/c²) of each coordinate, on the grid, shape (n,)."""
        kinds, place = np.unique(contexts, return_inverse=True)
        exponents = None
        if moved is not None:
            # Beyond the wrap a move costs whole multiples, not width.
            squares = np.bincount(place, np.minimum(moved**2, 1e12), minlength=len(kinds))
            spread = np.sqrt(1 + squares / np.bincount(place, minlength=len(kinds)))
            exponents = np.maximum(1, np.rint(nearest(spread, _DIVISIONS))).astype(np.int64)
        exponents = naturals(tape, exponents, count=len(kinds))
        if (exponents < 1).any() or (exponents > 20 * _DIVISIONS).any():
            raise fail("body", "widths of priors", "others", "send it again")
        return powers(exponents, _DIVISIONS)[place]

    def _blocks(
        self, tape: Tape, centre: FloatArray | None, prior: Float32, seed: int
    ) -> tuple[IntArray, IntArray]:
        """First coordinates and candidates of all blocks."""
        lengths = indices = None
        if centre is not None:
            narrow = prior.astype(np.float64) ** -2
            bits = (narrow + centre**2 - 1 - np.log(narrow)) / (2 * math.log(2))
            starts = cut(bits, self.codec.block_bits, _LONGEST)
            lengths = np.diff(starts, append=len(prior))
            spent = np.add.reduceat(bits, starts) if len(starts) else np.zeros(0)
            limits = np.ceil(2.0 ** (np.minimum(spent, 17.0) + _SPARE)).astype(np.int64)
            indices = chosen(
                starts, limits, centre.astype(np.float32), narrow.astype(np.float32), seed
            )
        count = naturals(tape, None if lengths is None else np.array([len(lengths)]), count=1)
        if count[0] > len(prior):
            raise fail("body", f"at most {len(prior)} blocks", int(count[0]), "send it again")
        less = None if lengths is None else lengths - 1
        lengths = 1 + naturals(tape, less, count=int(count[0]))
        if lengths.sum() != len(prior):
            raise fail("body", f"blocks of {len(prior)} weights", "others", "send it again")
        return np.cumsum(lengths) - lengths, naturals(tape, indices, count=int(count[0]))


def _block_bits(name: str, value: float) -> None:
    """The domain of a block's bits."""
    if not 1.0 <= value <= 14.0:
        raise fail(name, "1 to 14 bits", value, "more take too long")


@dataclass(frozen=True)
class Samples(Codec):
    """One posterior sample a message, or a sharper one; messages must be of Gaussian beliefs.

    Parameters
    ----------
    width
        c: the standard deviation of what is sent in units of the posterior's; positive.
    block_bits
        Bits of divergence of a block, from 1 to 14. A block takes 2^(so many bits) candidates and
        more to encode, and about three bits beside its divergence.
    gradient_step
        The step of a vector ``gradient``, in units of what moves a mean by c standard deviations;
        positive.
    mixing
        γ of the replica form of pooling; in (0, 1].
    """

    width: float = 0.5
    block_bits: float = 8.0
    gradient_step: float = 0.25
    mixing: float = 1.0

    name = "samples"
    domains: ClassVar = {
        "width": as_positive,
        "gradient_step": as_positive,
        "block_bits": _block_bits,
        "mixing": _MIXING,
    }
    writes = SamplesCoder


# Gaussian beliefs in steps of their own uncertainty ----------------------------------------------


class PosteriorCoder(BeliefCoder):
    """The codec for messages of one layout."""

    codec: Posterior

    def __init__(self, codec: Posterior, layout: Layout) -> None:
        super().__init__(codec, layout, step=codec.step)

    def means(
        self,
        tape: Tape,
        memory: Memory,
        said: Said | None,
        unit: Float32,
        *,
        seed: int,
        pace: float,
    ) -> None:
        """Steps, after how often they are halved."""
        if self.codec.halvings:
            own = None if said is None else np.array([halvings(pace, self.codec.halvings)])
            (often,) = tape.plain(own, 1, bits=4)
            unit = unit * np.float32(2.0 ** -int(often))
        self.moved(tape, memory, None if said is None else self.mean(said), "mean", unit)


def halvings(pace: float, most: int) -> int:
    """How often steps are halved where rates have fallen to a share `pace` of the highest.

    Examples
    --------
    >>> [halvings(pace, 3) for pace in (1.0, 0.26, 0.25, 0.06, 0.01, 0.0)]
    [0, 0, 1, 2, 3, 3]
    """
    return next((k for k in range(most) if pace > 0.25 ** (k + 1)), most)


_MOST_HALVINGS = 15


def _halvings(name: str, value: int) -> None:
    """The domain of a number of halvings."""
    if as_integer(name, value, minimum=0) > _MOST_HALVINGS:
        raise fail(name, f"0 to {_MOST_HALVINGS}", value, "2 or 3 are enough")


@dataclass(frozen=True)
class Posterior(Codec):
    """Means in steps of the posterior's own standard deviation; messages must be of beliefs.

    Parameters
    ----------
    step
        c: the step of a mean in standard deviations of the posterior; positive.
    halvings
        How often a sender halves its steps, 0 to 15: each time its learning rate has fallen by
        another factor of four. Where rates fall, moves do: agents whose data differ drift apart by
        what they do not say, and come back when steps are small. 0: steps stay.
    gradient_step
        The step of a vector ``gradient``, in units of what moves a mean by c standard deviations;
        positive.
    mixing
        γ of the replica form of pooling; in (0, 1].
    """

    step: float = 1.0
    halvings: int = 0
    gradient_step: float = 0.25
    mixing: float = 1.0

    name = "posterior"
    domains: ClassVar = {
        "step": as_positive,
        "gradient_step": as_positive,
        "halvings": _halvings,
        "mixing": _MIXING,
    }
    writes = PosteriorCoder
