"""One round of a network that changes: who observes, and who pools with whom.

In a round of phase s every active agent i first adds what it observes to its log-belief; then every
agent replaces its log-belief by the average that its row of W_s asks for:

    Λ_t = W_t (Λ_{t−1} + A_t z_t),   A_t the diagonal matrix of who observes in round t.

An agent that takes no part in a round has an identity row and is not active.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from theory.network.structure import Weights, as_weights
from theory.validation import FloatArray, as_float_array, as_integer, fail, read_only

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Phase:
    """The weights of one round, and who observes in it.

    Parameters
    ----------
    weights
        W, shape (N, N), row-stochastic; unlike those of a :class:`theory.Network` they need not
        connect anybody. Array-like (fractions in strings are welcome) or scipy sparse; stored
        read-only.
    active
        Who observes: truth values of shape (N,), or a list of agents; everybody if left out.
        Stored as a mask.

    Raises
    ------
    ValueError
        If the weights are no stochastic matrix, or `active` names unknown agents.

    Examples
    --------
    >>> Phase([[0.5, 0.5], [0.0, 1.0]], active=[0]).active.tolist()
    [True, False]
    """

    weights: Weights
    active: ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", as_weights(self.weights))
        object.__setattr__(self, "active", as_mask("active", self.active, agents=self.agents))

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return int(self.weights.shape[0])

    @property
    def observes(self) -> BoolArray:
        """Who observes, shape (N,)."""
        return np.asarray(self.active, dtype=np.bool_)

    @property
    def keeps_some(self) -> bool:
        """Whether every agent keeps a positive weight on itself."""
        return bool((self.weights.diagonal() > 0).all())


def as_mask(argument: str, values: Any, *, agents: int) -> BoolArray:
    """A read-only mask of shape (N,) from truth values, a list of agents, or None for all.

    Raises
    ------
    ValueError
        If truth values are not one for each agent, or an agent is unknown.
    """
    if values is None:
        return np.asarray(read_only(np.ones(agents, dtype=np.bool_)))
    array = np.asarray(values)
    if array.dtype == np.bool_:
        if array.shape != (agents,):
            raise fail(
                argument,
                f"one truth value for each of {agents} agents",
                f"shape {array.shape}",
                "give one for each agent, or list the agents' numbers",
            )
        return np.asarray(read_only(array.copy()))
    mask = np.zeros(agents, dtype=np.bool_)
    for value in np.atleast_1d(array).tolist():
        mask[as_integer(argument, value, minimum=0, maximum=agents - 1)] = True
    return np.asarray(read_only(mask))


def as_phases(phases: Sequence[Any]) -> tuple[Phase, ...]:
    """At least one phase, all of equally many agents; bare weight matrices become phases.

    Raises
    ------
    ValueError
        If there is none, or their numbers of agents differ.
    """
    made = tuple(phase if isinstance(phase, Phase) else Phase(phase) for phase in phases)
    if not made:
        raise fail("phases", "at least one phase", "none", "describe one round at least")
    for index, phase in enumerate(made):
        if phase.agents != made[0].agents:
            raise fail(
                f"phases[{index}]",
                f"as many agents as the first phase, {made[0].agents}",
                phase.agents,
                "give agents that rest in a phase an identity row",
            )
    return made


def weighted_sum(
    phases: Sequence[Phase], shares: Sequence[float] | FloatArray, *, observed: bool = False
) -> sparse.csr_array[np.float64]:
    """Σ_s share_s W_s, or Σ_s share_s W_s A_s if `observed`; shape (N, N)."""
    rows, columns, entries = [], [], []
    for phase, share in zip(phases, shares, strict=True):
        table = sparse.coo_array(phase.weights)
        row, column = table.coords
        rows.append(row)
        columns.append(column)
        entries.append(float(share) * table.data * (phase.observes[column] if observed else 1.0))
    shape = (phases[0].agents, phases[0].agents)
    places = (np.concatenate(rows), np.concatenate(columns))
    total = sparse.csr_array((np.concatenate(entries), places), shape=shape)
    total.eliminate_zeros()
    return total


def replaced_rows(
    agents: int, rows: Sequence[int], values: Sequence[Any], *, dense: bool
) -> Weights:
    """The identity with some rows replaced; each of `values` is a row, dense or sparse (1, N)."""
    parts = [sparse.coo_array(np.atleast_2d(v) if isinstance(v, np.ndarray) else v) for v in values]
    keep = np.ones(agents)
    keep[list(rows)] = 0.0
    stay = np.flatnonzero(keep)
    row = np.concatenate(
        [stay, *(np.full(part.nnz, where) for where, part in zip(rows, parts, strict=True))]
    )
    column = np.concatenate([stay, *(part.coords[-1] for part in parts)])
    data = np.concatenate([np.ones(stay.size), *(part.data for part in parts)])
    table = sparse.csr_array((data, (row, column)), shape=(agents, agents))
    return table.toarray() if dense else table


def as_layout(layout: Any, *, agents: int) -> FloatArray | None:
    """Positions for drawing, shape (N, 2), or None.

    Raises
    ------
    ValueError
        If there is not one position for each agent.
    """
    if layout is None:
        return None
    positions = as_float_array("layout", layout, ndim=2)
    if positions.shape != (agents, 2):
        raise fail(
            "layout",
            f"two coordinates for each of {agents} agents",
            f"shape {positions.shape}",
            "give one position an agent",
        )
    return positions
