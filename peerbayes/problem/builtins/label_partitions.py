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
from types import MappingProxyType
from typing import Any

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
