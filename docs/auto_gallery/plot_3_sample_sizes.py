"""
The ladder of sample sizes
==========================

How many rounds are enough? Two theorems, the published formula and a certified enclosure against
the measured frequency of errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from exact import Run, simulate
from theory import FiniteAgent, FiniteModel, Network, account, error_exponent, sample_sizes

# %%
# Four agents watch for a rare event: does it happen 2 times in 100, or 10? Most rounds bring little
# news, a few bring much. Hoeffding knows the range of the news alone, Chernoff all of
# its law. The accountant encloses the number itself: one round before its lower end an error is
# still more likely than δ, and from its upper end on it is not.

rare, common = [0.98, 0.02], [0.9, 0.1]
watcher = FiniteAgent.from_tables(inputs=[1], truth=[rare], likelihood=[[rare], [common]])
model = FiniteModel.from_agents(["rare", "common"], [watcher], counts=[4])
network = Network.from_topology("ring", agents=4)

delta = 0.01
ladder = sample_sizes(network, model, delta=delta)
for name in ("printed", "repaired", "chernoff"):
    rung = getattr(ladder, name)
    print(f"{name:9} {rung.rounds:6}  {'theorem' if rung.is_theorem else 'not a theorem'}")
print(f"certified {ladder.certified.lower} to {ladder.certified.upper}")
assert ladder.certified.upper <= ladder.chernoff.rounds

# %%
# Bounds are evaluated at every round; the frequency comes from 20 000 runs, with its
# Clopper–Pearson interval.

n = np.unique(np.geomspace(1, ladder.repaired.rounds * 1.2, 60).astype(int))
run = simulate(network, model, run=Run(rounds=int(n[-1]), replicates=20_000, seed=4, record=n))

figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
for bound in ladder.bounds:
    axes.semilogy(n, [max(bound.probability(int(k)), 1e-8) for k in n], label=bound.name)
certified = account(network, model).probability(n)
axes.fill_between(
    n, np.maximum(certified.lower, 1e-8), certified.upper, color="C3", alpha=0.4, label="certified"
)
seen = run.errors > 0
shown = np.flatnonzero(seen)[::2]
intervals = [run.error_probability(int(k)) for k in shown]
estimates = np.array([i.estimate for i in intervals])
low = estimates - np.array([i.lower for i in intervals])
high = np.array([i.upper for i in intervals]) - estimates
assert ladder.chernoff.rounds < ladder.repaired.rounds
axes.errorbar(n[shown], estimates, [low, high], fmt="k.", ms=4, lw=0.8, label="measured")

E = error_exponent(network, model).exponent
axes.semilogy(n, np.exp(-E * n), "--", color="0.5", label=f"exp(−nE), E = {E:.4f}")
axes.axhline(delta, color="0.8", lw=1)
for name in ("repaired", "chernoff"):
    axes.axvline(getattr(ladder, name).rounds, color="0.8", lw=1)
axes.set_xlim(0, n[-1])
axes.set_ylim(1e-5, 1.5)
axes.set_xlabel("rounds $n$")
axes.set_ylabel("probability that some agent errs")
axes.legend(fontsize=8)

# %%
# Every theorem lies above what was measured, which lies between the certified bounds.
# (The printed size, far to the right, is not drawn.)

for k in np.flatnonzero(seen):
    observed = run.error_probability(int(k), confidence=1 - 1e-6)
    assert certified.lower[k] <= observed.upper
    assert certified.upper[k] >= observed.lower
for bound in ladder.bounds:
    for k in np.flatnonzero(seen):
        observed = run.error_probability(int(k), confidence=1 - 1e-6)
        assert bound.probability(int(n[k])) >= observed.lower
