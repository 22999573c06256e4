"""A network without a model: of a graph file, whose network alone can be analysed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from peerbayes.problem.posed import Posed

if TYPE_CHECKING:
    from theory import Network


@dataclass(frozen=True, eq=False)
class NetworkAlone(Posed):
    """A network of agents that observe nothing.

    Parameters
    ----------
    name
        A short name.
    network
        Who hears whom.
    """

    title: ClassVar[str] = ""
    specification: ClassVar[None] = None

    name: str
    network: Network

    @property
    def family(self) -> str:
        """Its own name: it is no variant of a built-in."""
        return self.name

    def _posed(self) -> tuple[object, ...]:
        return ()

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "network", self.network


def read_network(path: Path) -> NetworkAlone:
    """The network of a graph file.

    Raises
    ------
    ValueError
        If it is none, in one line that names the file.
    """
    from peerbayes.problem.graph_files import network_table
    from peerbayes.problem.network_section import build_network
    from peerbayes.problem.specification import section_of
    from theory import Network

    section = section_of(network_table(path), source=str(path))
    network = build_network(section, path.stem, source=str(path))
    assert isinstance(network, Network)
    return NetworkAlone(path.stem, network)
