"""Every experiment by name; among them the papers' linear regressions.

The papers draw one error curve each: nodes alone, cooperating, and a central node, and say that
the first stay high and the second equals the third. Here each curve is the mean of many runs with
its expectation drawn through it; all data in one place stands beside them, and what the beliefs
report beside what is true, which the papers do not show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from empirical import papers
from peerbayes.experiments.codecs import CODECS
from peerbayes.experiments.experiment import Experiment, Line, Numbered, numbered
from peerbayes.experiments.gae import GAE
from peerbayes.experiments.link import LINKS
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.nets import NetExperiment
from peerbayes.measured import ErrorCurve
from peerbayes.messages import choose
from peerbayes.terminal import check_hours
from theory.lazy import later
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    import numpy as np

    from peerbayes.settings.nets import Experiment as Options
else:
    np = later("numpy")


@dataclass(frozen=True)
class RegressionExperiment(Experiment[Numbered]):
    """One regression, run as a network, alone, in one place, and at a central node.

    Attributes
    ----------
    problem
        Name of the built-in problem.
    rounds, records, draws
        n; how many rounds are recorded; over how many sets of inputs predictions are averaged.
    printed_alone, printed_cooperating
        What the paper says of its figure.
    """

    name: str
    title: str
    source: str
    problem: str
    agents: int
    rounds: int = 1000
    records: int = 20
    draws: int = 100
    replicates: int = 2000
    printed_alone: str = "MSE stays high"
    printed_cooperating: str = "MSE equals the central node's"

    replicates_are_parts = False
    options = frozenset()

    @property
    def table(self) -> Mapping[str, Numbered]:
        """The network, each agent alone, all data in one place, the central node."""
        lone = (f"agent {i} alone" for i in range(self.agents))
        return numbered("cooperating", *lone, "all data in one place", "central node")

    def settings(self) -> dict[str, Any]:
        """The configuration, and the problem's own file."""
        from peerbayes.problem.builtins.loading import load_problem

        specification = load_problem(self.problem).specification
        assert specification is not None
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        shared = {"seeds", "is_quick", "setting"}
        own = {name: value for name, value in own.items() if name not in shared}
        return {**own, "specification": specification.document()}

    def run_part(
        self, part: str, *, seed: int, replicates: int = 1, progress: Progress | None = None
    ) -> ErrorCurve:
        """One curve, measured and predicted."""
        from exact import Run, prepare_regression
        from peerbayes.kinds.regression.curves import coordinate_curves, learners, run_learner
        from peerbayes.kinds.regression.simulate import recorded_rounds
        from peerbayes.problem.builtins.loading import load_problem
        from peerbayes.problem.problems import RegressionProblem, of_kind
        from theory.regression import calibration

        problem = of_kind(load_problem(self.problem), RegressionProblem, self.name)
        record = recorded_rounds(self.rounds, most=self.records)
        run = Run(rounds=self.rounds, replicates=replicates, seed=seed, record=record)
        check_hours(prepare_regression(problem.network, problem.regression, run=run).cost())
        learner = next(one for one in learners(problem) if one.name == part)
        curve = run_learner(
            learner, rounds=self.rounds, record=record, replicates=replicates, draws=self.draws,
            seed=seed, progress=progress,
        )  # fmt: skip
        coordinates = None
        if learner.role == "cooperating":
            limits = calibration(problem.network, problem.regression).coordinates
            coordinates = coordinate_curves(curve, limits)
        return curve.document(coordinates, with_ends=True)

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """Each curve's last point, what the papers say of it, and how the curves compare."""
        curves = {name: ErrorCurve.model_validate(part) for name, part in parts.items()}
        lines = []
        for name, curve in curves.items():
            predicted, measured, error, allowed = _at_end(curve)
            alone = curve.role == "alone"
            lines.append(
                Line(
                    f"excess error after {self.rounds} rounds, {name}",
                    self.printed_alone if alone else "",
                    measured,
                    error,
                    predicted,
                    _agree(measured, predicted, allowed),
                    f"tends to {curve.limit:.4g}" if alone else f"tends to {curve.constant:.5g}/n",
                )
            )
        together, central = curves["cooperating"], curves["central node"]
        pooled = curves["all data in one place"]
        for what, above, below, constant, printed, words in (
            ("cooperating over central node", together, _at_end(central), central.constant,
             self.printed_cooperating, f": {self.agents} samples a round against one"),
            ("cooperating over all data in one place", together, _at_end(pooled), pooled.constant,
             "", ""),
            ("true error over reported error, cooperating", together, together.report_at_end or [],
             together.reported.constant, "", "; the papers do not show it"),
        ):  # fmt: skip
            remark = f"tends to {(above.constant or 0.0) / (constant or np.nan):.4g}{words}"
            lines.append(_quotient(what, _at_end(above), below, printed, remark))
        return tuple(lines)


def _agree(measured: float, predicted: float, allowed: float) -> bool:
    return bool(abs(measured - predicted) <= allowed + 1e-11 * abs(predicted))


def _at_end(curve: ErrorCurve) -> list[float]:
    """The error at the last round: predicted, measured, standard error, allowed."""
    return curve.error_at_end or []


def _quotient(what: str, above: list[float], below: list[float], printed: str, remark: str) -> Line:
    """A quotient of two errors, each (predicted, measured, standard error, allowed)."""
    (p, m, e, a), (q, r, f, b) = above, below
    predicted, measured = p / q, m / r
    allowed = (p + a) / max(q - b, 1e-300) - predicted
    error = measured * float(np.hypot(e / m, f / r))
    holds = _agree(measured, predicted, allowed)
    return Line(what, printed, measured, error, predicted, holds, remark)


# Every experiment by name -------------------------------------------------------------------------

_ALL: tuple[Experiment[Any], ...] = (
    *(
        papers.built(RegressionExperiment, one)
        for one in papers.tables("regressions")["regressions"]
    ),
    *(NetExperiment(row, seeds=row.seeds) for row in ROWS.values()),
    GAE,
    CODECS,
    *LINKS,
)

EXPERIMENTS: Mapping[str, Experiment[Any]] = MappingProxyType({one.name: one for one in _ALL})
"""The experiments by name."""


def find_experiment(name: str) -> Experiment[Any]:
    """The experiment of this name.

    Raises
    ------
    ValueError
        If there is none, in one line that says which there are.

    Examples
    --------
    >>> find_experiment("regression-2").source
    'P1 5.1'
    """
    return EXPERIMENTS[choose("EXPERIMENT", name, EXPERIMENTS, otherwise="see 'peerbayes list'")]


# What each option of `run` wants, and what to do where it is of no use.
_LEAVE = "leave it out"
_OPTIONS = {
    "codec": ("a row of Bayesian nets", _LEAVE),
    "workers": (
        "gae, whose nodes train side by side",
        "leave it out; to run parts side by side use campaign --workers, or torchrun",
    ),
    "recipe": ("an experiment with recipes", _LEAVE),
    **dict.fromkeys(("part", "quick", "device"), ("an experiment with neural nets", _LEAVE)),
}


def configured(
    experiment: Experiment[Any], how: Options, out: Path
) -> tuple[Experiment[Any], tuple[str, ...] | None]:
    """The experiment as it is to be run, and which of its parts; None for all.

    `out` is the folder of records.

    Raises
    ------
    ValueError
        If a setting is of no use to it, or what it needs is missing; in one line.
    """
    for name, (wanted, remedy) in _OPTIONS.items():
        given = getattr(how, name)
        if given and given != "none" and name not in experiment.options:
            if name == "recipe" and not experiment.options:
                wanted = "an experiment with neural nets"
            raise fail(f"--{name}", wanted, experiment.name, remedy)
    return experiment.configured(how, out)
