"""
From a network to figures: one import
=====================================

Nine sensors around a well decide whether its water is clean. All is done with one import: predict,
run, compare, and draw.
"""

import matplotlib.pyplot as plt

import peerbayes as pb

# %%
# Only the sensor in the middle tells clean water from salty; the others tell it from muddy water.

middle = pb.FiniteAgent.from_tables(
    truth=[[0.7, 0.3]], likelihood=[[[0.7, 0.3]], [[0.4, 0.6]], [[0.7, 0.3]]]
)
outer = pb.FiniteAgent.from_tables(
    truth=[[0.6, 0.4]], likelihood=[[[0.6, 0.4]], [[0.6, 0.4]], [[0.45, 0.55]]]
)
model = pb.FiniteModel.from_agents(["clean", "salty", "muddy"], [middle, outer], counts=[1, 8])
star = pb.Network.from_topology("star", agents=9, edge_confidence=0.5)
problem = pb.problem_of(star, model, name="well", title="nine sensors around a well")
print(problem)

# %%
# What theory says of it, before anything is run.

analysis = pb.analyse(problem)
print(analysis)

# %%
# The same by simulation. ``verify`` judges every statement, and allows for chance and nothing else.

run = pb.simulate(problem, rounds=150, replicates=300, seed=1)
verified = pb.verify(problem, seed=1)
print(verified)
assert not verified.failed

# %%
# Results draw themselves: how many rounds each bound asks for, how belief grows, and the predicted
# rates beside the measured ones.

figure, panels = plt.subplots(3, 1, figsize=(7, 9), layout="constrained")
analysis.plot(panels[0])
run.plot(panels[1])
verified.plot(panels[2])
plt.show()
