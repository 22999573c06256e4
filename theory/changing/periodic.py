"""Networks that go through the same phases again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from theory.changing.mixing import check_periodic, check_phases
from theory.changing.moving_rows import Rows
from theory.changing.phase import Phase, as_phases, phase_of_few
from theory.network.labels import LABEL, as_layout, as_names
from theory.validation import FloatArray, as_integer, as_probability, fail
from theory.values import Value

# A phase takes about a kilobyte, and some 50 microseconds in each part of an analysis.
_MOST_PHASES = 1_000_000


@dataclass(frozen=True, eq=False)
class PeriodicNetwork(Value):
    """Phases 0 … T−1 in turn: round t, counted from 1, is of phase (t − 1) mod T.

    Parameters
    ----------
    phases
        Phases, or bare weight matrices (then everybody observes).
    name
        What to call it.
    layout
        Positions for drawing, shape (N, 2), if there are natural ones.
    names
        What the agents are called, N distinct texts, if they have names.

    Raises
    ------
    ValueError
        If the phases disagree about the number of agents; if their union is not strongly connected
        (the message names the split); if an agent is active in none; if the product over a period
        does not mix (it names groups that never agree).

    Examples
    --------
    >>> talk, listen = [[0.5, 0.5], [0, 1]], [[1, 0], [0.5, 0.5]]
    >>> PeriodicNetwork([talk, listen]).period
    2
    """

    phases: tuple[Phase, ...]
    name: str = "network"
    layout: FloatArray | None = None
    names: tuple[str, ...] | None = field(default=None, metadata=LABEL)

    if TYPE_CHECKING:

        def __init__(
            self,
            phases: Sequence[Any],
            name: str = "network",
            layout: ArrayLike | None = None,
            names: Sequence[str] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", as_phases(self.phases))
        check_period(self.period)
        object.__setattr__(self, "layout", as_layout(self.layout, agents=self.agents))
        object.__setattr__(self, "names", as_names(self.names, agents=self.agents))
        check_phases(self.phases, self.names)
        check_periodic(self.phases, self.names)

    def _title(self) -> str:
        return f"PeriodicNetwork {self.name!r}, {self.agents} agents, {self.period} phases"

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return self.phases[0].agents

    @property
    def period(self) -> int:
        """T, the number of phases."""
        return len(self.phases)

    def phase_of(self, rounds: int) -> Phase:
        """The phase of round t, counted from 1."""
        return self.phases[(as_integer("rounds", rounds, minimum=1) - 1) % self.period]


def check_period(phases: int) -> None:
    """Refuse more phases than can be kept.

    Raises
    ------
    ValueError
        If there are more than a million.
    """
    if phases > _MOST_PHASES:
        raise fail(
            "phases",
            f"a period of at most {_MOST_PHASES} phases",
            phases,
            "merge some of them, or make groups larger",
        )


def rotating_star(
    *, groups: int, group_size: int, edge_confidence: float, name: str = "rotating star"
) -> PeriodicNetwork:
    """P2's network of sec. 1.4.3: groups in turn form a star with agent 0.

    In phase g the centre, agent 0, weighs itself and the members of group g alike; each of these
    gives a = `edge_confidence` to the centre and 1 − a to itself. Agents g·m + 1 … (g + 1)·m form
    group g, m = `group_size`. All others rest: they neither observe nor pool.

    Raises
    ------
    ValueError
        If a count is below 1, there are more than a million groups, or the confidence is not in
        (0, 1).

    Examples
    --------
    >>> star = rotating_star(groups=5, group_size=5, edge_confidence=0.5)
    >>> star.agents, star.period
    (26, 5)
    """
    count = as_integer("groups", groups, minimum=1)
    size = as_integer("group_size", group_size, minimum=1)
    confidence = as_probability("edge_confidence", edge_confidence)
    check_period(count)
    agents = count * size + 1
    starts = np.concatenate([[0], (size + 1) + 2 * np.arange(size + 1)])
    uniform = np.full(size + 1, 1 / (size + 1))
    shares = np.concatenate([uniform, np.tile([confidence, 1 - confidence], size)])
    phases = []
    for group in range(count):
        edges = np.arange(group * size + 1, (group + 1) * size + 1)
        present = np.append(0, edges)
        heard = np.concatenate([present, np.column_stack([np.zeros_like(edges), edges]).ravel()])
        phases.append(phase_of_few(agents, Rows(present, starts, heard, shares), present))
    angle = 2 * np.pi * np.arange(agents - 1) / (agents - 1)
    circle = np.column_stack([np.sin(angle), np.cos(angle)])
    return PeriodicNetwork(tuple(phases), name=name, layout=np.vstack([[0.0, 0.0], circle]))
