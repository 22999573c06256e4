"""A hypothesis that is far off takes no evidence: it must not cost the other ones their numbers.

Oracle: the same problem without the far hypothesis, whose own terms are far below δ.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from theory.certified import CertifiedLearning, certify_learning
from theory.rational import RationalFiniteAgent, RationalGaussianAgent
from theory.rational.model import RationalModel
from theory.rational.network import RationalNetwork

PAIR = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])
RING = RationalNetwork([["4/5", "1/5", "0"], ["0", "4/5", "1/5"], ["1/5", "0", "4/5"]])
ONE = Fraction(1)


def _normal(network: RationalNetwork, means: list[list[str]]) -> CertifiedLearning:
    inputs = [Fraction(1, len(means[0]))] * len(means[0])
    agent = RationalGaussianAgent(
        inputs, [Fraction(0)] * len(inputs), ONE, [[Fraction(m) for m in row] for row in means], ONE
    )
    names = [f"h{m}" for m in range(len(means))]
    model = RationalModel.from_agents(names, [agent], counts=[network.agents])
    return certify_learning(network, model, delta=1e-6)


def _finite(network: RationalNetwork, digits: int | None) -> CertifiedLearning:
    rows = [[["1/2", "1/2"]], [["3/4", "1/4"]]]
    if digits is not None:
        tiny = Fraction(1, 10**digits)
        rows.append([[tiny, 1 - tiny]])
    agent = RationalFiniteAgent.from_tables(inputs=[1], truth=[["1/2", "1/2"]], likelihood=rows)
    names = [f"h{m}" for m in range(len(rows))]
    model = RationalModel.from_agents(names, [agent], counts=[network.agents])
    return certify_learning(network, model, delta=1e-6)


def _same(found: CertifiedLearning, near: CertifiedLearning) -> bool:
    return (
        found.exponents[1] == near.exponents[1]
        and found.exponent == near.exponent
        and found.samples.chernoff == near.samples.chernoff
        and found.samples.repaired == near.samples.repaired
    )


@pytest.mark.parametrize("far", ["1000", "-1000000000", "1000000000000000"])
@pytest.mark.parametrize("network", [PAIR, RING], ids=["pair", "ring"])
def test_a_far_normal_leaves_the_rung_alone(network: RationalNetwork, far: str) -> None:
    near = _normal(network, [["0"], ["23/20"]])
    assert near.samples.chernoff.is_exact
    assert _same(_normal(network, [["0"], ["23/20"], [far]]), near)


def test_several_far_ones_and_two_inputs() -> None:
    near = _normal(PAIR, [["0", "0"], ["23/20", "3/10"]])
    assert _same(_normal(PAIR, [["0", "0"], ["23/20", "3/10"], ["10000000", "-20000000"]]), near)
    assert _same(_normal(PAIR, [["0", "0"], ["23/20", "3/10"], ["10000000", "3"]]), near)


def test_a_far_one_that_half_the_inputs_do_not_tell_apart() -> None:
    # f(t) is flat to e^-10^17 at its maximum, where Newton's method alone would take for ever.
    near = _normal(PAIR, [["0", "0"], ["23/20", "3/10"]])
    found = _normal(PAIR, [["0", "0"], ["23/20", "3/10"], ["0", "1000000000"]])
    assert _same(found, near)
    assert found.exponents[2].contains(2 * math.log(2))  # both see the other input, for ever
    assert not found.notes


@pytest.mark.parametrize("digits", [10, 5000])
@pytest.mark.parametrize("network", [PAIR, RING], ids=["pair", "ring"])
def test_a_table_with_tiny_likelihoods(network: RationalNetwork, digits: int) -> None:
    assert _same(_finite(network, digits), _finite(network, None))
