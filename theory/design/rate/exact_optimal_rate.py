"""The best learning rate as a fraction, or enclosed where it is a sum of logarithms.

The basis that floating point ends with is solved in rationals, and decided to be optimal
(:mod:`theory.design.rate.exact_program`). Where the divergences are sums of logarithms the program
is solved exactly for rationals next to them: K is the value of a game, and moves by at most ε if no
entry moves by more (docs: mathematics/optimal-rate).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.exact_program import (
    BasicPoint,
    BasisError,
    Game,
    Information,
    exact_information,
)
from theory.design.rate.optimal_rate import achieved, proved_bound
from theory.design.rate.rate_program import (
    Groups,
    Model,
    RateSolution,
    RateTarget,
    group_rows,
    influences_for,
    named,
    rate_target,
)
from theory.design.search import Certificate, DesignFailed, Kind
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
    refinements
        How often what floating point ended with had to be refined.
    """

    rate: Fraction | None
    enclosure: Enclosure
    stationary_distribution: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]
    binding: tuple[int, ...]
    target: int
    reference: tuple[int, ...]
    certificate: Certificate
    refinements: int


@typed
def exact_optimal_rate(
    model: Model,
    *,
    target: int | str | None = None,
    influences: InfluenceSet | None = None,
    most_refinements: int = 20,
) -> ExactOptimalRate:
    """The best rate, exactly: as a fraction, or as an enclosure of relative width below 2⁻⁵⁰.

    The I_j of a `FiniteModel` count as the binary fractions they are. Those of a `RationalModel`
    are exact; where they are not rational, K is enclosed.

    Parameters
    ----------
    target, influences
        As for `optimal_rate`.
    most_refinements
        After so many the interval that weak duality proves takes the optimum's place; the
        certificate's note says so. One or two are enough as a rule, if any is needed.

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
        assignment = np.array(model.assignment, dtype=np.int64)
        groups = group_rows(allowed, assignment, information.floats, information.keys)
        program = groups.program()
        start = program.solve()
        try:
            game = Game.of(allowed, groups, program, information)
            proof = game.solve(start.solution.basis, most_refinements)
            found = _proved(model, aim, groups, game, *proof)
        except (BasisError, DesignFailed) as reason:
            found = _interval(model, aim, groups, allowed, start, information, str(reason))
            break
        width = found.enclosure.relative_width
        if information.error == 0 or width <= _WIDTH or bits >= _MOST_BITS:
            break
        bits *= 2
    if not model.optimal_hypotheses and found.enclosure.lower <= 0:
        raise fail(
            "target",
            "a hypothesis that some allowed influence makes the network settle on",
            f"{model.hypotheses[aim.target]!r}, whose rate is at most "
            f"{found.enclosure.upper:.6g} for every v; "
            f"{named(model.hypotheses, found.binding)} stands in the way",
            "choose another target, or lower minimum_influence",
        )
    return found


def _proved(
    model: Model, aim: RateTarget, groups: Groups, game: Game, found: BasicPoint, refined: int
) -> ExactOptimalRate:
    """What a verified basis proves."""
    value, error = as_fraction(found.point[-1]), game.information.error
    weights = found.multipliers[-len(game.program.generated) :]
    note = "basis verified in exact arithmetic"
    if error:
        note = "basis verified for rationals next to the divergences"
    return _result(
        model,
        aim,
        groups,
        ends=(value - error, value + error),
        shares=[as_fraction(x) for x in found.point[: groups.counts.size]],
        multipliers=dict(zip(game.program.generated, map(as_fraction, weights), strict=True)),
        note=note,
        is_exact=not error,
        refinements=refined,
    )


def _interval(
    model: Model,
    aim: RateTarget,
    groups: Groups,
    allowed: InfluenceSet,
    start: RateSolution,
    information: Information,
    reason: str,
) -> ExactOptimalRate:
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
    return _result(
        model,
        aim,
        groups,
        ends=(low, max(low, high)),
        shares=[Fraction(x) for x in shares.tolist()],
        multipliers={m: Fraction(x) for m, x in enumerate(start.multipliers.tolist())},
        note=f"weak duality, as the basis was not verified: {reason}",
        is_exact=False,
        refinements=0,
    )


def _result(
    model: Model,
    aim: RateTarget,
    groups: Groups,
    *,
    ends: tuple[Fraction, Fraction],
    shares: list[Fraction],
    multipliers: Mapping[int, Fraction],
    note: str,
    is_exact: bool,
    refinements: int,
) -> ExactOptimalRate:
    """The result, from the groups' shares and the multipliers of wrong hypotheses, by place."""
    whole = [Fraction(0)] * len(model.hypotheses)
    for place, weight in multipliers.items():
        whole[aim.wrong[place]] = weight
    each = [u / int(n) for u, n in zip(shares, groups.counts, strict=True)]
    least, most = map(Enclosure.from_rational, ends)
    low, high = (float(ends[0]),) * 2 if is_exact else (least.lower, most.upper)
    kind: Kind = "exact" if is_exact else "certified"
    return ExactOptimalRate(
        rate=ends[0] if is_exact else None,
        enclosure=Enclosure(least.lower, most.upper),
        stationary_distribution=tuple(each[g] for g in groups.membership.tolist()),
        multipliers=tuple(whole),
        binding=tuple(sorted((m for m, w in enumerate(whole) if w > 0), key=lambda m: -whole[m])),
        target=aim.target,
        reference=aim.reference,
        certificate=Certificate(low, high, "maximise", kind, note),
        refinements=refinements,
    )
