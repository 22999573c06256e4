"""Laws by brute force: every history on its own, in fractions, round by round as the papers do."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product

from theory.numbers import LogSum
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork

Rows = list[list[LogSum]]


def histories(
    weights: list[tuple[tuple[Fraction, ...], ...]], model: RationalModel
) -> list[tuple[Rows, Fraction]]:
    """All log-beliefs, up to normalising, that the rounds may lead to: one entry a history."""
    kinds = [model.kinds[k] for k in model.assignment]
    tables = [kind for kind in kinds if isinstance(kind, RationalFiniteAgent)]
    assert len(tables) == len(kinds)
    start = [[LogSum.log(p) for p in model.priors[k]] for k in model.assignment]
    found = [(start, Fraction(1))]
    logs = [
        [[LogSum.log(row[o]) for row in t.likelihoods] for o in range(len(t.probabilities))]
        for t in tables
    ]
    for W in weights:
        after = []
        for beliefs, chance in found:
            for outcome in product(*(range(len(t.probabilities)) for t in tables)):
                now = chance
                public = []
                for j, o in enumerate(outcome):
                    now *= tables[j].probabilities[o]
                    public.append([b + z for b, z in zip(beliefs[j], logs[j][o], strict=True)])
                private = [
                    [
                        LogSum.total(w * public[j][m] for j, w in enumerate(row) if w)
                        for m in range(len(model.hypotheses))
                    ]
                    for row in W
                ]
                after.append((private, now))
        found = after
    return found


def wrong(beliefs: list[LogSum], reference: set[int]) -> bool:
    """Whether some hypothesis outside the reference is believed as much as any: decided."""
    top = max(beliefs)
    return any(not b < top for m, b in enumerate(beliefs) if m not in reference)


def reference_of(network: RationalNetwork, model: RationalModel) -> set[int]:
    """Θ*, or the compromise."""
    return set(model.optimal_hypotheses or model.compromise(network.stationary_distribution))


def error_patterns(
    weights: list[tuple[tuple[Fraction, ...], ...]], model: RationalModel, reference: set[int]
) -> dict[tuple[bool, ...], Fraction]:
    """How likely each pattern of wrong agents is, exactly."""
    found: dict[tuple[bool, ...], Fraction] = defaultdict(Fraction)
    for beliefs, chance in histories(weights, model):
        found[tuple(wrong(row, reference) for row in beliefs)] += chance
    return dict(found)


def log_ratio_moments(
    weights: list[tuple[tuple[Fraction, ...], ...]], model: RationalModel, best: int, other: int
) -> list[tuple[float, float]]:
    """Mean and variance of Λ(best, other) of each agent."""
    moments = [[0.0, 0.0] for _ in model.assignment]
    for beliefs, chance in histories(weights, model):
        for i, row in enumerate(beliefs):
            ratio = (row[best] - row[other]).enclosure()
            value = (ratio.lower + ratio.upper) / 2
            moments[i][0] += float(chance) * value
            moments[i][1] += float(chance) * value * value
    return [(mean, square - mean * mean) for mean, square in moments]
