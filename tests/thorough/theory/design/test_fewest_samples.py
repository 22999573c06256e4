"""The search for few samples where it takes longer: three agents, several hypotheses."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.theory.design.test_fewest_samples import PATH, check, two_faced, uneven
from theory import Network, account
from theory.design import fewest_samples


def test_three_agents_on_a_path_against_every_network_on_a_grid() -> None:
    model = uneven(3)
    found = fewest_samples(PATH, model, delta=0.05, effort=0.34)
    check(found, PATH, model)
    best, grid = np.inf, (0.3, 0.6, 0.9)
    for a, b, c, d in product(grid, (0.1, 0.3), (0.1, 0.5), grid):
        weights = [[1 - a, a, 0], [b, 1 - b - c, c], [0, d, 1 - d]]
        best = min(best, account(Network(weights), model).sample_size(0.05).upper)
    assert best >= found.certificate.bound
    assert found.certificate.value <= best


def test_many_hypotheses_and_the_baselines() -> None:
    model = two_faced()
    network = Network.from_edges([[0, 1], [1, 2]], agents=3, rule="lazy-metropolis")
    found = fewest_samples(
        network,
        model,
        delta=0.1,
        effort=0.34,
    )
    check(found, PATH, model)
    names = [start.name for start in found.baselines]
    assert {"uniform", "metropolis", "lazy-metropolis", "max-degree"} <= set(names)
    assert found.certificate.value <= min(start.rounds for start in found.baselines)
