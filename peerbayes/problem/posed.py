"""What all problems have in common.

Two of them are equal if they have the same name and title, network and model, whoever wrote them.
What a network and its drawing are called does not count, nor in which order a model lists its kinds
of agents, nor whether there is a file: a problem that was saved equals what is loaded again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from peerbayes.messages import check_counts
from theory.scientific import sparse
from theory.showing import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from peerbayes.documents import GraphDocument
    from peerbayes.problem.specification import FileSpecification
    from theory.changing.delays import AnyNetwork
    from theory.network.structure import Weights
    from theory.rational import RationalNetwork

_LABELS = {"name", "layout"}


class Posed(Value):
    """Base of problems, which are equal by what they pose, and draw their networks."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...

        @property
        def title(self) -> str: ...

        @property
        def family(self) -> str: ...

        @property
        def network(self) -> Any: ...

        @property
        def specification(self) -> FileSpecification | None: ...

    def _parts(self) -> tuple[object, ...]:
        return (self.name, self.title, *network_parts(self.network), *self._posed())

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of all by which two problems are equal, by which records know them again."""
        from exact.checkpoint import content_sha256

        def short(part: object) -> object:
            if not isinstance(part, list):
                return part
            # One for each agent: few are different.
            different = {id(entry): entry for entry in part}
            known = {key: content_sha256(entry) for key, entry in different.items()}
            return " ".join(known[id(entry)] for entry in part)

        return content_sha256(type(self).__name__, *map(short, self._parts()))

    @abstractmethod
    def _posed(self) -> tuple[object, ...]:
        """What counts beside the network."""

    def _check(self, table: str, described: int) -> None:
        """See that a table describes as many agents as the network has; name the family."""
        check_counts(self.name, table, network=self.network.agents, described=described)
        if not self.family:
            object.__setattr__(self, "family", self.name)

    def _title(self) -> str:
        return f"{type(self).__name__} {self.name!r}"

    def _heading(self, table: str) -> Iterator[tuple[str, object]]:
        """The first facts to show: the title, the network, and the table beside it."""
        if self.title:
            yield "title", self.title
        yield from [("network", self.network), (table, getattr(self, table))]

    def _graph(self) -> GraphDocument:
        """The network as it is drawn."""
        from peerbayes.documents import GraphDocument

        return GraphDocument.of(self.network)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The network: the area of an agent is proportional to its share v of the decision.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.graph import draw_network

        return draw_network(self._graph(), ax)


class PosedFixed(Posed):
    """Base of problems on a network that stays as it is, which fractions may describe."""

    @property
    def is_exact(self) -> bool:
        """Whether every number of the problem is an exact rational."""
        return self.specification is not None and self.specification.is_exact

    @cached_property
    def rational_network(self) -> RationalNetwork:
        """The network with the file's own fractions; doubles are read as binary fractions.

        Raises
        ------
        ValueError
            If there are more than 1000 agents.
        """
        from peerbayes.problem.changes_section import SequenceNetwork
        from theory.rational import RationalNetwork

        if self.specification is None:
            return RationalNetwork.from_network(self.network)
        section = self.specification.network
        assert not isinstance(section, SequenceNetwork)
        return section.build_rational(self.specification.name)


def network_parts(network: AnyNetwork) -> tuple[object, ...]:
    """What a network is but for what it is called: its kind and everything that moves beliefs."""
    own = {f.name: getattr(network, f.name) for f in fields(network) if f.name not in _LABELS}
    base = own.pop("network", None)
    if "weights" in own:
        own["weights"] = _entries(own["weights"])
    if "phases" in own:
        own["phases"] = [(_entries(p.weights), p.active) for p in own["phases"]]
    return (type(network).__name__, *own.values(), *(() if base is None else network_parts(base)))


def _entries(weights: Weights) -> tuple[object, ...]:
    """The positive entries of a matrix, however it is stored."""
    table = sparse.csr_array(weights, copy=True)
    table.eliminate_zeros()
    table.sort_indices()
    return table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data
