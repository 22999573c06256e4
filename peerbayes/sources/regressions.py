"""The curves of the papers' regressions, computed when they are asked for: it takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from peerbayes.experiments.registry import find_experiment
from peerbayes.experiments.run import part_seed
from peerbayes.figures.chart import floats
from peerbayes.measured import ErrorCurve
from peerbayes.sources.checks import above, below
from peerbayes.sources.documents import CheckDocument, CurveDocument, PanelDocument
from peerbayes.sources.figure import Judge, SourceFigure
from peerbayes.sources.kept import Kept
from peerbayes.sources.measures import Reading

# Runs of each learner: the standard error at the last round is then 5 % of the error.
REPLICATES = 200
# What the eye tells apart in a figure without numbers: a share of its height.
_LINE = 0.02
_STANDARD_ERRORS = 5.0
_COOPERATING, _CENTRAL = "cooperating", "central node"


@cache
def curve(experiment: str, part: str) -> ErrorCurve:
    """One learner's excess error, measured and predicted; always the same numbers."""
    row = find_experiment(experiment)
    seed = part_seed(0, row.stream(part))
    found = row.run_part(part, seed=seed, replicates=REPLICATES, progress=None)
    assert isinstance(found, ErrorCurve)
    return found


def _alone(experiment: str) -> list[str]:
    return [part for part in find_experiment(experiment).parts if part.endswith("alone")]


def _stay_high(experiment: str) -> Judge:
    """Every lone learner ends above the central node by more than chance allows."""

    def judge(kept: Kept, reading: Reading) -> list[CheckDocument]:
        central = curve(experiment, _CENTRAL)
        checks = []
        for part in _alone(experiment):
            own = curve(experiment, part)
            chance = _STANDARD_ERRORS * (_last(own.standard_error) + _last(central.standard_error))
            checks.append(
                above(
                    f"MSE of {part} less the central node’s, round {own.rounds[-1]}",
                    "the MSE without cooperation is higher than that of the central node",
                    _last(own.measured) - _last(central.measured),
                    chance,
                    f"{_STANDARD_ERRORS:g} standard errors of {REPLICATES} runs each; theory has"
                    f" {own.limit:.4g} for ever",
                )
            )
        return checks

    return judge


def _matches(experiment: str) -> Judge:
    """The network's error differs from the central node's by less than a line is wide."""

    def judge(kept: Kept, reading: Reading) -> list[CheckDocument]:
        own, central = curve(experiment, _COOPERATING), curve(experiment, _CENTRAL)
        height = max(_last(curve(experiment, part).measured) for part in _alone(experiment))
        ratio = (own.constant or 0.0) / (central.constant or 1.0)
        gap = abs(_last(own.measured) - _last(central.measured))
        return [
            below(
                f"MSE of the network beside the central node’s, apart by, round {own.rounds[-1]}",
                "the MSE of the nodes matches that of a central node",
                gap,
                _LINE * height,
                f"{100 * _LINE:g} % of the largest MSE without cooperation, which is what can be"
                f" read; theory has {ratio:.4g} times the central node’s in the limit",
            )
        ]

    return judge


def _draw(experiment: str, *, alone: bool) -> Callable[[Kept], list[PanelDocument]]:
    def draw(kept: Kept) -> list[PanelDocument]:
        names = [*(_alone(experiment) if alone else [_COOPERATING]), _CENTRAL]
        curves = []
        for name in names:
            one = curve(experiment, name)
            along = [float(n) for n in one.rounds]
            curves.append(CurveDocument.of(name, along, floats(one.measured)))
            curves.append(
                CurveDocument.of(f"{name}, predicted", along, floats(one.predicted), dashed=True)
            )
        words = "without cooperation" if alone else "cooperating"
        return [
            PanelDocument(
                title=f"{find_experiment(experiment).title}, {words}",
                x="round",
                y="MSE less the noise",
                log_y=True,
                curves=curves,
            )
        ]

    return draw


def _last(values: list[float | None]) -> float:
    return float(values[-1] or 0.0)


def _figure(
    name: str, source: str, experiment: str, *, alone: bool, shows: str
) -> SourceFigure:  # fmt: skip
    judge = _stay_high(experiment) if alone else _matches(experiment)
    remark = (
        f"Computed on the spot: {REPLICATES} runs of each learner; the noise of the test labels,"
        " .64, is left out."
    )
    return SourceFigure(
        name, source, shows, (), judge, _draw(experiment, alone=alone), remark=remark
    )


_APART = "MSE over the rounds of each node alone, and of a central node: alone it stays high."
_TOGETHER = "MSE over the rounds of the cooperating nodes, and of a central node: they match."

FIGURES: tuple[SourceFigure, ...] = (
    _figure("p1-1a", "P1 Fig. 1a, section 5.1", "regression-2", alone=True, shows=_APART),
    _figure("p1-1b", "P1 Fig. 1b, section 5.1", "regression-2", alone=False, shows=_TOGETHER),
    _figure("p2-1b", "P2 Fig. 1b, section 4.1", "regression-4", alone=True, shows=_APART),
    _figure("p2-1c", "P2 Fig. 1c, section 4.1", "regression-4", alone=False, shows=_TOGETHER),
)
