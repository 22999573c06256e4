"""A network without a model: its own numbers, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import RenderableType

from peerbayes.documents import Document, Documented, NetworkDocument
from peerbayes.kinds.shared.kind import AnalysisRequest, Kind
from peerbayes.kinds.shared.network_proofs import spectrum_notes
from peerbayes.problem.network_alone import NetworkAlone
from peerbayes.problem.problems import with_model
from peerbayes.tables import facts_table, notes_text, number, spread
from theory.progress import Progress

if TYPE_CHECKING:
    from peerbayes.settings.questions import Design, Placement

NOTE = "a network alone: nothing is observed, so there is nothing to learn, nor a rate"


class NetworkAnalysisDocument(Document):
    """What theory says of a network without a model."""

    problem: str
    network: NetworkDocument
    learning: None = None
    samples: None = None
    notes: list[str]


@dataclass(frozen=True, eq=False)
class NetworkAnalysis(Documented):
    """What theory says of a network without a model."""

    problem: NetworkAlone

    def document(self) -> NetworkAnalysisDocument:
        """What `analyse` prints."""
        network = self.problem.network
        return NetworkAnalysisDocument(
            problem=self.problem.name,
            network=NetworkDocument.of(network),
            notes=[NOTE, *spectrum_notes(network)],
        )

    def tables(self) -> list[RenderableType]:
        """What `analyse` shows people."""
        document = self.document()
        network = document.network
        facts = {
            "agents": str(network.agents),
            "stationary distribution v": spread(network.stationary_distribution),
            "subdominant modulus": number(network.slem),
            "second eigenvalue": number(network.second_eigenvalue),
            "deviation D_i (rounds)": spread(network.deviation),
            "reversible": "yes" if network.reversible else "no",
        }
        return [facts_table(document.problem, facts), notes_text(document.notes)]


class NetworkAloneKind(Kind[NetworkAlone]):
    """A network without a model, which can be analysed and nothing else."""

    problem = NetworkAlone
    form = "network"

    def analyse(
        self, problem: NetworkAlone, request: AnalysisRequest, progress: Progress | None
    ) -> NetworkAnalysis:
        if request.proved or request.rounds is not None or request.delta is not None:
            _refuse(problem)
        return NetworkAnalysis(problem)

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
