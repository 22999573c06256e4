"""
Radius, rounds and risk
=======================

Cover a continuum of parameters by finitely many, learn the best of them: a finer covering leaves
less risk and takes longer. What is guaranteed, and what is measured, on the two nodes of P1.
"""

import matplotlib.pyplot as plt
import numpy as np

from exact import measured_risk_curve
from theory import Box, Network, risk_curve, two_node_regression

# %%
# Two nodes learn three coefficients in a cube; one sees the bias and the first feature, the other
# the bias and the second. Labels are seen in five bins, so that likelihoods are bounded, as P1
# asks. The loss is 1 where the label is above a half. P1 asks for the best point of the covering;
# with slack, points of up to twice the radius are good enough.

network = Network([["9/10", "1/10"], ["3/5", "2/5"]])
nodes = two_node_regression(label_edges=[-1.0, 0.0, 0.5, 1.0])
cube = Box([-1, -1, -1], [1, 1, 1])
radii = np.geomspace(0.4, 0.02, 12)
curves = {
    "best point": risk_curve(network, nodes, cube, radii, delta=0.05, method="grid"),
    "slack 1": risk_curve(network, nodes, cube, radii, delta=0.05, method="grid", slack=1.0),
}
for name, curve in curves.items():
    for point in curve.points[::4]:
        print(
            f"{name:10}  r {point.radius:.3f}  points {point.covering.size:4}"
            f"  K {point.rate:.4f}  E {point.exponent:.5f}  rounds {point.rounds}"
        )

# %%
# Left: rounds by radius. Without slack they jump with the accident of where the truth lies between
# two points, and the printed sizes are far above. Right: risk after that many rounds, where they
# are no more than 20 000.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for colour, (name, curve) in zip(("C0", "C1"), curves.items(), strict=True):
    runs = measured_risk_curve(
        network, nodes, curve, replicates=100, seed=8, most_rounds=20_000
    ).points
    ready = [(p, m) for p, m in zip(curve.points, runs, strict=True) if m is not None and m.rounds]
    rounds = np.array([m.rounds for _, m in ready])
    known = [p for p in curve.points if p.rounds]
    needed, printed = zip(*((p.rounds, p.samples.printed.rounds) for p in known), strict=True)
    left.loglog([p.radius for p in known], needed, "o-", color=colour, label=name)
    left.loglog([p.radius for p in known], printed, ":", color=colour, label=f"{name}, printed")
    guaranteed = np.array([p.guarantee.sharp for p, _ in ready])
    measured = np.array([m.network_risk.mean() for _, m in ready])
    right.loglog(rounds, guaranteed, "o", color=colour, label=f"{name}, guaranteed")
    right.loglog(rounds, measured, "x", color=colour, label=f"{name}, measured")
    assert all(m.exceeded.lower <= 0.05 for _, m in ready)
    assert (measured <= guaranteed).all()
ticks = [0.02, 0.05, 0.1, 0.2, 0.4]
left.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
left.set_xticks([], minor=True)
left.set_xlabel("radius $r$ in nats")
left.set_ylabel("rounds")
right.set_xlabel("rounds")
right.set_ylabel("difference of risk")
for axes in (left, right):
    axes.legend(fontsize=8)

# %%
# The best radius for a given number of rounds is the finest that is ready by then.

for n in (100, 1000):
    best = curves["slack 1"].best_within(n)
    print(f"{n} rounds: r = {best.radius:.3f}, risk at most {best.guarantee.sharp:.3f}")
