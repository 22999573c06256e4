"""A problem whose network changes: phases in turn, failing links, agents that come and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from peerbayes.documents import GraphDocument, names_of
from peerbayes.problem.posed import Posed, finite_parts
from peerbayes.problem.specification import ProblemSpecification
from theory import FiniteModel
from theory.changing import ChangingNetwork, MarkovNetwork, PeriodicNetwork, influence
from theory.changing.phase import weighted_sum
from theory.scientific import sparse
from theory.validation import FloatArray

if TYPE_CHECKING:
    from peerbayes.documents import GraphDocument


@dataclass(frozen=True, eq=False)
class ChangingProblem(Posed):
    """A network that changes, and the model of its agents.

    Parameters
    ----------
    name, title
        A short name, and one line about it (possibly empty).
    network, model
        Equally many agents in both.
    specification
        The parsed file; None for problems that have none.
    family, parameters
        For one variant of a built-in: the built-in's name, and what was varied.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """

    faults: ClassVar[None] = None
    """Nobody is faulty."""
    messages: ClassVar[None] = None
    """Beliefs are sent as they are."""

    name: str
    title: str
    network: ChangingNetwork
    model: FiniteModel
    specification: ProblemSpecification | None = None
    family: str = ""
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check("model", self.model.agents)

    def _posed(self) -> tuple[object, ...]:
        return finite_parts(self.model)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from self._heading("model")
        yield "hypotheses", self.model.hypotheses

    def _graph(self) -> GraphDocument:
        """Who ever hears whom, with each agent's share of all influence."""
        return graph_of(self.network, influence(self.network).values)


def graph_of(network: ChangingNetwork, shares: FloatArray) -> GraphDocument:
    """The drawing of who ever hears whom, with the mean weight; `shares` are influences, (N,)."""
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        mean = weighted_sum(network.phases, np.full(len(network.phases), 1 / len(network.phases)))
    else:
        mean = sparse.csr_array(network.network.weights)
    links = sparse.coo_array(mean)
    row, column = links.coords
    off = row != column
    total = float(shares.sum())
    return GraphDocument(
        edges=np.column_stack([row[off], column[off]]).tolist(),
        weights=links.data[off].tolist(),
        positions=None if network.layout is None else network.layout.tolist(),
        stationary_distribution=(shares / total).tolist(),
        quantity="each agent's share of all influence",
        names=names_of(network.names),
    )
