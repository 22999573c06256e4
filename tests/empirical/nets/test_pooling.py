"""Pooling in three implementations against exact arithmetic, and against `exact`'s Gaussians."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from empirical.nets import pooling
from empirical.nets.pooling import Natural, WeightRows, pool_all, pool_by_torch, pool_heard
from exact.regression import GaussianBeliefs
from tests.empirical.support import refused

U = 2.0**-24  # half a unit of float32's last place, relatively

Beliefs = tuple[Any, Any]  # mean and variance


def in_one_sweep(rows: WeightRows, beliefs: Beliefs, out: Beliefs) -> None:
    pool_all(rows, *beliefs, round=1, out=out)


def from_what_was_heard(rows: WeightRows, beliefs: Beliefs, out: Beliefs) -> None:
    mean, variance = (values[list(rows.heard)] for values in beliefs)
    pool_heard(rows, *beliefs, Natural.from_moments(mean, variance), round=1, out=out)


def by_products(rows: WeightRows, beliefs: Beliefs, out: Beliefs) -> None:
    pool_by_torch(rows, *beliefs, Natural.from_moments(*beliefs), out=out)


WAYS = [in_one_sweep, from_what_was_heard, by_products]


def pooled(way: Any, weights: Any, mean: Any, variance: Any) -> Beliefs:
    out = torch.empty_like(mean), torch.empty_like(variance)
    way(WeightRows.from_weights(weights), (mean, variance), out)
    return out


def drawn(seed: int, *, agents: int, parameters: int) -> Beliefs:
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(agents, parameters, generator=generator)
    return mean, torch.exp(2 * torch.randn(agents, parameters, generator=generator))


@st.composite
def weights(draw: st.DrawFn, agents: int) -> np.ndarray:
    """Rows with zeros, tiny weights and nearly all on one agent; some agents listen to nobody."""
    rows = []
    for agent in range(agents):
        size = st.sampled_from([0.0, 1e-12, 1e-6, 0.1, 1.0, 3.0])
        row = np.array(draw(st.lists(size, min_size=agents, max_size=agents)))
        if not row.any():
            row[agent] = 1.0
        rows.append(row / row.sum())
    return np.array(rows)


@st.composite
def beliefs_and_weights(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    agents, parameters = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    size = st.integers(-20, 20)
    sizes = draw(st.lists(size, min_size=agents * parameters, max_size=agents * parameters))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (agents, parameters)
    mean = rng.normal(size=shape) * 2.0 ** rng.integers(-20, 20, size=shape)
    # Precisions from 2⁻⁴⁰ to 2⁴⁰, about 10¹².
    variance = np.exp2(2.0 * np.reshape(sizes, shape)) * rng.uniform(1, 2, size=shape)
    return draw(weights(agents)), mean.astype(np.float32), variance.astype(np.float32)


def fraction_rows(values: Any) -> list[list[Fraction]]:
    return [[Fraction(float(v)) for v in row] for row in values]


@settings(max_examples=40)
@given(problem=beliefs_and_weights())
def test_every_way_against_exact_arithmetic(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    w, mean, variance = problem
    stacked = torch.from_numpy(mean), torch.from_numpy(variance)
    sent = Natural.from_moments(*stacked)
    found = [pooled(way, w, *stacked) for way in WAYS]
    exact_w, m, v = fraction_rows(w), fraction_rows(mean), fraction_rows(variance)
    p_sent, s_sent = fraction_rows(sent.precision), fraction_rows(sent.shift)
    for i, row in enumerate(exact_w):
        alone = all(j == i or weight == 0 for j, weight in enumerate(row))
        for c in range(mean.shape[1]):
            if alone:
                assert all(got[0][i, c] == stacked[0][i, c] for got in found)
                assert all(got[1][i, c] == stacked[1][i, c] for got in found)
                continue
            # Of the beliefs themselves, and of the numbers sent (an agent does not send to itself).
            true = sum(weight / v[j][c] for j, weight in enumerate(row))
            centre = sum(weight * m[j][c] / v[j][c] for j, weight in enumerate(row)) / true
            size = sum(weight * abs(m[j][c]) / v[j][c] for j, weight in enumerate(row)) / true
            said = [(1 / v[j][c], m[j][c] / v[j][c]) for j in range(len(row))]
            heard = [said[j] if j == i else (p_sent[j][c], s_sent[j][c]) for j in range(len(row))]
            total = sum(weight * p for weight, (p, _) in zip(row, heard, strict=True))
            lean = sum(weight * s for weight, (_, s) in zip(row, heard, strict=True)) / total
            for got_mean, got_variance in found:
                got_m, got_v = Fraction(got_mean[i, c].item()), Fraction(got_variance[i, c].item())
                # The stated accuracy; a thousandth for the terms in u² and float64's sums.
                assert abs(got_v * true - 1) <= 2 * U * 1.001
                assert abs(got_m - centre) <= 4 * U * 1.001 * size
                # Tight: the nearest float32, but for sums of at most 8 terms in float64.
                assert abs(got_v * total - 1) <= U + 16 * 2.0**-53
                assert abs(got_m - lean) <= U * abs(lean) + 32 * 2.0**-53 * size


# Columns are taken 1024 at a time, entries of a row four at a time: sizes on both sides.
@pytest.mark.parametrize("parameters", [1, 1023, 1024, 1025, 2500])
@pytest.mark.parametrize("agents", [2, 4, 5, 6, 10])
def test_pieces_and_fours_change_nothing(agents: int, parameters: int) -> None:
    mean, variance = drawn(agents, agents=agents, parameters=parameters)
    w = np.random.default_rng(parameters).dirichlet(np.ones(agents), size=agents)
    first = pooled(in_one_sweep, w, mean, variance)
    second = pooled(from_what_was_heard, w, mean, variance)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    natural = Natural.from_moments(mean, variance)
    own = torch.from_numpy(np.diag(w).copy())[:, None]
    others = torch.from_numpy(w - np.diag(np.diag(w)))
    precision = own / variance.double() + others @ natural.precision.double()
    shift = own * mean.double() / variance.double() + others @ natural.shift.double()
    # One rounding to float32; shifts of these sizes cancel to a thousandth at most.
    assert torch.allclose(first[1].double(), 1 / precision, rtol=1.001 * U, atol=0.0)
    assert torch.allclose(first[0].double(), shift / precision, rtol=1.001 * U, atol=1e-15)


def test_torch_in_several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    mean, variance = drawn(0, agents=3, parameters=10)
    w = np.full((3, 3), 1 / 3)
    whole = pooled(by_products, w, mean, variance)
    monkeypatch.setattr(pooling, "COLUMNS_AT_ONCE", 4)
    pieces = pooled(by_products, w, mean, variance)
    assert torch.equal(whole[0], pieces[0])
    assert torch.equal(whole[1], pieces[1])


@pytest.mark.parametrize("way", WAYS)
def test_against_the_gaussians_of_exact(way: Any) -> None:
    """In float64 nothing is left but float64's rounding."""
    mean, variance = (values.double() for values in drawn(3, agents=5, parameters=4))
    w = np.random.default_rng(3).dirichlet(np.full(5, 0.3), size=5)
    peer = GaussianBeliefs.from_moments(
        mean.numpy(), np.stack([np.diag(row) for row in variance.numpy()])
    ).consensus(w)
    got = pooled(way, w, mean, variance)
    np.testing.assert_allclose(got[0], peer.mean, rtol=1e-12, atol=1e-13)
    expected = np.stack([np.diag(block) for block in peer.covariance])
    np.testing.assert_allclose(got[1], expected, rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_who_listens_to_nobody_keeps_every_bit(way: Any) -> None:
    mean, variance = drawn(4, agents=3, parameters=1500)
    mean[1, 0] = -0.0
    mean[1, 1] = 1e-45  # subnormal
    w = [[0.5, 0.5, 0], [0, 1, 0], [0.25, 0.25, 0.5]]
    got = pooled(way, w, mean, variance)
    assert got[0][1].numpy().tobytes() == mean[1].numpy().tobytes()
    assert got[1][1].numpy().tobytes() == variance[1].numpy().tobytes()
    assert not torch.equal(got[0][0], mean[0])


@pytest.mark.parametrize("way", [in_one_sweep, from_what_was_heard])
def test_in_place_is_the_same(way: Any) -> None:
    mean, variance = drawn(5, agents=4, parameters=2100)
    w = np.random.default_rng(5).dirichlet(np.ones(4), size=4)
    fresh = pooled(way, w, mean, variance)
    way(WeightRows.from_weights(w), (mean, variance), (mean, variance))
    assert torch.equal(mean, fresh[0])
    assert torch.equal(variance, fresh[1])


def test_a_block_of_rows_is_those_rows() -> None:
    mean, variance = drawn(6, agents=5, parameters=7)
    w = np.random.default_rng(6).dirichlet(np.full(5, 0.4), size=5)
    w[3] = np.eye(5)[3]
    whole = pooled(in_one_sweep, w, mean, variance)
    rows = WeightRows.from_weights(w, range(2, 4))
    assert rows.pools.tolist() == [True, False]
    heard = list(rows.heard)
    assert heard == [j for j in range(5) if j != 2 and w[2, j] > 0]
    natural = Natural.from_moments(mean[heard], variance[heard])
    out = torch.empty(2, 7), torch.empty(2, 7)
    pool_heard(rows, mean[2:4], variance[2:4], natural, round=1, out=out)
    assert torch.equal(out[0], whole[0][2:4])
    assert torch.equal(out[1], whole[1][2:4])


STAR = [[0.5, 0.25, 0.25, 0], [0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("way", [in_one_sweep, from_what_was_heard])
@pytest.mark.parametrize(
    ("name", "agent", "value", "said"),
    [
        ("mean", 2, np.nan, "shift of agent 2 in round 1: expected finite numbers, got nan at"),
        ("mean", 1, np.inf, "shift of agent 1 in round 1: expected finite numbers, got inf at"),
        ("variance", 0, 0.0, "precision of agent 0 in round 1: .* above 0, got inf at"),
        ("variance", 2, np.inf, "precision of agent 2 in round 1: .* above 0, got 0 at"),
        ("variance", 1, -1.0, "precision of agent 1 in round 1: .* above 0, got -1 at"),
        ("variance", 1, np.nan, "precision of agent 1 in round 1: .* above 0, got nan at"),
    ],
)
def test_numbers_that_are_no_gaussian(
    name: str,
    agent: int,
    value: float,
    said: str,
    way: Any,
    kernel: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not kernel:
        monkeypatch.setattr(pooling, "HAS_KERNEL", ())
    mean, variance = drawn(7, agents=4, parameters=1100)
    {"mean": mean, "variance": variance}[name][agent, 1050] = value
    refused(rf"^{said} parameter 1050; lower the learning rates", pooled, way, STAR, mean, variance)


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("way", [in_one_sweep, from_what_was_heard])
def test_who_only_listens_is_checked_and_who_rests_is_not(
    way: Any, kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernel:
        monkeypatch.setattr(pooling, "HAS_KERNEL", ())
    w = [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]
    mean, variance = drawn(8, agents=3, parameters=5)
    mean[2, 1] = torch.nan
    got = pooled(way, w, mean, variance)
    assert torch.isnan(got[0][2, 1])
    mean[1, 3] = torch.nan
    refused(r"^shift of agent 1 in round 1: .* got nan at", pooled, way, w, mean, variance)


def test_as_many_beliefs_as_rows() -> None:
    mean, variance = drawn(9, agents=3, parameters=5)
    said = r"^mean: expected beliefs of the 4 agents that W has rows for.*, got shape \(3, 5\);"
    refused(said, pooled, in_one_sweep, STAR, mean, variance)
    said = r"^variance: expected beliefs of the 3 agents.*, got shape \(3, 4\);"
    with pytest.raises(ValueError, match=said):
        pool_all(
            WeightRows.from_weights(np.eye(3)),
            mean,
            variance[:, :4],
            round=1,
            out=(mean, variance),
        )
    with pytest.raises(ValueError, match=r"^weights: expected rows that sum to 1"):
        WeightRows.from_weights([[0.5, 0.4], [0.5, 0.5]])
