"""
What to change in a network: a grid
===================================

Nine weather stations on a 3 × 3 grid decide between three climates. Station 0, in a corner, has the
good instrument. How fast can the typical run be, how rare can a bad run be, and what do these two
wishes cost each other?
"""

import matplotlib.pyplot as plt
import numpy as np

from exact import Run, simulate
from theory import FiniteAgent, FiniteModel, Network, error_exponent, learning_rate
from theory.design import DesignGraph, InfluenceSet, best_exponent, fastest_mixing, optimal_rate


def station(dry, wet):
    mild = [0.5, 0.5]
    return FiniteAgent.from_tables(inputs=[1], truth=[mild], likelihood=[[dry], [mild], [wet]])


good, poor = station([0.7, 0.3], [0.3, 0.7]), station([0.6, 0.4], [0.45, 0.55])
model = FiniteModel.from_agents(["dry", "mild", "wet"], [good, poor], counts=[1, 8])
MILD = 1
given = Network.from_topology("grid", shape=[3, 3])
graph = DesignGraph.from_network(given)

# %%
# Two designs on the same twelve edges. Each takes the best influence :math:`v` for its aim, and
# then the weights that forget soonest among those with this :math:`v`. Both steps come with a bound
# that nothing exceeds.

influences = InfluenceSet(9)
typical = optimal_rate(model, target=MILD, influences=influences)
rare = best_exponent(model, target=MILD, influences=influences)
mixing = [fastest_mixing(graph, best.stationary_distribution) for best in (typical, rare)]
networks = {
    "as given": given,
    "largest rate $K$": mixing[0].network,
    "largest exponent $E$": mixing[1].network,
}
assert typical.certificate.gap < 1e-9
assert rare.certificate.gap < 1e-4
assert all(one.slem - one.certificate.bound < 1e-5 for one in mixing)

# %%
# A line is as wide as the flow along the edge, :math:`v_iW_{ij}`; a dot's area is the influence.
# For the largest :math:`K` station 0 counts as much as the floor of 1/90 on every other influence
# lets it. For the largest :math:`E` all stations count nearly alike.

figure, panels = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for panel, (name, network) in zip(panels, networks.items(), strict=True):
    v, weights = network.stationary_distribution, network.weights
    for i, j in graph.edges:
        width = 200 * v[i] * weights[i, j]
        panel.plot(*graph.layout[[i, j]].T, color="tab:blue", lw=width, zorder=1)
    panel.scatter(*graph.layout.T, s=1500 * v, color="tab:orange", zorder=2)
    rate, exponent = learning_rate(network, model).rate, error_exponent(network, model).exponent
    panel.set(title=name, xlabel=f"$K$ = {rate:.4f}, $E$ = {exponent:.4f}", xticks=[], yticks=[])
    panel.set_aspect("equal")
    panel.margins(0.25)
    print(f"{name}: K = {rate:.4f}, E = {exponent:.4f}, subdominant modulus {network.slem:.3f}")
panels[0].set_ylabel("the nine stations")

# %%
# In between: mix the two influences, and take the fastest weights for each. On the way to the
# largest :math:`K`, bad runs become likelier, and the network forgets more slowly: the subdominant
# modulus, by which an imbalance shrinks in a round, comes closer to one.

shares = np.linspace(0, 1, 13)
between = [
    fastest_mixing(
        graph, (1 - share) * rare.stationary_distribution + share * typical.stationary_distribution
    ).network
    for share in shares
]
rates = np.array([learning_rate(network, model).rate for network in between])
exponents = np.array([error_exponent(network, model).exponent for network in between])
moduli = np.array([network.slem for network in between])
assert (np.diff(rates) > 0).all()
assert (np.diff(exponents) < 1e-12).all()

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for axes, values, label in [
    (left, moduli, "subdominant modulus"),
    (right, exponents, "error exponent $E$"),
]:
    axes.plot(rates, values, ".-", label="designed")
    axes.set(xlabel="learning rate $K$ (nats per round)", ylabel=label, xlim=(0, None))
rate, exponent = learning_rate(given, model).rate, error_exponent(given, model).exponent
left.plot(rate, given.slem, "kx", label="as given")
right.plot(rate, exponent, "kx", label="as given")
left.set_ylim(0.5, 1)
right.set_ylim(bottom=0)
left.legend()

# %%
# Measured: how often some station is wrong after each round, in 4000 runs. The design for the
# largest :math:`K` rejects wrong climates soonest on average, and yet it errs most often.

REPLICATES = 4000
rounds = np.arange(1, 121)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
measured = {}
for name, network in networks.items():
    run = simulate(
        network, model, run=Run(rounds=120, replicates=REPLICATES, seed=1, record=rounds)
    )
    measured[name] = run.errors / REPLICATES
    axes.semilogy(rounds, measured[name], label=name)
axes.set_xlabel("round")
axes.set_ylabel("share of runs in which some station is wrong")
axes.legend()
assert measured["largest rate $K$"][-1] > 2 * measured["largest exponent $E$"][-1]
