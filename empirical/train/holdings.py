"""Who holds which examples, where a label may be several numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from empirical.nets.shares import Shares


@dataclass(frozen=True, eq=False)
class Holdings(Shares):
    """Shares whose labels have shape (n,) or (n, k).

    Raises
    ------
    ValueError
        As :class:`~empirical.nets.shares.Shares`.
    """

    def __post_init__(self) -> None:
        first = self.labels if self.labels.ndim < 2 else self.labels[:, 0]
        Shares(self.inputs, first, self.indices)  # which checks

    def of(self, agents: Sequence[int]) -> Holdings:
        """The shares of some agents."""
        return Holdings(self.inputs, self.labels, tuple(self.indices[agent] for agent in agents))
