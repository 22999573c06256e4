"""P2 sec. 4.2.2: the informative agent in the centre, on a side and in a corner of the grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exact import Run, simulate
from peerbayes.problem.builtins.digit_readers import GRID_PLACES, grid_document
from peerbayes.problem.loading import load_variants
from peerbayes.problem.reading import problem_from_document
from theory import FiniteModel, Network, expected_log_ratio
from theory.design import place

# With uniform weights v is proportional to the degree plus one.
SHARE = {"centre": Fraction(5, 33), "side": Fraction(4, 33), "corner": Fraction(3, 33)}


def grid(name: str) -> tuple[Network, FiniteModel]:
    (problem,) = load_variants(f"p2-grid {name}")
    return problem.network, problem.model


@pytest.mark.parametrize("name", GRID_PLACES)
def test_the_centre_is_best_for_the_rate(name: str) -> None:
    network, model = grid(name)
    found = place(network, model)
    assert (found.placements, found.classes, found.ties) == (9, 3, 1)
    informative = found.model.assignment[GRID_PLACES["centre"]]
    assert (found.model.assignment == informative).sum() == 1
    own = float(model.kind_divergences[informative, 1])
    assert found.value == pytest.approx(float(SHARE["centre"]) * own, rel=1e-12)
    assert found.original == pytest.approx(float(SHARE[name]) * own, rel=1e-12)
    assert found.worst == pytest.approx(float(SHARE["corner"]) * own, rel=1e-12)
    assert [model.hypotheses[m] for m in found.binding] == ["confuses 4 and 9"]
    # No more moves than an exchange with whoever sits in the centre.
    assert len(found.moved) == (0 if name == "centre" else 2)


def test_the_exponent_does_not_see_the_place() -> None:
    """The binding hypothesis is seen by one agent alone: E is that agent's, wherever it sits."""
    values = []
    for name in GRID_PLACES:
        found = place(*grid(name), objective="exponent")
        assert found.ties == found.classes == 3
        assert found.moved == ()
        assert found.worst == pytest.approx(found.value, rel=1e-12)
        values.append(found.value)
    assert np.ptp(values) <= 1e-12 * values[0]


def test_rates_are_as_predicted_when_simulated() -> None:
    """All three places, at a round where the mean is known exactly."""
    rounds, replicates = 400, 300
    measured = {}
    for name in GRID_PLACES:
        network, model = grid(name)
        run = simulate(network, model, run=Run(rounds=rounds, replicates=replicates, seed=7))
        exact = expected_log_ratio(network, model, [rounds], best=0).values[0] / rounds
        deviation = np.abs(run.rates.mean - exact)[:, 1:] / run.rates.standard_error[:, 1:]
        # 36 numbers, strongly dependent: beyond 5 standard errors once in 50 000 runs at most.
        assert deviation.max() < 5
        # What is left of the start is at most D_i terms of one observation's size.
        share = float(SHARE[name]) * float(model.divergences[GRID_PLACES[name], 1])
        assert np.abs(exact[:, 1] - share).max() < 0.03 * share
        measured[name] = (run.rates.mean[:, 1].mean(), run.rates.standard_error[:, 1].max())
    for better, worse in (("centre", "side"), ("side", "corner")):
        (a, s), (b, t) = measured[better], measured[worse]
        assert a - b > 5 * np.hypot(s, t)


def test_one_document_is_enough() -> None:
    """The kinds of the two rows of others are the same law, though written twice."""
    document = grid_document("side")
    problem = problem_from_document(document, source="side")
    assert len(problem.model.kinds) == 3
    assert place(problem.network, problem.model).placements == 9
