"""The fewest agents from whose data everything can be learnt that can be learnt at all."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.learnability.cover import FewestSets, Proof, fewest_sets
from theory.learnability.rejection import Rejection
from theory.learnability.separation import Separation
from theory.showing import Shown
from theory.typed import typed


@dataclass(frozen=True, eq=False)
class FewestAgents(Shown):
    """A smallest set of agents whose data suffice.

    Attributes
    ----------
    agents
        One agent of each kind that is needed (the first of its kind), sorted.
    lower
        No smaller number of agents suffices: proved in exact arithmetic.
    proof
        "packing", "search", or "none" where the proof stopped short of the size.
    packing
        The proof by packing: ((first, second), weight) for pairs of hypotheses, such that the pairs
        that any one agent can tell apart weigh at most 1 together. Every sufficient set has at
        least as many agents as the weights' sum, rounded up.
    method
        "milp", or "greedy" for huge problems. Whether the set is the smallest says `is_minimal`.
    """

    agents: tuple[int, ...]
    lower: int
    proof: Proof
    packing: tuple[tuple[tuple[int, int], Fraction], ...]
    method: str

    @property
    def size(self) -> int:
        """How many agents."""
        return len(self.agents)

    @property
    def is_minimal(self) -> bool:
        """Whether it is proved that fewer agents do not suffice."""
        return self.lower == self.size


@typed
def fewest_agents(what: Separation | Rejection) -> FewestAgents:
    """The fewest agents that separate all separable pairs, or reject all that anyone rejects.

    For a `Separation`, the agents' data tell apart every pair that all agents' data tell apart. For
    a `Rejection`, each wrong hypothesis that some agent rejects is rejected by one of them. If the
    target is best for every agent, that is necessary and sufficient for K > 0 with these agents
    alone observing, on every network. If it is not, it is necessary only: agents may outvote each
    other, and what suffices depends on v.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> from theory.learnability import separation
    >>> fair, left, right = [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]
    >>> agents = [
    ...     FiniteAgent.from_tables(inputs=[1.0], truth=[fair], likelihood=[[fair], [a], [b]])
    ...     for a, b in ((left, fair), (fair, right), (left, right))
    ... ]
    >>> model = FiniteModel.from_agents(["fair", "left", "right"], agents)
    >>> fewest_agents(separation(model)).agents
    (2,)
    """
    if isinstance(what, Separation):
        table, pairs = what.signatures.table, what.signatures.pairs
    else:
        wrong = np.array(what.wrong, dtype=np.int64)
        table = (what.signs[:, wrong] > 0).T & (what.kind_counts > 0)[None, :]
        pairs = np.column_stack([np.full(wrong.size, what.target), wrong])
    return _as_agents(fewest_sets(table), pairs, what.assignment)


def _as_agents(cover: FewestSets, pairs: np.ndarray, assignment: np.ndarray) -> FewestAgents:
    return FewestAgents(
        agents=tuple(sorted(int(np.argmax(assignment == kind)) for kind in cover.chosen)),
        lower=cover.lower,
        proof=cover.proof,
        packing=tuple(((int(pairs[r, 0]), int(pairs[r, 1])), w) for r, w in cover.packing),
        method=cover.method,
    )
