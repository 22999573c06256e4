"""P2's labels on nine agents, with tables of confusions in place of its networks.

One agent holds the labels 2 to 9, eight hold 0 and 1 (P2 section 4.2). P2 prints no information of
its trained networks; which hypothesis binds is decided by who holds which labels.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from theory.claims.chance import as_ball
from theory.claims.tables import divergence


def digit_readers() -> dict[str, tuple[arb, arb]]:
    """Information of the agent with the labels 2 to 9, and of those with 0 and 1 (P2 4.2).

    A small stand-in for P2's networks, whose information is not printed: every digit is read right
    with probability 41/50, as each other one with 1/50, and a wrong hypothesis confuses two digits.
    """
    right, slip = Fraction(41, 50), Fraction(1, 50)
    found = {}
    for pair, share in (((4, 9), 16), ((3, 8), 21), ((0, 1), 21), ((1, 7), 16)):
        confused = Fraction(share, 50)
        size = divergence((right, slip), (right + slip - confused, confused))
        inner, outer = (sum(x in labels for x in pair) for labels in (range(2, 10), range(2)))
        found[f"{pair[0]} and {pair[1]}"] = (size * inner / 8, size * outer / 2)
    return found


def binding_rate(weight: Fraction) -> tuple[arb, bool]:
    """K if the informative agent's centrality is `weight`; whether it leads for what binds."""
    sums = {
        name: as_ball(weight) * expert + as_ball(1 - weight) * others
        for name, (expert, others) in digit_readers().items()
    }
    name = min(sums, key=lambda name: float(sums[name]))
    expert, others = digit_readers()[name]
    is_least = all(sums[name] < other for key, other in sums.items() if key != name)
    return sums[name], is_least and bool(expert > others)
