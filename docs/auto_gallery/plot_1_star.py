"""
Whom to trust: the star
=======================

P2 asks how much the edges of a star should trust its centre. In its experiment the centre has the
informative data, and trusting it more helps. Whether it does in general depends on who knows what:
the rate at which a hypothesis is rejected is a weighted mean of the agents' information, and the
edge confidence :math:`a` moves the weights, :math:`v_1 = 9a/(9a+8)`.
"""

import matplotlib.pyplot as plt
import numpy as np

from exact import Run, simulate
from theory import (
    FiniteAgent,
    FiniteModel,
    Network,
    error_exponent,
    expected_log_ratio,
    learning_rate,
)

fair, loaded, tilted = [0.5, 0.5], [0.8, 0.2], [0.35, 0.65]

# %%
# The centre can tell "loaded" from the truth, the eight edges "tilted"; neither can do both.

centre = FiniteAgent.from_tables(inputs=[1], truth=[fair], likelihood=[[fair], [loaded], [fair]])
edge = FiniteAgent.from_tables(inputs=[1], truth=[fair], likelihood=[[fair], [fair], [tilted]])
model = FiniteModel.from_agents(["fair", "loaded", "tilted"], [centre, edge], counts=[1, 8])

# %%
# Predicted rates along :math:`a`, and what 200 runs of 200 rounds measure. The crosses are compared
# with the exact mean at round 200 (dots), which differs from the limit by a transient.

confidences = np.linspace(0.05, 0.95, 61)
predicted = np.array(
    [
        learning_rate(Network.from_topology("star", agents=9, edge_confidence=a), model).rates
        for a in confidences
    ]
)

some = (0.1, 0.2, 0.3, 0.5, 0.7)
measured, errors, means = [], [], []
for seed, a in enumerate(some):
    star = Network.from_topology("star", agents=9, edge_confidence=a)
    run = simulate(star, model, run=Run(rounds=200, replicates=200, seed=seed))
    measured.append(run.network_mean[-1] / 200)
    errors.append(run.network_standard_error[-1] / 200)
    means.append(expected_log_ratio(star, model, [200], best=0).values[0].mean(axis=0) / 200)

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
for m, name in [(1, "loaded (the centre knows)"), (2, "tilted (the edges know)")]:
    (line,) = axes.plot(confidences, predicted[:, m], label=f"reject {name}: limit")
    axes.plot(some, np.array(means)[:, m], "o", ms=4, color=line.get_color())
    axes.errorbar(
        some,
        np.array(measured)[:, m],
        2 * np.array(errors)[:, m],
        fmt="x",
        color=line.get_color(),
        capsize=3,
    )
axes.plot(confidences, predicted[:, 1:].min(axis=1), color="0.75", lw=7, zorder=0, label="K")
axes.set_xlabel("edge confidence $a$")
axes.set_ylabel("rate (nats per round)")
axes.set_ylim(bottom=0)
axes.legend()

# %%
# The learning rate :math:`K` is the smaller of the two. It is best where they cross: neither blind
# trust in the centre nor none. The error exponent :math:`E` does not care: the weight of the only
# agents that can tell a hypothesis apart scales their evidence and leaves its sign.

best = confidences[predicted[:, 1:].min(axis=1).argmax()]
print(f"best edge confidence: about {best:.2f}")
for a in (confidences[0], best, confidences[-1]):
    star = Network.from_topology("star", agents=9, edge_confidence=a)
    K, E = learning_rate(star, model).rate, error_exponent(star, model).exponent
    print(f"a = {a:.2f}: rate K = {K:.4f}, error exponent E = {E:.4f}")
difference = np.abs(np.array(measured) - np.array(means))[:, 1:] / np.array(errors)[:, 1:]
assert difference.max() < 5  # standard errors, ten numbers
