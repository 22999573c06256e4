"""Every experiment by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from peerbayes.error_curves import ErrorCurve
from peerbayes.experiments.codecs import CODECS, CodecsExperiment
from peerbayes.experiments.experiment import Experiment, Line, RunSummary
from peerbayes.experiments.gae import GAE, GaeExperiment
from peerbayes.experiments.link import LINKS, RateLink
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.nets import NetExperiment
from peerbayes.experiments.run import parts_folder
from peerbayes.experiments.setting import Setting
from peerbayes.experiments.tuned import RECIPE as TUNED
from peerbayes.experiments.tuned import TunedExperiment
from peerbayes.messages import choose
from peerbayes.resources import check_hours
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes import settings


# The papers' linear regressions as experiments ---------------------------------------------------


class RegressionRun(RunSummary):
    """A record of an experiment with a regression."""

    content: dict[str, ErrorCurve]


@dataclass(frozen=True)
class RegressionExperiment:
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

    @property
    def parts(self) -> tuple[str, ...]:
        """The network, each agent alone, all data in one place, the central node."""
        lone = (f"agent {i} alone" for i in range(self.agents))
        return ("cooperating", *lone, "all data in one place", "central node")

    @property
    def replicates_are_parts(self) -> bool:
        """They are run together, in every part."""
        return False

    def stream(self, part: str) -> int:
        """One for each part."""
        return self.parts.index(part)

    def part_settings(self, part: str) -> dict[str, Any]:
        """All of them."""
        return self.settings()

    def settings(self) -> dict[str, Any]:
        """The configuration, and the problem's own file."""
        from peerbayes.problem.builtins.loading import load_problem

        specification = load_problem(self.problem).specification
        assert specification is not None
        return {**asdict(self), "specification": specification.document()}

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> ErrorCurve:
        """One curve, measured and predicted."""
        from exact import Run, prepare_regression
        from peerbayes.kinds.regression.curves import coordinate_curves, run_learner
        from peerbayes.kinds.regression.learners import learners
        from peerbayes.kinds.regression.simulate import recorded_rounds
        from peerbayes.problem.builtins.loading import load_problem
        from peerbayes.problem.problems import of_kind
        from peerbayes.problem.regression import RegressionProblem
        from theory.regression import calibration

        problem = of_kind(load_problem(self.problem), RegressionProblem, self.name)
        record = recorded_rounds(self.rounds, most=self.records)
        run = Run(rounds=self.rounds, replicates=replicates, seed=seed, record=record)
        check_hours(prepare_regression(problem.network, problem.regression, run=run).cost())
        learner = next(one for one in learners(problem) if one.name == part)
        curve = run_learner(
            learner,
            rounds=self.rounds,
            record=record,
            replicates=replicates,
            draws=self.draws,
            seed=seed,
            progress=progress,
        )
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
        lines.append(
            _quotient(
                "cooperating over central node",
                _at_end(together),
                _at_end(central),
                self.printed_cooperating,
                _tends(together.constant, central.constant)
                + f": {self.agents} samples a round against one",
            )
        )
        lines.append(
            _quotient(
                "cooperating over all data in one place",
                _at_end(together),
                _at_end(pooled),
                "",
                _tends(together.constant, pooled.constant),
            )
        )
        lines.append(
            _quotient(
                "true error over reported error, cooperating",
                _at_end(together),
                together.report_at_end or [],
                "",
                _tends(together.constant, together.reported.constant)
                + "; the papers do not show it",
            )
        )
        return tuple(lines)


def _agree(measured: float, predicted: float, allowed: float) -> bool:
    return bool(abs(measured - predicted) <= allowed + 1e-11 * abs(predicted))


def _at_end(curve: ErrorCurve) -> list[float]:
    """The error at the last round: predicted, measured, standard error, allowed."""
    return curve.error_at_end or []


def _tends(above: float | None, below: float | None) -> str:
    return f"tends to {(above or 0.0) / (below or np.nan):.4g}"


def _quotient(what: str, above: list[float], below: list[float], printed: str, remark: str) -> Line:
    """A quotient of two errors, each (predicted, measured, standard error, allowed)."""
    (p, m, e, a), (q, r, f, b) = above, below
    predicted, measured = p / q, m / r
    allowed = (p + a) / max(q - b, 1e-300) - predicted
    error = measured * float(np.hypot(e / m, f / r))
    holds = _agree(measured, predicted, allowed)
    return Line(what, printed, measured, error, predicted, holds, remark)


# The command line's options, given to the experiments that have a use for them -------------------


DEFAULT_RECIPE = "best"
_Checked = TypeVar(
    "_Checked", RateLink, CodecsExperiment, GaeExperiment, TunedExperiment, NetExperiment
)


def configured(
    experiment: Experiment, how: settings.Experiment, out: Path
) -> tuple[Experiment, tuple[str, ...] | None]:
    """The experiment as it is to be run, and which of its parts; None for all.

    `out` is the folder of records.

    Raises
    ------
    ValueError
        If a setting is of no use to it, or what it needs is missing; in one line.
    """
    codec = None if how.codec == "none" else how.codec
    if codec is not None and not isinstance(experiment, NetExperiment):
        raise fail("--codec", "a row of Bayesian nets", experiment.name, "leave it out")
    if how.workers is not None and not isinstance(experiment, GaeExperiment):
        remedy = "leave it out; to run parts side by side use campaign --workers, or torchrun"
        raise fail("--workers", "gae, whose nodes train side by side", experiment.name, remedy)
    if how.recipe and isinstance(experiment, RateLink | GaeExperiment | CodecsExperiment):
        raise fail("--recipe", "an experiment with recipes", experiment.name, "leave it out")
    device, part = how.device or "cpu", how.part or ""
    if isinstance(experiment, RateLink):
        link = experiment.quick() if how.quick else experiment
        link = link.placed(device=device, data=how.images)
        return _ready(link, link.parts_with(part))
    if isinstance(experiment, CodecsExperiment):
        if device != "cpu":
            raise fail("--device", "cpu, where codecs work", repr(device), "leave it out")
        return _codecs(experiment, how)

    def setting(name: str, *threads: int) -> Setting:
        folder = parts_folder(out, name)
        return Setting(device, how.images, folder, how.resume, how.notice, *threads)

    seeds = how.replicates or (1 if how.quick else experiment.replicates)
    if isinstance(experiment, GaeExperiment):
        gae = replace(experiment, seeds=max(seeds, experiment.seeds), is_quick=how.quick)
        gae = gae.with_setting(setting(gae.name, how.workers or 1))
        return _ready(gae, gae.parts_with(part, seeds=seeds))
    if not isinstance(experiment, NetExperiment):
        for name in ("recipe", "part", "quick", "device"):
            if getattr(how, name):
                wanted = "an experiment with neural nets"
                raise fail(f"--{name}", wanted, experiment.name, "leave it out")
        return experiment, None
    # Seeds that are on record stay there, though fewer be asked for.
    chosen = how.recipe or DEFAULT_RECIPE
    if chosen == TUNED:
        if codec:
            raise fail("--codec", "no codec with --recipe tuned", codec, "leave one of them out")
        tuned = TunedExperiment(experiment.row, max(seeds, experiment.seeds), is_quick=how.quick)
        tuned = tuned.with_setting(setting(tuned.name))
        return _ready(tuned, tuned.parts_with(part, seeds=seeds))
    found = replace(
        experiment, seeds=max(seeds, experiment.seeds), is_quick=how.quick, codec=codec or ""
    )
    found = found.with_setting(setting(found.name))
    if codec:  # which parts there are depends on what it can write
        found.check()
    return _ready(found, found.parts_with(recipe=chosen, words=part, seeds=seeds))


def _ready(experiment: _Checked, only: tuple[str, ...]) -> tuple[_Checked, tuple[str, ...]]:
    """The parts were found; now what they need is: a wrong name costs no search for data."""
    experiment.check()
    return experiment, only


def _codecs(
    experiment: CodecsExperiment, how: settings.Experiment
) -> tuple[CodecsExperiment, tuple[str, ...]]:
    seeds = how.replicates or (1 if how.quick else experiment.seeds)
    setting = replace(experiment.setting, data=how.images)
    found = replace(experiment, seeds=max(seeds, experiment.seeds), setting=setting)
    found = found.quick() if how.quick else found
    return _ready(found, found.parts_with(how.part or "", seeds=seeds))


# Every experiment by name ------------------------------------------------------------------------


_ALL: tuple[Experiment, ...] = (
    RegressionExperiment(
        name="regression-2",
        title="linear regression, two nodes with one coordinate each",
        source="P1 5.1",
        problem="p1-regression",
        agents=2,
    ),
    RegressionExperiment(
        name="regression-4",
        title="linear regression, four nodes with one coordinate each",
        source="P2 4.1, 1.3",
        problem="p2-regression",
        agents=4,
    ),
    *(NetExperiment(row, seeds=row.seeds) for row in ROWS.values()),
    GAE,
    CODECS,
    *LINKS,
)

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType({one.name: one for one in _ALL})
"""The experiments by name."""


def find_experiment(name: str) -> Experiment:
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
