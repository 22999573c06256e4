"""Label partitions: files, and forecasts against the problems and against a single learner."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from peerbayes.problem.builtins.families import BUILTINS
from peerbayes.problem.builtins.label_partitions import (
    LABELS,
    LOOKS,
    PARTITIONS,
    LabelPartition,
    alike_pairs,
    label_forecast,
    label_weights,
)
from peerbayes.problem.builtins.loading import load_problem, load_variants
from peerbayes.problem.problems import Problem
from theory import learning_rate
from theory.learnability import disputes, learnability
from theory.rational import rational_rate

NAMES = tuple(PARTITIONS)
PROBLEMS: dict[str, Problem] = {
    str(problem.parameters["partition"]): problem  # type: ignore[union-attr]
    for problem in load_variants("label-partitions")
}


def holders_of_agents(partition: LabelPartition) -> list[tuple[int, ...]]:
    return [held for count, held in partition.holders for _ in range(count)]


def test_the_family() -> None:
    family = BUILTINS["label-partitions"]
    assert tuple(PROBLEMS) == NAMES
    assert family.variants == tuple(f"label-partitions {name}" for name in NAMES)
    assert load_problem("label-partitions").name == "label-partitions star-mnist-2"
    assert load_problem("label-partitions star-fmnist-1").parameters == {
        "partition": "star-fmnist-1"
    }
    assert not family.needs_data
    assert all(problem.is_exact for problem in PROBLEMS.values())


@pytest.mark.parametrize("dataset", sorted(LOOKS))
def test_looks_are_distributions_and_most_images_look_like_themselves(dataset: str) -> None:
    table = np.array(LOOKS[dataset])
    assert (table >= 0).all()
    assert (table.sum(axis=1) == 1000).all()
    assert table.trace() > 5000
    order = alike_pairs(dataset)
    assert sorted(order) == list(combinations(range(10), 2))


def test_partitions_are_those_of_the_papers() -> None:
    from empirical import LABEL_SPLITS

    for name, split in LABEL_SPLITS.items():
        assert PARTITIONS[name].holders == ((1, split.centre), (8, split.edges))
    for name in NAMES[5:]:
        (_, first), (_, second) = PARTITIONS[name].holders
        assert sorted(first + second) == list(range(10))


@pytest.mark.parametrize("name", NAMES)
def test_influence_and_label_weights(name: str) -> None:
    partition, problem = PARTITIONS[name], PROBLEMS[name]
    v = problem.network.stationary_distribution
    held = holders_of_agents(partition)
    weights = [
        sum(v[j] / len(labels) for j, labels in enumerate(held) if y in labels) for y in range(10)
    ]
    np.testing.assert_allclose([float(c) for c in label_weights(partition)], weights, rtol=1e-13)
    assert sum(label_weights(partition)) == 1


def learner_loss(partition: LabelPartition, reader: NDArray[np.float64]) -> float:
    """Mean of −log ℓ(y | x) for one learner with label weights c; reader has shape (x, y)."""
    c = np.array([float(w) for w in label_weights(partition)])
    joint = c[:, None] * np.array(LOOKS[partition.dataset]) / 1000
    with np.errstate(divide="ignore"):
        return -float(sum(p * np.log(reader[x, y]) for (y, x), p in np.ndenumerate(joint) if p))


def readers(problem: Problem) -> NDArray[np.float64]:
    assert problem.specification is not None
    agent = problem.specification.document()["model"]["agents"][0]
    return np.array(
        [[[float(Fraction(p)) for p in row] for row in table] for table in agent["likelihood"]]
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_network_is_one_learner_with_other_label_frequencies(name: str) -> None:
    problem, partition = PROBLEMS[name], PARTITIONS[name]
    totals = problem.model.weighted_divergences(problem.network.stationary_distribution)
    losses = [learner_loss(partition, reader) for reader in readers(problem)]
    # The divergences leave out the agents' entropies, which no hypothesis changes.
    np.testing.assert_allclose(totals - totals[0], np.array(losses) - losses[0], atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_reads_better_than_the_calibrated_reader(name: str) -> None:
    partition = PARTITIONS[name]
    calibrated = readers(PROBLEMS[name])[0]
    best = learner_loss(partition, calibrated)
    generator = np.random.default_rng(1)
    for scale in (0.001, 0.1, 1.0):
        other = calibrated * generator.lognormal(0.0, scale, calibrated.shape)
        assert learner_loss(partition, other / other.sum(axis=1, keepdims=True)) > best


@pytest.mark.parametrize("name", ["star-mnist-2", "fmnist-2-balanced-a"])
def test_the_calibrated_reader_is_the_reference(name: str) -> None:
    problem = PROBLEMS[name]
    found = rational_rate(problem.rational_network, problem.rational_model)
    assert [problem.model.hypotheses[m] for m in found.reference] == ["calibrated"]
    assert found.ambiguous_pairs == ()


@pytest.mark.parametrize("name", NAMES)
def test_forecasts_are_the_problem_s_own_rates_and_disputes(name: str) -> None:
    problem, forecast = PROBLEMS[name], label_forecast(name)
    names, words = problem.model.hypotheses, LABELS[PARTITIONS[name].dataset]
    rates = learning_rate(problem.network, problem.model).rates
    found = disputes(problem.model, problem.network.stationary_distribution, 0)
    pairs = [
        (a, b) for a, b in combinations(range(10), 2) if f"{words[a]} and {words[b]} alike" in names
    ]
    assert sorted(pairs) == sorted(alike_pairs(PARTITIONS[name].dataset)[:6])
    for a, b in pairs:
        alike = names.index(f"{words[a]} and {words[b]} alike")
        assert rates[alike] == pytest.approx(forecast.separations[a, b], rel=1e-11)
        support = sum(
            found.support[names.index(f"{words[p]} before {words[q]}")] for p, q in ((a, b), (b, a))
        )
        assert support == pytest.approx(forecast.disputes[a, b], rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_only_pairs_held_apart_are_disputed(name: str) -> None:
    forecast, partition = label_forecast(name), PARTITIONS[name]
    for pair, support in forecast.disputes.items():
        together = any(set(pair) <= set(held) for _, held in partition.holders)
        # Two labels of one agent are in the proportion that the network gives them.
        assert (support == 0) == together


@pytest.mark.parametrize("name", NAMES)
def test_confidences_by_monte_carlo(name: str) -> None:
    """Images drawn label by label, read by the calibrated reader."""
    forecast, partition = label_forecast(name), PARTITIONS[name]
    reader = readers(PROBLEMS[name])[0]
    generator = np.random.default_rng(7)
    for y in range(10):
        looks = generator.choice(10, size=4000, p=np.array(LOOKS[partition.dataset][y]) / 1000)
        drawn = reader[looks, y]
        assert drawn.mean() == pytest.approx(
            forecast.confidences[y], abs=5 * drawn.std() / np.sqrt(4000) + 1e-12
        )


def place(name: str, pair: tuple[int, int]) -> int:
    return list(label_forecast(name).disputes).index(pair)


def test_what_comes_out_for_the_papers_experiments() -> None:
    """Of 45 pairs of labels, all treated alike; nothing here is put in."""
    two, three = label_forecast("star-mnist-2"), label_forecast("star-mnist-3")
    # 4 suffers most where 4 and 9 are held apart; both recover where they are held together.
    assert two.loses_most == 4
    assert list(two.disputes)[:2] == [(3, 8), (4, 9)]
    assert two.disputes[4, 9] > 0.9 * two.disputes[3, 8]
    assert three.disputes[4, 9] == 0
    assert three.confidences[4] > three.even_confidences[4] > two.confidences[4] + 0.2
    assert three.confidences[9] > three.even_confidences[9]
    # Pullover against coat and shirt, level; coat suffers most.
    split, joined = label_forecast("star-fmnist-2"), label_forecast("star-fmnist-1")
    assert set(list(split.disputes)[:2]) == {(2, 4), (2, 6)}
    assert split.disputes[2, 4] > 0.99 * split.disputes[2, 6]
    assert split.disputes[2, 4] > 2.5 * max(x for p, x in split.disputes.items() if 2 not in p)
    assert split.loses_most == 4
    assert joined.disputes[2, 4] == joined.disputes[2, 6] == 0
    # P1: the shirt, against everything worn on the upper body.
    first, second = label_forecast("fmnist-2-balanced-a"), label_forecast("fmnist-2-balanced-b")
    assert list(first.disputes)[:4] == [(2, 6), (4, 6), (0, 6), (3, 6)]
    assert all(second.disputes[pair] == 0 for pair in list(first.disputes)[:4])
    assert first.loses_most is second.loses_most is None


def test_what_does_not_come_out() -> None:
    """Nothing is ambiguous, and holding 4 and 9 apart does not make them slower to tell apart."""
    for name in NAMES:
        found = learnability(PROBLEMS[name].model, PROBLEMS[name].network, exponents=False)
        assert found.separation.unseparable_pairs == ()
        assert found.departures is not None
        assert found.departures.rate > 0
    rates = {name: label_forecast(name).separations[4, 9] for name in NAMES[:3]}
    assert rates["star-mnist-1"] < rates["star-mnist-2"] < rates["star-mnist-3"]
    assert label_forecast("star-mnist-2").least_separated == (3, 5)


def test_where_one_reader_of_the_alike_is_best_for_all() -> None:
    """Assumption 2 of P2, within these hypotheses: it holds where the alike are together."""
    best = {name: bool(PROBLEMS[name].model.optimal_hypotheses) for name in NAMES}
    assert [name for name in NAMES if best[name]] == ["fmnist-2-balanced-b"]
