"""P2 sec. 4.2.2: the informative agent in the centre, on a side and in a corner of the grid."""

from __future__ import annotations

from fractions import Fraction

import pytest

from peerbayes.problem.builtins.loading import load_variants
from theory import FiniteModel, Network
from theory.design import place

# With uniform weights v is proportional to the degree plus one.
SHARE = {"centre": Fraction(5, 33), "side": Fraction(4, 33), "corner": Fraction(3, 33)}


def grid(name: str) -> tuple[Network, FiniteModel]:
    (problem,) = load_variants(f"p2-grid {name}")
    return problem.network, problem.model


@pytest.mark.parametrize("name", SHARE)
def test_the_centre_is_best_for_the_rate(name: str) -> None:
    network, model = grid(name)
    found = place(network, model)
    assert (found.placements, found.classes, found.ties) == (9, 3, 1)
    informative = found.model.assignment[4]  # the centre: agents are counted row by row
    assert (found.model.assignment == informative).sum() == 1
    own = float(model.kind_divergences[informative, 1])
    assert found.value == pytest.approx(float(SHARE["centre"]) * own, rel=1e-12)
    assert found.original == pytest.approx(float(SHARE[name]) * own, rel=1e-12)
    assert found.worst == pytest.approx(float(SHARE["corner"]) * own, rel=1e-12)
    assert [model.hypotheses[m] for m in found.binding] == ["confuses 4 and 9"]
    # No more moves than an exchange with whoever sits in the centre.
    assert len(found.moved) == (0 if name == "centre" else 2)
