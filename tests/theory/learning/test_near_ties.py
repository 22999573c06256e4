"""Hypotheses that claim nearly the same: K, E and what follows keep their digits."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from tests.models import FAIR, coin
from theory import (
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    Network,
    error_exponent,
    error_prefactor,
    learning_rate,
    log_ratio_spread,
    refined_error_probability,
    sample_sizes,
)
from theory.certified import certify_learning
from theory.design.edges.quick_chernoff import learning_effects
from theory.design.placement.placement_problem import PlacementProblem
from theory.design.placement.placement_tilts import Exponents
from theory.learnability.cover import silent_exponents
from theory.numbers import exact_distribution
from theory.rational import RationalFiniteAgent, RationalModel
from theory.rational.network import RationalNetwork

PAIR = Network([[0.75, 0.25], [0.5, 0.5]])
SEEDS = st.integers(0, 2**32 - 1)


def near_coins(d: float, count: int = 2) -> FiniteModel:
    return FiniteModel.from_agents(["a", "b"], [coin(FAIR, [0.5 + d, 0.5 - d])], counts=[count])


def drawn(rng: np.random.Generator) -> tuple[Network, FiniteModel]:
    """Agents with tables or normal labels, some of whom tell hypotheses apart better by far."""
    d, hypotheses = 10.0 ** rng.uniform(-13, -1), int(rng.integers(2, 4))
    kinds = []
    for strength in [d, rng.choice([d, 0.3])][: int(rng.integers(1, 3))]:
        inputs = rng.dirichlet(np.ones(rng.integers(1, 4)))
        if rng.random() < 0.3:
            truth = rng.integers(-9, 9, inputs.size) * 2.0**-20 + 2.0**30
            steps = rng.integers(-9, 9, (hypotheses, inputs.size)) * 2.0**-20
            steps[0] *= rng.integers(0, 2)
            std = 2.0**-18
            kinds.append(GaussianAgent(inputs, truth, std, truth + steps, std * rng.uniform(1, 2)))
            continue
        base = rng.dirichlet(np.ones(rng.integers(2, 5)), size=inputs.size) + 1e-3
        base /= base.sum(axis=1, keepdims=True)
        moved = base * (1 + strength * rng.uniform(-1, 1, (hypotheses, *base.shape)))
        blind = int(rng.integers(0, inputs.size))
        moved[1:, :blind] = base[:blind]
        moved /= moved.sum(axis=2, keepdims=True)
        if rng.random() < 0.7:
            moved[0] = base
        kinds.append(FiniteAgent.from_tables(inputs=inputs, truth=base, likelihood=moved))
    agents = len(kinds) + int(rng.integers(0, 3))
    W = rng.random((agents, agents)) * 10.0 ** rng.uniform(-6, 0, (agents, agents))
    names = [f"h{m}" for m in range(hypotheses)]
    counts = [1] * (len(kinds) - 1) + [agents - len(kinds) + 1]
    return Network(W / W.sum(axis=1, keepdims=True)), FiniteModel.from_agents(
        names, kinds, counts=counts
    )


def atoms(agent: FiniteAgent | GaussianAgent, best: int, other: int) -> list[tuple[mp.mpf, ...]]:
    """Probability, mean and variance of each atom of z, of the doubles as they were given."""

    def row(values: np.ndarray) -> list[mp.mpf]:
        return [mp.mpf(p.numerator) / p.denominator for p in exact_distribution(values.tolist())]

    if isinstance(agent, GaussianAgent):
        found = []
        for x, p in enumerate(row(agent.inputs)):
            t, a, b = (
                mp.mpf(float(m[x]))
                for m in (agent.truth_means, agent.means[best], agent.means[other])
            )
            std = mp.mpf(agent.std)
            mean = (a - b) * (t - (a + b) / 2) / std**2
            found.append((p, mean, ((a - b) * mp.mpf(agent.truth_std) / std**2) ** 2))
        return found
    tables = agent.tables
    zero = mp.mpf(0)
    return [
        (p * f, mp.log(one / two), zero)
        for x, p in enumerate(row(tables.inputs))
        for f, one, two in zip(
            row(tables.truth[x]),
            row(tables.likelihood[best, x]),
            row(tables.likelihood[other, x]),
            strict=True,
        )
    ]


def oracle(laws: list[list[tuple[mp.mpf, ...]]], v: np.ndarray) -> tuple[mp.mpf, mp.mpf]:
    """K and E of one pair of hypotheses in 60 digits, by Newton's method in a bracket."""
    weights = [mp.mpf(float(w)) for w in v]

    def sums(t: mp.mpf) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
        value = slope = curvature = mp.mpf(0)
        for w, law in zip(weights, laws, strict=True):
            u = -t * w
            tilted = [(p * mp.exp(u * m + u * u * s / 2), m + u * s, s) for p, m, s in law]
            total = sum(q for q, _, _ in tilted)
            mean = sum(q * m for q, m, _ in tilted) / total
            value -= mp.log(total)
            slope += w * mean
            curvature += w * w * sum(q * ((m - mean) ** 2 + s) for q, m, s in tilted) / total
        return value, slope, curvature

    _, rate, spread = sums(mp.mpf(0))
    if rate <= 0:
        return rate, mp.mpf(0)
    t, low, high = rate / spread, mp.mpf(0), mp.inf
    for _ in range(300):
        _, slope, curvature = sums(t)
        low, high = (t, high) if slope > 0 else (low, t)
        new = t + slope / curvature
        if not low < new < high:
            new = 2 * t if high == mp.inf else (low + high) / 2
        if abs(new - t) <= mp.mpf(10) ** -20 * t:
            break
        t = new
    return rate, sums(t)[0]


@given(SEEDS)
@settings(max_examples=15)
def test_every_home_of_the_exponent_keeps_its_digits(seed: int) -> None:
    network, model = drawn(np.random.default_rng(seed))
    v, rate = network.stationary_distribution, learning_rate(network, model)
    if len(rate.reference) > 1 or rate.is_compromise or rate.undecided:
        return
    best, wrong = rate.reference[0], [m for m in range(len(model.hypotheses)) if rate.rates[m] > 0]
    with mp.workdps(60):
        laws = {m: [atoms(model.kinds[k], best, m) for k in model.assignment] for m in wrong}
        known = {m: oracle(laws[m], v) for m in wrong}
        alone = min(oracle(laws[m][1:], v[1:])[1] for m in wrong) if v.size > 1 else None
    K, E = (np.array([float(known[m][k]) for m in wrong]) for k in (0, 1))
    near = {"rel": 1e-10, "abs": 0.0}
    assert rate.rates[wrong] == pytest.approx(K, **near)
    assert error_exponent(network, model).exponents[wrong] == pytest.approx(E, **near)
    assert learning_effects(model, v[None]).exponent[0] == pytest.approx(E.min(), **near)
    problem = PlacementProblem(model, v)
    assert Exponents(problem).values(problem.original[None])[0] == pytest.approx(E.min(), **near)
    if alone is not None:
        silent = silent_exponents(model, v, target=best, wrong=np.array(wrong)).values[0]
        assert silent == pytest.approx(float(alone), **near)


@pytest.mark.parametrize("d", [2.0**-10, 1e-7, 2.0**-30])
def test_against_certified_digits(d: float) -> None:
    model = near_coins(d)
    exact = RationalModel.from_agents(
        ["a", "b"],
        [
            RationalFiniteAgent.from_tables(
                truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.5 + d, 0.5 - d]]]
            )
        ],
        counts=[2],
    )
    learning = certify_learning(RationalNetwork(PAIR.weights.tolist()), exact)
    found = learning.exponent
    assert error_exponent(PAIR, model).exponent == pytest.approx(found.lower, rel=1e-13, abs=0)
    for batch in (2, 7):  # B independent observations are B times the evidence
        scaled = error_exponent(PAIR, model.batched(batch)).exponent
        assert scaled == pytest.approx(batch * found.lower, rel=1e-12, abs=0)


@pytest.mark.parametrize("d", [1e-3, 1e-5, 2e-7])
def test_no_chernoff_bound_falls_faster_than_the_exponent(d: float) -> None:
    # For one agent exp(n κ(−t)) is at least exp(−nE) for every t: E = d²/2 + O(d⁴).
    ladder = sample_sizes(Network([[1.0]]), near_coins(d, 1), delta=0.01, certify=False)
    least = np.log(100) / -np.log1p(-4 * (d * d / 8 + d**4))
    assert least * (1 - 3e-9) <= ladder.chernoff.rounds <= 1.02 * least + 1


def test_refined_probabilities_of_many_faint_observations() -> None:
    d, network = 2.0**-27, Network([[1.0]])
    for deviations in (2.0, 5.0):  # a normal law of mean 2nd² and standard deviation 2d√n
        n = int((deviations / d) ** 2)
        found = refined_error_probability(network, near_coins(d, 1), [n]).log_pairwise[0, 0, 1]
        assert found == pytest.approx(log_ndtr(-deviations), rel=1e-7)


def numbers(means: np.ndarray, truth: np.ndarray, std: float) -> dict[str, np.ndarray]:
    agents = [GaussianAgent([0.5, 0.5], truth, std, means, std * s) for s in (1.0, 1.5)]
    model = FiniteModel.from_agents(["a", "b", "c"], agents)
    rate, ladder = learning_rate(PAIR, model), sample_sizes(PAIR, model, delta=0.05)
    found = {
        "K": rate.rates,
        "D": model.divergences,
        "E": error_exponent(PAIR, model).exponents,
        "refined": refined_error_probability(PAIR, model, [1, 9]).log_pairwise,
        "prefactor": error_prefactor(PAIR, model).log_transient,
        "spread": log_ratio_spread(PAIR, model, [1, 9], best=rate.reference[0]).agents,
    }
    rounds = (ladder.chernoff.rounds, ladder.certified.lower, ladder.certified.upper)
    return found | {"rounds": np.array(rounds, dtype=np.float64)}


@given(SEEDS, st.integers(-(2**40), 2**40), st.integers(-60, 60))
@settings(max_examples=2)
def test_neither_an_offset_nor_a_unit_of_labels_matters(seed: int, shift: int, unit: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(-20, 20, 2) / 16.0
    means = truth + np.array([[0, 0], [1, 0], [0, 1]]) * rng.integers(8, 32, (3, 2)) / 16.0
    plain = numbers(means, truth, 1.0)
    size = 2.0**unit
    for other in (
        numbers(means + shift, truth + shift, 1.0),
        numbers(means * size, truth * size, size),
    ):
        for name, value in plain.items():
            assert other[name] == pytest.approx(value, nan_ok=True, rel=1e-12, abs=1e-13), name


def test_means_some_last_places_apart_on_an_offset() -> None:
    last = float(np.spacing(1.7e9))
    exact, shifted = (
        FiniteModel.from_agents(
            ["a", "b"],
            [GaussianAgent([1.0], [t], 3 * last, [[t], [t + 3 * last]], 3 * last)],
            counts=[2],
        )
        for t in (0.0, 1.7e9)
    )
    assert error_exponent(PAIR, shifted).exponent == error_exponent(PAIR, exact).exponent
    one, two = (sample_sizes(PAIR, model, delta=0.01) for model in (exact, shifted))
    assert (one.chernoff, one.certified) == (two.chernoff, two.certified)
