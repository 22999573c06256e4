"""Small networks and models, made of whole numbers by a rule that is written down here.

Nothing is drawn by a library, whose streams may change: the numbers come from Knuth's linear
congruential generator. The same fractions are given as exact values and as doubles.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from theory import FiniteAgent, FiniteModel, Network
from theory.design import DesignGraph
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork

SHAPES = ("ring", "star", "path", "complete", "directed", "ladder")


class Stream:
    """Whole numbers that look random, the same for ever.

    Parameters
    ----------
    seed
        A whole number; neighbouring seeds give unlike streams.
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed * 0x9E3779B97F4A7C15 + 1) % 2**64
        for _ in range(3):
            self.below(2)

    def below(self, bound: int) -> int:
        """Return the next number, in [0, bound)."""
        self._state = (6364136223846793005 * self._state + 1442695040888963407) % 2**64
        return (self._state >> 33) % bound

    def row(self, size: int, *, most: int = 9) -> list[Fraction]:
        """Return a distribution on `size` points: whole numbers in [1, most] over their sum."""
        parts = [1 + self.below(most) for _ in range(size)]
        return [Fraction(part, sum(parts)) for part in parts]


def links_of(shape: str, agents: int, stream: Stream) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i listening to j ≠ i, of a shape; "directed" adds a few."""
    ring = [(i, (i + 1) % agents) for i in range(agents)]
    path = ring[:-1]
    if shape == "directed":
        extra = [(stream.below(agents), stream.below(agents)) for _ in range(agents)]
        return sorted({*ring, *((i, j) for i, j in extra if i != j)})
    pairs = {
        "ring": ring,
        "star": [(0, i) for i in range(1, agents)],
        "path": path,
        "complete": [(i, j) for i in range(agents) for j in range(i)],
        "ladder": [*path, *((i, i + 2) for i in range(agents - 2))],
    }[shape]
    return sorted({pair for i, j in pairs for pair in ((i, j), (j, i))})


@dataclass(frozen=True)
class Seeded:
    """The network and the model of one number k, exact and in doubles.

    Attributes
    ----------
    k
        Which one; N = 3 … 8 agents, M = 2 … 4 hypotheses and the shape follow from it.
    shape
        One of `SHAPES`.
    rows
        W, shape (N, N).
    truths, likelihoods
        An agent each: the law of its observations, and one for each hypothesis.
    """

    k: int
    shape: str
    rows: tuple[tuple[Fraction, ...], ...]
    truths: tuple[tuple[Fraction, ...], ...]
    likelihoods: tuple[tuple[tuple[Fraction, ...], ...], ...]

    @property
    def agents(self) -> int:
        """Number of agents N."""
        return len(self.rows)

    @property
    def hypotheses(self) -> list[str]:
        """Names of the hypotheses; the first is true, or nearly so."""
        return [f"h{m}" for m in range(len(self.likelihoods[0]))]

    @property
    def exact_network(self) -> RationalNetwork:
        """W of fractions."""
        return RationalNetwork(self.rows)  # type: ignore[arg-type]  # takes sequences too

    @property
    def network(self) -> Network:
        """W of doubles."""
        return Network(np.array(self.rows, dtype=np.float64))

    @property
    def graph(self) -> DesignGraph:
        """The links of W."""
        n = range(self.agents)
        links = [[i, j] for i in n for j in n if i != j and self.rows[i][j]]
        return DesignGraph(self.agents, np.array(links))

    @property
    def exact_model(self) -> RationalModel:
        """The model of fractions."""
        kinds = [
            RationalFiniteAgent.from_tables(
                inputs=[1], truth=[truth], likelihood=[[claim] for claim in claims]
            )
            for truth, claims in zip(self.truths, self.likelihoods, strict=True)
        ]
        return RationalModel.from_agents(self.hypotheses, kinds, counts=[1] * self.agents)

    @property
    def model(self) -> FiniteModel:
        """The model of doubles."""
        kinds = [
            FiniteAgent.from_tables(
                inputs=[1.0],
                truth=[[float(p) for p in truth]],
                likelihood=[[[float(p) for p in claim]] for claim in claims],
            )
            for truth, claims in zip(self.truths, self.likelihoods, strict=True)
        ]
        return FiniteModel.from_agents(self.hypotheses, kinds, counts=[1] * self.agents)

    def weights_of_agents(self) -> list[Fraction]:
        """Return an influence v that is not the network's, shape (N,)."""
        return Stream(1000 + self.k).row(self.agents, most=5)


@cache
def seeded(k: int, *, agents: int | None = None, shape: str | None = None) -> Seeded:
    """Return the k-th network and model; `agents` and `shape` in place of those that follow from k.

    In every third one no hypothesis is true: each agent's truth lies between the first hypothesis
    and the second, nearer to the first.
    """
    stream = Stream(k)
    shape = SHAPES[k % len(SHAPES)] if shape is None else shape
    size = 3 + k % 6 if agents is None else agents
    links = links_of(shape, size, stream)
    rows = []
    for i in range(size):
        heard = [i, *(b for a, b in links if a == i)]
        row = [Fraction(0)] * size
        for j, weight in zip(heard, stream.row(len(heard), most=6), strict=True):
            row[j] = weight
        rows.append(tuple(row))
    hypotheses, outcomes = 2 + k % 3, 2 + k // 2 % 2
    truths, likelihoods = [], []
    for _ in range(size):
        claims = tuple(tuple(stream.row(outcomes)) for _ in range(hypotheses))
        near = [(4 * p + q) / 5 for p, q in zip(claims[0], claims[1], strict=True)]
        truths.append(tuple(near) if k % 3 == 2 else claims[0])
        likelihoods.append(claims)
    return Seeded(k, shape, tuple(rows), tuple(truths), tuple(likelihoods))
