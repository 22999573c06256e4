"""K: three methods against all permutations in rationals, and bounds that hold and are tight."""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from peerbayes.problem.builtins.loading import load_variants
from tests.strategies import finite_models, networks
from tests.theory.design.placement.oracles import (
    checked_bound,
    coin_models,
    coins,
    exact_rates,
    influences,
    random_coins,
    rate_of,
    vectors,
)
from theory import FiniteAgent, FiniteModel, Network, learning_rate
from theory.design import Placement, place
from theory.design.placement.bounds import rate_bound, solve
from theory.design.placement.placement_problem import PlacementProblem
from theory.design.search import time_budget

# Sums of at most six products, each right to a few roundings.
CLOSE = 1e-13


@st.composite
def problems(draw: st.DrawFn) -> tuple[FiniteModel, list[float]]:
    agents = draw(st.integers(2, 5))
    return draw(coin_models(agents)), draw(vectors(agents))


def reached(placement: Placement, model: FiniteModel, v: list[float]) -> Fraction:
    """K of the assignment that was returned, and of the model that was."""
    assert sorted(placement.assignment) == list(range(len(v)))
    assert (placement.model.assignment == model.assignment[placement.assignment]).all()
    order = tuple(int(d) for d in placement.assignment)
    return exact_rates(model, v, placement.target)[order]


@given(problems(), st.data())
@settings(max_examples=30, deadline=None)
def test_all_methods_find_the_best_of_all_permutations(
    problem: tuple[FiniteModel, list[float]], data: st.DataObject
) -> None:
    """Of all that leave fixed agents their data, where some are fixed."""
    model, v = problem
    agents = st.lists(st.integers(0, len(v) - 1), max_size=len(v) - 1, unique=True)
    fixed = data.draw(st.one_of(st.just([]), agents))
    every = exact_rates(model, v, 0)
    rates = {o: k for o, k in every.items() if all(o[i] == i for i in fixed)}
    best, worst = max(rates.values()), min(rates.values())
    if best == 0:
        with pytest.raises(ValueError, match="target: expected a hypothesis that the network"):
            place(v, model, fixed=fixed)
        return
    for method in ("exhaustive", "milp"):
        found = place(v, model, fixed=fixed, method=method)
        assert all(found.assignment[i] == i for i in fixed)
        assert found.value == pytest.approx(float(best), rel=1e-6 if method == "milp" else CLOSE)
        assert found.value == pytest.approx(float(reached(found, model, v)), rel=CLOSE)
        assert found.certificate.bound >= float(best) * (1 - CLOSE)
        assert found.worst == pytest.approx(float(worst), rel=CLOSE, abs=1e-18)
        order = tuple(range(len(v)))
        assert found.original == pytest.approx(float(rates[order]), rel=CLOSE, abs=1e-18)
    local = place(v, model, fixed=fixed, method="local")
    assert local.value == pytest.approx(float(reached(local, model, v)), rel=CLOSE)
    assert local.value <= float(best) * (1 + CLOSE)
    assert local.certificate.bound >= float(best) * (1 - CLOSE)


@given(problems())
@settings(max_examples=40, deadline=None)
def test_placements_and_classes_are_counted(problem: tuple[FiniteModel, list[float]]) -> None:
    model, v = problem
    rates = exact_rates(model, v, 0)
    if max(rates.values()) == 0:
        return
    tables = [row.tobytes() for row in model.kind_divergences]
    held = [tables[k] for k in model.assignment]
    laws = {order: tuple(held[d] for d in order) for order in rates}
    classes = {order: tuple(sorted(zip(v, law, strict=True))) for order, law in laws.items()}
    found = place(v, model, method="exhaustive")
    assert found.placements == len(set(laws.values()))
    assert found.classes == len(set(classes.values()))
    mine = classes[tuple(int(d) for d in found.assignment)]
    assert found.equivalent == len({laws[o] for o in rates if classes[o] == mine})
    if found.method == "exhaustive":
        # Two classes differ by an atom of 1e-12 at least, or are equal: but one in a sum of 1.
        near = [o for o in rates if rates[o] >= max(rates.values()) * (1 - Fraction(1e-11))]
        assert found.ties == len({classes[o] for o in near})


@given(networks(max_agents=5), st.data())
@settings(max_examples=20, deadline=None)
def test_a_network_is_judged_by_its_stationary_distribution(
    network: Network, data: st.DataObject
) -> None:
    model = data.draw(coin_models(network.agents))
    v = network.stationary_distribution
    best = max(exact_rates(model, v.tolist(), 0).values())
    found = place(network, model)
    assert found.value == pytest.approx(float(best), rel=1e-11)
    # The placed model, analysed as any model is, has this rate.
    assert learning_rate(network, found.model).rate == pytest.approx(found.value, rel=1e-9)


@given(st.integers(3, 5).flatmap(lambda n: st.tuples(finite_models(n), vectors(n))), st.data())
@settings(max_examples=15, deadline=None)
def test_where_no_hypothesis_is_best_for_all(
    problem: tuple[FiniteModel, list[float]], data: st.DataObject
) -> None:
    model, v = problem
    if model.optimal_hypotheses:
        return
    target = data.draw(st.integers(0, len(model.hypotheses) - 1))
    best = max(exact_rates(model, v, target).values())
    for method in ("exhaustive", "milp", "local"):
        if best <= Fraction(1e-9):
            if best < 0:
                with pytest.raises(ValueError, match="none found rejects"):
                    place(v, model, target=target, method=method)
            continue
        found = place(v, model, target=target, method=method)
        slack = {"exhaustive": 1e-12, "milp": 1e-6, "local": np.inf}[method]
        assert float(best) * (1 - slack) <= found.value <= float(best) * (1 + 1e-12)
        assert found.certificate.bound >= float(best) * (1 - 1e-12)
        if min(v) > 0:
            assert found.model.compromise(v) == (target,)
    with pytest.raises(ValueError, match="target: expected the hypothesis to settle on"):
        place(v, model)


@pytest.mark.parametrize(("agents", "kinds", "wrong"), [(16, 4, 6), (30, 10, 12), (40, 40, 10)])
def test_no_placement_beats_the_bound_and_the_proof_can_be_redone(
    agents: int, kinds: int, wrong: int
) -> None:
    model = random_coins(agents, kinds, wrong, seed=agents, blind=0.8)
    v = influences(agents, 1)
    found = place(v, model, method="milp", seconds=2.0)
    redone = checked_bound(model, v, 0, found.proof)
    assert redone == pytest.approx(found.proof.value, rel=1e-9)
    assert found.certificate.bound <= redone * (1 + 1e-9)
    assert found.value == pytest.approx(rate_of(model, v, found.assignment, 0), rel=1e-12)
    # The gap is what a divided data set is worth: less than one in a hundred.
    assert redone <= found.value * 1.01
    rng = np.random.default_rng(3)
    assert found.worst_assignment is not None
    assert rate_of(model, v, found.worst_assignment, 0) == pytest.approx(found.worst, rel=1e-12)
    for _ in range(300):
        rate = rate_of(model, v, rng.permutation(agents), 0)
        assert found.worst * (1 - 1e-12) <= rate <= found.value * (1 + 1e-6)


def test_one_wrong_hypothesis_is_placed_by_sorting() -> None:
    """The rearrangement inequality is tight: no solver, and no gap."""
    loads = np.linspace(0.01, 0.4, 60)[:, None]
    model = coins(np.random.default_rng(0).permutation(loads).tolist())
    v = influences(60, 2)
    information = model.information(0)[:, 1]
    found = place(v, model)
    assert found.value == pytest.approx(float(np.sort(v) @ np.sort(information)), rel=1e-13)
    assert found.worst == pytest.approx(float(np.sort(v) @ np.sort(information)[::-1]), rel=1e-13)
    assert found.certificate.gap <= 1e-13 * found.value
    assert found.evaluated < 5


@pytest.mark.parametrize("fixed", [(), (0, 3)])
@pytest.mark.parametrize("seed", range(2))
def test_the_solver_and_its_bound_meet_at_the_best(seed: int, fixed: tuple[int, ...]) -> None:
    """The integer program by itself, without the search that usually saves it the trouble."""
    model = random_coins(6, 6, 4, seed=seed, blind=0.5)
    v = influences(6, seed)
    rates = exact_rates(model, v.tolist(), 0)
    best = float(max(k for o, k in rates.items() if all(o[i] == i for i in fixed)))
    problem = PlacementProblem(model, v, None, fixed)
    solved = solve(problem, rate_bound(problem), tolerance=1e-9, seconds=60.0)
    assert solved.is_optimal
    assert problem.rates(solved.filling[None]).min() == pytest.approx(best, rel=1e-7)
    # Raised by the solver's tolerances, 2e-8 of a bound that is at most a few times larger.
    assert best * (1 - 1e-12) <= solved.bound <= best * (1 + 1e-6)


def test_clipping_tightens_the_bound() -> None:
    """Each hypothesis is seen by one data set: divided sets promise what whole ones cannot keep."""
    model = coins((0.25 * np.eye(4)).tolist())
    v = np.array([0.55, 0.25, 0.15, 0.05])
    bound = rate_bound(PlacementProblem(model, v))
    single = float(model.kind_divergences[0, 1])
    # A quarter of each everywhere would do 1/4; some set has to go where 1/20 is heard. Each step
    # clips the three others at the bound U before it: U becomes (3U + 1/20)/4, or less.
    assert bound.values[0] == pytest.approx(single / 4, rel=1e-9)
    expected = [0.25, 0.175, 0.1375]
    assert bound.values[:3] == pytest.approx(single * np.array(expected), rel=1e-9)
    assert single / 20 <= bound.value < single / 16
    assert checked_bound(model, v, 0, bound) == pytest.approx(bound.value, rel=1e-9)
    assert place(v, model, method="milp").value == pytest.approx(single / 20, rel=1e-12)


@pytest.mark.parametrize("kinds", [24, 6])
def test_the_bound_is_what_divided_data_sets_would_do(kinds: int) -> None:
    """Against the linear program over shares of agents and kinds, written out."""
    model = random_coins(24, kinds, 8, seed=5, blind=0.5)
    v, information = influences(24, 4), model.kind_divergences[:, 1:]
    gains = np.einsum("i,kh->hik", v, information).reshape(8, -1)
    each = np.kron(np.eye(24), np.ones(kinds)), np.kron(np.ones(24), np.eye(kinds))
    found = linprog(
        np.append(np.zeros(24 * kinds), -1.0),
        A_ub=np.column_stack([-gains, np.ones(8)]),
        b_ub=np.zeros(8),
        A_eq=np.column_stack([np.vstack(each), np.zeros(24 + kinds)]),
        b_eq=np.append(np.ones(24), np.bincount(model.assignment)),
        bounds=[(0, None)] * (24 * kinds) + [(None, None)],
    )
    bound = rate_bound(PlacementProblem(model, v))
    assert bound.values[0] == pytest.approx(-found.fun, rel=1e-9)
    assert checked_bound(model, v, 0, bound) == pytest.approx(bound.value, rel=1e-9)


def test_counts_stand_for_agents() -> None:
    """A thousand agents in two groups of equal influence, and two kinds of data."""
    v = np.concatenate([np.full(10, 0.05), np.full(990, 0.5 / 990)])
    model = coins([[0.3, 0.1], [0.1, 0.3]], [500, 500])
    found = place(v, model)
    assert found.method == "exhaustive"
    assert found.classes == 11
    assert found.placements == factorial(1000) // prod([factorial(500)] * 2)
    # Five of each in the middle, and the rest is even too.
    assert found.value == pytest.approx(float(model.kind_divergences[:, 1].mean()), rel=1e-12)
    assert found.equivalent == (factorial(10) // factorial(5) ** 2) * (
        factorial(990) // factorial(495) ** 2
    )


def test_only_influences_equal_to_rounding_are_joined() -> None:
    v = np.array([0.3, 0.3 * (1 + 1e-14), 0.3 * (1 + 1e-9), 0.1])
    model = coins([[0.1], [0.15], [0.2], [0.25]])
    found = place(v, model)
    assert found.classes == 12
    assert found.value == pytest.approx(float(np.sort(v) @ np.sort(model.information(0)[:, 1])))
    assert found.assignment[2] == 3


def test_what_is_as_good_is_left_where_it_is() -> None:
    model = coins([[0.3], [0.1], [0.1]])
    already = place([0.6, 0.2, 0.2], model)
    assert already.moved == ()
    assert already.value == already.original
    # The best data set goes to the middle; of the two others, the one there makes way.
    moved = place([0.2, 0.2, 0.6], model)
    assert moved.assignment.tolist() == [2, 1, 0]
    assert moved.moved == (0, 2)
    assert moved.binding == (1,)


def test_the_same_seed_gives_the_same_answer() -> None:
    model = random_coins(20, 20, 8, seed=1, blind=0.7)
    first, again = (place(influences(20, 1), model, method="local", seed=4) for _ in range(2))
    assert first.assignment.tolist() == again.assignment.tolist()
    assert first.evaluated == again.evaluated


def test_a_local_search_ends_where_rounding_pretends_to_a_gain() -> None:
    """K is about 3e-5 or less, differences of much larger numbers: exchanges seemed to gain."""
    claims = FiniteModel.from_agents(
        ["true", "a", "b"],
        [FiniteAgent([1.0], [[0.0], [-a], [-b]]) for a, b in ((2.0, 0.0), (0.0, 2.0))],
    )
    v = [1.6439607331424233e-05, 0.29998356039266855]
    found = place(v, claims, method="local")
    assert np.isclose(found.value, 2 * v[0], rtol=1e-12)


@pytest.mark.parametrize("objective", ["rate", "exponent", "samples"])
def test_the_time_given_ends_a_trial_of_all(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("theory.design.placement.local._CLASSES", 2)
    model, network = (
        random_coins(4, 4, 2, seed=1, blind=0.0),
        Network.from_topology("path", agents=4),
    )
    options = {"objective": objective, "method": "exhaustive"}
    whole = place(network, model, **options)  # type: ignore[arg-type]
    with time_budget(0.5, clock=count().__next__):
        found = place(network, model, **options)  # type: ignore[arg-type]
    assert found.evaluated < whole.evaluated
    assert "in the time given" in found.note
    assert found.certificate.kind == "local"
    assert not found.certificate.is_proved
    assert found.worst is None


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
