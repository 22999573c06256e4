"""What observations counted in runs that have happened."""

from __future__ import annotations

import numpy as np
import pytest

from exact import draw_log_likelihoods
from exact.changing import Event, Log, Peer, Post, exchange, realised, replay
from tests.exact.changing.runs import log_ratios, logs_of, run_on_own_clocks
from tests.exact.changing.test_exchange import RULES, TRIO, evidence
from tests.models import coins
from theory import FiniteModel, Network
from theory.validation import FloatArray

SKEW = np.array([[0.2, 0.5, 0.3], [0.4, 0.0, 0.6], [0.9, 0.1, 0.0]])
STAR = np.array(Network.from_topology("star", agents=4, edge_confidence=0.5).weights)


@pytest.mark.parametrize("rule", RULES)
def test_lock_step(rule: str) -> None:
    """Against the recursion of what is said, written down for the messages of exchange."""
    observed = draw_log_likelihoods(coins(3), rounds=12, seed=4)
    post = Post(drop=0.3, delay=0.4, longest_delay=3)
    run = exchange(TRIO, observed, seed=1, post=post, on_loss=rule)
    numbers = np.arange(1, 13)
    logs = [
        Log(
            numbers,
            run.weights[:, i],
            np.where(run.ages[:, i] >= 0, numbers[:, None] - run.ages[:, i], -1),
        )
        for i in range(3)
    ]
    counted = realised(logs)
    expected = evidence(run)
    for j in range(3):
        np.testing.assert_allclose(counted.weights[j], expected[:, :, j], atol=1e-14)
    np.testing.assert_allclose(counted.steps, expected.sum(axis=(1, 2)), rtol=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_beliefs_are_what_counted(rule: str) -> None:
    """On clocks of their own, with losses and delays: to rounding, at the end and over a window."""
    rng = np.random.default_rng(2)
    priors = rng.normal(size=(4, 3))
    run = run_on_own_clocks(
        STAR,
        lambda i: rng.normal(size=3),
        lambda i: rng.exponential(1 + i),
        priors=priors,
        until=50,
        delay=lambda: rng.exponential(0.7),
        lost=lambda: rng.random() < 0.3,
        on_loss=rule,
    )
    logs = logs_of(run)
    halves = [log.rounds.size // 2 for log in logs]
    seen = [log_ratios(np.array([row.observed for row in run.of(j)])) for j in range(4)]
    path = [log_ratios(np.array([row.pooled.log_belief for row in run.of(i)])) for i in range(4)]
    ends = np.array([path[i][-1] for i in range(4)])
    middle = np.array([path[i][halves[i] - 1] for i in range(4)])
    begun = log_ratios(priors)
    for counted, expected in (
        (realised(logs), ends),
        (realised(logs, until=halves), middle),
        (realised(logs, since=halves), ends - middle),
        (realised(logs, since=[0, 0, 0, 0]), ends - begun),
    ):
        made = counted.priors @ begun
        made = made + sum(w @ z for w, z in zip(counted.weights, seen, strict=True))
        np.testing.assert_allclose(made, expected, rtol=1e-11, atol=1e-11)
    whole = realised(logs)
    assert all((w >= 0).all() and (w <= 1 + 1e-12).all() for w in whole.weights)


def test_what_was_lost_in_a_crash() -> None:
    """Agent 0 goes back to its round 1: its second observation lives on with agent 1 alone."""
    half = [0.5, 0.5]
    one = Log([1, 2, 5], [half] * 3, [[1, 1], [2, 1], [5, 1]], bases=[-1, 0, 0])
    two = Log([1, 2], [half] * 2, [[0, 1], [2, 2]])
    counted = realised([one, two])
    #  Agent 0: 1/2 (first + its own base of round 1 …): by hand.
    np.testing.assert_allclose(counted.weights[0][0], [0.25, 0, 0.5])
    np.testing.assert_allclose(counted.weights[0][1], [0.25, 0.5, 0])
    np.testing.assert_allclose(counted.priors.sum(axis=1), 1)


def test_growth_is_the_mean_and_the_scatter_of_runs() -> None:
    """The same schedule with other data, 4000 times, and two observations in every third round."""
    rng = np.random.default_rng(3)
    run = run_on_own_clocks(
        SKEW,
        lambda i: np.zeros(2),
        lambda i: rng.exponential(1 + i),
        priors=np.zeros(2),
        until=15,
        delay=lambda: rng.exponential(0.3),
    )
    model, many = coins(3), 4000
    plain = logs_of(run)
    data = [np.where(np.arange(log.rounds.size) % 3 == 0, 2, 1) for log in plain]
    logs = [
        Log(log.rounds, log.weights, log.heard, data=n) for log, n in zip(plain, data, strict=True)
    ]
    said: dict[tuple[int, int], FloatArray] = {(j, 0): np.zeros(many) for j in range(3)}
    own = [np.zeros(many) for _ in range(3)]
    for row in run.rows:
        i, number = row.agent, int(data[row.agent][row.round - 1])
        ll = draw_log_likelihoods(model, rounds=many * number, seed=1000 * i + row.round)[:, i]
        z = (ll[:, 0] - ll[:, 1]).reshape(many, number).sum(axis=1)
        said[i, row.round] = own[i] + z
        used = np.flatnonzero(row.pooled.weights)
        own[i] = sum(row.pooled.weights[j] * said[j, row.pooled.rounds[j]] for j in used)
    growth = realised(logs).growth(model, 0)
    finals = np.array(own)
    error = growth.deviation[:, 1] / np.sqrt(many)
    assert (np.abs(finals.mean(axis=1) - growth.mean[:, 1]) < 5 * error).all()
    # The deviation of a sample's deviation is about σ/√(2n); kurtosis here is near the normal's.
    np.testing.assert_allclose(finals.std(axis=1), growth.deviation[:, 1], rtol=5 / np.sqrt(many))
    scores = growth.score(np.stack([finals[:, 0] * 0, finals[:, 0]], axis=1))
    assert (scores[:, 0] == 0).all()
    assert (np.abs(scores[:, 1]) < 5).all()


def test_priors_are_expected_too() -> None:
    """Half of an even prior and half of one that says 9 to 1, and a fair coin each."""
    half = Log([1], [[0.5, 0.5]], [[1, 1]])
    model = FiniteModel(
        coins(2).hypotheses, coins(2).kinds * 2, [0, 1], np.log([[0.5, 0.5], [0.9, 0.1]])
    )
    growth = realised([half, half]).growth(model, "fair")
    information = coins(1).information(0)[0, 1]
    np.testing.assert_allclose(growth.mean[:, 1], information + np.log(9) / 2, rtol=1e-13)
    np.testing.assert_allclose(
        growth.deviation[:, 1], np.sqrt(coins(1).log_ratio_laws(0, 1)[0].variance / 2), rtol=1e-13
    )


def test_peers_that_were_replayed() -> None:
    """A crash, by its journal: the log knows what the peer went on from."""
    one = Peer(0, [0.5, 0.5], log_priors=np.zeros(2))
    head = np.log([0.8, 0.4])
    events = [Event("start", state=one.state())]
    events += [Event("observe", log_likelihood=head), Event("pool")] * 2
    events += [events[0], Event("skip", round=4), Event("observe", log_likelihood=head)]
    log = Log.of(replay(events), agents=3)
    assert log.weights.shape == (3, 3)
    assert log.bases is not None
    assert log.bases.tolist() == [-1, 0, -1]
    alone = Log([], np.zeros((0, 3)), np.zeros((0, 3), dtype=int))
    counted = realised([log, alone, alone])
    assert counted.weights[0][0].tolist() == [0, 0, 1]
    assert counted.totals[1].tolist() == [0, 0, 0]


ONE = [[1.0]]
ROBUST = Event("start", state=Peer(0, [1.0], log_priors=np.zeros(2), rule="median").state())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Log([2, 1], ONE * 2, ONE * 2), "rounds: expected numbers that increase"),
        (lambda: Log([1], ONE * 2, ONE * 2), "log: expected"),
        (lambda: Log([1], ONE, [[1, 1]]), "log: expected"),
        (lambda: Log([1], ONE, [[1]], bases=[0]), "bases: expected earlier rounds"),
        (lambda: Log([1], ONE, [[1]], data=[1, 1]), "log: expected"),
        (lambda: Log.of(replay([ROBUST]), agents=1), "replay: expected a peer that averages"),
        (lambda: realised([Log([1], [[1.0, 0]], [[1, -1]])]), "logs: expected 1 agents each"),
        (lambda: realised([Log([1], ONE, [[3]])]), "logs: expected round 3 in the log of agent 0"),
        (lambda: realised([Log([1], ONE, [[1]])], until=[2]), "until: expected 0 to"),
        (lambda: realised([Log([1], ONE, [[1]])]).growth(coins(2), 0), "model: expected 1 agents"),
        (
            lambda: realised(
                [
                    Log([1, 2], [[0, 1.0]] * 2, [[-1, 2]] * 2),
                    Log([1, 2], [[1.0, 0]] * 2, [[2, -1]] * 2),
                ]
            ),
            "logs: expected messages that were made before",
        ),
    ],
)
def test_bad_logs_are_named(build: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        build()
