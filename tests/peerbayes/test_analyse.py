import json

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from peerbayes.kinds.finite.analyse import analyse
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.problem.problems import Problem
from peerbayes.problem.reading import problem_from_document
from peerbayes.schemas import read_schema
from peerbayes.settings.questions import Analyse


@pytest.mark.parametrize("name", ["two-coins", "p2-star"])
def test_json_keeps_the_contract(name: str) -> None:
    result = analyse(load_problem(name), Analyse(delta=0.01)).as_json()
    text = json.dumps(result, allow_nan=False)
    Draft202012Validator(read_schema("analyse")).validate(json.loads(text))
    # The keys of the stable contract, spelled out: none may go.
    assert {
        "agents",
        "stationary_distribution",
        "slem",
        "second_eigenvalue",
        "deviation",
        "irreducible",
        "period",
        "reversible",
    } <= result["network"].keys()
    assert {
        "optimal_hypotheses",
        "globally_learnable",
        "rate",
        "binding_hypothesis",
        "rates",
        "error_exponent",
        "binding_for_exponent",
        "divergences",
        "ambiguous_pairs",
    } <= result["learning"].keys()
    assert {"delta", "printed", "repaired", "chernoff", "certified"} <= result["samples"].keys()
    assert result["samples"]["delta"] == 0.01


def test_two_coins_by_hand() -> None:
    """v = (6/7, 1/7), eigenvalues 1 and 3/10, K = log(4/3)/4."""
    result = analyse(load_problem("two-coins")).as_json()
    np.testing.assert_allclose(
        result["network"]["stationary_distribution"], [6 / 7, 1 / 7], rtol=1e-15
    )
    assert result["network"]["slem"] == pytest.approx(0.3, abs=1e-15)
    assert result["learning"]["rate"] == pytest.approx(np.log(4 / 3) / 4, rel=1e-13)
    assert result["learning"]["optimal_hypotheses"] == ["fair"]
    assert result["learning"]["divergences"]["loaded"] == pytest.approx([np.log(4 / 3) / 4] * 2)


def test_star_by_hand() -> None:
    star = load_problem("p2-star a=0.7")
    result = analyse(star).as_json()
    assert result["network"]["stationary_distribution"][0] == pytest.approx(6.3 / 14.3, rel=1e-14)


def coin(**agent: object) -> dict[str, object]:
    return {
        "name": "coins",
        "network": {"weights": [["9/10", "1/10"], ["3/5", "2/5"]]},
        "model": {
            "hypotheses": ["a", "b"],
            "agents": [
                {
                    "count": 2,
                    "truth": [["1/2", "1/2"]],
                    "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]],
                    **agent,
                }
            ],
        },
    }


def test_nothing_to_reject_is_null_with_a_note() -> None:
    same = coin(likelihood=[[["1/4", "3/4"]], [["1/4", "3/4"]]])
    result = analyse(problem_from_document(same)).as_json()
    assert result["learning"]["rate"] is None
    assert result["learning"]["binding_hypothesis"] is None
    assert result["learning"]["ambiguous_pairs"] == [["a", "b"]]
    assert result["samples"]["chernoff"] is None
    assert any("every hypothesis is optimal" in note for note in result["notes"])


def test_gaussian_agents_have_no_printed_size() -> None:
    document = coin()
    document["model"]["agents"] = [  # type: ignore[index]
        {
            "count": 2,
            "likelihood_mean": [["0"], ["1"]],
            "likelihood_std": "1",
            "truth": "a",
        }
    ]
    result = analyse(problem_from_document(document)).as_json()
    assert result["samples"]["printed"] is None
    assert result["samples"]["repaired"] is None
    assert result["samples"]["chernoff"] > 0
    assert any("unbounded" in note for note in result["notes"])


def test_bad_delta() -> None:
    with pytest.raises(ValueError, match=r"delta: expected a number in \(0, 1\), got 2"):
        analyse(load_problem("two-coins"), Analyse(delta=2.0))


def test_a_tie_that_doubles_do_not_decide_proves_nothing() -> None:
    """2/5, and what is 1e-15 further off on the other side: what would be proved is null."""
    near = [0.600000000000001, 0.399999999999999]
    problem = problem_from_document(
        {
            "name": "nearly",
            "network": {"weights": [["9/10", "1/10"], ["3/5", "2/5"]]},
            "model": {
                "hypotheses": ["low", "high", "bad"],
                "agents": [
                    {
                        "count": 2,
                        "truth": [[0.5, 0.5]],
                        "likelihood": [[[0.4, 0.6]], [near], [[0.1, 0.9]]],
                    }
                ],
            },
        }
    )
    assert isinstance(problem, Problem)
    found = analyse(problem).as_json()
    assert found["learning"]["optimal_hypotheses"] == ["low", "high"]
    samples = found["samples"]
    assert samples["repaired"] is samples["chernoff"] is samples["certified"] is None
    assert any("--certify decides" in note for note in found["notes"])
