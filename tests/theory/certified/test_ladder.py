"""Certified sample sizes against every round computed one by one in high precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tests.theory.certified.cases import (
    atoms,
    coins,
    mpf,
    random_model,
    random_network,
)
from theory.certified import ladder as ladders
from theory.certified.chernoff import ChernoffUnion, HoeffdingSingle, HoeffdingUnion
from theory.certified.information import Reference, certify_exponent, decide_reference
from theory.certified.ladder import Ladder, certify_sample_sizes, enclose_rounds, verify_rounds
from theory.certified.maximum import Evidence
from theory.numbers import Enclosure, as_ball
from theory.rational.model import RationalModel
from theory.rational.network import RationalNetwork
from theory.validation import FloatArray

SLOW = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])
COINS = coins(["1/2", "1/2"], [["1/2", "1/2"], ["3/4", "2/3"], ["1/2", "1/4"]])


def powers(network: RationalNetwork, rounds: int) -> FloatArray:
    """W, …, W^rounds, shape (rounds, N, N)."""
    W = np.array([[float(w) for w in row] for row in network.rows])
    found = [W]
    for _ in range(rounds - 1):
        found.append(found[-1] @ W)
    return np.array(found)


def priors(model: RationalModel, best: int, other: int) -> list[mpmath.mpf]:
    rows = [model.priors[k] for k in model.assignment]
    return [mpmath.log(mpf(row[best])) - mpmath.log(mpf(row[other])) for row in rows]


def hoeffding_union(
    network: RationalNetwork, model: RationalModel, best: int, wrong: Sequence[int], rounds: int
) -> list[float]:
    """U(1), …, U(rounds) from the definition."""
    totals = np.zeros(rounds)
    table = powers(network, rounds)
    for theta in wrong:
        laws = atoms(model, best, theta)
        prior = np.array([float(p) for p in priors(model, best, theta)])
        means = [float(mpmath.fsum(p * m for p, m, _ in law)) for law in laws]
        spans = [float(max(m for _, m, _ in law) - min(m for _, m, _ in law)) for law in laws]
        for i in range(network.agents):
            drift = square = 0.0
            for n, power in enumerate(table):
                drift += float(power[i] @ means)
                square += float((power[i] * spans) ** 2 @ np.ones(network.agents))
                mean = drift + float(power[i] @ prior)
                if mean <= 0:
                    totals[n] += 1
                elif square > 0:
                    totals[n] += math.exp(-2 * mean * mean / square)
    return totals.tolist()


def chernoff_union(
    network: RationalNetwork, model: RationalModel, best: int, wrong: Sequence[int], n: int
) -> float:
    """U(n) from the definition, in doubles: right to about 1e-12."""
    total = 0.0
    rows = powers(network, n)
    for theta in wrong:
        prior = np.array([float(p) for p in priors(model, best, theta)])
        laws = [np.array(law, dtype=float).T for law in atoms(model, best, theta)]
        for i in range(network.agents):
            share = float(rows[-1, i] @ prior)
            columns = list(zip(rows[:, i].T, laws, strict=True))

            def log_bound(t: float, columns=columns, share=share) -> float:
                logs = [np.log(np.exp(-t * np.outer(w, m)) @ p).sum() for w, (p, m, _) in columns]
                return float(sum(logs) - t * share)

            mean = share + sum(float(w.sum() * (p @ m)) for w, (p, m, _) in columns)
            lowest = share + sum(float(w.sum() * m.min()) for w, (_, m, _) in columns)
            if mean <= 0:
                total += 1
            elif lowest < 0:
                top = 1.0
                while log_bound(2 * top) < log_bound(top):
                    top *= 2
                found = minimize_scalar(log_bound, bounds=(0, 2 * top), options={"xatol": 1e-9})
                total += math.exp(min(0.0, float(found.fun)))
            else:
                assert lowest > 1e-9  # no such case sits on the edge
    return total


def ladder(
    network: RationalNetwork, model: RationalModel, deviation: list[Enclosure] | None = None
) -> Ladder:
    evidence = Evidence(network, model)
    return Ladder(evidence, decide_reference(evidence), deviation=deviation)


def last_above(values: Sequence[float], delta: float) -> int:
    """n* by looking at every round there is."""
    above = [n for n, value in enumerate(values, start=1) if value > delta]
    return above[-1] + 1 if above else 1


def test_hoeffding_rounds_are_those_found_one_by_one() -> None:
    rng = np.random.default_rng(5)
    checked = waited = 0
    while checked < 12:
        agents = int(rng.integers(1, 4))
        network, model = random_network(rng, agents), random_model(rng, agents)
        bounds = ladder(network, model)
        if not bounds.wrong:
            continue
        union = bounds.hoeffding()[0][0]
        assert isinstance(union, HoeffdingUnion)
        delta = float(rng.choice([0.3, 0.05, 1e-3]))
        found = enclose_rounds(union, as_ball(delta))
        if found.upper is None or found.upper > 250:
            continue
        values = hoeffding_union(network, model, bounds.best, bounds.wrong, 2 * found.upper + 40)
        assert found.is_exact
        assert found.lower == last_above(values, delta)
        checked += 1
        waited += found.upper > 30
    assert waited > 2


def test_chernoff_rounds_are_those_found_one_by_one() -> None:
    rng = np.random.default_rng(6)
    checked = 0
    while checked < 5:
        agents = int(rng.integers(1, 4))
        network, model = random_network(rng, agents), random_model(rng, agents)
        bounds = ladder(network, model)
        if not bounds.wrong:
            continue
        union = bounds.chernoff(10)[0][0]
        assert isinstance(union, ChernoffUnion)
        delta = float(rng.choice([0.3, 0.05, 1e-4]))
        found = enclose_rounds(union, as_ball(delta))
        if found.upper is None or not 1 < found.upper <= 60:
            continue
        case = network, model, bounds.best, bounds.wrong
        assert found.is_exact
        assert chernoff_union(*case, found.lower - 1) > delta
        for later in (0, 1, 2, 5, 20):
            assert chernoff_union(*case, found.lower + later) <= delta
        for n in (1, found.lower, found.lower + 30):
            ball = union.value(n)
            truth = chernoff_union(*case, n)
            # Tilts right to 2^-12 leave some 1e-6 of the exponent open.
            assert float(ball.lower()) <= truth * (1 + 1e-9)
            assert truth * (1 - 1e-9) <= float(ball.upper())
            assert float(ball.rad()) <= 1e-6 * truth * max(1.0, -math.log(truth))
        checked += 1


def test_agents_that_hear_alike_are_one_event_that_counts_several_times() -> None:
    """On a path of five the ends are alike, and their neighbours; with a prior the ends differ."""
    half, third = "1/2", "1/3"
    rows = [[0] * 5 for _ in range(5)]
    for i in range(5):
        near = [j for j in (i - 1, i, i + 1) if 0 <= j < 5]
        for j in near:
            rows[i][j] = half if len(near) == 2 else third  # type: ignore[call-overload]
    network = RationalNetwork(rows)
    for odd, sorts in ((False, 3), (True, 5)):
        priors = [["1/4", "1/2", "1/4"] if odd and i == 4 else ["1/3"] * 3 for i in range(5)]
        model = RationalModel.from_agents(["a", "b", "c"], [COINS.kinds[0]] * 5, priors=priors)
        bounds = ladder(network, model)
        union = bounds.chernoff(10)[0][0]
        assert isinstance(union, ChernoffUnion)
        for n in (3, 40):
            truth = chernoff_union(network, model, bounds.best, bounds.wrong, n)
            assert union.value(n).contains(truth)
            assert float(union.value(n).rad()) <= 1e-5 * truth
        assert len(union._at(3)) == sorts * len(bounds.wrong)


def test_a_prior_that_favours_the_truth_delays_the_answer() -> None:
    """Bounds that are small at first and rise before they fall: the last crossing counts."""
    delta = 0.04
    weights = [["19/20", "1/40", "1/40"]] * 2
    model = coins(
        ["1/2", "1/2"], [["1/2", "1/2"], ["3/5", "3/5"], ["2/5", "11/20"]], priors=weights
    )
    bounds = ladder(SLOW, model)
    union = bounds.hoeffding()[0][0]
    found = enclose_rounds(union, as_ball(delta))
    values = hoeffding_union(SLOW, model, 0, [1, 2], 3 * found.lower)
    assert values[0] < max(values)
    assert found.is_exact
    assert found.lower == last_above(values, delta)
    tilts = enclose_rounds(bounds.chernoff(100)[0][0], as_ball(delta))
    rounds = range(1, tilts.lower + 20)
    values = [chernoff_union(SLOW, model, 0, [1, 2], n) for n in rounds]
    assert values[0] < max(values)
    assert tilts.is_exact
    assert tilts.lower == last_above(values, delta) < found.lower


def test_the_envelope_is_above_all_later_rounds() -> None:
    rng = np.random.default_rng(7)
    for _ in range(8):
        agents = int(rng.integers(1, 4))
        network, model = random_network(rng, agents), random_model(rng, agents)
        bounds = ladder(network, model, [Enclosure(0.0, 3.0)] * agents)
        for bound in [*bounds.hoeffding()[0], *bounds.chernoff(30)[0]] if bounds.wrong else []:
            for n in (1, 2, 5, 30):
                top = bound.for_ever(n)
                assert all(bound.value(m).lower() <= top.upper() for m in (n, n + 1, 3 * n + 7))


def test_single_event_is_its_formula() -> None:
    deviation = [Enclosure(0.5, 0.5), Enclosure(1.5, 1.5)]
    bounds = ladder(SLOW, COINS, deviation)
    single = bounds.hoeffding()[0][1]
    assert isinstance(single, HoeffdingSingle)
    v = SLOW.stationary_distribution
    n, expected = 700, 0.0
    for theta in (1, 2):
        laws = atoms(COINS, 0, theta)
        values = [m for law in laws for _, m, _ in law]
        c = (max(values) - min(values)) / 2 * mpmath.mpf(1.5)
        mean = n * mpmath.fsum(
            mpf(w) * p * m for w, law in zip(v, laws, strict=True) for p, m, _ in law
        )
        spans = [max(m for _, m, _ in law) - min(m for _, m, _ in law) for law in laws]
        square = n * mpmath.fsum((mpf(w) * r) ** 2 for w, r in zip(v, spans, strict=True))
        expected += float(mpmath.exp(-2 * (mean - c) ** 2 / square))
    assert float(single.value(n)) == pytest.approx(expected, rel=1e-12)


def test_the_ladder_and_its_certificates() -> None:
    bounds = ladder(SLOW, COINS, [Enclosure(0.25, 0.25)] * 2)
    exponent = certify_exponent(
        bounds.evidence, decide_reference(bounds.evidence), relative_width=1e-12
    )
    found = certify_sample_sizes(
        bounds,
        delta=0.05,
        exponent=exponent.exponent.midpoint,
        second_eigenvalue=Enclosure.from_rational(Fraction(3, 10)),
    )
    C, K = math.log(3), 1 / 7 * (math.log(4 / 3) / 2)
    assert found.printed.is_exact
    assert not found.printed.is_theorem
    assert found.printed.lower == math.ceil(16 * C * math.log(2 * 3 / 0.05) / (K * K * 0.7))
    assert found.chernoff.is_exact
    assert found.chernoff.is_theorem
    assert found.chernoff.lower < found.repaired.lower < found.printed.lower
    n = found.chernoff.lower
    for rounds, holds in ((n, True), (n + 50, True), (n - 1, False), (1, False)):
        certificate = verify_rounds(bounds, rounds, delta=0.05)
        assert certificate.holds is holds
        assert (certificate.probability.upper <= 0.05) is holds


def test_what_cannot_be_had_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    same = ladder(SLOW, coins(["1/2"] * 2, [["1/3"] * 2] * 2))
    found = certify_sample_sizes(same, delta=0.05, exponent=math.inf, second_eigenvalue=None)
    assert found.chernoff is None
    assert found.notes == ("every hypothesis is optimal: there is nothing to reject",)
    monkeypatch.setattr(ladders, "_MOST_EXPONENTIALS", 100.0)
    found = certify_sample_sizes(
        ladder(SLOW, COINS), delta=0.05, exponent=0.01, second_eigenvalue=None
    )
    assert found.printed is None
    assert found.notes == (
        "printed: needs the second eigenvalue",
        "single event: needs the deviation D_i",
        "chernoff, union over agents: about 4e+02 exponentials a round, more than 1e+02 in all",
    )
    assert found.chernoff.note.startswith("Hoeffding")
    with pytest.raises(ValueError, match="delta"):
        certify_sample_sizes(same, delta=0.0, exponent=1.0, second_eigenvalue=None)


def test_an_open_sign_leaves_no_sample_size() -> None:
    evidence = Evidence(SLOW, COINS)
    open_sign = Ladder(evidence, Reference((0,), None, (1,)), deviation=None)
    found = certify_sample_sizes(open_sign, delta=0.05, exponent=1.0, second_eigenvalue=None)
    assert found.repaired is None
    assert found.chernoff is None
    assert any("undecided" in note for note in found.notes)
    assert not verify_rounds(open_sign, 10**6, delta=0.05).holds
