"""Who holds which labels in the papers' experiments, and how much alike the labels look.

P1 section 5.2 splits Fashion-MNIST over two nodes, P2 section 4.2 spreads both data sets over a
star of nine. Here a label's images are described by their *looks*: the classes whose mean images
are nearest to them. The tables are measured, so that nothing is assumed about which labels are
alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import log
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peerbayes.problem.problems import Problem
    from theory.progress import Progress


# Who holds which labels in the papers' experiments, and how much alike the labels look -----------


Looks = tuple[tuple[int, ...], ...]

# Per mille of each label's training images (rows) that look like each label (columns): measured
# with `empirical.look_table` on the published files; the tests measure them again.
LOOKS: Mapping[str, Looks] = MappingProxyType(
    {
        "mnist": (
            (867, 1, 9, 4, 3, 68, 28, 4, 14, 2),
            (0, 962, 7, 2, 0, 12, 1, 1, 14, 1),
            (16, 60, 758, 35, 29, 6, 31, 21, 39, 5),
            (9, 30, 33, 770, 2, 59, 8, 10, 53, 26),
            (2, 24, 5, 0, 808, 2, 18, 4, 13, 124),
            (17, 80, 6, 132, 27, 671, 20, 8, 12, 27),
            (14, 36, 26, 1, 19, 32, 868, 0, 4, 0),
            (5, 50, 10, 1, 23, 3, 1, 841, 13, 53),
            (8, 61, 13, 95, 11, 36, 8, 4, 725, 39),
            (10, 30, 8, 16, 84, 9, 2, 45, 19, 777),
        ),
        "fashion-mnist": (
            (696, 5, 18, 105, 16, 112, 39, 1, 8, 0),
            (24, 894, 10, 42, 5, 16, 9, 0, 0, 0),
            (5, 0, 477, 8, 209, 123, 168, 0, 10, 0),
            (49, 14, 3, 798, 39, 60, 36, 0, 1, 0),
            (5, 3, 157, 88, 581, 55, 107, 0, 4, 0),
            (0, 0, 0, 2, 0, 768, 1, 158, 4, 67),
            (185, 2, 143, 53, 214, 171, 214, 1, 17, 0),
            (0, 0, 0, 0, 0, 129, 0, 807, 0, 64),
            (2, 1, 31, 42, 11, 96, 20, 38, 757, 2),
            (0, 0, 1, 2, 1, 51, 9, 71, 0, 865),
        ),
    }
)
LABELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "mnist": tuple("0123456789"),
        "fashion-mnist": (
            "T-shirt",
            "trouser",
            "pullover",
            "dress",
            "coat",
            "sandal",
            "shirt",
            "sneaker",
            "bag",
            "boot",
        ),
    }
)


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


def _star(
    name: str, dataset: str, centre: str, edges: str, edge_confidence: str, printed: str
) -> LabelPartition:
    a = Fraction(edge_confidence)
    share = 9 * a / (9 * a + 8)
    return LabelPartition(
        name,
        dataset,
        ((1, _labels(centre)), (8, _labels(edges))),
        {"topology": "star", "agents": 9, "edge_confidence": edge_confidence},
        (share, 1 - share),
        printed,
    )


def _two(
    name: str, first: str, second: str, weights: tuple[tuple[str, str], ...], printed: str
) -> LabelPartition:
    (_, w_12), (w_21, _) = weights
    share = Fraction(w_21) / (Fraction(w_12) + Fraction(w_21))
    return LabelPartition(
        name,
        "fashion-mnist",
        ((1, _labels(first)), (1, _labels(second))),
        {"weights": [list(row) for row in weights]},
        (share, 1 - share),
        printed,
    )


def _labels(digits: str) -> tuple[int, ...]:
    return tuple(int(digit) for digit in digits)


_EVEN = (("1/4", "3/4"), ("3/4", "1/4"))

# P2 section 4.2 (stars) and P1 section 5.2 (two nodes).
PARTITIONS: Mapping[str, LabelPartition] = MappingProxyType(
    {
        partition.name: partition
        for partition in (
            _star("star-mnist-1", "mnist", "23456789", "01", "1/2", "97.55"),
            _star(
                "star-mnist-2",
                "mnist",
                "01234567",
                "89",
                "1/2",
                "9 low at the centre, 4 at an edge",
            ),
            _star("star-mnist-3", "mnist", "01235678", "49", "1/2", "settings alone"),
            _star("star-fmnist-1", "fashion-mnist", "023468", "1579", "7/10", "84.21"),
            _star(
                "star-fmnist-2",
                "fashion-mnist",
                "013468",
                "2579",
                "7/10",
                "69.7, coat unsure",
            ),
            _two("fmnist-2-balanced-a", "01234", "56789", _EVEN, "83 and 67"),
            _two("fmnist-2-balanced-b", "02346", "15789", _EVEN, "85.78 and 85.86"),
            _two(
                "fmnist-2-unbalanced",
                "01234567",
                "89",
                (("9/20", "11/20"), ("7/10", "3/10")),
                "85.8 and 85.2",
            ),
        )
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


# What theory says of a label partition -----------------------------------------------------------


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


# The papers' label partitions with a finite set of hypotheses ------------------------------------


Reader = list[list[Fraction]]

# How many pairs of labels have hypotheses.
_PAIRS = 6


@dataclass(frozen=True)
class LabelBuiltin:
    """One problem file a partition, written when it is asked for."""

    name: str
    title: str
    default: str
    needs_data: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants' names, in order."""
        return tuple(f"{self.name} {partition}" for partition in PARTITIONS)

    def build(
        self, names: tuple[str, ...], *, data: Path | None, progress: Progress | None
    ) -> tuple[Problem, ...]:
        """The problems of some of the variants."""
        from peerbayes.problem.problems import Problem, of_kind
        from peerbayes.problem.reading import problem_from_document

        problems = []
        for name in names:
            partition = PARTITIONS[name.removeprefix(f"{self.name} ")]
            problem = problem_from_document(
                label_document(partition, name=name),
                source=name,
                family=self.name,
                parameters={"partition": partition.name},
            )
            problems.append(of_kind(problem, Problem, name))
        return tuple(problems)


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
