"""A network without a model: its own numbers, and no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from peerbayes.kinds.shared.kind import AnalysisRequest, Kind
from peerbayes.problem.problems import NetworkAlone, with_model
from peerbayes.quantities.network import NETWORK, NetworkNumbers, in_doubles
from peerbayes.quantities.quantity import NOTE, Quantity, Table, part
from peerbayes.quantities.result import Result
from theory.progress import Progress

if TYPE_CHECKING:
    from peerbayes.settings.questions import Design, Placement

_ALONE = "a network alone: nothing is observed, so there is nothing to learn, nor a rate"


NETWORK_ALONE = Table(
    "NetworkAnalysisDocument",
    "What theory says of a network without a model.",
    (
        Quantity("problem", str, get=lambda analysis: analysis.problem.name),
        part("network", NETWORK, lambda analysis: analysis.mixing),
        Quantity("learning", None, get=lambda _: None, older=None),
        Quantity("samples", None, get=lambda _: None, older=None),
        Quantity("notes", list[str], label=NOTE),
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


class NetworkAloneKind(Kind[NetworkAlone]):
    """A network without a model, which can be analysed and nothing else."""

    problem = NetworkAlone
    form = "network"

    def analyse(
        self, problem: NetworkAlone, request: AnalysisRequest, progress: Progress | None
    ) -> NetworkAnalysis:
        if request.proved or request.rounds is not None or request.delta is not None:
            _refuse(problem)
        return NetworkAnalysis(problem, in_doubles(problem.network))

    def simulation(self, problem: NetworkAlone, run: Any) -> NoReturn:
        _refuse(problem)

    def summary(self, problem: NetworkAlone, simulation: Any, record_path: Any = None) -> NoReturn:
        _refuse(problem)

    def verify(
        self, problem: NetworkAlone, *, seed: int, delta: float, progress: Progress | None
    ) -> NoReturn:
        _refuse(problem)

    def design(self, problem: NetworkAlone, request: Design, progress: Progress | None) -> NoReturn:
        _refuse(problem)

    def place(
        self, problem: NetworkAlone, request: Placement, progress: Progress | None
    ) -> NoReturn:
        _refuse(problem)

    def view(self, entry: Mapping[str, Any], *, key: str) -> NoReturn:
        raise NotImplementedError  # nothing of it is recorded

    def simulation_view(self, body: Mapping[str, Any], *, key: str) -> NoReturn:
        raise NotImplementedError  # nothing of it is recorded


def _refuse(problem: NetworkAlone) -> NoReturn:
    with_model(problem)
    raise AssertionError
