"""What a kind of problem offers to the commands: one protocol for all of them.

A kind is a folder beside this file, with the same skeleton as its siblings: ``kind`` (its entry in
the registry, and nothing else), ``analyse``, ``simulate``, ``verify``, ``design``, ``place``,
``documents`` (what is printed and recorded), ``tables`` (for people) and ``view`` (for the report).
Commands, the report and `import peerbayes` know kinds by this protocol alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from peerbayes.problem.problems import AnyProblem, FiniteProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

    from exact import Run, Simulation
    from peerbayes.comparison import Comparison
    from peerbayes.designs.outcome import DesignOutcome
    from peerbayes.designs.place import PlacementResult
    from peerbayes.documents import Document
    from peerbayes.figures.views import Section
    from peerbayes.kinds.shared.social_learning import SimulationSummary
    from peerbayes.kinds.shared.verified import VerifiedDocument
    from peerbayes.settings.questions import Design, Placement
    from peerbayes.sweep_documents import SweepDocument
    from peerbayes.terminal import Predicted
    from theory.progress import Progress

P = TypeVar("P", bound="AnyProblem")
F = TypeVar("F", bound="FiniteProblem")
DEFAULT_DELTA = 0.05
Arithmetic = Literal["double", "exact", "certified"]


class Result(Protocol):
    """What a command shows: as JSON, or as tables for people."""

    def as_json(self) -> Any:
        """The JSON object that the command prints."""
        ...

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        ...


class SimulationTask(Protocol):
    """A simulation that has been checked, and not begun."""

    def cost(self) -> Predicted:
        """What it would take."""
        ...

    def simulate(self) -> Any:
        """Run it."""
        ...


class SimulationOutcome(Result, Protocol):
    """What a simulation came to, and where its record is."""

    @property
    def record_path(self) -> Path | None:
        """Where its record is; None if it left none."""
        ...

    def as_record(self) -> Document:
        """What is left on disk."""
        ...

    def plot(self, ax: Axes | None = None) -> Axes:
        """What was measured, over the rounds, on `ax` or on new axes."""
        ...


class Verification(Protocol):
    """What the verification of any problem gives: verdicts, and what the report needs of it."""

    @property
    def problem(self) -> AnyProblem:
        """What was verified."""
        ...

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every verdict."""
        ...

    def plot(self, ax: Axes | None = None) -> Axes:
        """The main measurement beside its prediction, on `ax` or on new axes."""
        ...

    def as_record(self) -> VerifiedDocument:
        """What the report needs; ``form`` names the kind of problem where it is not finite."""
        ...


class Sweep(Protocol):
    """Verifications of one problem that differ in one parameter."""

    def comparisons(self) -> list[Comparison]:
        """Every verdict."""
        ...

    def as_record(self) -> SweepDocument:
        """What the report needs."""
        ...


@dataclass(frozen=True)
class AnalysisRequest:
    """What is asked of an analysis.

    Parameters
    ----------
    delta
        Probability of error that sample sizes allow, in (0, 1); None for the usual one, .05.
    arithmetic
        ``"double"``, or ``"exact"`` or ``"certified"`` for numbers that are proved.
    rounds
        Also certify what so many rounds are good for; None for not.
    out
        Folder for the parts of proofs that take long; None keeps none.
    """

    delta: float | None = None
    arithmetic: Arithmetic = "double"
    rounds: int | None = None
    out: Path | None = None

    @property
    def proved(self) -> bool:
        """Whether numbers are to be proved."""
        return self.arithmetic != "double"

    @property
    def command(self) -> str:
        """The command with the options that not every kind of problem takes."""
        option = {"double": "", "exact": " --exact", "certified": " --certify"}[self.arithmetic]
        return f"analyse{option}" + " --rounds" * (self.rounds is not None)


class Kind(ABC, Generic[P]):
    """One kind of problem: what its value object is, and what can be done with it."""

    problem: type[P]
    """The value object."""
    form: str | None
    """What a record's key ``"form"`` says; None for finitely many hypotheses."""

    @abstractmethod
    def analyse(self, problem: P, request: AnalysisRequest, progress: Progress | None) -> Result:
        """Everything theory predicts of the problem."""

    @abstractmethod
    def simulation(self, problem: P, run: Run) -> SimulationTask:
        """The exact algorithm on drawn observations, many times over: ready to run."""

    @abstractmethod
    def summary(
        self, problem: P, simulation: Any, record_path: Path | None = None
    ) -> SimulationOutcome:
        """What `simulation`, which has been run, came to."""

    @abstractmethod
    def verify(
        self, problem: P, *, seed: int, delta: float, progress: Progress | None
    ) -> Verification:
        """Prediction beside measurement."""

    @abstractmethod
    def design(self, problem: P, request: Design, progress: Progress | None) -> DesignOutcome:
        """The best weights on the problem's graph."""

    @abstractmethod
    def place(self, problem: P, request: Placement, progress: Progress | None) -> PlacementResult:
        """The best placement of the agents' data."""

    @abstractmethod
    def view(self, entry: Mapping[str, Any], *, key: str) -> Section:
        """What the report says of a verified problem."""

    @abstractmethod
    def simulation_view(self, body: Mapping[str, Any], *, key: str) -> Section:
        """What the report says of a simulation."""

    def sweeps(self, verifications: Sequence[Any]) -> Sequence[Sweep]:
        """Groups of this kind's verifications that differ in one parameter."""
        return []


class SocialLearningKind(Kind[F]):
    """A kind of problem with finitely many hypotheses: all of these are simulated alike."""

    def simulation(self, problem: F, run: Run) -> SimulationTask:
        from exact import prepare

        return prepare(
            problem.network,
            problem.model,
            faults=problem.faults,
            messages=problem.messages,
            run=run,
        )

    def summary(
        self, problem: F, simulation: Simulation, record_path: Path | None = None
    ) -> SimulationSummary:
        from peerbayes.kinds.shared.social_learning import SimulationSummary

        return SimulationSummary(problem, simulation, record_path)

    def simulation_view(self, body: Mapping[str, Any], *, key: str) -> Section:
        from peerbayes.kinds.shared.simulated_view import simulation_view

        return simulation_view(body, key=key)
