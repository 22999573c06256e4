"""Consensus and Bayes' rule in the papers' form: properties that hold for every network."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.special import logsumexp

from exact import (
    GaussianBeliefs,
    NormalInverseGammaBeliefs,
    bayes_update,
    consensus,
    estimates,
    learn,
    learn_changing,
    normalise,
)
from tests.strategies import networks
from theory import Network
from theory.changing import Phase
from theory.validation import FloatArray

# A pooled log-ratio is a mean of N numbers of up to 1e5 (N < 10), normalised by log-sum-exp: a few
# roundings of a number of that size, so that 16 units in the last place of the largest suffice.
ULPS = 16 * np.finfo(float).eps


def close(a: FloatArray, b: FloatArray, *, scale: FloatArray | None = None) -> bool:
    size = max(1.0, float(np.abs(a if scale is None else scale).max()))
    return bool(np.abs(np.asarray(a) - np.asarray(b)).max() <= ULPS * size)


def raw_beliefs(agents: int, hypotheses: int = 3) -> st.SearchStrategy[FloatArray]:
    """Unnormalised log beliefs with log-ratios of up to ±1e5, equal ones among them."""
    numbers = st.one_of(
        st.floats(-5e4, 5e4), st.sampled_from([-5e4, -1.0, -1e-9, 0.0, 1e-9, 1.0, 5e4])
    )
    return arrays(np.float64, (agents, hypotheses), elements=numbers)


@st.composite
def pools(draw: st.DrawFn) -> tuple[Network, FloatArray]:
    network = draw(networks())
    return network, draw(raw_beliefs(network.agents))


@settings(max_examples=40)
@given(pools())
def test_beliefs_sum_to_one_and_never_under_or_overflow(pool: tuple[Network, FloatArray]) -> None:
    network, raw = pool
    for pooled in (consensus(network.weights, raw), bayes_update(raw, raw[::-1])):
        assert np.isfinite(pooled).all()
        assert close(logsumexp(pooled, axis=-1), np.zeros(network.agents), scale=pooled)
        assert (pooled <= 0).all()


@settings(max_examples=40)
@given(pools())
def test_pooling_is_the_weighted_geometric_mean(pool: tuple[Network, FloatArray]) -> None:
    """Against sums written out, without logsumexp or a matrix product."""
    network, raw = pool
    weights = sparse.csr_array(network.weights).toarray()
    pooled = consensus(network.weights, raw)
    for i in range(network.agents):
        mean = sum(weights[i, j] * raw[j] for j in range(network.agents))
        assert close(pooled[i] - pooled[i, 0], mean - mean[0], scale=raw)


@settings(max_examples=40)
@given(networks(), raw_beliefs(1))
def test_pooling_is_idempotent_on_equal_beliefs(network: Network, raw: FloatArray) -> None:
    belief = normalise(np.repeat(raw, network.agents, axis=0))
    assert close(consensus(network.weights, belief), belief)


@settings(max_examples=40)
@given(pools())
def test_pooling_preserves_order(pool: tuple[Network, FloatArray]) -> None:
    """Where everybody prefers θ to θ', so does everybody after pooling."""
    network, raw = pool
    raw[:, 1] = np.minimum(raw[:, 0], raw[:, 1])
    pooled = consensus(network.weights, raw)
    assert (pooled[:, 0] >= pooled[:, 1] - ULPS * np.abs(raw).max()).all()
    strictly = raw.copy()
    strictly[:, 1] = raw[:, 0] - 1
    pooled = consensus(network.weights, strictly)
    assert (pooled[:, 0] > pooled[:, 1]).all()


@settings(max_examples=40)
@given(pools(), st.floats(1e-3, 2.0), st.floats(-1e4, 1e4))
def test_pooling_commutes_with_scaling(
    pool: tuple[Network, FloatArray], power: float, shift: float
) -> None:
    """Constants common to an agent's beliefs drop out; powers of beliefs pass through."""
    network, raw = pool
    pooled = consensus(network.weights, raw)
    shifts = shift * np.arange(1, network.agents + 1)[:, None]
    shifted = raw + shifts
    assert close(consensus(network.weights, shifted), pooled, scale=np.abs(raw) + np.abs(shifts))
    tempered = consensus(network.weights, power * raw)
    assert close(tempered, normalise(power * pooled), scale=2 * raw)


@settings(max_examples=40)
@given(st.data())
def test_two_poolings_are_one_with_the_product(data: st.DataObject) -> None:
    agents = data.draw(st.integers(2, 6))
    first = data.draw(networks(min_agents=agents, max_agents=agents))
    second = data.draw(networks(min_agents=agents, max_agents=agents))
    raw = data.draw(raw_beliefs(agents))
    twice = consensus(second.weights, consensus(first.weights, raw))
    product = second.weights @ sparse.csr_array(first.weights).toarray()
    assert close(twice, consensus(product, raw), scale=raw)


HALVES = np.full((2, 2), 0.5)
EVEN = np.log(HALVES)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_sparse_format_is_a_network(form: str, kind: str) -> None:
    """The old matrices too, of which scipy gives * another meaning than arrays have."""
    dense = np.array([[0.9, 0.1, 0.0], [0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
    weights = getattr(sparse, f"{form}_{kind}")(dense)
    public = np.log([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    # Three products and their sum, in another order.
    np.testing.assert_allclose(consensus(weights, public), consensus(dense, public), rtol=1e-14)
    before = GaussianBeliefs([[[1.0]], [[2.0]], [[5.0]]], [[1.0], [2.0], [-3.0]])
    after = [before.consensus(w) for w in (weights, dense)]
    np.testing.assert_allclose(after[0].precision, after[1].precision, rtol=1e-14)
    np.testing.assert_allclose(after[0].information, after[1].information, rtol=1e-14)


NO_WEIGHTS = {
    "sums": ([[0.6, 0.5], [0.5, 0.5]], "rows that sum to 1, got a sum of 1.1 in row 0"),
    "a little more than one": ([[0.5, 0.5], [0.5, 0.501]], "got a sum of 1.001 in row 1"),
    "a billionth less": ([[0.5, 0.5], [0.5 - 1e-9, 0.5]], "got a sum of 0.999999999 in row 1"),
    "negative": ([[1.5, -0.5], [0.5, 0.5]], "non-negative rows .* got a negative weight"),
    "not a number": ([[np.nan, 0.5], [0.5, 0.5]], "got not a number"),
    "infinite": ([[np.inf, 0.5], [0.5, 0.5]], "got a sum of inf in row 0"),
    "both infinities": ([[np.inf, -np.inf], [0.5, 0.5]], "got a negative weight"),
    "of nobody": (np.zeros((0, 0)), r"a matrix, shape \(N, N\), got shape \(0, 0\)"),
    "a row of zeros": ([[0.0, 0.0], [0.5, 0.5]], "got a sum of 0 in row 0"),
}


@pytest.mark.parametrize(
    "pool",
    [
        lambda weights: consensus(weights, EVEN),
        GaussianBeliefs.from_moments([0.0], [[1.0]], agents=2).consensus,
        NormalInverseGammaBeliefs(np.ones((2, 1, 1)), np.zeros((2, 1)), [2, 2], [1, 1]).consensus,
    ],
    ids=["finite", "gaussian", "unknown-noise"],
)
@pytest.mark.parametrize("case", NO_WEIGHTS)
def test_what_is_no_network_is_refused_in_one_line(
    case: str, pool: Callable[[object], object]
) -> None:
    """By every kind of belief, however the weights are stored."""
    rows, words = NO_WEIGHTS[case]
    for form in (np.array, sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
        with pytest.raises(ValueError, match=rf"^weights: expected .*{words}; .+$") as error:
            pool(form(rows))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("weights", "public", "message"),
    [
        (np.full((3, 2), 0.5), EVEN, r"weights: expected a square .* got shape \(3, 2\)"),
        (sparse.coo_array(np.full((3, 2), 0.5)), EVEN, r"weights: expected a square"),
        ([[0.5, 0.5], [1.0]], EVEN, "weights: .* got ragged or non-numeric values; give every row"),
        ([["a", "b"], ["c", "d"]], EVEN, "weights: .* got ragged or non-numeric"),
        ([0.5, 0.5], EVEN, r"weights: expected a matrix, shape \(N, N\), got shape \(2,\)"),
        (HALVES, [[0.0, -np.inf], [0.0, 0.0]], r"got a belief of zero \(log −inf\) at \[0, 1\]"),
        (HALVES, [[0.0, 0.0], [np.nan, 0.0]], r"log_public: expected finite .* nan at \[1, 0\]"),
        (HALVES, [[np.inf, 0.0], [0.0, 0.0]], r"log_public: expected finite .* inf at \[0, 0\]"),
        (HALVES, [[0.0], [0.0, 1.0]], "log_public: .* ragged or non-numeric"),
        (HALVES, np.zeros(2), r"log_public: expected one row per agent, shape \(..., 2, hyp"),
        (HALVES, np.zeros((3, 2)), r"one row per agent, .* got shape \(3, 2\)"),
        (HALVES, np.zeros((2, 0)), r"one row per agent, .* got shape \(2, 0\)"),
    ],
)
def test_what_cannot_be_pooled_is_refused_in_one_line(
    weights: object, public: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as error:
        consensus(weights, public)
    assert "\n" not in str(error.value)


def test_the_papers_form_checks_its_network_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network was checked when it was made; rounds pool without looking at it again."""
    checks: list[object] = []
    monkeypatch.setattr("exact.beliefs.as_pooling", checks.append)
    network, observed = Network(HALVES), np.zeros((50, 2, 2))
    learn(network, observed)
    learn_changing([Phase(HALVES)] * 50, observed)
    assert not checks


def test_bayes_rule_on_a_coin() -> None:
    posterior = np.exp(bayes_update(np.log([[0.5, 0.5]]), np.log([[0.75, 0.25]])))
    np.testing.assert_allclose(posterior, [[0.75, 0.25]], rtol=1e-15)  # one rounding of a log


@pytest.mark.parametrize(
    ("value", "words"),
    [(-np.inf, "a likelihood of zero"), (np.nan, "nan"), (np.inf, "inf")],
)
def test_what_cannot_be_a_likelihood_is_rejected_with_its_place(value: float, words: str) -> None:
    table = np.zeros((4, 2, 3))
    table[2, 1, 0] = value
    network = Network([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match=rf"^log_likelihoods: .*{words}.* at \[2, 1, 0\]; give"):
        learn(network, table)
    with pytest.raises(ValueError, match=r"at \[1, 0\]; give every hypothesis a positive"):
        bayes_update(np.zeros((2, 3)), table[2])


def test_shapes_that_do_not_fit_are_rejected() -> None:
    network = Network([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match=r"shape \(rounds, 2, hypotheses\).*got shape \(4, 3, 2\)"):
        learn(network, np.zeros((4, 3, 2)))
    with pytest.raises(ValueError, match=r"log_priors: .* got shape \(3,\)"):
        learn(network, np.zeros((4, 2, 2)), log_priors=np.zeros(3))
    with pytest.raises(ValueError, match=r"log_priors: .* got -inf at \[1\]"):
        learn(network, np.zeros((4, 2, 2)), log_priors=[0.0, -np.inf])
    with pytest.raises(ValueError, match="ragged or non-numeric"):
        learn(network, [[[0.0, 1.0], [0.0]]])


def test_learn_is_bayes_then_consensus_with_the_priors_first() -> None:
    """Two rounds of P2 eq. 4 to 6 by hand, in probabilities."""
    weights = np.array([[0.9, 0.1], [0.6, 0.4]])
    priors = np.array([[0.2, 0.8], [0.5, 0.5]])
    likelihoods = np.array([[[0.9, 0.3], [0.5, 0.1]], [[0.2, 0.4], [0.7, 0.6]]])
    beliefs = learn(Network(weights), np.log(likelihoods), log_priors=np.log(priors))
    private = priors
    for t in range(2):
        public = private * likelihoods[t]
        public /= public.sum(axis=1, keepdims=True)
        private = np.array([np.prod(public ** weights[i][:, None], axis=0) for i in range(2)])
        private /= private.sum(axis=1, keepdims=True)
        # A handful of roundings of numbers near one.
        np.testing.assert_allclose(np.exp(beliefs.public[t]), public, rtol=1e-14)
        np.testing.assert_allclose(np.exp(beliefs.private[t]), private, rtol=1e-14)
        np.testing.assert_array_equal(beliefs.estimates[t], private.argmax(axis=1))


def test_estimates_take_the_first_of_a_tie() -> None:
    np.testing.assert_array_equal(estimates([[0.0, 0.0], [-1.0, 0.0]]), [0, 1])
