"""Values and bounds of some 200 certificates, to full precision, on seeded networks and models.

A family is a function of a number k that returns what is frozen of its k-th certificate: named
numbers, arrays, fractions. `FAMILIES` says how many there are of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import theory
from tests.frozen.seeded import Stream, seeded
from theory import design, learnability, messages, risk, robustness
from theory.certified import certify_learning, certify_network
from theory.changing import PeriodicNetwork, Phase, RandomLinks, influence
from theory.numbers import Enclosure
from theory.rational import rational_rate
from theory.regression import (
    RegressionAgent,
    RegressionModel,
    best_stationary_distribution,
    regression_limits,
)

Values = Mapping[str, Any]


def plain(value: object) -> Any:
    """Return the value as JSON takes it: fractions and what has no JSON form as text."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Enclosure):
        return {"lower": plain(float(value.lower)), "upper": plain(float(value.upper))}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return str(value)


def certificate(design_of: Any) -> Values:
    """Return the value and the bound of a design's certificate, and its kind."""
    found = design_of.certificate
    return {"value": found.value, "bound": found.bound, "kind": found.kind}


# Designs ----------------------------------------------------------------------------------------


def rate(k: int) -> Values:
    best = design.optimal_rate(seeded(k).model, target="h0")
    return {"v": best.stationary_distribution, "rate": best.rate, **certificate(best)}


def exact_rate(k: int) -> Values:
    best = design.exact_optimal_rate(seeded(k).exact_model, target="h0")
    return {"v": best.stationary_distribution, "rate": best.rate, "enclosure": best.enclosure}


def exponent(k: int) -> Values:
    best = design.best_exponent(seeded(k).model, target="h0")
    values = {"v": best.stationary_distribution, "exponent": best.exponent, "rate": best.rate}
    return {**values, "uniform": best.uniform_exponent, **certificate(best)}


def worst_case(k: int) -> Values:
    best = design.worst_case_exponent(seeded(3 * k).model)
    values = {"v": best.stationary_distribution, "exponent": best.exponent, "rate": best.rate}
    return {**values, **certificate(best)}


def fewest_samples(k: int) -> Values:
    one = seeded(3 * k, agents=3)
    best = design.fewest_samples(one.graph, one.model, delta=0.05, target="h0", effort=0.2)
    return {"weights": best.network.weights, "bound": best.bound, **certificate(best)}


def mixing(k: int) -> Values:
    one = seeded(k, shape=("ring", "star", "path", "complete", "ladder")[k % 5])
    best = design.fastest_mixing(one.graph, [float(p) for p in one.weights_of_agents()])
    return {"slem": best.slem, "weights": best.network.weights, **certificate(best)}


def local_mixing(k: int) -> Values:
    one = seeded(k, agents=4, shape="directed")
    best = design.local_mixing(one.graph, [0.25] * 4, restarts=1, seed=k)
    return {"value": best.value, "bound": best.modulus_bound}


def placement(k: int) -> Values:
    one = seeded(k, agents=5)
    objective: Any = ("rate", "exponent")[k % 2]
    best = design.place(one.network, one.model, objective=objective, target="h0", seed=k)
    return {"assignment": best.assignment, "original": best.original, **certificate(best)}


def proved_placement(k: int) -> Values:
    one = seeded(k, agents=4)
    best = design.prove_placement(one.exact_network, one.exact_model, target="h0")
    return {"best": best.best, "rate": best.rate, "best rate": best.best_rate}


# Sample sizes, certified numbers ----------------------------------------------------------------


def samples(k: int) -> Values:
    one = seeded(3 * k)
    found = theory.sample_sizes(one.network, one.model, delta=(0.1, 0.05, 0.01)[k % 3])
    ladder = {name: getattr(found, name).rounds for name in ("printed", "repaired", "chernoff")}
    return {**ladder, "lower": found.certified.lower, "upper": found.certified.upper}


def account(k: int) -> Values:
    one = seeded(3 * k, agents=3 + k % 3)
    ledger = theory.account(one.network, one.model)
    found = ledger.probability([5, 20, 60])
    return {"log lower": found.log_lower, "log upper": found.log_upper}


def certified_network(k: int) -> Values:
    found = certify_network(seeded(k).exact_network)
    names = ("stationary_distribution", "slem", "second_eigenvalue", "deviation")
    return {name: getattr(found, name) for name in names}


def certified_learning(k: int) -> Values:
    one = seeded(k)
    found = certify_learning(one.exact_network, one.exact_model)
    names = ("rates", "rate", "exponents", "exponent", "binding", "log_ratio_bound")
    return {name: getattr(found, name) for name in names}


def exact_learning(k: int) -> Values:
    one = seeded(k)
    found = rational_rate(one.exact_network, one.exact_model)
    v = one.exact_network.stationary_distribution
    return {"v": v, "rates": found.rates, "rate": found.rate, "binding": found.binding}


def learning(k: int) -> Values:
    one = seeded(k)
    speed = theory.learning_rate(one.network, one.model)
    rare = theory.error_exponent(one.network, one.model)
    return {"rates": speed.rates, "exponents": rare.exponents, "tilts": rare.tilts}


# Risk, robustness, learnability -----------------------------------------------------------------


def total_variation(k: int) -> Values:
    divergence = (0.001, 0.01, 0.1, 0.3, 0.7, 1.5, 3.0, 8.0)[k]
    found = theory.largest_total_variation(divergence)
    bound = theory.risk_bound(divergence, loss_range=(0.0, 1.0 + k))
    names = ("printed", "repaired", "bretagnolle_huber", "best", "sharp")
    between = {"lower": found.lower, "upper": found.upper}
    return {**between, **{name: getattr(bound, name) for name in names}}


def covering(k: int) -> Values:
    box = risk.Box(np.array([-1.0, -1.0]), np.array([1.0, 1.0 + k / 4]))
    second = np.array([[1.0, k / 10], [k / 10, 0.5]])
    found = theory.cover(box, second, noise_std=1.0, radius=0.05 + k / 50)
    ends = [found.points.min(axis=0), found.points.max(axis=0)]
    return {"size": found.size, "bound": found.lower_bound, "ends": ends}


def robust_graph(k: int) -> Values:
    one = seeded(k, agents=6 + k % 3, shape=("ring", "star", "complete", "ladder")[k % 4])
    found, liars = (f(one.network) for f in (robustness.robustness, robustness.tolerated_liars))
    return {
        "robust": [found.lower, found.upper],
        "liars": [liars.lower, liars.upper],
        "witness": found.witness,
    }


def liar(k: int) -> Values:
    one = seeded(3 * k, agents=6 + k % 2, shape=("complete", "ladder")[k % 2])
    faults = {k % 6: robustness.Push("h1", 0.5 + k / 4)}
    found = robustness.faulty_averaging(one.network, one.model, faults)
    return {"rates": found.rates, "mean": found.mean, "variance": found.variance}


def guarantee(k: int) -> Values:
    one = seeded(3 * k, agents=7)
    every = theory.Network.from_topology("complete", agents=7)
    faults = robustness.Faults({6: robustness.Push("h1", 1.0)}, robustness.TrimmedMean(1))
    pooled = robustness.pooling_guarantee(every, one.model, faults.behaviours, pool_every=1 + k)
    clipped = robustness.clip_guarantee(every, one.model, faults.behaviours, radius=0.1 + k / 10)
    return {"trimmed": pooled.rates, "clipped": [clipped.lower, clipped.upper]}


def agents_that_matter(k: int) -> Values:
    one = seeded(k)
    found = learnability.fewest_agents(learnability.separation(one.model))
    v = one.network.stationary_distribution
    gone = learnability.departures(one.model, v, target="h0")
    return {"agents": found.agents, "rate": gone.rate, "silent": gone.silent_rates}


# Messages, regressions, networks that change -----------------------------------------------------


def narrow(k: int) -> Values:
    one = seeded(3 * k, agents=3 + k % 3)
    quantiser = messages.Uniform(step=(0.05, 0.25, 0.5)[k % 3])
    found = messages.compressed_learning(one.network, one.model, quantiser)
    return {
        "deviation": found.deviation,
        "bytes a round": found.bytes_per_round,
        "rounds": found.certified_rounds,
        "bytes": found.certified_bytes,
    }


def proved_messages(k: int) -> Values:
    one = seeded(3 * k, agents=3)
    quantiser = messages.Uniform(step=Fraction(1, 4 + k))
    rare = theory.error_exponent(one.network, one.model).exponent
    found = messages.certify_messages(
        one.exact_network, one.exact_model, quantiser, delta=0.05, exponent=rare
    )
    return {"deviation": found.deviation, "least": found.least, "rounds": found.rounds}


def regression(k: int) -> Values:
    one, stream = seeded(k), Stream(500 + k)
    kinds = []
    for _ in range(one.agents):
        widths = [1 + stream.below(3) for _ in range(2)]
        noise = 0.5 + stream.below(4) / 4
        kinds.append(RegressionAgent(ranges=[[-w, w] for w in widths], noise_std=noise))
    model = RegressionModel([0.5, -1.0], kinds, np.eye(2), np.diag([1.0, 0.5]))
    limits = regression_limits(one.network, model)
    best = best_stationary_distribution(one.network, model)
    return {
        "excess": limits.excess_error_constant,
        "reported": limits.reported_error_constant,
        "central": limits.central_constant,
        "covariance": limits.estimator_covariance,
        "v": best.distribution,
        "best": best.constant,
    }


def changing(k: int) -> Values:
    one = seeded(3 * k, agents=4)
    if k % 2:
        rule: Any = ("own", "renormalise", "last")[k // 2 % 3]
        network: Any = RandomLinks(one.network, 0.5 + k / 40, on_loss=rule)
    else:
        other = seeded(3 * k + 1, agents=4).network
        phases = Phase(one.network.weights, active=[0, 1]), Phase(other.weights)
        network = PeriodicNetwork(phases)
    return {
        "influence": influence(network).values,
        "rates": theory.learning_rate(network, one.model).rates,
    }


FAMILIES: Mapping[str, tuple[Callable[[int], Values], Sequence[int]]] = {
    "best rate": (rate, range(20)),
    "best rate, exact": (exact_rate, range(10)),
    "best exponent": (exponent, range(16)),
    "best exponent, worst case": (worst_case, range(5)),
    "fewest samples": (fewest_samples, range(3)),
    "fastest mixing": (mixing, range(16)),
    "fastest mixing, directed": (local_mixing, range(4)),
    "best placement": (placement, range(8)),
    "best placement, proved": (proved_placement, range(6)),
    "sample sizes": (samples, range(12)),
    "error account": (account, range(8)),
    "certified network": (certified_network, range(12)),
    "certified learning": (certified_learning, range(12)),
    "exact learning": (exact_learning, range(10)),
    "rate and exponent": (learning, range(18)),
    "risk": (total_variation, range(8)),
    "covering": (covering, range(4)),
    "robust graph": (robust_graph, range(8)),
    "liar": (liar, range(6)),
    "guarantee": (guarantee, range(4)),
    "agents that matter": (agents_that_matter, range(6)),
    "narrow links": (narrow, range(6)),
    "narrow links, proved": (proved_messages, range(4)),
    "regression": (regression, range(8)),
    "changing network": (changing, range(8)),
}


def family(name: str) -> dict[str, Any]:
    """Return every certificate of a family, by its name."""
    function, numbers = FAMILIES[name]
    return {f"{name} {k:02}": plain(function(k)) for k in numbers}
