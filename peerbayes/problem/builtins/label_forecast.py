"""What theory says of a label partition: what is learnt last, what is disputed, what suffers.

Σ_j v_j D_j is the loss of a single learner whose labels have the frequencies c_y = Σ_j v_j P_j(y),
whoever holds them (docs: mathematics/label-partitions). All that follows is arithmetic with c and
the table of looks q(x | y).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import log
from types import MappingProxyType

from peerbayes.problem.builtins.label_partitions import (
    LOOKS,
    PARTITIONS,
    LabelPartition,
    Looks,
    label_weights,
)

Pair = tuple[int, int]

# How much higher the odds of a against b are to a reader that puts a before b.
TILT = 8
EVEN = (Fraction(1, 10),) * 10


def alike_pairs(dataset: str) -> tuple[Pair, ...]:
    """All 45 pairs of labels, the most alike first.

    Alike is a small Jensen–Shannon divergence of their looks: what a look tells about which of the
    two it is, if both are equally frequent.

    Examples
    --------
    >>> alike_pairs("mnist")[:3], alike_pairs("fashion-mnist")[:3]
    (((3, 5), (4, 9), (3, 8)), ((2, 6), (2, 4), (4, 6)))
    """
    looks = LOOKS[dataset]
    return tuple(sorted(combinations(range(10), 2), key=lambda p: pair_separation(looks, EVEN, p)))


def pair_separation(looks: Looks, weights: tuple[Fraction, ...], pair: Pair) -> float:
    """How fast a learner with label weights c rejects that two labels are alike, in nats a round.

    (c_a + c_b) times the Jensen–Shannon divergence of their looks with the weights c_a : c_b; in
    floating point.
    """
    a, b = pair
    total = 0.0
    for p, q in zip(looks[a], looks[b], strict=True):
        mixed = float((weights[a] * p + weights[b] * q) / (weights[a] + weights[b]))
        for weight, share in ((weights[a], p), (weights[b], q)):
            if share:
                total += float(weight) * share / 1000 * log(share / mixed)
    return total


@dataclass(frozen=True)
class LabelForecast:
    """What the theory says of a partition; floating-point values of exact expressions.

    Attributes
    ----------
    partition
        Its name.
    label_weights
        c, length 10: exact.
    confidences, even_confidences
        Length 10: the mean probability that the calibrated and the even reader give to the true
        label of an image of label y; at every agent, in the limit.
    separations
        For each pair of labels the rate at which the network rejects that they are alike, in nats
        per round, the least separated first.
    disputes
        For each pair of labels the evidence of agents that are outvoted about it, in nats per
        round, the most disputed first: Σ_j v_j max(−I_j, 0) over "a before b" and "b before a".
    """

    partition: str
    label_weights: tuple[Fraction, ...]
    confidences: tuple[float, ...]
    even_confidences: tuple[float, ...]
    separations: Mapping[Pair, float]
    disputes: Mapping[Pair, float]

    @property
    def least_separated(self) -> Pair:
        """The pair of labels that the network takes longest to tell apart."""
        return next(iter(self.separations))

    @property
    def most_disputed(self) -> Pair | None:
        """The pair about which agents' data disagree the most; None if no agent is outvoted."""
        pair, support = next(iter(self.disputes.items()))
        return pair if support > 0 else None

    @property
    def loses_most(self) -> int | None:
        """The label whose confidence suffers most from the partition; None if none does."""
        losses = [e - c for e, c in zip(self.even_confidences, self.confidences, strict=True)]
        largest = max(losses)
        return losses.index(largest) if largest > 0 else None


def label_forecast(name: str) -> LabelForecast:
    """What the theory says of one of the `PARTITIONS`.

    Raises
    ------
    KeyError
        If there is no partition of that name.

    Examples
    --------
    >>> forecast = label_forecast("star-fmnist-2")
    >>> forecast.most_disputed, forecast.loses_most  # pullover and shirt; coat
    ((2, 6), 4)
    """
    partition = PARTITIONS[name]
    looks, weights = LOOKS[partition.dataset], label_weights(partition)
    pairs = list(combinations(range(10), 2))
    separations = {pair: pair_separation(looks, weights, pair) for pair in pairs}
    quarrels = {pair: _dispute(partition, weights, pair) for pair in pairs}
    return LabelForecast(
        partition=name,
        label_weights=weights,
        confidences=_confidences(looks, weights),
        even_confidences=_confidences(looks, EVEN),
        separations=MappingProxyType(dict(sorted(separations.items(), key=lambda kv: kv[1]))),
        disputes=MappingProxyType(dict(sorted(quarrels.items(), key=lambda kv: -kv[1]))),
    )


def _confidences(looks: Looks, weights: tuple[Fraction, ...]) -> tuple[float, ...]:
    reader = label_reader(looks, weights)
    return tuple(
        float(sum(Fraction(looks[y][x], 1000) * reader[x][y] for x in range(10))) for y in range(10)
    )


def _dispute(partition: LabelPartition, weights: tuple[Fraction, ...], pair: Pair) -> float:
    looks, total = LOOKS[partition.dataset], 0.0
    for a, b in (pair, pair[::-1]):
        for share, (_, held) in zip(partition.influence, partition.holders, strict=True):
            gain = 0.0
            for x in range(10):
                own, other = weights[a] * looks[a][x], weights[b] * looks[b][x]
                if not own + other:
                    continue
                factor = float((own + other) / (TILT * own + other))
                if a in held and looks[a][x]:
                    gain += looks[a][x] / 1000 / len(held) * log(TILT * factor)
                if b in held and looks[b][x]:
                    gain += looks[b][x] / 1000 / len(held) * log(factor)
            total += float(share) * max(gain, 0.0)
    return total


def label_reader(looks: Looks, weights: tuple[Fraction, ...]) -> list[list[Fraction]]:
    """ℓ(y | x) ∝ c_y q(x | y): one row a look."""
    rows = []
    for x in range(10):
        joint = [weights[y] * looks[y][x] for y in range(10)]
        total = sum(joint, Fraction(0))
        rows.append([entry / total for entry in joint])
    return rows
