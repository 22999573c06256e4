"""
Late messages and lost ones
===========================

What does it cost if every message is some rounds late, and what if half of them are lost? Beliefs
grow more slowly when messages are late; errors become as rare as before. Lost messages cost the
opposite: nothing in the growth of beliefs, something in the rarity of errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from exact import Run, simulate
from theory import FiniteAgent, FiniteModel, Network, error_exponent, learning_rate
from theory.changing import DelayedNetwork, RandomLinks

coin = FiniteAgent.from_tables(
    inputs=[1], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.7, 0.3]]]
)
model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[6])
ring = Network.from_topology("ring", agents=6, rule="metropolis")

# %%
# A message that is τ rounds old when it is used leaves every observation with less weight in the
# end: the rate is K/(1 + mean age), whoever hears whom. The exponent does not change at all: what
# decides is the *sign* of the log belief ratio, and the same sum with a smaller factor has the
# same sign.

delays = [0, 1, 2, 4, 8]
late = [DelayedNetwork(ring, delay) for delay in delays]
rates = np.array([learning_rate(network, model).rate for network in late])
exponents = np.array([error_exponent(network, model).exponent for network in late])
# Each agent gives 2/3 to its neighbours: the mean age is 2τ/3.
assert np.allclose(rates, rates[0] / (1 + 2 / 3 * np.array(delays)))
assert np.allclose(exponents, exponents[0])

# %%
# If links are up with probability p, and the weight of a lost message goes to the agent's own
# belief, the mean weights stay symmetric: all agents keep their influence, and the rate is that of
# the ring. The exponent, of the errors given who heard whom when, is smaller: influence moves from
# round to round, and evidence that is spread unevenly over agents averages less well.

shares = [0.2, 0.35, 0.5, 0.75, 1.0]
lossy = [RandomLinks(ring, up=up) for up in shares]
lossy_rates = np.array([learning_rate(network, model).rate for network in lossy])
lossy_exponents = np.array(
    [error_exponent(network, model, seed=1, samples=3000).exponent for network in lossy]
)
assert np.allclose(lossy_rates, rates[0])
assert (lossy_exponents[:-1] < 0.95 * exponents[0]).all()

# %%
# Measured: the mean slope of the log belief ratio between rounds 200 and 400, over 300 runs.


def slope(network: DelayedNetwork | RandomLinks) -> float:
    run = simulate(network, model, run=Run(rounds=400, replicates=300, seed=2, record=[200, 400]))
    return float(np.diff(run.network_mean[:, 1])[0]) / 200


measured = [slope(network) for network in late]
lossy_measured = [slope(network) for network in lossy]
# The slope's standard error is below 2 % of the rate: five of them.
assert np.allclose(measured, rates, rtol=0.1)
assert np.allclose(lossy_measured, lossy_rates, rtol=0.1)

figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for axes, x, K, E, seen, label in (
    (panels[0], delays, rates, exponents, measured, "delay of every message [rounds]"),
    (
        panels[1],
        shares,
        lossy_rates,
        lossy_exponents,
        lossy_measured,
        "probability that a link is up",
    ),
):
    axes.plot(x, K / rates[0], "C0-", label="rate, predicted")
    axes.plot(x, np.array(seen) / rates[0], "ko", ms=4, label="rate, measured")
    axes.plot(x, E / exponents[0], "C3s--", ms=4, label="error exponent, predicted")
    axes.set_xlabel(label)
panels[0].set_ylabel("share of the ring's")
panels[0].set_ylim(0, 1.15)
panels[1].legend(fontsize=8)
