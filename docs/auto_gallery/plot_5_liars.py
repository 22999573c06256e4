"""
Who resists liars: a torus
==========================

Twenty-five agents on a torus toss a fair coin, and some of them lie. Under plain averaging one
liar decides what everybody believes. Rules that drop or clip far-off numbers keep learning, at a
rate that depends on where the liars sit.
"""

import matplotlib.pyplot as plt
import numpy as np

from exact import Run, simulate
from theory import FiniteAgent, FiniteModel, Network
from theory.robustness import (
    Average,
    Clip,
    Colluding,
    Faults,
    Median,
    Push,
    TrimmedMean,
    clip_guarantee,
    faulty_averaging,
    robustness,
)

coin = FiniteAgent.from_tables(
    inputs=[1], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
)
model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[25])
torus = Network.from_topology("torus", shape=[5, 5])
rules = {
    "average": Average(),
    "trimmed mean, f = 1": TrimmedMean(1),
    "trimmed mean, f = 2": TrimmedMean(2),
    "median": Median(),
    "clip, r = 1/4": Clip(0.25),
}
places = {
    "none": [],
    "one": [12],
    "two, spread": [0, 7],
    "two, adjacent": [12, 13],
    "two, around one": [11, 13],
    "three, spread": [0, 7, 14],
    "three, in a row": [11, 12, 13],
    "three, around one": [7, 11, 13],
}

# %%
# Each liar either says :math:`-n` in round :math:`n`, or hides: it repeats the least convinced
# honest agent. The worst honest agent's rate under the worse of the two lies, 60 runs of 400
# rounds each:

ROUNDS = 400
lies = [Push("loaded", 1.0), Colluding("loaded")]


def worst_rate(rule, liars, behaviour):
    run = simulate(
        torus,
        model,
        faults=Faults(dict.fromkeys(liars, behaviour), rule, beyond_tolerance=True),
        run=Run(rounds=ROUNDS, replicates=60, seed=1, record=[ROUNDS]),
    )
    return run.rates.mean[:, 1].min(), run


table = np.array(
    [
        [min(worst_rate(rule, liars, lie)[0] for lie in lies) for liars in places.values()]
        for rule in rules.values()
    ]
)
width = max(map(len, places))
print(" " * width, *rules, sep=" | ")
for column, place in enumerate(places):
    entries = (f"{table[row, column]:{len(name)}.3f}" for row, name in enumerate(rules))
    print(place.ljust(width), *entries, sep=" | ")

figure, axes = plt.subplots(figsize=(8, 4.4), layout="constrained")
positions = np.arange(len(places))
for row, name in enumerate(rules):
    axes.plot(positions, np.maximum(table[row], -0.12), "o-", lw=0.8, label=name)
axes.axhline(0, color="0.5", lw=0.8)
axes.set_xticks(positions, places, rotation=25, ha="right")
axes.set_xlabel("liars")
axes.set_ylabel("worst agent's rate, cut off at −0.12")
axes.legend(fontsize="small")

# %%
# The average follows the liar at its own pace, one nat a round in the limit. The loss under
# clipping is predicted: the average over agents loses the radius times the mean weight on liars,
# and nothing if nobody lies. Trimming and the median are promised to work only where nobody hears
# more liars than they tolerate; around one agent, two or three are too many.

pushed = faulty_averaging(torus, model, {12: Push("loaded", 1.0)})
assert np.allclose(pushed.rates[:, 1], -1.0)
for place in ("none", "one", "two, spread", "three, spread"):
    liars = dict.fromkeys(places[place], Push("loaded", 1.0))
    predicted = clip_guarantee(torus, model, liars, radius=0.25).lower[1]
    _, run = worst_rate(Clip(0.25), places[place], Push("loaded", 1.0))
    measured, error = run.network_mean[-1, 1], run.network_standard_error[-1, 1]
    print(f"{place}: clipping, {predicted:.4f} predicted, {measured / ROUNDS:.4f} measured")
    assert abs(measured / ROUNDS - predicted) < 5 * error / ROUNDS
names = list(rules)
assert (table[names.index("average"), 1:] < 0).all()
assert (table[names.index("clip, r = 1/4")] > 0).all()
assert table[names.index("trimmed mean, f = 1"), 4] < 0

# %%
# None of this follows from the theorem on agreement: the torus is not even 2-robust. Here are two
# sets of agents that hear one agent outside each:

found = robustness(torus)
assert found.upper == 1
print(found.witness)
