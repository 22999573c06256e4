"""Who ties with whom does not depend on a third hypothesis, however far off it is.

Oracles: rational arithmetic on the doubles given (`theory.rational`), closed forms for normals, and
the same model without the far hypothesis.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from tests.models import ALONE, FAIR, PAIR, coin
from theory import (
    FiniteModel,
    GaussianAgent,
    account,
    error_exponent,
    expected_log_ratio,
    learning_rate,
    sample_sizes,
)
from theory.design import InfluenceSet, optimal_rate, reachable_targets
from theory.design.placement.place import place
from theory.learnability import disputes, rejection
from theory.rational import RationalFiniteAgent, RationalModel
from theory.rational.agents import rational_agent

V = np.array([6 / 7, 1 / 7])
# Random cases of each kind; a search over 3000 and more found none that fails.
CASES = 40


def normals(*means: float, truth: float = 0.0, agents: int = 1) -> FiniteModel:
    agent = GaussianAgent([1.0], [truth], 1.0, [[m] for m in means], 1.0)
    return FiniteModel.from_agents(
        [f"{k}: {m:g}" for k, m in enumerate(means)], [agent], counts=[agents]
    )


@dataclass(frozen=True)
class Case:
    """Two or three hypotheses that are near each other, and the same with a far one behind."""

    near: FiniteModel
    both: FiniteModel
    exact: RationalModel


def random_case(rng: np.random.Generator) -> Case:
    size, inputs, kinds = rng.integers(2, 4), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    near, both, exact = [], [], []
    is_normal, is_true = rng.random() < 0.5, rng.random() < 0.5
    for _ in range(kinds):
        step = 10.0 ** rng.uniform(-6, 0)
        if is_normal:
            means = step * rng.normal(size=(size, inputs)).round(2)
            if rng.random() < 0.3:  # equal, or opposite: an exact tie where the truth is zero
                means[1] = rng.choice([1.0, -1.0]) * means[0]
            truth = means[0] if is_true else rng.choice([0.0, 1.0]) * step * np.ones(inputs)
            far = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(2, 9, size=(1, inputs))
            law = np.full(inputs, 1 / inputs)
            std, own = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-1, 1)
            near.append(GaussianAgent(law, truth, own, means, std))
            both.append(GaussianAgent(law, truth, own, np.concatenate([means, far]), std))
            exact.append(rational_agent(near[-1]))
        else:
            labels = int(rng.integers(2, 5))
            centre = rng.dirichlet(np.ones(labels)) * 0.9 + 0.1 / labels
            rows = centre + step * rng.uniform(-0.02, 0.02, size=(size, labels))
            # Multiples of 2⁻⁴⁰ that sum to one exactly, so that rationals read them as they are.
            rows = np.rint(rows * 2.0**40) / 2.0**40
            rows[:, -1] = 1.0 - rows[:, :-1].sum(axis=1)
            if rng.random() < 0.3:
                rows[1] = rows[0] if rng.random() < 0.5 else rows[0][::-1]
            far = np.full((1, labels), 10.0 ** rng.uniform(-300, -5))
            far[0, rng.integers(labels)] = 1.0 - far[0, 0] * (labels - 1)
            truth = rows[0] if is_true else np.full(labels, 1 / labels)
            near.append(coin(*rows.tolist(), truth=truth.tolist()))
            exact.append(
                RationalFiniteAgent.from_tables(
                    inputs=[1],
                    truth=[truth.tolist() if is_true else [Fraction(1, labels)] * labels],
                    likelihood=[[row] for row in rows.tolist()],
                )
            )
            both.append(coin(*rows.tolist(), *far.tolist(), truth=truth.tolist()))
    names = [f"h{m}" for m in range(size)]
    assignment = np.arange(2) % kinds
    prior = (Fraction(1, int(size)),) * size
    return Case(
        FiniteModel(tuple(names), tuple(near), assignment, np.zeros((kinds, size))),
        FiniteModel((*names, "far"), tuple(both), assignment, np.zeros((kinds, size + 1))),
        RationalModel(tuple(names), tuple(exact), tuple(assignment.tolist()), (prior,) * kinds),
    )


def check_case(case: Case) -> None:
    near, both = case.near, case.both
    assert both.locally_optimal == near.locally_optimal
    assert both.optimal_hypotheses == near.optimal_hypotheses
    assert both.compromise(V) == near.compromise(V)
    assert both.ambiguous_pairs == near.ambiguous_pairs
    one, two = learning_rate(PAIR, near), learning_rate(PAIR, both)
    assert (two.reference, two.is_compromise) == (one.reference, one.is_compromise)
    assert two.undecided == one.undecided
    if one.binding is not None:
        assert (two.rate, two.binding) == (pytest.approx(one.rate, rel=1e-13), one.binding)
    check_against_rationals(near, case.exact, one.reference[0])


def check_against_rationals(model: FiniteModel, exact: RationalModel, best: int) -> None:
    """Decided signs are the true ones, exact ties are ties, and values are right to rounding."""
    found = model.comparison(best)
    for k, row in enumerate(exact.kind_divergences):
        for m, value in enumerate(row):
            gap = value - row[best]
            if not found.undecided[k, m]:
                assert found.signs[k, m] == gap.sign()
            error = abs(found.values[k, m] - gap.enclosure().midpoint)
            assert error <= found.doubt[k, m] + 1e-14 * abs(found.values[k, m]) + 4e-16


def test_a_far_hypothesis_changes_nothing_between_others() -> None:
    rng = np.random.default_rng(1)
    for _ in range(CASES):
        check_case(random_case(rng))


@pytest.mark.parametrize("far", [1e2, 5e4, 1e7, 1e9, -1e9])
@pytest.mark.parametrize("gap", [1.0, 0.01, 1e-4])
def test_normals(gap: float, far: float) -> None:
    """K = gap²/2 and E = gap²/8: the closed forms, with the far hypothesis there."""
    model = normals(0.0, gap, far)
    assert model.optimal_hypotheses == (0,)
    rate = learning_rate(ALONE, model)
    assert rate.rate == pytest.approx(gap**2 / 2, rel=1e-14)
    assert (rate.binding, rate.reference, rate.undecided) == (1, (0,), ())
    assert error_exponent(ALONE, model).exponent == pytest.approx(gap**2 / 8, rel=1e-9)
    assert rejection(model, 0).wrong == (1, 2)
    assert disputes(model, [1.0], 1).support.tolist() == [pytest.approx(gap**2 / 2), 0, 0]


@pytest.mark.parametrize("gap", [1.0, 0.1])
def test_sample_sizes(gap: float) -> None:
    """Means 0, 1, 1e7: as many rounds as for 0 and 1 alone, by every rung of the ladder."""
    alone = sample_sizes(ALONE, normals(0.0, gap), delta=0.05)
    found = sample_sizes(ALONE, normals(0.0, gap, 1e7), delta=0.05)
    assert found.chernoff == alone.chernoff
    assert found.chernoff.rounds > 1
    ends = (found.certified.lower, found.certified.upper)
    assert ends == (alone.certified.lower, alone.certified.upper)
    assert ends[0] > 1


def test_equal_likelihoods_tie_exactly() -> None:
    """Whatever is far off, and whatever the truth: no doubt is left, and proofs stay."""
    model = normals(0.0, 0.0, 0.5, 1e9)
    assert model.optimal_hypotheses == (0, 1)
    assert learning_rate(ALONE, model).undecided == ()
    assert sample_sizes(ALONE, model, delta=0.05).certified.upper is not None


def test_mirror_images_tie_exactly() -> None:
    odd = [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [1e-200, 1e-200, 1.0]]
    model = FiniteModel.from_agents(list("abcd"), [coin(*odd, truth=[1 / 3] * 3)])
    assert model.optimal_hypotheses == (0, 1, 2)
    assert not model.comparison(0).undecided.any()
    mirrored = normals(-0.1, 0.1, 3.0, 1e8)
    assert mirrored.optimal_hypotheses == (0, 1)
    assert not mirrored.comparison(0).undecided.any()


def test_the_truth_itself_wins_by_any_margin() -> None:
    """Divergences of 1e-18 and of 1e-30: far below the rounding of a sum of logarithms."""
    close = coin(FAIR, [0.5 + 1e-9, 0.5 - 1e-9])
    rate = learning_rate(ALONE, FiniteModel.from_agents(["fair", "nearly"], [close]))
    assert (rate.reference, rate.undecided) == ((0,), ())
    assert rate.rate == pytest.approx(2e-18, rel=1e-6)
    assert learning_rate(ALONE, normals(0.0, 1e-15, 1e9)).rate == pytest.approx(5e-31)


UNDECIDED = FiniteModel.from_agents(
    # 2/5 and 3/5 are not doubles: whether the second is as good as the first, they do not say.
    ["low", "high", "bad"],
    [coin([0.4, 0.6], [0.6 + 1e-15, 0.4 - 1e-15], [0.1, 0.9])],
    counts=[2],
)


def test_nothing_is_proved_on_a_tie_that_doubles_do_not_decide() -> None:
    rate = learning_rate(PAIR, UNDECIDED)
    assert (rate.reference, rate.undecided) == ((0, 1), (1,))
    ladder = sample_sizes(PAIR, UNDECIDED, delta=0.05)
    assert ladder.repaired.rounds is ladder.chernoff.rounds is None
    assert ladder.certified.lower is ladder.certified.upper is None
    assert "do not tell whether 'high' fit" in ladder.certified.note
    found = account(PAIR, UNDECIDED)
    assert found.sample_size(0.05).upper is found.smallest_margin(5, 0.05).upper is None
    probability = found.probability(5)
    assert (probability.lower[0], probability.upper[0]) == (0.0, 1.0)


def test_a_compromise_beside_a_far_hypothesis() -> None:
    """Two agents pull apart by different lengths; the one that is heard more has its way."""
    near = [[0.0], [0.001], [1e8]]
    agents = [GaussianAgent([1.0], [t], 1.0, near, 1.0) for t in (0.0, 0.001)]
    model = FiniteModel.from_agents(["zero", "step", "far"], agents)
    assert model.optimal_hypotheses == ()
    rate = learning_rate(PAIR, model)
    assert rate.is_compromise
    assert rate.reference == (0,)
    assert rate.rate == pytest.approx((6 / 7 - 1 / 7) * 0.001**2 / 2, rel=1e-9)


def test_best_rates_beside_a_far_hypothesis() -> None:
    """The better v of two, its K in closed form, and which hypotheses some v makes win."""
    means = [[0.0], [0.02], [0.01], [1e8]]
    agents = [GaussianAgent([1.0], [t], 1.0, means, 1.0) for t in (0.0, 0.02)]
    model = FiniteModel.from_agents(["left", "right", "middle", "far"], agents)
    found = reachable_targets(model, InfluenceSet(2, 0))
    assert sorted(found.reachable) == [0, 1, 2]
    best = optimal_rate(model, target=2, influences=InfluenceSet(2, 0))
    np.testing.assert_allclose(best.stationary_distribution, 0.5, atol=1e-6)
    assert best.rate == pytest.approx(0.01**2 / 2, rel=1e-5)
    with pytest.raises(ValueError, match="fits at least as well everywhere"):
        optimal_rate(model, target=3)


def test_best_places_beside_a_far_hypothesis() -> None:
    """Who sees more of a small difference goes where it is heard, whatever is far off."""
    sees = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.01], [1e8]], 1.0)
    sees_little = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.001], [1e9]], 1.0)
    model = FiniteModel.from_agents(["zero", "step", "far"], [sees_little, sees])
    found = place(PAIR, model)
    assert found.assignment.tolist() == [1, 0]
    assert found.value == pytest.approx(6 / 7 * 5e-5 + 1 / 7 * 5e-7, rel=1e-12)


def test_exact_means_beside_a_far_hypothesis() -> None:
    """Before the limit, too: the column of the small difference is as it is without the far one."""

    def model(*more: float) -> FiniteModel:
        kinds = [
            GaussianAgent([1.0], [0.0], 1.0, [[0.0], [g], *([m] for m in more)], 1.0)
            for g in (1e-4, 2e-4)
        ]
        return FiniteModel.from_agents([str(m) for m in range(2 + len(more))], kinds)

    rounds = [1, 5, 20, 300]
    alone = expected_log_ratio(PAIR, model(), rounds, best=0).values[..., 1]
    found = expected_log_ratio(PAIR, model(1e9), rounds, best=0).values[..., 1]
    np.testing.assert_allclose(found, alone, rtol=1e-12)
