"""The two regressions of the papers, in fractions.

P1 section 5.1 has two nodes, P2 sections 4.1 and 1.3 four agents. P2 prints five entries in its
first row of weights, [.5, .5, .5, 0, 0], which sum to 3/2, and four prior variances for five
coefficients; here they are [.5, .5, 0, 0] and five variances of .5 (docs: mathematics/misprints).
Every agent sees the bias and one coordinate; the test law sees all, uniform on the agents' ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theory.network import Network
from theory.rational import RationalNetwork
from theory.regression.agent import RegressionAgent
from theory.regression.model import RegressionModel
from theory.regression.rational_model import RationalRegressionAgent, RationalRegressionModel


@dataclass(frozen=True, eq=False)
class RegressionCase:
    """A network and a model in doubles, with `node`, what the papers' central node sees."""

    network: Network
    model: RegressionModel
    node: RegressionAgent


@dataclass(frozen=True, eq=False)
class RationalRegressionCase:
    """A network and a model in fractions, with `node`, what the papers' central node sees."""

    network: RationalNetwork
    model: RationalRegressionModel
    node: RationalRegressionAgent

    def as_floats(self) -> RegressionCase:
        """The nearest doubles."""
        return RegressionCase(
            self.network.as_network(), self.model.as_model(), self.node.as_agent()
        )


def two_nodes() -> RationalRegressionCase:
    """P1 section 5.1: θ* = (−.3, .5, .8), α = .8, prior N(0, I/2).

    Examples
    --------
    >>> two_nodes().network.stationary_distribution
    (Fraction(6, 7), Fraction(1, 7))
    """
    weights = [["9/10", "1/10"], ["3/5", "2/5"]]
    return _case(weights, ["-3/10", "1/2", "4/5"], ["1", "3/2"], name="P1: two nodes")


def four_agents() -> RationalRegressionCase:
    """P2 sections 4.1 and 1.3: θ* = (−.3, .5, .5, .1, .2), α = .8, prior N(0, I/2).

    Examples
    --------
    >>> print(*four_agents().network.stationary_distribution)
    3/14 5/14 3/14 3/14
    """
    weights = [
        ["1/2", "1/2", "0", "0"],
        ["3/10", "1/10", "3/10", "3/10"],
        ["0", "1/2", "1/2", "0"],
        ["0", "1/2", "0", "1/2"],
    ]
    theta = ["-3/10", "1/2", "1/2", "1/10", "1/5"]
    return _case(weights, theta, ["1", "3/2", "5/4", "3/4"], name="P2: four agents")


def _case(
    weights: Sequence[Sequence[str]], theta: Sequence[str], half_widths: Sequence[str], *, name: str
) -> RationalRegressionCase:
    bias, hidden = ["1", "1"], ["0", "0"]
    seen = [[f"-{h}", h] for h in half_widths]
    agents = tuple(
        RationalRegressionAgent(
            ranges=[bias] + [pair if k == j else hidden for k, pair in enumerate(seen)],
            noise_std="4/5",
        )
        for j in range(len(seen))
    )
    node = RationalRegressionAgent(ranges=[bias, *seen], noise_std="4/5")
    d = len(theta)
    prior = [["1/2" if a == b else "0" for b in range(d)] for a in range(d)]
    test = [[str(x) for x in row] for row in node.moment.table()]
    model = RationalRegressionModel(theta, agents, prior, test)
    return RationalRegressionCase(RationalNetwork.from_rows(weights, name=name), model, node)
