"""
A line nobody fitted
====================

In logarithms, beliefs are sums: a straight line on average, after a short bend. Theory draws it
before the run.
"""

import matplotlib.pyplot as plt
import numpy as np

from exact import Run, simulate
from theory import FiniteAgent, FiniteModel, Network, expected_log_ratio, learning_rate

# %%
# A ring of ten, of which only agent 0 can tell a fair coin from a loaded one.

fair, loaded = [0.5, 0.5], [0.9, 0.1]
knows = FiniteAgent.from_tables(inputs=[1], truth=[fair], likelihood=[[fair], [loaded]])
blind = FiniteAgent.from_tables(inputs=[1], truth=[fair], likelihood=[[fair], [fair]])
model = FiniteModel.from_agents(["fair", "loaded"], [knows, blind], counts=[1, 9])
ring = Network.from_topology("ring", agents=10)

rounds = np.arange(1, 161)
run = simulate(ring, model, run=Run(rounds=160, replicates=300, seed=2, record=rounds, paths=60))
exact = expected_log_ratio(ring, model, rounds, best=0).values[:, :, 1]
rate = learning_rate(ring, model).rate

# %%
# Sixty runs (thin), the exact mean (thick), and the limit's slope (dashed), at the agent that knows
# and at the one farthest from it.

figure, panels = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for axes, agent in zip(panels, (0, 5), strict=True):
    axes.plot(rounds, run.paths[:, :, agent, 1].T, color="C0", lw=0.5, alpha=0.35)
    axes.plot(rounds, exact[:, agent], color="k", lw=2, label="exact mean")
    axes.plot(rounds, rate * rounds, "--", color="C1", lw=2, label=f"slope K = {rate:.3f}")
    axes.axhline(0, color="0.6", lw=0.8)
    axes.set_title(f"agent {agent}" + (" (knows)" if agent == 0 else " (farthest from it)"))
    axes.set_xlabel("round")
panels[0].set_ylabel("log-odds of fair against loaded (nats)")
panels[0].legend(loc="upper left")

# %%
# Measured means lie on the line to within sampling error.

error = np.abs(run.mean[-1, :, 1] - exact[-1]) / run.standard_error[-1, :, 1]
print(f"largest deviation: {error.max():.1f} standard errors")
assert error.max() < 5
