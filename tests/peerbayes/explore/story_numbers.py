"""What the stories' texts say, number by number, computed from the documents that they show."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import peerbayes as pb
from peerbayes.explorer.gallery import story
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.reading import problem_from_document

DELTA = 0.01


def told(name: str) -> dict[str, Any]:
    return story({"name": name})


def problem(tale: dict[str, Any], step: int) -> AnyProblem:
    return problem_from_document(tale["steps"][step]["document"], source=tale["name"])


@cache
def _analysed(name: str, step: int) -> dict[str, Any]:
    found = problem(told(name), step)
    delta = None if isinstance(found, pb.FaultyProblem) else DELTA
    result: dict[str, Any] = pb.analyse(found, delta=delta).as_json()
    return result


def analysed(name: str, step: int) -> dict[str, Any]:
    """What `pb.analyse` says of a step's problem; once for the steps that show the same."""
    steps = told(name)["steps"]
    return _analysed(name, [s["document"] for s in steps].index(steps[step]["document"]))


@cache
def ran(name: str, step: int, *, rounds: int | None = None) -> dict[str, Any]:
    do = told(name)["steps"][step]["do"]
    assert do is not None
    assert do["view"] == "run"
    rounds = rounds or do["rounds"]
    found = pb.simulate(
        problem(told(name), step), rounds=rounds, replicates=do["replicates"], seed=do["seed"]
    )
    result: dict[str, Any] = found.as_json()
    return result


def rate(name: str, step: int) -> float:
    found = problem(told(name), step)
    return float(pb.learning_rate(found.network, found.model).rate)


def exponent(name: str, step: int) -> float:
    found = problem(told(name), step)
    return float(pb.error_exponent(found.network, found.model).exponent)


def influence(name: str, step: int, agent: int) -> float:
    return float(problem(told(name), step).network.stationary_distribution[agent])


def slem(name: str, step: int) -> float:
    return float(problem(told(name), step).network.slem)


@cache
def ranked_edges() -> Any:
    request = {"objective": "next-edge", "delta": DELTA}
    return pb.design(problem(told("edge"), 4), **request).document()


def in_two(text: str) -> tuple[int, int]:
    """Numerator and denominator of a number of a document."""
    return Fraction(text).as_integer_ratio()


def shrinks(pace: float) -> float:
    """By how many per cent a belief shrinks in a round, at this rate."""
    return 100 * (1 - math.exp(-pace))


def divergence(truth: float, claim: float) -> float:
    """Of a coin, in nats."""
    return truth * math.log(truth / claim) + (1 - truth) * math.log((1 - truth) / (1 - claim))


# What each step's text says, number by number, in the order in which they stand there ------------


def expert() -> list[list[float]]:
    name = "expert"
    steps = told(name)["steps"]
    chemist, houses = (
        steps[7]["document"]["model"]["agents"][0],
        steps[8]["document"]["model"]["agents"],
    )
    fine, spoilt = chemist["likelihood"][0][0][0], chemist["likelihood"][1][0][0]
    tasted = houses[1]["likelihood"][0][0][0]
    wary, trusting = 0.1, 0.7
    assert [Fraction(steps[i]["document"]["network"]["edge_confidence"]) for i in (0, 2)] == [
        Fraction(1, 10),
        Fraction(7, 10),
    ]
    assert steps[4]["document"] == steps[2]["document"]
    assert steps[5]["document"] == steps[0]["document"]
    wrong = [
        100 * ran(name, i, rounds=40)["error_probability"]["estimate"] for i in (4, 5)
    ]  # of the same 2 000 villages as on the page
    each = [divergence(float(Fraction(p)), 0.5) for p in (fine, tasted)]
    best = pb.design(problem(told(name), 9), objective="exponent", replicates=0).document()
    assert best.certificate.bound - best.certificate.value < 1e-9
    return [
        [*in_two(fine), *in_two(spoilt)],
        [wary, 1 - wary, influence(name, 1, 0), rate(name, 1), shrinks(rate(name, 1))],
        [trusting, influence(name, 2, 0), rate(name, 2), rate(name, 2) // rate(name, 1)],
        [exponent(name, 3), exponent(name, 0)],
        [steps[4]["do"]["rounds"], 40, wrong[0], 100],
        [wary, wrong[1], 100],
        [],
        [*in_two(tasted), *in_two(spoilt), *reversed(each), exponent(name, 6), exponent(name, 7)],
        [trusting, wary, rate(name, 7), rate(name, 8), exponent(name, 7), exponent(name, 8)],
        [best.certificate.value, best.stationary_distribution[0]],
    ]


def liar() -> list[list[float]]:
    name = "liar"
    steps = told(name)["steps"]
    heads = in_two(steps[0]["document"]["model"]["agents"][0]["likelihood"][1][0][0])
    belief = [Fraction(p) for p in steps[1]["document"]["faults"]["agents"][0]["belief"]]
    stubborn = analysed(name, 1)["faults"]
    followers = analysed(name, 2)["faults"]
    (settled,) = {len(kind["averaging"]["rates"]["loaded"]) for kind in (stubborn, followers)}
    log_odds = stubborn["averaging"]["mean"]["loaded"]
    (still,) = {round(r, 12) for r in stubborn["averaging"]["rates"]["loaded"]}
    (followed,) = {round(r, 12) for r in followers["averaging"]["rates"]["loaded"]}
    learnt = ran(name, 3)["rates"]["loaded"]["mean"]
    assert max(learnt) - min(learnt) < 0.005
    promised = analysed(name, 6)
    faults = steps[6]["document"]["faults"]
    beyond = steps[5]["document"]["faults"]["agents"][0]["agents"]
    return [
        [*heads, 25, rate(name, 0), shrinks(rate(name, 0))],
        [12, belief[1] / belief[0], 1, settled, still, min(log_odds), max(log_odds)],
        [
            steps[2]["document"]["faults"]["agents"][0]["strength"],
            settled, followed, steps[2]["do"]["rounds"],
        ],
        [steps[3]["document"]["faults"]["tolerate"], steps[3]["do"]["rounds"], np.mean(learnt)],
        [0],
        [*beyond, 12, 12],
        [
            steps[6]["document"]["network"]["agents"], faults["pool_every"],
            promised["faults"]["guaranteed_rates"]["loaded"],
            promised["faults"]["faultless_rates"]["loaded"],
        ],
    ]  # fmt: skip


def late() -> list[list[float]]:
    name = "late"
    steps = told(name)["steps"]
    calm, rising = steps[0]["document"]["model"]["agents"][0]["likelihood"]
    delay = steps[1]["document"]["network"]["changes"]["delay"]
    age = rate(name, 0) / rate(name, 1) - 1
    assert age == pytest.approx(2 / 3 * delay, rel=1e-12)  # two thirds come from neighbours
    enough = [analysed(name, i)["samples"]["chernoff"] for i in (3, 0)]
    return [
        [*in_two(calm[0][0]), *in_two(rising[0][0]), rate(name, 0), exponent(name, 0)],
        [delay, age, rate(name, 1), 1, age],
        [exponent(name, 2)],
        [
            steps[3]["document"]["network"]["changes"]["delay"], rate(name, 3), exponent(name, 3),
            enough[0], 1, 100, enough[1],
        ],
        [rate(name, 4)],
        [exponent(name, 0), exponent(name, 5)],
        [exponent(name, 6)],
    ]  # fmt: skip


def wrong() -> list[list[float]]:
    name = "wrong"
    steps = told(name)["steps"]
    claims = [in_two(c[0][0]) for c in steps[0]["document"]["model"]["agents"][0]["likelihood"]]

    rain = in_two(steps[1]["document"]["model"]["agents"][0]["truth"][0][0])
    uphill = in_two(steps[2]["document"]["model"]["agents"][0]["truth"][0][0])
    two, four = claims
    share = rain[0] / rain[1]
    weights = [
        float(Fraction(steps[i]["document"]["network"]["edge_confidence"])) for i in (2, 3, 4)
    ]
    return [
        [*two, *four, *two, rate(name, 0)],
        [
            *rain, *two, divergence(share, 1 / 2), divergence(share, 3 / 4),
            divergence(share, 3 / 4) - divergence(share, 1 / 2), 1, 1,
        ],
        [*uphill, *four, *two, influence(name, 2, 0), rate(name, 2)],
        [weights[1], weights[0], influence(name, 3, 0), *four],
        [weights[2], influence(name, 4, 0), rate(name, 4), 1_000_000, 1, 100],
        [0],
    ]  # fmt: skip


def edge() -> list[list[float]]:
    name = "edge"
    ranked = ranked_edges()
    worse = sum(effect.rate < ranked.base.rate for effect in ranked.added)
    base, ferry = (analysed(name, i)["samples"]["certified"] for i in (0, 5))
    return [
        [influence(name, 0, 2), rate(name, 0)],
        [len(ranked.bridges)],
        [slem(name, 2)],
        [rate(name, 2), rate(name, 3), slem(name, 3)],
        [ranked.candidates, worse],
        [rate(name, 5), slem(name, 5), 1, 100, *ferry, *base],
        [exponent(name, 6)],
    ]


TOLD = {"expert": expert, "liar": liar, "late": late, "wrong": wrong, "edge": edge}


NUMBER = re.compile(r"−?\d{1,3}(?: \d{3})+|−?\d+(?:\.\d+)?")


def printed(text: str) -> list[tuple[float, int]]:
    """The numbers of a text, with the decimals that are printed."""
    found = []
    for match in NUMBER.findall(text):
        plain = match.replace(" ", "").replace("−", "-")
        found.append((float(plain), len(plain.partition(".")[2])))
    return found


def check(name: str) -> None:
    """See that every number in a story's texts is what is computed."""
    tale, computed = told(name), TOLD[name]()
    assert len(computed) == len(tale["steps"])
    for step, values in zip(tale["steps"], computed, strict=True):
        stated = printed(step["text"])
        assert len(stated) == len(values), (step["text"], stated, values)
        for (number, decimals), value in zip(stated, values, strict=True):
            # Half a unit of the last printed digit, and the rounding of a tie.
            assert abs(number - float(value)) <= 0.5 * 10**-decimals * (1 + 1e-9), (
                step["text"], number, value,
            )  # fmt: skip
