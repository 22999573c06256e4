"""The papers' label partitions with a finite set of hypotheses, and what theory says of them.

P1 section 5.2 splits Fashion-MNIST over two nodes, P2 section 4.2 spreads both data sets over a
star of nine: agents hold images of some labels only. Here what an agent sees of an image is its
*look*, the class whose mean image is nearest to it, and a hypothesis says how likely each label is
for each look. Tables of looks are measured (``looks.toml``), so that nothing is assumed about which
labels are alike. Images of all agents together are those of one learner whose labels have the
frequencies c_y = Σ_j v_j P_j(y), whoever holds them (docs: mathematics/label-partitions); so the
best reader of looks, and the network's compromise, is the first of these:

=====================  ====================================================================
hypothesis             ℓ(y | x)
=====================  ====================================================================
``calibrated``         c_y q(x | y) / Σ c q: what such a learner comes to believe
``even``               q(x | y) / Σ q: all labels equally frequent (left out where c is so)
``a and b alike``      as calibrated, with the two labels' odds the same for every look
``a before b``         as calibrated, with the odds of a against b 8 times as high
=====================  ====================================================================

The last two are there for the six pairs of labels whose looks are the most alike. An agent that
holds a and has never seen b prefers ``a before b`` and is outvoted: that is a dispute
(`theory.learnability.disputes`). All numbers are exact.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import combinations
from math import log
from types import MappingProxyType
from typing import Any

Looks = tuple[tuple[int, ...], ...]
Pair = tuple[int, int]
Reader = list[list[Fraction]]

# How much higher the odds of a against b are to a reader that puts a before b.
TILT = 8
EVEN = (Fraction(1, 10),) * 10
# How many pairs of labels have hypotheses.
_PAIRS = 6


@dataclass(frozen=True)
class LabelPartition:
    """Who holds which labels, on which network.

    Parameters
    ----------
    name
        That of the papers' experiment.
    dataset
        "mnist" or "fashion-mnist".
    holders
        For each kind of agent, in the network's order: how many, and the labels they hold, all
        equally often.
    network
        The `network` table of the problem file.
    influence
        v of each kind of agent, all of them together.
    printed
        What the paper prints: accuracies in %, and labels of low confidence.
    """

    name: str
    dataset: str
    holders: tuple[tuple[int, tuple[int, ...]], ...]
    network: Mapping[str, Any]
    influence: tuple[Fraction, ...]
    printed: str


_FILE = tomllib.loads((files(__package__) / "looks.toml").read_text("utf-8"))

LOOKS: Mapping[str, Looks] = MappingProxyType(
    {name: tuple(map(tuple, one["table"])) for name, one in _FILE["looks"].items()}
)
"""Per mille of each label's images that have each look, by data set."""
LABELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: tuple(one["labels"]) for name, one in _FILE["looks"].items()}
)
PARTITIONS: Mapping[str, LabelPartition] = MappingProxyType(
    {
        name: LabelPartition(
            name,
            one["dataset"],
            tuple((count, tuple(map(int, held))) for count, held in one["holders"]),
            one["network"],
            tuple(map(Fraction, one["influence"])),
            one["printed"],
        )
        for name, one in _FILE["partitions"].items()
    }
)


def label_weights(partition: LabelPartition) -> tuple[Fraction, ...]:
    """c_y = Σ_j v_j P_j(y) for each label, exactly: how often the network as a whole hears of it.

    Examples
    --------
    >>> c = label_weights(PARTITIONS["star-mnist-2"])
    >>> str(c[4]), str(c[9])
    ('9/200', '8/25')
    """
    weights = [Fraction(0)] * 10
    for share, (_, held) in zip(partition.influence, partition.holders, strict=True):
        for y in held:
            weights[y] += share / len(held)
    return tuple(weights)


# What theory says of a partition ---------------------------------------------------------------


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


# Problem files -----------------------------------------------------------------------------------


@cache
def _named_pairs(dataset: str) -> tuple[Pair, ...]:
    return alike_pairs(dataset)[:_PAIRS]


def label_document(partition: LabelPartition, *, name: str) -> dict[str, Any]:
    """The problem file of a partition: exact numbers as strings."""
    looks, weights = LOOKS[partition.dataset], label_weights(partition)
    calibrated = label_reader(looks, weights)
    readers = {"calibrated": calibrated}
    if len(set(weights)) > 1:
        readers["even"] = label_reader(looks, EVEN)
    words = LABELS[partition.dataset]
    for a, b in _named_pairs(partition.dataset):
        share = weights[a] / (weights[a] + weights[b])
        readers[f"{words[a]} and {words[b]} alike"] = _split(calibrated, a, b, share=share)
        for first, second in ((a, b), (b, a)):
            before = f"{words[first]} before {words[second]}"
            readers[before] = _split(calibrated, first, second)
    tables = [[[str(entry) for entry in row] for row in table] for table in readers.values()]
    return {
        "name": name,
        "title": f"who holds which labels: {partition.name} of the papers, by the looks of images",
        "network": dict(partition.network),
        "model": {
            "hypotheses": list(readers),
            "agents": [
                {"count": count, **_holder(looks, held), "likelihood": tables}
                for count, held in partition.holders
            ],
        },
    }


def _split(reader: Reader, a: int, b: int, *, share: Fraction | None = None) -> Reader:
    """The reader with what a and b have together for a look divided anew.

    a gets `share` of it, the same for every look; or if None, odds of a against b `TILT` times as
    high as before.
    """
    rows = []
    for row in reader:
        both, new = row[a] + row[b], list(row)
        if both:
            tilted = TILT * row[a] / (TILT * row[a] + row[b])
            new[a] = both * (tilted if share is None else share)
            new[b] = both - new[a]
        rows.append(new)
    return rows


def _holder(looks: Looks, held: tuple[int, ...]) -> dict[str, Any]:
    """P(x) and f(y | x) of an agent that holds these labels, all equally often."""
    inputs, truth = [], []
    for x in range(10):
        counts = [looks[y][x] if y in held else 0 for y in range(10)]
        total = sum(counts)
        inputs.append(str(Fraction(total, 1000 * len(held))))
        # Of looks that it never meets any label may be said to be true.
        row = [Fraction(k, total) if total else Fraction(1, 10) for k in counts]
        truth.append([str(entry) for entry in row])
    return {"inputs": inputs, "truth": truth}
