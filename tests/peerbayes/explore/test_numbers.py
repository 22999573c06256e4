"""The quick numbers are those of `pb.analyse`, to the last bit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import peerbayes as pb
from peerbayes.explorer.documents import opened, problem_of
from peerbayes.explorer.edits import edited
from peerbayes.explorer.numbers import indispensable, numbers_of
from peerbayes.problem.problems import AnyProblem
from tests.peerbayes.explore.starts import COIN, Randomly, finite, starts

Table = dict[str, Any]
BUILT_IN = (
    "two-coins", "p2-star a=0.1", "rotating-star 25", "restless-ring links",
    "liars-torus trimmed-mean 1", "liars-torus average 1",
    "p1-regression", "p2-regression", "diabetes features",
)  # fmt: skip


def random_document(seed: int) -> Table:
    """A finite problem of doubles: weights, laws, priors and truths all drawn."""
    draw = np.random.default_rng(seed)
    agents, hypotheses, outcomes = (int(draw.integers(2, high)) for high in (9, 5, 4))
    weights = draw.dirichlet(np.ones(agents), size=agents)
    kinds = []
    for _ in range(agents):
        tables = draw.dirichlet(np.full(outcomes, 3.0), size=hypotheses)
        truth = draw.dirichlet(np.full(outcomes, 3.0)) if draw.random() < 0.3 else None
        kinds.append(
            {
                "truth": "h0" if truth is None else [truth.tolist()],
                "likelihood": [[row.tolist()] for row in tables],
            }
        )
    names = [f"h{m}" for m in range(hypotheses)]
    model = {"hypotheses": names, "agents": kinds}
    return {"name": f"random {seed}", "network": {"weights": weights.tolist()}, "model": model}


def check_equal(problem: AnyProblem, document: Table) -> Table:
    """Compare every number there is on both sides; return the quick ones."""
    quick, slow = numbers_of(document), pb.analyse(problem).as_json()
    json.dumps(quick, allow_nan=False)
    compared = 0
    for key in ("network", "learning", "regression"):
        for name, value in (slow.get(key) or {}).items():
            if quick[key] is not None and name in quick[key]:
                if name in ESTIMATED and not _is_exact(slow):
                    continue
                assert quick[key][name] == value, name
                compared += 1
    if quick["samples"] is not None:
        for name, value in quick["samples"].items():
            if value is not None:
                assert slow["samples"][name] == value, name
                compared += 1
    if "faults" in quick:
        # Whether the graph is robust takes a second to say.
        assert quick["faults"] == {**slow["faults"], "robustness": None}
        compared += len(slow["faults"])
    assert compared >= 6
    return quick


# Of a network that changes at random these come when the hand rests.
ESTIMATED = {"error_exponent", "binding_for_exponent", "exponents"}


def _is_exact(slow: Table) -> bool:
    return slow["learning"].get("error_exponent_standard_error") in (None, 0.0) and (
        slow["learning"]["error_exponent"] is not None
    )


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_problems(name: str) -> None:
    problem = pb.load(name)
    check_equal(problem, opened(problem))


def test_random_problems_and_edits_of_them() -> None:
    for seed in range(3):
        document, draw = edited(random_document(seed), []), Randomly(seed)
        for _ in range(12):
            edit = draw.edit(document)
            if edit["kind"] in ("set-messages", "set-changes"):
                continue  # their analysis takes seconds
            try:
                document = edited(document, [edit])
            except ValueError:
                continue
        check_equal(problem_of(document), document)


@pytest.mark.parametrize("name", ["sequence", "late", "faulty", "edges", "links", "p1-regression"])
def test_all_kinds(name: str) -> None:
    document = edited(starts()[name], [])
    quick = check_equal(problem_of(document), document)
    assert set(quick["kinds"].values()) <= {
        "float", "exact", "certified", "upper bound", "lower bound", "estimate",
    }  # fmt: skip


def test_either_of_two_equal_compromises_may_be_the_one_that_stays() -> None:
    """Without agent 0 the network settles on B and rejects C, which is better than A then."""
    claims = [[0.75, 0.25], [0.25, 0.75], [0.1, 0.9]]
    agents = [
        pb.FiniteAgent.from_tables(truth=[truth], likelihood=[[claim] for claim in claims])
        for truth in claims[:2]
    ]
    model = pb.FiniteModel.from_agents(["A", "B", "C"], agents)
    rate = pb.learning_rate(pb.Network([[0.5, 0.5], [0.5, 0.5]]), model)
    assert rate.reference == (0, 1)
    assert indispensable(model, rate, np.array([0.5, 0.5])) == []


def test_agents_whose_silence_lets_another_hypothesis_win() -> None:
    lost = 0
    for seed in range(25):
        document = random_document(seed)
        found = numbers_of(document)["learning"]["indispensable"]
        problem = problem_of(document)
        v = problem.network.stationary_distribution
        best = pb.learning_rate(problem.network, problem.model).reference[0]
        terms = v[:, None] * problem.model.information(best)
        terms = np.delete(terms, best, axis=1)
        without = [(np.delete(terms, j, axis=0).sum(axis=0)).min() for j in range(len(v))]
        assert found == [j for j, rest in enumerate(without) if rest <= 0]
        lost += len(found)
    assert lost > 5


def test_the_model_is_read_once_and_never_mistaken_for_another() -> None:
    document = edited(random_document(1), [])
    half = {"kind": "set-self-weight", "agent": 0, "value": 0.5}
    more = {"kind": "set-batch", "value": 2}
    model = problem_of(document).model
    assert problem_of(edited(json.loads(json.dumps(document)), [half])).model is model
    batched = problem_of(edited(document, [more])).model
    assert batched.batches.tolist() == [2] * model.agents
    swapped = edited(document, [{"kind": "swap-evidence", "a": 0, "b": 1}])
    assert problem_of(swapped).model.kinds[0] == model.kinds[1]
    assert problem_of(edited(document, [half])).model is model


def test_the_rate_among_liars_is_that_of_the_slowest_honest_agent() -> None:
    liar = {"agents": [3], "behaviour": "push", "hypothesis": "loaded", "strength": "1"}
    network = {"topology": "complete", "agents": 4}
    document = finite(network, [{"count": 4, **COIN}], faults={"agents": [liar]})
    found = numbers_of(document)
    averaging = pb.analyse(problem_of(document)).as_json()["faults"]["averaging"]
    assert found["learning"]["rate"] == min(averaging["rates"]["loaded"]) < 0
    assert found["kinds"]["rate"] == "float"
    trimmed = numbers_of(edited(starts()["faulty"], []))
    assert trimmed["learning"]["rates"] == trimmed["faults"]["guaranteed_rates"]
    assert trimmed["kinds"]["rate"] == "lower bound"
    assert trimmed["learning"]["faultless_rate"] == found["learning"]["faultless_rate"] > 0
    silent = {"kind": "set-faults", "faulty": [3], "behaviour": "colluding"}
    unknown = numbers_of(edited(document, [silent]))["learning"]
    assert unknown["rate"] is None
    assert unknown["binding_hypothesis"] is None


def test_what_cannot_be_computed_is_null_and_said() -> None:
    absent = {"kind": "presence", "present": "9/10", "mean_absence": "5"}
    network = {"topology": "ring", "agents": 12, "changes": absent}
    found = numbers_of(finite(network, [{"count": 12, **COIN}]))
    assert found["network"] is found["learning"] is None
    assert "expected at most" in found["notes"][0]
