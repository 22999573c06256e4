"""Draw the figure of the README and of the landing page: prediction beside measurement.

python docs/figure.py                      # writes docs/_static/overview.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

from exact import Run, simulate
from theory import FiniteAgent, FiniteModel, Network, account, expected_log_ratio

TARGET = Path(__file__).parent / "_static/overview.svg"
TRUE, CLEAR, VAGUE = [0.5, 0.3, 0.2], [0.25, 0.33, 0.42], [0.4, 0.37, 0.23]


def draw(target: Path, *, replicates: int = 20_000) -> None:
    """Write the figure: a star of nine, whose centre can tell two hypotheses apart best."""
    mpl.use("svg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "peerbayes", "font.size": 9})
    import matplotlib.pyplot as plt

    centre = FiniteAgent.from_tables(inputs=[1], truth=[TRUE], likelihood=[[TRUE], [CLEAR]])
    edge = FiniteAgent.from_tables(inputs=[1], truth=[TRUE], likelihood=[[TRUE], [VAGUE]])
    model = FiniteModel.from_agents(["true", "false"], [centre, edge], counts=[1, 8])
    rounds = np.arange(5, 61, 5)

    figure, (beliefs, errors) = plt.subplots(1, 2, figsize=(8, 3.1), layout="constrained")
    for color, trust in (("C0", 0.7), ("C1", 0.1)):
        star = Network.from_topology("star", agents=9, edge_confidence=trust)
        run = simulate(
            star, model, run=Run(rounds=60, replicates=replicates, seed=1, record=rounds)
        )
        mean = expected_log_ratio(star, model, rounds, best=0).values[:, 1, 1]
        beliefs.plot(rounds, mean, color=color, label=f"weight {trust} on the centre")
        beliefs.plot(rounds, run.mean[:, 1, 1], "o", color=color, ms=4)

        bounds = account(star, model).probability(rounds)
        errors.fill_between(rounds, bounds.lower, bounds.upper, color=color, alpha=0.45, lw=1)
        seen = [run.error_probability(position) for position in range(rounds.size)]
        estimate, low, high = np.array([(s.estimate, s.lower, s.upper) for s in seen]).T
        spread = (estimate - low, high - estimate)
        errors.errorbar(rounds, estimate, spread, fmt="o", color=color, ms=3, lw=1)

    beliefs.set(xlabel="round", ylabel="log-odds of the truth, nats", ylim=(0, None))
    beliefs.set_title("Mean belief: predicted (lines), measured (dots)", fontsize=9)
    beliefs.legend(frameon=False)
    errors.set(xlabel="round", ylabel="probability", yscale="log")
    errors.set_title("Some agent errs: proved (bands), measured (dots)", fontsize=9)
    figure.savefig(target, metadata={"Date": None, "Creator": None}, facecolor="white")
    plt.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
