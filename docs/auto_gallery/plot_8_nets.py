"""
Nets that learn digits they never saw
=====================================

Five agents train Bayesian neural nets on hand-written digits. The centre of a star holds 2 to 9;
four others share 0 and 1. Nobody shows an image to anybody: after five steps on its own images each
pools its belief over the net's weights with its neighbours'. How soon does everyone know all ten
digits, and what does the centre's weight have to do with it?

This example needs torch.
"""

import matplotlib.pyplot as plt
import numpy as np

from empirical import Images, held_labels, load_digits, star_partition
from empirical.nets.architecture import perceptron
from empirical.nets.evaluation import evaluate
from empirical.nets.shares import Shares, as_inputs
from empirical.train.followed import posterior_of
from empirical.train.recipe import Recipe
from theory import Network

images = load_digits()
kept = np.arange(len(images)) % 4 == 0


def part(mask):
    return Images(images.pixels[mask], images.labels[mask], "digits", images.classes, white=16)


train, test = part(~kept), part(kept)
shares = star_partition(
    train.labels, centre_labels=range(2, 10), edge_labels=[0, 1], edges=4, seed=0
)
own = held_labels(shares, train.labels)
recipe = Recipe(
    rounds=100,
    local_steps=5,
    batch=24,
    batches="proportional",
    mean_rate=3e-2,
    mean_epsilon=1e-2,
    scale_rate=2e-2,
)

# %%
# The same seed, data and net for three weights :math:`a` that an edge gives to the centre. What
# differs is the centre's influence :math:`v_1=5a/(5a+4)`. With little of it the network is slow, as
# theory has it; between the two larger values there is nothing to choose here.


def follow(edge_confidence):
    network = Network.from_topology("star", agents=5, edge_confidence=edge_confidence)
    net = perceptron(64, 40, outputs=10)
    data = Shares.from_images(train, shares, input_shape=(64,))
    training = recipe.training(data, network, architecture=net, seed=0)
    inputs, looks = as_inputs(test, input_shape=(64,)), []
    for _ in range(recipe.rounds):
        training.run_round()
        if training.round % 5 == 0:
            belief = posterior_of(training.belief(), net)
            found = evaluate(belief, inputs, test.labels, draws=3, seed=0, own_labels=own)
            looks.append((training.round, found))
    return network.stationary_distribution[0], looks


runs = {a: follow(a) for a in (0.1, 0.3, 0.7)}
soon = [np.mean([found.accuracy.mean() for _, found in looks[:6]]) for _, looks in runs.values()]
assert soon[0] < min(soon[1:])

# %%
# Left: accuracy, the mean of all agents. Right, for the largest :math:`a`: the probability that
# agents give to the true digit, for digits of their own and for those that only others have.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for a, (v, looks) in runs.items():
    rounds = [t for t, _ in looks]
    left.plot(rounds, [100 * f.accuracy.mean() for _, f in looks], label=f"$a={a}$, $v_1={v:.2f}$")
left.set(xlabel="rounds", ylabel="accuracy [%]")
left.legend()
for name, agents, colour in (("centre", [0], "tab:blue"), ("edges", [1, 2, 3, 4], "tab:orange")):
    looks = runs[0.7][1]
    mine = [f.in_domain_confidence[agents].mean() for _, f in looks]
    theirs = [f.out_of_domain_confidence[agents].mean() for _, f in looks]
    right.plot(rounds, mine, color=colour, label=f"{name}, own digits")
    right.plot(rounds, theirs, color=colour, ls="--", label=f"{name}, digits of others")
right.set(xlabel="rounds", ylabel="confidence in the true digit")
right.legend()
