"""Which events are one, and the union by way of a reference variable, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tests.models import BLIND, COIN, PAIR, coins
from tests.strategies import finite_models
from tests.theory.bounds.accounting.oracles import enumerated, of_two
from theory import FiniteModel, Network, account
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.inversion_tilts import choose_tilt
from theory.bounds.accounting.reference import choose_reference

THREE = Network([[0.2, 0.4, 0.4], [0.3, 0.7, 0.0], [0.3, 0.0, 0.7]])
# Rounding of an oracle that adds up thousands of probabilities.
ROUNDING = 1e-11


def star(a: float) -> Network:
    return Network.from_topology("star", agents=9, edge_confidence=a)


def centre_informed(priors: list[list[float] | None] | None = None) -> FiniteModel:
    return FiniteModel.from_agents(["fair", "loaded"], [COIN, BLIND], counts=[1, 8], priors=priors)


@pytest.mark.parametrize(("a", "events"), [(1 / 9, 1), (0.5, 2), (0.05, 2)])
def test_agents_that_hear_the_same_are_one_event(a: float, events: int) -> None:
    """The edges hold the same evidence for sure; at a = 1/9 the centre does too."""
    found = EventSet(star(a), centre_informed()).classes(0)
    assert len(found) == events
    assert all(member.count == 1 for member in found)
    assert sum(len(member.agents) for member in found) == 9


def test_one_event_is_not_counted_nine_times() -> None:
    """At a = 1/9 the network errs when nine-tosses-for-one coin does: a binomial tail."""
    rounds = np.array([20, 60, 200])
    found = account(star(1 / 9), centre_informed()).probability(rounds)
    exact = binom.cdf(np.floor(rounds * np.log(1.5) / np.log(3)), rounds, 0.5)
    assert (found.lower <= exact).all()
    assert (exact <= found.upper).all()
    assert (found.upper <= 1.04 * exact).all()


def test_priors_that_differ_leave_the_event_of_the_least() -> None:
    """Blind edges that doubt more than the centre, and by different amounts: enumerated."""
    kinds = [COIN, BLIND, BLIND]
    model = FiniteModel.from_agents(
        ["fair", "loaded"], kinds, priors=[[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
    )
    events = EventSet(THREE, model)
    assert len(events.classes(0)) == 2
    for n in (1, 2, 3, 6):
        exact = enumerated(THREE, model, n)
        found = account(THREE, model).probability(n)
        assert found.lower[0] - ROUNDING <= exact <= found.upper[0] + ROUNDING


def test_weights_that_differ_a_little_are_accounted_for() -> None:
    """The spread of a group covers the difference of its members' sums."""
    weights = np.array([[0.2, 0.4, 0.4], [0.3, 0.7, 0.0], [0.3 + 2e-13, 0.0, 0.7 - 2e-13]])
    events = EventSet(
        Network(weights), FiniteModel.from_agents(["fair", "loaded"], [COIN, BLIND], counts=[1, 2])
    )
    view = events.view(0)
    assert view.groups == ((0,), (1, 2))
    reach = float(np.abs(COIN.log_likelihoods[0] - COIN.log_likelihoods[1]).max())
    gap = np.abs(view.rows[:, 1, 0] - view.rows[:, 2, 0])
    assert gap.max() > 1e-13
    assert (view.spread((1, 2), np.array([reach]))[:-1] >= gap * reach).all()


@given(finite_models(2), st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([-6.0, -0.5, 0.0, 1.0]))
@settings(max_examples=12)
def test_the_reference_covers_the_union(model: FiniteModel, factor: float, step: float) -> None:
    """Whatever the level and the slants are."""
    events = EventSet(PAIR, model)
    for wrong, theta in enumerate(events.base.wrong):
        choice = choose_reference(events, wrong, 2, threshold=0.0)
        if choice is None:
            continue
        moved = replace(
            choice,
            level=choice.level + step,
            parts=tuple(
                replace(part, slant=float(np.float32(factor * part.slant)))
                for part in choice.parts
                if factor * part.slant * choice.reference.range < 300
            ),
        )
        if len(moved.parts) < len(choice.parts):
            continue
        two = of_two(model, events.base.best, theta)
        for n in (1, 2):
            upper = np.exp(moved.curve(sharpness=0.02, last=2, evaluate=1).upper(n, n)[0])
            assert upper >= enumerated(PAIR, two, n) - ROUNDING


def test_the_reference_is_sharper_than_the_union() -> None:
    """Nine readers that nearly agree: three times the error of one rather than nine."""
    events = EventSet(star(0.5), coins(9))
    choice = choose_reference(events, 0, 20, threshold=0.0)
    upper = choice.curve(sharpness=0.02, last=20, evaluate=20).upper(20, 20)[0]
    told = account(star(0.5), coins(9)).probability(20)
    assert told.log_upper[0] <= upper + 1e-9
    assert told.log_lower[0] <= upper <= told.log_lower[0] + np.log(4)


def test_the_reference_falls() -> None:
    events = EventSet(star(0.3), coins(9))
    choice = choose_reference(events, 0, 30, threshold=0.0)
    curve = choice.curve(sharpness=0.05, last=300, evaluate=1)
    first = events.powers.count + 1
    falling = np.array([curve.falling(n) for n in range(first, 300)])
    assert (np.diff(falling) <= 1e-12).all()
    assert (falling >= curve.upper(first, 299) - 1e-12).all()


@pytest.mark.parametrize("a", [0.1, 0.2, 0.5, 0.9])
def test_both_ends_are_near_each_other(a: float) -> None:
    found = account(star(a), centre_informed()).sample_size(0.05)
    assert found.lower <= found.upper <= 1.5 * found.lower


def test_both_parts_of_the_reference_bound() -> None:
    """One coin, L = Λ, level 0: P(Λ ≤ 0) + E[e^{sΛ}; Λ ≤ 0], summed over heads."""
    events = EventSet(Network([[1.0]]), coins(1))
    choice = choose_reference(events, 0, 12, threshold=0.0)
    laws, _, _ = choice.reference.slanted(0.5)
    tilt = choose_tilt(events.terms_by_part(0, 0, laws), 12)
    part = replace(choice.parts[0], slant=0.5, tilt=tilt, estimate=0.0)
    whole = choose_tilt(choice.reference.terms, 12)
    moved = replace(choice, level=0.0, tilt=whole, parts=(part,))
    upper = np.exp(moved.curve(sharpness=0.02, last=12, evaluate=1).upper(12, 12)[0])
    heads = np.arange(13)
    total = heads * np.log(2) + (12 - heads) * np.log(2 / 3)
    chance = binom.pmf(heads, 12, 0.5) * (total <= 0)
    exact = float(chance @ (1 + np.exp(0.5 * total)))
    assert exact <= upper <= 1.12 * exact
