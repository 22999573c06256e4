"""P2's networks of digit readers, in small: the same graphs and labels, tables in place of nets.

P2 section 4.2 spreads MNIST over nine agents: one *informative* agent holds the labels 2 to 9, the
eight others hold 0 and 1. Here x is the digit on an image, y what is read, and a hypothesis is a
table of confusions f(y | x). One hypothesis reads all digits equally well and is true; each other
one mixes up two digits:

=====================  =============================  ===================================
hypothesis             seen by                        its rate, in v_1 of the informative
=====================  =============================  ===================================
confuses 4 and 9       the informative agent alone    rises: 0.0795 v_1 (binding)
confuses 3 and 8       the informative agent alone    rises: 0.1220 v_1
confuses 0 and 1       the others alone               falls: 0.4877 (1 − v_1)
confuses 1 and 7       both, the others more          falls: 0.1590 − 0.1193 v_1
=====================  =============================  ===================================

The learning rate K is the smallest of them, the first, in all variants, so that K is proportional
to v_1: to v_1 = 9a/(9a + 8) in the star with edge confidence a, and to 5/33, 4/33, 3/33 with the
informative agent in the middle, on a side or in a corner of the grid. All numbers are exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

DIGITS = range(10)
# Each wrong reading has probability 1/50; a true reading and its twin share 42/50.
_SLIP = Fraction(1, 50)
_SHARED = Fraction(42, 50)

_CONFUSIONS: dict[str, tuple[tuple[int, int], Fraction]] = {
    "confuses 4 and 9": ((4, 9), Fraction(16, 50)),
    "confuses 3 and 8": ((3, 8), Fraction(21, 50)),
    "confuses 0 and 1": ((0, 1), Fraction(21, 50)),
    "confuses 1 and 7": ((1, 7), Fraction(16, 50)),
}
TRUE_READER = "reads all digits"
READERS = (TRUE_READER, *_CONFUSIONS)

# The informative agent's number in the 3 x 3 grid, whose agents are counted row by row.
GRID_PLACES = {"centre": 4, "side": 1, "corner": 0}


def confusion_table(reader: str) -> list[list[str]]:
    """f(y | x) of one hypothesis: shape 10 by 10, exact numbers as strings, rows sum to one."""
    table = [[_SLIP] * len(DIGITS) for _ in DIGITS]
    for x in DIGITS:
        table[x][x] = _SHARED - _SLIP
    if reader in _CONFUSIONS:
        pair, share = _CONFUSIONS[reader]
        for x, twin in (pair, pair[::-1]):
            table[x][x], table[x][twin] = _SHARED - share, share
    return [[str(entry) for entry in row] for row in table]


def star_document(edge_confidence: str) -> dict[str, Any]:
    """The star of nine, the informative agent in its centre."""
    return {
        "name": f"p2-star a={float(Fraction(edge_confidence)):g}",
        "title": "P2's star of digit readers: only the centre sees the labels 2 to 9",
        "network": {"topology": "star", "agents": 9, "edge_confidence": edge_confidence},
        "model": _model(informative=0),
    }


def grid_document(place: str) -> dict[str, Any]:
    """The 3 x 3 grid with uniform weights, the informative agent at one of `GRID_PLACES`."""
    return {
        "name": f"p2-grid {place}",
        "title": f"P2's grid of digit readers: only the agent at the {place} sees 2 to 9",
        "network": {"topology": "grid", "shape": [3, 3], "rule": "uniform"},
        "model": _model(informative=GRID_PLACES[place]),
    }


def _model(*, informative: int) -> dict[str, Any]:
    tables = [confusion_table(reader) for reader in READERS]

    def holders(count: int, labels: range) -> dict[str, Any]:
        share = str(Fraction(1, len(labels)))
        inputs = [share if x in labels else "0" for x in DIGITS]
        return {"count": count, "inputs": inputs, "truth": TRUE_READER, "likelihood": tables}

    others = range(2)
    entries = [
        holders(informative, others) if informative else None,
        holders(1, range(2, 10)),
        holders(8 - informative, others) if informative < 8 else None,
    ]
    return {"hypotheses": list(READERS), "agents": [entry for entry in entries if entry]}
