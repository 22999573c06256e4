"""What a faulty agent does instead of learning and telling what it believes.

Faults are of two kinds. A *speaker* ignores what it observes and hears, and in round n says

    log b(θ) = offset(θ) + slope(θ)·n + noise,

perhaps something else to each listener. A *pooling* fault follows the algorithm on wrong data:
:class:`StuckData`. Log-beliefs are in nats and need no normalising: only differences count. A
message whose log-ratios are not finite, or exceed 1e100, is thrown away by whoever gets it, and
its weight goes to the listener's own belief: for the others that speaker is :class:`Silent`.

:class:`Colluding` alone looks at what the honest agents are about to say: what becomes of them is
measured, not predicted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from theory.learning.finite_agent import FiniteAgent
from theory.learning.model import FiniteModel
from theory.showing import Shown, Value
from theory.validation import FloatArray, as_float_array, as_integer, as_position, fail, read_only

# Larger log-ratios would overflow once squared; no honest agent gets near.
LARGEST_MESSAGE = 1e100
# What grows or scatters stays below that for more rounds than anybody runs.
_LARGEST_STRENGTH = 1e90


@dataclass(frozen=True, eq=False)
class Speech(Shown):
    """What a speaker tells L listeners in round n: offset + n·slope + noise, in nats.

    Attributes
    ----------
    offset, slope
        Shape (L, M): one row per listener, one column per hypothesis.
    deviation
        Standard deviation of the normal noise of each hypothesis, drawn afresh each round and the
        same for all listeners.
    """

    offset: FloatArray
    slope: FloatArray
    deviation: float = 0.0


@dataclass(frozen=True, eq=False)
class ConstantBelief(Value):
    """Says the same in every round: a stubborn agent, or one whose memory is stuck.

    Parameters
    ----------
    log_belief
        Shape (M,), in nats. Entries may be infinite or NaN, as those of a broken agent are.

    Examples
    --------
    >>> ConstantBelief([0.0, 1.0]).log_belief.tolist()
    [0.0, 1.0]
    """

    log_belief: FloatArray

    if TYPE_CHECKING:

        def __init__(self, log_belief: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        try:
            values = np.array(self.log_belief, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.empty((0, 0))
        if values.ndim != 1 or values.size < 2:
            raise fail(
                "log_belief",
                "one number per hypothesis",
                f"shape {values.shape}",
                "list what the agent says of each",
            )
        object.__setattr__(self, "log_belief", read_only(values))

    def speech(self, model: FiniteModel, listeners: int) -> Speech:
        """What it tells `listeners` agents."""
        M = len(model.hypotheses)
        if self.log_belief.size != M:
            raise fail(
                "log_belief",
                f"one number for each of {M} hypotheses",
                self.log_belief.size,
                "list what the agent says of each",
            )
        return Speech(np.tile(self.log_belief, (listeners, 1)), np.zeros((listeners, M)))


@dataclass(frozen=True)
class Silent(Value):
    """Says nothing, or nothing that can be used: a crashed agent."""

    def speech(self, model: FiniteModel, listeners: int) -> Speech:
        """What it tells `listeners` agents: NaN, which they throw away."""
        shape = (listeners, len(model.hypotheses))
        return Speech(np.full(shape, np.nan), np.zeros(shape))


@dataclass(frozen=True)
class Push(Value):
    """Speaks for one hypothesis: log b = strength there and 0 elsewhere.

    Parameters
    ----------
    hypothesis
        Its index or name.
    strength
        In nats, of any sign; in nats per round if `growing`.
    growing
        Whether it says n·strength in round n, as an honest agent's certainty grows.
    """

    hypothesis: int | str
    strength: float
    growing: bool = True

    def __post_init__(self) -> None:
        _as_number("strength", self.strength)

    def speech(self, model: FiniteModel, listeners: int) -> Speech:
        """What it tells `listeners` agents."""
        row = np.zeros((listeners, len(model.hypotheses)))
        row[:, as_position("hypothesis", self.hypothesis, model.hypotheses)] = self.strength
        return _steady(row, growing=self.growing)


@dataclass(frozen=True)
class RandomLies(Value):
    """Says something else each round: independent N(0, scale²) log-beliefs, the same to all.

    Parameters
    ----------
    scale
        Standard deviation in nats, positive.
    """

    scale: float

    def __post_init__(self) -> None:
        if _as_number("scale", self.scale) <= 0:
            raise fail("scale", "a positive number", self.scale, "make it positive")

    def speech(self, model: FiniteModel, listeners: int) -> Speech:
        """What it tells `listeners` agents."""
        zeros = np.zeros((listeners, len(model.hypotheses)))
        return Speech(zeros, zeros, float(self.scale))


@dataclass(frozen=True)
class Split(Value):
    """Tells every other listener to believe in `first`, those between in `second`.

    Message passing cannot prevent it; a broadcast would. Listeners are those who give it weight,
    in the order of their numbers.

    Parameters
    ----------
    first, second
        Indices or names of two hypotheses.
    strength, growing
        As for :class:`Push`.
    """

    first: int | str
    second: int | str
    strength: float
    growing: bool = True

    def __post_init__(self) -> None:
        _as_number("strength", self.strength)
        if self.first == self.second:
            raise fail("second", "another hypothesis than first", self.second, "use Push for one")

    def speech(self, model: FiniteModel, listeners: int) -> Speech:
        """What it tells `listeners` agents, in their order."""
        rows = np.zeros((listeners, len(model.hypotheses)))
        rows[0::2, as_position("hypothesis", self.first, model.hypotheses)] = self.strength
        rows[1::2, as_position("hypothesis", self.second, model.hypotheses)] = self.strength
        return _steady(rows, growing=self.growing)


@dataclass(frozen=True)
class Colluding(Value):
    """Hides among the honest: all such agents say what the least convinced honest agent says.

    In every comparison of `hypothesis` with another they report the honest public log-ratio that
    is most in favour of `hypothesis`, plus `margin`; in comparisons of two others the mean of the
    honest ones. They know all honest messages before they speak: no filter tells them from an
    honest agent if `margin` is zero.

    Parameters
    ----------
    hypothesis
        Its index or name.
    margin
        In nats, at least 0.
    """

    hypothesis: int | str
    margin: float = 0.0

    def __post_init__(self) -> None:
        if _as_number("margin", self.margin) < 0:
            raise fail("margin", "a number of at least 0", self.margin, "use 0 to hide entirely")


@dataclass(frozen=True, eq=False)
class StuckData(Value):
    """Observes the same datum each round, and otherwise follows the algorithm.

    Parameters
    ----------
    outcome
        Which of a finite agent's outcomes it sees: an index into its `probabilities`.
    log_likelihoods
        Shape (M,), in place of `outcome`: log ℓ(θ) of the datum, up to a constant.

    Examples
    --------
    >>> StuckData(log_likelihoods=[0.0, 0.5]).log_likelihoods.tolist()
    [0.0, 0.5]
    """

    outcome: int | None = None
    log_likelihoods: FloatArray | None = None

    if TYPE_CHECKING:

        def __init__(
            self, outcome: int | None = None, log_likelihoods: ArrayLike | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        if (self.outcome is None) == (self.log_likelihoods is None):
            got = "neither" if self.outcome is None else "both"
            raise fail("outcome", "an outcome or log_likelihoods", got, "give one of the two")
        if self.outcome is not None:
            as_integer("outcome", self.outcome, minimum=0)
        else:
            values = as_float_array("log_likelihoods", self.log_likelihoods, ndim=1)  # type: ignore[arg-type]
            object.__setattr__(self, "log_likelihoods", values)

    def datum(self, model: FiniteModel, agent: int) -> FloatArray:
        """Log ℓ(θ) of what the agent sees each round, shape (M,).

        Raises
        ------
        ValueError
            If the agent has no such outcome, or there is not one number per hypothesis.
        """
        if self.log_likelihoods is not None:
            if self.log_likelihoods.size != len(model.hypotheses):
                raise fail(
                    "log_likelihoods",
                    f"one number for each of {len(model.hypotheses)} hypotheses",
                    self.log_likelihoods.size,
                    "list them all",
                )
            return self.log_likelihoods
        kind = model.kinds[model.assignment[agent]]
        if not isinstance(kind, FiniteAgent):
            raise fail(
                f"faults[{agent}].outcome",
                "an agent with finitely many outcomes",
                "a Gaussian one",
                "give log_likelihoods of the datum",
            )
        one = kind.single or kind
        chosen = as_integer(
            f"faults[{agent}].outcome", self.outcome, minimum=0, maximum=one.probabilities.size - 1
        )
        return np.asarray(kind.batch * one.log_likelihoods[:, chosen])


Speaker: TypeAlias = ConstantBelief | Silent | Push | RandomLies | Split
Behaviour: TypeAlias = Speaker | Colluding | StuckData

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "constant-belief": ConstantBelief,
    "silent": Silent,
    "stuck-data": StuckData,
    "push": Push,
    "random-lies": RandomLies,
    "split": Split,
    "colluding": Colluding,
}


def _as_number(argument: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise fail(argument, "a number", repr(value), "give a number in nats") from None
    if not (math.isfinite(number) and abs(number) <= _LARGEST_STRENGTH):
        raise fail(
            argument,
            f"a number of size at most {_LARGEST_STRENGTH:g}",
            number,
            "messages beyond are thrown away: use Silent",
        )
    return number


def _steady(rows: FloatArray, *, growing: bool) -> Speech:
    zeros = np.zeros_like(rows)
    return Speech(zeros, rows) if growing else Speech(rows, zeros)
