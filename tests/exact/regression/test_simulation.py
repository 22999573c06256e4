"""The fast form against the readable one on the same draws, and against exact expectations."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from exact import Run, prepare_regression
from exact.parallel import run_units
from exact.regression import GaussianBeliefs, simulate_regression
from exact.regression import learners as learners_module
from exact.regression.cost import RegressionWork
from exact.regression.state import Observer, distance, samples_of, settling_rounds
from tests.runs import arguments
from tests.strategies import networks
from theory import Network
from theory.regression import RegressionAgent, RegressionModel, conditional_error
from theory.validation import FloatArray

PAIR = Network([[0.9, 0.1], [0.6, 0.4]])
MODES = ("cooperate", "alone", "central", "central-node")


def papers_model(**options: Any) -> RegressionModel:
    """P1's two nodes: each sees the bias and one of two coordinates."""
    seen = [[[1, 1], [-1, 1], [0, 0]], [[1, 1], [0, 0], [-1.5, 1.5]]]
    return RegressionModel.from_agents(
        [-0.3, 0.5, 0.8],
        [RegressionAgent(ranges=np.array(rows), noise_std=0.8, **options) for rows in seen],
        prior_covariance=0.5 * np.eye(3),
        test_second_moment=np.diag([1, 1 / 3, 3 / 4]),
    )


def data_model(agents: int = 3) -> RegressionModel:
    """Rows of a data set with labels of their own, rows without, and normal inputs."""
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(20, 2)) * [1.0, 3.0]
    kinds = [
        RegressionAgent(inputs=rows, targets=rng.normal(size=20), noise_std=1.1, batch=2),
        RegressionAgent(inputs=rows * [1.0, 0.0], noise_std=0.5, claimed_noise_std=0.7),
        RegressionAgent(second_moment=[[2.0, 0.5], [0.5, 1.0]], noise_std=1.0, tempering=3.0),
    ]
    return RegressionModel(
        [0.5, -1.0], kinds, np.eye(2), np.eye(2), assignment=np.arange(agents) % 3
    )


def replayed(work: RegressionWork, test_rows: Any = None) -> dict[str, FloatArray]:
    """The same draws through readable beliefs, one replicate after another."""
    last, (R, N) = int(work.rounds[-1]), (work.replicates, work.prior.agents)
    together = work.plan.together
    quantities: dict[str, list[Any]] = {
        name: [] for name in ("excess", "reported", "gap", "spread")
    }
    quantities["test"] = []
    for begin in range(0, R, together):
        size = min(together, R - begin)
        room = min(together, -(-size // 8) * 8)
        observer = Observer(
            work.model,
            work.samples,
            replicates=room,
            shared=work.shared,
            seed=work.seed,
            chunk=begin // together,
        )
        inputs, noise = observer.draw(last)
        for r in range(size):
            beliefs = work.prior
            found: dict[str, list[Any]] = {name: [] for name in quantities}
            for t in range(last):
                rows: list[list[FloatArray]] = [[] for _ in range(N)]
                labels: list[list[float]] = [[] for _ in range(N)]
                for s, owner in enumerate(work.samples.owner):
                    part = slice(work.samples.start[s], work.samples.start[s + 1])
                    x = np.zeros(work.model.dimension)
                    x[work.samples.coordinates[part]] = inputs[t, part, 0 if work.shared else r]
                    y = noise[t, s, r] * work.samples.noise_std[s]
                    y += work.samples.follows[s] * (x @ work.model.theta)
                    scale = np.sqrt(work.samples.weight[s])
                    rows[owner].append(scale * x)
                    labels[owner].append(scale * y)
                beliefs = beliefs.update(rows, labels, noise_std=1.0)
                if work.weights is not None:
                    beliefs = beliefs.consensus(work.weights)
                if t + 1 in work.rounds:
                    gap = beliefs.mean
                    test = work.yardstick.test
                    found["excess"].append(np.einsum("na,ab,nb->n", gap, test, gap))
                    found["reported"].append(np.trace(test @ beliefs.covariance, axis1=1, axis2=2))
                    found["gap"].append(gap @ work.yardstick.directions.T)
                    found["spread"].append(beliefs.variance(work.yardstick.directions))
                    if test_rows is not None:
                        errors = test_rows[1] - beliefs.mean @ test_rows[0].T
                        found["test"].append((errors**2).mean(axis=1))
            for name, values in found.items():
                quantities[name].append(values)
    return {name: np.array(values) for name, values in quantities.items()}


def left_out(gap: FloatArray, spread: FloatArray) -> FloatArray:
    """The jackknife of var/mean, linear in each replicate, from the replicates themselves."""
    R = len(gap)
    square = (gap - gap.mean(axis=0)) ** 2
    ratio = gap.var(axis=0, ddof=1) / spread.mean(axis=0)
    moved = R / (R - 2) * (square - square.mean(axis=0)) - ratio * (spread - spread.mean(axis=0))
    return np.asarray((moved**2).sum(axis=0) ** 0.5 / (R * (R - 1)) ** 0.5 / spread.mean(axis=0))


def check_replay(network: Network, model: RegressionModel, **options: Any) -> None:
    run = simulate_regression(network, model, **arguments(options))
    rows = None
    if "test_inputs" in options:
        inputs, targets = (np.array(options[f"test_{name}"]) for name in ("inputs", "targets"))
        # Beliefs are about θ − θ*, and so are labels.
        rows = inputs, targets - inputs @ model.theta
    slow = replayed(prepare_regression(network, model, **arguments(options)).work, rows)
    R = options["replicates"]
    # Conditioning of a few hundred, and as many roundings as there are rounds.
    close: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11}
    np.testing.assert_allclose(run.excess_error, slow["excess"].mean(axis=0), **close)
    np.testing.assert_allclose(run.reported_error, slow["reported"].mean(axis=0), **close)
    np.testing.assert_allclose(run.bias, slow["gap"].mean(axis=0), **close)
    np.testing.assert_allclose(run.reported_variance, slow["spread"].mean(axis=0), **close)
    averages = slow["excess"].mean(axis=2)
    np.testing.assert_allclose(run.network_error, averages.mean(axis=0), **close)
    inside = np.abs(slow["gap"]) <= 1.959963984540054 * np.sqrt(slow["spread"])
    np.testing.assert_array_equal(run.covered, inside.sum(axis=0))
    if R > 1:
        np.testing.assert_allclose(run.variance, slow["gap"].var(axis=0, ddof=1), **close)
        error = slow["excess"].std(axis=0, ddof=1) / R**0.5
        np.testing.assert_allclose(run.excess_standard_error, error, **close)
        error = averages.std(axis=0, ddof=1) / R**0.5
        np.testing.assert_allclose(run.network_standard_error, error, **close)
    else:
        assert np.isnan(run.excess_standard_error).all()
    if R > 2:
        error = left_out(slow["gap"], slow["spread"])
        # The variance of a variance loses twice the digits.
        np.testing.assert_allclose(run.calibration_standard_error, error, rtol=1e-7, atol=1e-9)
    else:
        assert np.isnan(run.calibration_standard_error).all()
    if rows is not None:
        np.testing.assert_allclose(run.test_error, slow["test"].mean(axis=0), **close)
    else:
        assert run.test_error is None


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_both_forms_agree_in_every_mode(mode: str, shared: bool) -> None:
    check_replay(
        PAIR,
        papers_model(batch=2),
        rounds=20,
        replicates=11,
        seed=3,
        record=[1, 2, 20],
        mode=mode,
        shared_inputs=shared,
        directions=[[1.0, 0.0, 1.0], [0.0, 1.0, -1.0]],
    )


def test_both_forms_agree_on_data_and_normal_inputs() -> None:
    rng = np.random.default_rng(9)
    check_replay(
        Network.from_topology("star", agents=5),
        data_model(5),
        rounds=60,
        replicates=9,
        seed=1,
        record=[3, 60],
        test_inputs=rng.normal(size=(30, 2)),
        test_targets=rng.normal(size=30),
    )


def test_errors_on_test_rows_whose_labels_lie_far_from_zero() -> None:
    """A prior that knows the labels' level: |y − xᵀμ|² is of the size of the noise, not of y²."""
    level, rows = 1.7e9, np.array([[1.0, -1.0], [1.0, 0.0], [1.0, 2.0]])
    errors = []
    for offset in (0.0, level):
        agent = RegressionAgent(ranges=[[1, 1], [-1, 1]], noise_std=1.0)
        model = RegressionModel([offset, 0.5], [agent], np.eye(2), np.eye(2), [offset, 0.0])
        labels = rows @ [offset, 0.5] + [1.5, -2.0, 1.25]
        options = {"rounds": 20, "replicates": 8, "seed": 1, "record": [20]}
        more = {"test_inputs": rows, "test_targets": labels}
        run = simulate_regression(Network([[1.0]]), model, **arguments(options | more))
        errors.append(run.test_error)
    np.testing.assert_allclose(errors[1], errors[0], rtol=1e-5)  # ulps of 1.7e9 are 2e-7


@settings(max_examples=25)
@given(networks(max_agents=6), st.integers(1, 400))
def test_rounds_between_records_may_be_pooled(network: Network, last: int) -> None:
    """Whatever the mixing time, and with records nearer and farther apart than it is."""
    model = data_model(network.agents)
    options: dict[str, Any] = {"rounds": last, "replicates": 3, "seed": 2}
    record = sorted({1, -(-last // 3), -(-last // 2), max(1, last - 2), last})
    pooled = simulate_regression(network, model, **arguments(options | {"record": record}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learners_module, "settling_rounds", lambda network, most: most)
        whole = simulate_regression(network, model, **arguments(options | {"record": record}))
    np.testing.assert_allclose(pooled.excess_error, whole.excess_error, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pooled.reported_error, whole.reported_error, rtol=1e-10)


@given(networks(max_agents=7))
def test_the_settling_time_is_the_first_round_at_which_rows_agree(network: Network) -> None:
    found = settling_rounds(network, most=5000)
    weights = network.weights.toarray() if network.is_sparse else network.weights
    v = network.stationary_distribution
    if found < 5000:
        assert distance(np.linalg.matrix_power(weights, found), v) < 2e-14
    if found > 1:
        # Valid and tight: a tenth less is not enough (powers by squaring round differently).
        earlier = np.linalg.matrix_power(weights, min(found - 1, int(0.9 * found)))
        assert distance(earlier, v) > 1e-14


def test_measurements_given_the_inputs_are_the_exact_expectations() -> None:
    """Bias, covariance and both errors of theory, for the inputs that were drawn."""
    network = Network([[0.5, 0.5, 0.0], [0.1, 0.6, 0.3], [0.2, 0.0, 0.8]])
    seen = [[[1, 1], [-1, 1], [0, 0]], [[1, 1], [0, 0], [-1.5, 1.5]], [[0, 0], [-1, 1], [0, 1]]]
    model = RegressionModel.from_agents(
        [-0.3, 0.5, 0.8],
        [RegressionAgent(ranges=np.array(rows), noise_std=0.8) for rows in seen],
        prior_covariance=0.5 * np.eye(3),
        test_second_moment=np.diag([1, 1 / 3, 3 / 4]),
    )
    record = [1, 5, 40]
    options: dict[str, Any] = {"rounds": 40, "replicates": 4000, "seed": 5, "record": record}
    run = simulate_regression(network, model, **arguments(options | {"shared_inputs": True}))
    work = prepare_regression(network, model, **arguments(options | {"shared_inputs": True})).work
    drawn, _ = Observer(model, work.samples, replicates=8, shared=True, seed=5, chunk=0).draw(40)
    inputs = np.zeros((40, 3, 1, 3))
    for s, owner in enumerate(work.samples.owner):
        rows = np.arange(work.samples.start[s], work.samples.start[s + 1])
        inputs[:, owner, 0, work.samples.coordinates[rows]] = drawn[:, rows, 0]
    exact = conditional_error(network, model, inputs, record)
    np.testing.assert_allclose(run.reported_error, exact.reported_error, rtol=1e-10)
    # The seed is fixed; at five standard errors a wrong law fails, chance does not.
    gap = np.abs(run.excess_error - exact.excess_error)
    assert (gap <= 5 * run.excess_standard_error).all()
    assert (run.excess_standard_error < 0.03 * exact.excess_error).all()
    assert (np.abs(run.bias - exact.bias) <= 5 * run.bias_standard_error + 1e-12).all()
    ratio_gap = np.abs(run.calibration - exact.coordinate_ratios)
    assert (ratio_gap <= 5 * run.calibration_standard_error + 1e-12).all()
    assert (exact.coordinate_ratios[-1] < 0.7).all()


def test_the_network_is_under_confident_as_predicted() -> None:
    """Calibration A⁻¹B: (37/49, 6/7, 1/7) for P1's two nodes, and coverage to match."""
    run = simulate_regression(
        PAIR, papers_model(), run=Run(rounds=4000, replicates=2000, seed=6, record=[4000])
    )
    expected = np.array([37 / 49, 6 / 7, 1 / 7])
    gap = np.abs(run.calibration[0] - expected)
    # Of order 1/n besides: the prior, and how inputs scatter.
    assert (gap <= 4 * run.calibration_standard_error[0] + 10 / 4000).all()
    constant = run.excess_error[0] * 4000 / 0.64
    gap = np.abs(constant - (37 / 49 + 1 + 1))
    assert (gap <= 4 * run.excess_standard_error[0] * 4000 / 0.64 + 0.01).all()
    # 1.96 of a deviation seven times too large.
    assert run.coverage(0, 0, 2).lower > 0.998
    alone = simulate_regression(
        PAIR,
        papers_model(),
        run=Run(rounds=400, replicates=2000, seed=6, record=[400]),
        mode="central",
    )
    honest = alone.coverage(0, 0, 1, confidence=0.999)
    assert honest.lower < 0.95 < honest.upper


@pytest.mark.parametrize(("case", "rounds"), [("rare", 5), ("papers", 3)])
def test_calibrations_scatter_as_they_say(case: str, rounds: int) -> None:
    """Of 150 runs apart from one another: also where few rows show a coordinate."""
    model, network = papers_model(), PAIR
    if case == "rare":
        rows = np.array([[1.0, 3.0]] + [[1.0, 0.0]] * 49)
        agent = RegressionAgent(inputs=rows, noise_std=1.0)
        model = RegressionModel.from_agents(
            [0.0, 0.0], [agent], prior_covariance=np.eye(2), test_second_moment=np.eye(2)
        )
        network = Network([[1.0]])
    options: dict[str, Any] = {"rounds": rounds, "replicates": 500, "record": [rounds]}
    runs = [
        simulate_regression(network, model, **arguments(options | {"seed": seed}))
        for seed in range(150)
    ]
    found = np.array([run.calibration[0] for run in runs])
    error = np.array([run.calibration_standard_error[0] for run in runs])
    quotient = found.std(axis=0, ddof=1) / np.sqrt((error**2).mean(axis=0))
    seen = found.std(axis=0) > 1e-12
    # The deviation of 150 has an error of 6 % itself, and of 20 rare runs in a thousand some more.
    assert (np.abs(quotient - 1) < 0.25)[seen].all()
    assert (error < 1e-12)[:, ~seen].all()


@pytest.mark.parametrize("shared", [False, True])
def test_draws_follow_their_laws_however_they_are_cut(shared: bool) -> None:
    model = data_model(6) if not shared else papers_model(batch=3)
    samples = samples_of(model)
    options: dict[str, Any] = {"replicates": 8, "shared": shared, "seed": 1, "chunk": 2}
    inputs, noise = Observer(model, samples, **options).draw(3000)
    again = Observer(model, samples, **options)
    parts = [again.draw(step) for step in (1, 2, 997, 2000)]
    np.testing.assert_array_equal(inputs, np.concatenate([part for part, _ in parts]))
    np.testing.assert_array_equal(noise, np.concatenate([part for _, part in parts]))
    for s, drawer in enumerate(samples.drawer):
        rows = slice(samples.start[s], samples.start[s + 1])
        seen = samples.coordinates[rows]
        x = inputs[:, rows].transpose(0, 2, 1).reshape(-1, len(seen))
        products = x[:, :, None] * x[:, None, :]
        wanted = model.agent(drawer).second_moment[np.ix_(seen, seen)]
        error = products.std(axis=0) / len(x) ** 0.5
        assert (np.abs(products.mean(axis=0) - wanted) <= 5 * error + 1e-12).all()
        kind = model.agent(drawer)
        if kind.targets is not None:
            # Labels come with their rows.
            at = [int(np.argmin(np.abs(kind.inputs - row).sum(axis=1))) for row in x[:100]]
            np.testing.assert_array_equal(kind.targets[at], noise[:, s].ravel()[:100])
        else:
            assert abs(noise[:, s].std() - 1) < 0.05


def test_dense_weights_that_are_mostly_zero_are_run_as_sparse_ones() -> None:
    ring = Network.from_topology("ring", agents=40)
    assert not ring.is_sparse
    model = data_model(40)
    options: dict[str, Any] = {"rounds": 60, "replicates": 3, "record": [2, 60]}
    work = prepare_regression(ring, model, **arguments(options | {"seed": 1})).work
    assert isinstance(work.weights, sparse.csr_array)
    assert work.weights.nnz == 120
    dense = replace(work, weights=np.asarray(ring.weights))
    found, expected = run_units(work), run_units(dense)
    # Sums of three products a round in another order, of numbers of one sign or nearly so.
    np.testing.assert_allclose(found["each_mean"], expected["each_mean"], rtol=1e-9, atol=1e-12)
    few, many = work.load.seconds(3), dense.load.seconds(3)
    assert few["products with W"] < many["products with W"]


def test_cost_is_predicted_and_memory_kept_to_it() -> None:
    agents, d = 60, 20
    model = RegressionModel.from_agents(
        np.zeros(d),
        [RegressionAgent(second_moment=np.eye(d), noise_std=1.0)],
        counts=[agents],
        prior_covariance=np.eye(d),
        test_second_moment=np.eye(d),
    )
    network = Network.from_topology("complete", agents=agents)
    options: dict[str, Any] = {"rounds": 4, "replicates": 64, "seed": 0, "record": [2, 4]}
    cost = prepare_regression(network, model, **arguments(options)).cost()
    simulate_regression(network, model, **arguments(options))  # compiles
    tracemalloc.start()
    simulate_regression(network, model, **arguments(options))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # An upper estimate of the peak, and not a wild one.
    assert peak < cost.bytes < 8 * peak
    assert cost.bytes == sum(cost.memory.values())
    # Two copies of all agents' 230 numbers, for eight replicates at least.
    assert cost.memory["the state"] >= 2 * 8 * agents * 230 * 8
    assert cost.seconds == pytest.approx(sum(cost.time.values()))
    with pytest.raises(ValueError, match=r"memory: .* within") as caught:
        simulate_regression(network, model, **arguments(options | {"memory": "1MiB"}))
    assert "\n" not in str(caught.value)


def test_a_thousand_agents_in_fifty_dimensions_fit() -> None:
    model = RegressionModel.from_agents(
        np.zeros(50),
        [RegressionAgent(ranges=[[-1, 1]] * 50, noise_std=1.0)],
        counts=[1000],
        prior_covariance=np.eye(50),
        test_second_moment=np.eye(50),
    )
    network = Network.from_topology("ring", agents=1000, sparse=True)
    cost = prepare_regression(
        network, model, run=Run(rounds=100, replicates=100, record=[100], seed=0)
    ).cost()
    # All replicates at once would take 1 GiB and more for the state alone.
    assert cost.bytes < 2**29
    everything = prepare_regression(
        network, model, run=Run(rounds=100, replicates=10**4, record=[100], seed=0)
    ).cost()
    assert everything.bytes == cost.bytes
    assert everything.seconds == pytest.approx(100 * cost.seconds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "together"}, "mode"),
        ({"directions": [[1.0]]}, "directions"),
        ({"directions": [[1.0, 0, 0], [0, 0, 0]]}, "zero in row 1"),
        ({"test_inputs": [[1.0, 0, 0]]}, "test_targets"),
        ({"test_inputs": [[1.0, 0, 0]], "test_targets": [1.0, 2.0]}, "test_targets"),
        ({"test_inputs": [[np.nan, 0, 0]], "test_targets": [1.0]}, "test_inputs"),
        ({"rounds": 10**9, "replicates": 10**9}, "observations"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"rounds": 5, "replicates": 2, "seed": 0}
    with pytest.raises(ValueError, match=message) as caught:
        simulate_regression(PAIR, papers_model(), **arguments(good | options))
    assert "\n" not in str(caught.value)


def test_what_does_not_fit_together_is_refused() -> None:
    good: dict[str, Any] = {"rounds": 5, "replicates": 2, "seed": 0}
    with pytest.raises(ValueError, match=r"model: .*network's 2"):
        simulate_regression(PAIR, data_model(3), **arguments(good))
    star = Network.from_topology("star", agents=3)
    with pytest.raises(ValueError, match="shared_inputs"):
        simulate_regression(star, data_model(3), **arguments(good), shared_inputs=True)
    with pytest.raises(ValueError, match="central node"):
        simulate_regression(star, data_model(3), **arguments(good), mode="central-node")


def test_the_central_learner_starts_from_the_average_prior() -> None:
    agent = RegressionAgent(ranges=[[0, 0], [1, 1]], noise_std=1e6)
    model = RegressionModel(
        np.zeros(2), [agent, agent], [np.eye(2), np.eye(2) / 3], np.eye(2), [[0, 0], [4, 0]]
    )
    run = simulate_regression(PAIR, model, run=Run(rounds=1, replicates=2, seed=0), mode="central")
    # Precisions 1 and 3, information 0 and 12: mean 6/2, variance 1/2.
    np.testing.assert_allclose(run.bias[0, 0, 0], 3.0, rtol=1e-12)
    np.testing.assert_allclose(run.reported_variance[0, 0, 0], 0.5, rtol=1e-12)
    # And it does not temper.
    options: dict[str, Any] = {"rounds": 3, "replicates": 2, "seed": 0, "mode": "central"}
    plain, tempered = papers_model(), papers_model().tempered(5.0)
    runs = [simulate_regression(PAIR, model, **arguments(options)) for model in (plain, tempered)]
    np.testing.assert_array_equal(runs[0].reported_error, runs[1].reported_error)
    assert isinstance(
        prepare_regression(PAIR, model, run=Run(rounds=1, replicates=1, seed=0)).work.prior,
        GaussianBeliefs,
    )
