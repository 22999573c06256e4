"""Every kind of problem, and where the answers to the questions about it are.

A kind is a folder beside this file, a chapter a question. Commands, the report and
`import peerbayes` know kinds by the table at the end alone. A chapter is loaded when its question
is first asked: whoever analyses two coins needs no regression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from peerbayes.problem.problems import of_kind, with_model
from theory.validation import fail

if TYPE_CHECKING:
    from rich.console import RenderableType

    from exact import Run
    from peerbayes.designs.outcome import DesignOutcome
    from peerbayes.designs.placements import PlacementResult
    from peerbayes.figures.views import Section
    from peerbayes.problem.problems import AnyProblem
    from peerbayes.settings.questions import Analyse, Design, Placement
    from theory.progress import Progress

Answer = str | Callable[..., Any]
"""A function or a class, or where it is: ``"module:name"`` within this package."""


class Result(Protocol):
    """What a command shows: as JSON, or as tables for people."""

    def as_json(self) -> Any:
        """The JSON object that the command prints."""
        ...

    def tables(self) -> Sequence[RenderableType]:
        """Terminal tables of this result."""
        ...


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of problem: the class of its problems, and what answers each question about one.

    Attributes
    ----------
    form
        What a record's key ``"form"`` says; None for finitely many hypotheses.
    of
        The class of its problems.
    options
        Those of `analyse` that it takes, of the four that not every kind does: ``delta``,
        ``exact``, ``certify``, ``rounds``.
    answers
        Of each question what answers it; a question that is left out is refused. Proved numbers
        and objectives of designs may have answers of their own.
    """

    form: str | None
    of: Answer
    options: tuple[str, ...]
    answers: Mapping[str, Answer]

    @property
    def problem(self) -> type[Any]:
        """The class of its problems."""
        found: type[Any] = _load(self.of)
        return found

    def analyse(self, problem: Any, request: Analyse, progress: Progress | None) -> Any:
        """Everything theory predicts of the problem.

        Raises
        ------
        ValueError
            If an option does not go with the kind of problem, or is out of range.
        """
        refused = [name for name in request.given if name not in self.options]
        if refused:
            with_model(problem)
        if "delta" in refused:
            raise fail("--delta", "a problem with sample sizes", problem.name, "leave it out")
        if refused:
            of_kind(problem, KINDS[0].problem, " --".join(["analyse", *refused]))
        proved = request.arithmetic != "double" and "prove" in self.answers
        return self._answer("prove" if proved else "analyse", problem)(problem, request, progress)

    def simulation(self, problem: Any, run: Run) -> Any:
        """The exact algorithm on drawn observations, many times over: ready to run."""
        return self._answer("simulate", problem)(problem, run)

    def summary(self, problem: Any, simulation: Any, record_path: Path | None = None) -> Any:
        """What `simulation`, which has been run, came to."""
        return self._answer("summary", problem)(problem, simulation, record_path)

    def verify(self, problem: Any, *, seed: int, delta: float, progress: Progress | None) -> Any:
        """Prediction beside measurement."""
        answer = self._answer("verify", problem)
        return answer(problem, seed=seed, delta=delta, progress=progress)

    def design(self, problem: Any, request: Design, progress: Progress | None) -> DesignOutcome:
        """The best weights on the problem's graph."""
        question = request.objective if request.objective in self.answers else "design"
        found: DesignOutcome = self._answer(question, problem)(problem, request, progress=progress)
        return found

    def place(self, problem: Any, request: Placement, progress: Progress | None) -> PlacementResult:
        """The best placement of the agents' data."""
        found: PlacementResult = self._answer("place", problem)(problem, request, progress=progress)
        return found

    def view(self, entry: Mapping[str, Any], *, key: str) -> Section:
        """What the report says of a verified problem."""
        found: Section = self._answer("view")(entry, key=key)
        return found

    def simulation_view(self, body: Mapping[str, Any], *, key: str) -> Section:
        """What the report says of a simulation."""
        found: Section = self._answer("simulation_view")(body, key=key)
        return found

    def sweeps(self, verifications: Sequence[Any]) -> Sequence[Any]:
        """Groups of this kind's verifications that differ in one parameter."""
        return self._answer("sweeps")(verifications) if "sweeps" in self.answers else ()

    def _answer(self, question: str, problem: Any = None) -> Any:
        if question not in self.answers:
            with_model(problem)
            wanted, remedy = f"a kind of problem to {question}", "take another command"
            raise fail("PROBLEM", wanted, self.form, remedy)
        return _load(self.answers[question])


def _load(answer: Answer) -> Any:
    if not isinstance(answer, str):
        return answer
    module, _, name = answer.partition(":")
    return getattr(import_module(f"peerbayes.{module}"), name)


def _without_progress(answer: str) -> Answer:
    """An answer that takes no progress."""
    return lambda problem, request, progress: _load(answer)(problem, request)


def _as_if_honest(question: str, done: str) -> Answer:
    """The answer for the same problem with nobody faulty, and a remark that says so."""

    def answer(problem: Any, request: Any, progress: Progress | None) -> Any:
        if request.objective == "bytes":
            of_kind(problem, KINDS[0].problem, "design --objective bytes")
        found = getattr(KINDS[0], question)(problem.problem, request, progress)
        return found.remarked(f"{done} as if nobody were faulty", problem=problem)

    return answer


_SOCIAL_LEARNING = {
    "simulate": "kinds.shared.simulate:prepared",
    "summary": "kinds.shared.simulate:SimulationSummary",
    "simulation_view": "kinds.shared.view:simulation_view",
}
KINDS = (
    Kind(
        None,
        "problem.problems:Problem",
        ("delta", "exact", "certify", "rounds"),
        {
            "analyse": "kinds.finite.analyse:analyse",
            "prove": "kinds.finite.proofs:prove",
            **_SOCIAL_LEARNING,
            "verify": "kinds.finite.verify:verify_problem",
            "sweeps": "kinds.finite.verify:find_sweeps",
            "view": "kinds.finite.view:problem_view",
            "design": "kinds.finite.design:design_problem",
            "next-edge": _without_progress("designs.next_edge:next_edge"),
            "place": "kinds.finite.design:place_finite",
        },
    ),
    Kind(
        "changing",
        "problem.problems:ChangingProblem",
        ("delta",),
        {
            "analyse": "kinds.changing.analyse:analyse_changing",
            **_SOCIAL_LEARNING,
            "verify": "kinds.changing.verify:verify_changing",
            "view": "kinds.changing.view:changing_view",
            "design": "kinds.changing.design:design_changing",
            "place": "kinds.changing.design:place_changing",
        },
    ),
    Kind(
        "faulty",
        "problem.problems:FaultyProblem",
        (),
        {
            "analyse": "kinds.faulty.analyse:analyse_faulty",
            **_SOCIAL_LEARNING,
            "verify": "kinds.faulty.verify:verify_faulty",
            "view": "kinds.faulty.view:faulty_view",
            "design": _as_if_honest("design", "designed"),
            "place": _as_if_honest("place", "predicted"),
        },
    ),
    Kind(
        "regression",
        "problem.problems:RegressionProblem",
        ("exact",),
        {
            "analyse": "kinds.regression.analyse:analyse_regression",
            "simulate": "kinds.regression.simulate:prepared",
            "summary": "kinds.regression.simulate:RegressionSummary",
            "simulation_view": "kinds.regression.view:regression_simulation_view",
            "verify": "kinds.regression.verify:verify_regression",
            "view": "kinds.regression.view:regression_view",
            "design": _without_progress("kinds.regression.design:design_regression"),
            "place": "kinds.regression.design:place_regression",
        },
    ),
    Kind(
        "network",
        "problem.problems:NetworkAlone",
        (),
        {"analyse": "kinds.network_alone:analyse_network"},
    ),
)
_BY_NAME = {str(kind.of).partition(":")[2]: kind for kind in KINDS}  # of the problem's class


def kind_of(problem: AnyProblem) -> Kind:
    """The kind of a problem.

    Examples
    --------
    >>> from peerbayes.problem.builtins.loading import load_problem
    >>> kind_of(load_problem("p1-regression")).form
    'regression'
    """
    return _BY_NAME[type(problem).__name__]


def is_problem(value: object) -> bool:
    """Whether something is a problem of any kind; no kind is loaded that it cannot be of."""
    kind = _BY_NAME.get(type(value).__name__)
    return kind is not None and type(value) is kind.problem


def kind_of_record(form: str | None) -> Kind:
    """The kind of problem of a record, by its key ``"form"``; None means that there is none."""
    return next((kind for kind in KINDS if kind.form == form), KINDS[0])
