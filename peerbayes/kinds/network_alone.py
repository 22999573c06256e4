"""A network without a model: its own numbers, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerbayes.kinds.shared.analyse import NOTES, PROBLEM
from peerbayes.problem.problems import NetworkAlone
from peerbayes.quantities.network import NETWORK, NetworkNumbers, in_doubles
from peerbayes.quantities.quantity import Table, entries, entry
from peerbayes.quantities.showing import Result

if TYPE_CHECKING:
    from peerbayes.settings.questions import Analyse
    from theory.progress import Progress

_ALONE = "a network alone: nothing is observed, so there is nothing to learn, nor a rate"
NETWORK_ALONE = Table(
    "NetworkAnalysisDocument",
    "What theory says of a network without a model.",
    entries(
        problem=PROBLEM,
        network=entry(NETWORK, get="mixing"),
        learning=entry(None, get=lambda _: None, older=None),
        samples=entry(None, get=lambda _: None, older=None),
        notes=NOTES,
    ),
)


@dataclass(frozen=True, eq=False)
class NetworkAnalysis(Result):
    """What theory says of a network without a model."""

    quantities = NETWORK_ALONE

    problem: NetworkAlone
    mixing: NetworkNumbers

    def _facts(self) -> Iterator[tuple[str, object]]:
        network = self.problem.network
        yield "network", network
        yield from [("v", network.stationary_distribution), ("slem", network.slem)]
        yield "deviation", network.deviation.upper

    @property
    def notes(self) -> list[str]:
        """Why there are no other numbers, and why one of the network is missing."""
        return [_ALONE, *self.mixing.notes]


def analyse_network(
    problem: NetworkAlone, request: Analyse, progress: Progress | None
) -> NetworkAnalysis:
    """The numbers of the network in doubles; nothing is asked that depends on a model."""
    return NetworkAnalysis(problem, in_doubles(problem.network))
