"""The five stories: every number in a sentence, computed again; every comparison, asserted.

The oracles are `pb.analyse`, `pb.design` and `pb.simulate` of the documents that the steps show,
and fractions of the documents themselves. No number can stand in a text without one here.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import peerbayes as pb
from peerbayes.explorer.gallery import STORIES, gallery, story, told
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.explore.story_numbers import (
    TOLD,
    analysed,
    exponent,
    ran,
    ranked_edges,
    rate,
    slem,
)

NUMBER = re.compile(r"−?\d{1,3}(?: \d{3})+|−?\d+(?:\.\d+)?")


def printed(text: str) -> list[tuple[float, int]]:
    """The numbers of a text, with the decimals that are printed."""
    found = []
    for match in NUMBER.findall(text):
        plain = match.replace(" ", "").replace("−", "-")
        found.append((float(plain), len(plain.partition(".")[2])))
    return found


@pytest.mark.parametrize("name", STORIES)
def test_every_number_in_a_text_is_computed_again(name: str) -> None:
    tale = told(name)
    computed = TOLD[name]()
    assert len(computed) == len(tale.steps)
    for step, values in zip(tale.steps, computed, strict=True):
        stated = printed(step.text)
        assert len(stated) == len(values), (step.text, stated, values)
        for (number, decimals), value in zip(stated, values, strict=True):
            # Half a unit of the last printed digit, and the rounding of a tie.
            assert abs(number - float(value)) <= 0.5 * 10**-decimals * (1 + 1e-9), (
                step.text, number, value,
            )  # fmt: skip


# What the texts say in words ---------------------------------------------------------------------


def test_trust_raises_the_rate_and_leaves_the_exponent() -> None:
    assert rate("expert", 2) > 4 * rate("expert", 1)
    # Proved: E does not depend on v where one agent alone tells. Two searches of a maximum agree.
    assert exponent("expert", 3) == pytest.approx(exponent("expert", 0), rel=1e-9)
    shares = [ran("expert", i, rounds=40)["error_probability"] for i in (4, 5)]
    # Neither is rarer: each 95 % interval contains a number that the other does.
    assert shares[0]["lower"] <= shares[1]["upper"]
    assert shares[1]["lower"] <= shares[0]["upper"]
    # With tasters trust pays in K and costs in E.
    assert rate("expert", 8) > rate("expert", 7)
    assert exponent("expert", 8) < exponent("expert", 7)
    assert exponent("expert", 7) > exponent("expert", 6)


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
    allowed = dict(told("liar").steps[5].document)
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


def test_lateness_moves_the_rate_and_loss_the_exponent() -> None:
    assert rate("late", 3) < rate("late", 0) / 6
    for step in (2, 3, 6):
        assert exponent("late", step) == pytest.approx(exponent("late", 0), rel=1e-9)
    assert rate("late", 4) == pytest.approx(rate("late", 0), rel=1e-9)
    error = analysed("late", 5)["learning"]["error_exponent_standard_error"]
    assert exponent("late", 5) + 5 * error < exponent("late", 0)


def test_who_is_heard_decides_where_nothing_is_right() -> None:
    assert analysed("wrong", 0)["learning"]["optimal_hypotheses"] == ["1 day in 2"]
    # E is .012 here: after 200 days e^(−nE), a few runs in a hundred, are still undecided.
    assert ran("wrong", 1)["settled"]["1 day in 2"] > 0.95
    settled = [analysed("wrong", i)["learning"] for i in (2, 3, 4)]
    assert [s["optimal_hypotheses"] for s in settled] == [[], [], []]
    assert [s["compromise"] for s in settled[:2]] == [["1 day in 2"], ["3 days in 4"]]
    documents = [told("wrong").steps[i].document for i in (2, 3)]
    assert documents[0]["model"] == documents[1]["model"]  # not one observation has changed
    assert settled[0]["divergences"]["3 days in 4"][0] < 0  # the hill's best is the other claim
    assert min(settled[0]["divergences"]["3 days in 4"][1:]) > 0
    lower, _ = analysed("wrong", 4)["samples"]["certified"]
    assert lower > 1_000_000


def test_a_mixture_of_the_claims_changes_its_mind_on_the_way() -> None:
    two, four = 0.5, 0.75
    shares = np.linspace(0, 1, 201)
    gaps = []
    for share in shares:
        truth = two + share * (four - two)
        gaps.append(truth * math.log(two / four) + (1 - truth) * math.log((1 - two) / (1 - four)))
    assert gaps[0] > 0 > gaps[-1]
    assert (np.diff(gaps) < 0).all()  # once
    mixture = told("wrong").steps[5].do["truth"]["mixture"]
    assert set(mixture) == set(told("wrong").steps[5].document["model"]["hypotheses"])
    assert sum(mixture.values()) == pytest.approx(1)


def test_most_friendships_do_harm_and_one_helps_most() -> None:
    ranked = ranked_edges()
    names = told("edge").steps[0].document["network"]["names"]
    best = {tuple(sorted(names[i] for i in effect.edge)) for effect in ranked.added[:2]}
    assert ("Cleo", "Hal") in best
    assert ranked.added[0].rate == max(effect.rate for effect in ranked.added)
    fewest = min(effect.slem for effect in ranked.added)
    assert ranked.added[0].slem == pytest.approx(fewest, rel=1e-12)
    assert [tuple(names[i] for i in bridge) for bridge in ranked.bridges] == [("Eve", "Finn")]
    assert rate("edge", 3) < rate("edge", 2)
    assert slem("edge", 3) > slem("edge", 2)
    assert rate("edge", 5) > rate("edge", 2)
    assert slem("edge", 5) < slem("edge", 2)
    for step in (3, 5):
        assert exponent("edge", step) == pytest.approx(exponent("edge", 0), rel=1e-9)
    cut = dict(told("edge").steps[1].document)
    edges = [pair for pair in cut["network"]["edges"] if pair != [4, 5]]
    with pytest.raises(ValueError, match="2 classes"):
        problem_from_document({**cut, "network": {**cut["network"], "edges": edges}}, source="cut")


def test_a_second_witness_raises_the_exponent() -> None:
    from peerbayes.explorer.edits import edited

    document = edited(
        told("edge").steps[6].document, [{"kind": "set-evidence", "agent": 7, "of": 2}]
    )
    with_hal = pb.analyse(problem_from_document(document, source="edge")).as_json()
    assert with_hal["learning"]["error_exponent"] > 1.9 * exponent("edge", 6)


# The files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STORIES)
def test_stories_are_whole(name: str) -> None:
    answer = story({"name": name})
    assert answer["title"]
    assert answer["about"].endswith(".")
    assert len(answer["steps"]) >= 5
    for step in answer["steps"]:
        problem_from_document(step["document"], source=name)
        assert 80 < len(step["text"]) < 560
        assert "\n" not in step["text"]
        assert step["do"] is None or step["do"]["view"] in ("run", "design", "numbers")
        assert step["look_at"]


def test_an_unknown_story_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(ValueError, match=r"story: expected one of .*did you mean 'expert'"):
        told("experts")
    with pytest.raises(ValueError, match="story"):
        story({})


def test_the_gallery_has_every_builtin_and_says_what_needs_data() -> None:
    entries = {entry["name"]: entry for entry in gallery()["problems"]}
    assert set(entries) == set(pb.BUILTINS)
    needing = {name for name, entry in entries.items() if "needs the image files" in entry["about"]}
    assert needing == {name for name, family in pb.BUILTINS.items() if family.needs_data}
    for name in ("two-coins", "restless-ring", "rotating-star", "liars-torus", "p1-regression"):
        kinds = {"Problem": "finite", "ChangingProblem": "changing"}
        kinds |= {"FaultyProblem": "faulty", "RegressionProblem": "regression"}
        assert entries[name]["kind"] == kinds[type(pb.load(name)).__name__]
