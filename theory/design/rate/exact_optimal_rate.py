"""The best learning rate as a fraction, or enclosed where it is a sum of logarithms.

The basis that floating point ends with is verified, and repaired if need be, in exact arithmetic
(:mod:`theory.design.rate.exact_program`). Where the divergences are sums of logarithms the program
is solved exactly for rationals next to them: K is the value of a game, and moves by at most ε if no
entry moves by more (docs: mathematics/optimal-rate).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.design.certificate import Certificate
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.agent_groups import Groups, group_rows, influences_for
from theory.design.rate.exact_game import Game, Information, exact_information
from theory.design.rate.exact_program import BasisError
from theory.design.rate.rate_program import RateSolution, maximise_least
from theory.design.rate.rate_target import Model, RateTarget, named, rate_target
from theory.design.rate.weak_duality import achieved, proved_bound
from theory.numbers import Enclosure, as_fraction
from theory.showing import Shown
from theory.typed import typed
from theory.validation import fail

# Sums of logarithms are first replaced by rationals of so many bits.
_START_BITS = 128
_MOST_BITS = 4096
# An enclosure of this relative width is as narrow as doubles are.
_WIDTH = 2.0**-50


@dataclass(frozen=True, eq=False)
class ExactOptimalRate(Shown):
    """The best K, proved; nats per round.

    Attributes
    ----------
    rate
        K, if it is rational and the basis was verified; else None.
    enclosure
        An interval that contains K, whichever way it was found.
    stationary_distribution
        Length N: a v that attains K (to within the width of `enclosure`, if `rate` is None).
    multipliers
        Length M: the weights λ of the hypotheses that prove it.
    binding
        The hypotheses with positive multipliers, the largest first.
    target, reference
        As for `OptimalRate`.
    certificate
        ``"exact"`` if the basis was verified for the very program, else ``"certified"``.
    pivots
        How many exact pivots mended the basis that floating point ended with.
    """

    rate: Fraction | None
    enclosure: Enclosure
    stationary_distribution: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]
    binding: tuple[int, ...]
    target: int
    reference: tuple[int, ...]
    certificate: Certificate
    pivots: int


@typed
def exact_optimal_rate(
    model: Model,
    *,
    target: int | str | None = None,
    influences: InfluenceSet | None = None,
    most_pivots: int = 100,
) -> ExactOptimalRate:
    """The best rate, exactly: as a fraction, or as an enclosure of relative width below 2⁻⁵⁰.

    The I_j of a `FiniteModel` count as the binary fractions they are. Those of a `RationalModel`
    are exact; where they are not rational, K is enclosed.

    Parameters
    ----------
    target, influences
        As for `optimal_rate`.
    most_pivots
        After so many exact pivots the interval that weak duality proves takes the optimum's place;
        the certificate's note says so.

    Raises
    ------
    ValueError, DesignFailed
        As for `optimal_rate`.

    Examples
    --------
    >>> from theory import FiniteModel, GaussianAgent
    >>> first = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [2.0], [0.0]], 1.0)
    >>> second = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.0], [1.0]], 1.0)
    >>> best = exact_optimal_rate(FiniteModel.from_agents(["zero", "a", "b"], [first, second]))
    >>> str(best.rate), [str(v) for v in best.stationary_distribution], best.certificate.kind
    ('2/5', ['1/5', '4/5'], 'exact')
    """
    allowed = influences_for(model, influences)
    aim = rate_target(model, target)
    bits = _START_BITS
    while True:
        information = exact_information(model, aim, bits)
        found = _solve(allowed, model, aim, information, most_pivots)
        width = found.enclosure.relative_width
        if information.error == 0 or width <= _WIDTH or bits >= _MOST_BITS or not found.proved:
            break
        bits *= 2
    if not model.optimal_hypotheses and found.enclosure.lower <= 0:
        bind = [int(m) for m in found.binding]
        raise fail(
            "target",
            "a hypothesis that some allowed influence makes the network settle on",
            f"{model.hypotheses[aim.target]!r}, whose rate is at most "
            f"{found.enclosure.upper:.6g} for every v; {named(model.hypotheses, bind)} stands in "
            "the way",
            "choose another target, or lower minimum_influence",
        )
    return found.result(aim)


@dataclass(frozen=True, eq=False)
class _Found:
    """What came out, hypotheses numbered among the wrong ones."""

    value: Fraction | None
    enclosure: Enclosure
    influence: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]
    binding: tuple[int, ...]
    proved: bool
    pivots: int
    note: str
    hypotheses: int

    def result(self, aim: RateTarget) -> ExactOptimalRate:
        whole = [Fraction(0)] * self.hypotheses
        for m, weight in zip(aim.wrong.tolist(), self.multipliers, strict=True):
            whole[m] = weight
        kind = "exact" if self.value is not None else "certified"
        return ExactOptimalRate(
            rate=self.value,
            enclosure=self.enclosure,
            stationary_distribution=self.influence,
            multipliers=tuple(whole),
            binding=self.binding,
            target=aim.target,
            reference=aim.reference,
            certificate=Certificate(
                self.enclosure.lower if self.value is None else float(self.value),
                self.enclosure.upper if self.value is None else float(self.value),
                "maximise",
                "exact" if kind == "exact" else "certified",
                self.note,
            ),
            pivots=self.pivots,
        )


def _solve(
    allowed: InfluenceSet,
    model: Model,
    aim: RateTarget,
    information: Information,
    most_pivots: int,
) -> _Found:
    assignment = np.array(model.assignment, dtype=np.int64)
    groups = group_rows(allowed, assignment, information.floats, information.keys)
    start = maximise_least(groups.rows, groups.payoffs, start=groups.centre)
    names = len(model.hypotheses)
    try:
        game = Game.of(allowed, groups, information)
        solution, generated = game.solve(start, most_pivots)
    except BasisError as reason:
        return _interval(allowed, groups, start, information, aim, names, str(reason))
    value = game.value(solution)
    shares = game.shares(solution)
    multipliers = [Fraction(0)] * aim.wrong.size
    first = len(solution.multipliers) - len(generated)
    for place, m in enumerate(generated):
        multipliers[m] = as_fraction(solution.multipliers[first + place])
    each = [u / int(n) for u, n in zip(shares, groups.counts, strict=True)]
    rational = information.error == 0
    lower = Enclosure.from_rational(value - information.error).lower
    upper = Enclosure.from_rational(value + information.error).upper
    note = (
        "basis verified in exact arithmetic"
        if rational
        else "basis verified for rationals next to the divergences"
    )
    return _Found(
        value=value if rational else None,
        enclosure=Enclosure(lower, upper),
        influence=tuple(each[g] for g in groups.membership.tolist()),
        multipliers=tuple(multipliers),
        binding=_binding(multipliers, aim),
        proved=True,
        pivots=solution.pivots,
        note=note,
        hypotheses=names,
    )


def _binding(multipliers: list[Fraction], aim: RateTarget) -> tuple[int, ...]:
    order = sorted(range(len(multipliers)), key=lambda m: -multipliers[m])
    return tuple(int(aim.wrong[m]) for m in order if multipliers[m] > 0)


def _interval(
    allowed: InfluenceSet,
    groups: Groups,
    start: RateSolution,
    information: Information,
    aim: RateTarget,
    names: int,
    reason: str,
) -> _Found:
    """What weak duality proves of the floating-point solution."""
    shares = start.point[: groups.counts.size]
    shares = shares / shares.sum()
    # The doubles are within half a unit of the rationals, these within `error` of the truth.
    apart, below, above = information.error, groups.payoffs, groups.payoffs
    if information.table is not None:
        below, above = np.nextafter(below, -np.inf), np.nextafter(above, np.inf)
    low = Fraction(achieved(below, shares).lower) - apart
    high = apart + Fraction(
        proved_bound(allowed, above, start.multipliers, membership=groups.membership)
    )
    multipliers = [Fraction(x) for x in start.multipliers.tolist()]
    v = (shares / groups.counts)[groups.membership]
    return _Found(
        value=None,
        enclosure=Enclosure(
            Enclosure.from_rational(low).lower, Enclosure.from_rational(max(low, high)).upper
        ),
        influence=tuple(Fraction(x) for x in v.tolist()),
        multipliers=tuple(multipliers),
        binding=_binding(multipliers, aim),
        proved=False,
        pivots=0,
        note=f"weak duality, as the basis was not verified: {reason}",
        hypotheses=names,
    )
