from fractions import Fraction

import numpy as np
import pytest

from peerbayes.problem.builtins.loading import load_problem, load_variants
from peerbayes.problem.problems import Problem
from peerbayes.problem.reading import problem_from_document

WRITTEN = [*load_variants("two-coins"), *load_variants("p2-star"), *load_variants("p2-grid")]


@pytest.mark.parametrize("problem", WRITTEN, ids=lambda problem: problem.name)
def test_fractions_and_doubles_describe_the_same_problem(problem: Problem) -> None:
    rational, network = problem.rational_network, problem.network
    # The doubles are the nearest to the fractions, up to a rounding or two of the rest of a row.
    np.testing.assert_allclose(rational.as_network().weights, network.weights, atol=2**-52)
    model, floats = problem.rational_model, problem.model
    assert model.optimal_hypotheses == floats.optimal_hypotheses
    found = [[float(d.enclosure().midpoint) for d in row] for row in model.kind_divergences]
    np.testing.assert_allclose(found, floats.kind_divergences, atol=1e-14)
    odds = [[float(p) for p in row] for row in model.priors]
    np.testing.assert_allclose(odds, np.exp(floats.log_priors), rtol=1e-15)


def test_the_files_fractions_are_kept() -> None:
    problem = load_problem("two-coins")
    assert problem.rational_network.weight(0, 0) == Fraction(9, 10)
    assert str(problem.rational_model.information(0, 1)[0]) == "1/2*log(2) - 1/4*log(3)"
    star = load_problem("p2-star a=0.7").rational_network
    assert star.stationary_distribution[0] == Fraction(63, 143)


def test_doubles_are_read_as_they_are() -> None:
    document = {
        "name": "floats",
        "network": {"weights": [[0.9, 0.1], [0.6, 0.4]]},
        "model": {
            "hypotheses": ["a", "b"],
            "agents": [
                {"count": 2, "truth": [[0.5, 0.5]], "likelihood": [[[0.5, 0.5]], [[0.7, 0.3]]]}
            ],
        },
    }
    problem = problem_from_document(document)
    # 0.1 is the smaller entry of its row, so that it is kept and the other absorbs the rest.
    assert problem.rational_network.weight(0, 1) == Fraction(0.1)
    assert problem.rational_network.weight(0, 0) == 1 - Fraction(0.1)
    assert problem.rational_model.kinds[0].likelihoods[1] == (1 - Fraction(0.3), Fraction(0.3))  # type: ignore[union-attr]


def test_problems_without_a_file_are_read_from_their_doubles() -> None:
    problem = load_problem("digits")
    assert problem.specification is None
    model = problem.rational_model
    v = problem.rational_network.stationary_distribution
    assert model.compromise(v) == problem.model.reference_hypotheses(
        problem.network.stationary_distribution
    )


def test_gaussian_sections_are_exact_too() -> None:
    document = {
        "name": "gauss",
        "network": {"weights": [["1"]]},
        "model": {
            "hypotheses": ["zero", "one"],
            "agents": [
                {
                    "inputs": ["1/3", "2/3"],
                    "truth": "zero",
                    "likelihood_mean": [["0", "0"], ["1", "1/2"]],
                    "likelihood_std": "2",
                }
            ],
        },
    }
    model = problem_from_document(document).rational_model
    # (1/3 · 1 + 2/3 · 1/4) / (2 · 4)
    assert str(model.information(0, 1)[0]) == "1/16"
