"""What the stories' texts say, in numbers and in words, is so."""

from __future__ import annotations

import math

import numpy as np
import pytest

import peerbayes as pb
from peerbayes.explorer.gallery import STORIES
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.explore.story_numbers import (
    analysed,
    check,
    exponent,
    ran,
    ranked_edges,
    told,
)


@pytest.mark.parametrize("name", sorted({*STORIES} - {"expert", "liar"}))
def test_every_number_in_a_text_is_computed_again(name: str) -> None:
    check(name)


def test_beliefs_of_the_wary_village_are_weaker() -> None:
    trusting, wary = (ran("expert", i)["rates"]["spoilt"]["mean"] for i in (4, 5))
    assert max(wary) < min(trusting)


def test_liars_lead_and_trimming_stops_them() -> None:
    assert analysed("liar", 1)["faults"]["averaging"]["learns"] is False
    assert ran("liar", 2)["error_probability"]["estimate"] == 1
    assert ran("liar", 2)["settled"]["loaded"] == 1  # every honest agent, in every run
    assert ran("liar", 3)["error_probability"]["estimate"] == 0
    assert analysed("liar", 3)["faults"]["guaranteed_rates"]["loaded"] < 0
    lost = ran("liar", 5)["rates"]["loaded"]["mean"]
    rates = dict(zip((i for i in range(25) if i not in (11, 13)), lost, strict=True))
    assert rates.pop(12) < 0 < min(rates.values())
    assert ran("liar", 5)["settled"]["loaded"] == pytest.approx(1 / 23)  # agent 12 alone
    allowed = dict(told("liar")["steps"][5]["document"])
    allowed["faults"] = {k: v for k, v in allowed["faults"].items() if k != "beyond_tolerance"}
    with pytest.raises(ValueError, match=r"agent 12 hears.*got 2"):
        problem_from_document(allowed, source="liar")
    assert analysed("liar", 6)["faults"]["guaranteed_rates"]["loaded"] > 0


def test_stubborn_agents_hold_the_honest_for_ever() -> None:
    measured = np.array(ran("liar", 1)["rates"]["loaded"]["mean"]) * 200
    predicted = analysed("liar", 1)["faults"]["averaging"]
    spread = np.array(predicted["standard_deviation"]["loaded"]) / math.sqrt(300)
    # Settled after 200 rounds; five standard errors of a mean of 300 runs, for each of 24 agents.
    assert (np.abs(measured - np.array(predicted["mean"]["loaded"])) < 5 * spread).all()


def test_who_is_heard_decides_where_nothing_is_right() -> None:
    assert analysed("wrong", 0)["learning"]["optimal_hypotheses"] == ["1 day in 2"]
    # E is .012 here: after 200 days e^(−nE), a few runs in a hundred, are still undecided.
    assert ran("wrong", 1)["settled"]["1 day in 2"] > 0.95
    settled = [analysed("wrong", i)["learning"] for i in (2, 3, 4)]
    assert [s["optimal_hypotheses"] for s in settled] == [[], [], []]
    assert [s["compromise"] for s in settled[:2]] == [["1 day in 2"], ["3 days in 4"]]
    documents = [told("wrong")["steps"][i]["document"] for i in (2, 3)]
    assert documents[0]["model"] == documents[1]["model"]  # not one observation has changed
    assert settled[0]["divergences"]["3 days in 4"][0] < 0  # the hill's best is the other claim
    assert min(settled[0]["divergences"]["3 days in 4"][1:]) > 0
    lower, _ = analysed("wrong", 4)["samples"]["certified"]
    assert lower > 1_000_000
    mixture = told("wrong")["steps"][5]["do"]["truth"]["mixture"]
    assert set(mixture) == set(told("wrong")["steps"][5]["document"]["model"]["hypotheses"])
    assert sum(mixture.values()) == pytest.approx(1)


def test_most_friendships_do_harm_and_one_helps_most() -> None:
    ranked = ranked_edges()
    names = told("edge")["steps"][0]["document"]["network"]["names"]
    best = {tuple(sorted(names[i] for i in effect.edge)) for effect in ranked.added[:2]}
    assert ("Cleo", "Hal") in best
    assert ranked.added[0].rate == max(effect.rate for effect in ranked.added)
    fewest = min(effect.slem for effect in ranked.added)
    assert ranked.added[0].slem == pytest.approx(fewest, rel=1e-12)
    assert [tuple(names[i] for i in bridge) for bridge in ranked.bridges] == [("Eve", "Finn")]
    for step in (3, 5):
        assert exponent("edge", step) == pytest.approx(exponent("edge", 0), rel=1e-9)
    cut = dict(told("edge")["steps"][1]["document"])
    edges = [pair for pair in cut["network"]["edges"] if pair != [4, 5]]
    with pytest.raises(ValueError, match="2 classes"):
        problem_from_document({**cut, "network": {**cut["network"], "edges": edges}}, source="cut")


def test_a_second_witness_raises_the_exponent() -> None:
    from peerbayes.explorer.edits import edited

    document = edited(
        told("edge")["steps"][6]["document"], [{"kind": "set-evidence", "agent": 7, "of": 2}]
    )
    with_hal = pb.analyse(problem_from_document(document, source="edge")).as_json()
    assert with_hal["learning"]["error_exponent"] > 1.9 * exponent("edge", 6)
