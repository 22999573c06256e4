"""The curves of the papers' regressions, computed when they are asked for: it takes seconds."""

from __future__ import annotations

from functools import cache

from peerbayes.experiments.registry import find_experiment
from peerbayes.experiments.run import part_seed
from peerbayes.figures.chart import floats
from peerbayes.measured import ErrorCurve
from peerbayes.sources.documents import CheckDocument, CurveDocument, PanelDocument, above, below
from peerbayes.sources.kept import Kept, Reading

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


def stays_high(kept: Kept, reading: Reading, *, experiment: str) -> list[CheckDocument]:
    """Every lone learner ends above the central node by more than chance allows."""
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


def matches(kept: Kept, reading: Reading, *, experiment: str) -> list[CheckDocument]:
    """The network's error differs from the central node's by less than a line is wide."""
    own, central = curve(experiment, _COOPERATING), curve(experiment, _CENTRAL)
    height = max(_last(curve(experiment, part).measured) for part in _alone(experiment))
    ratio = (own.constant or 0.0) / (central.constant or 1.0)
    return [
        below(
            f"MSE of the network beside the central node’s, apart by, round {own.rounds[-1]}",
            "the MSE of the nodes matches that of a central node",
            abs(_last(own.measured) - _last(central.measured)),
            _LINE * height,
            f"{100 * _LINE:g} % of the largest MSE without cooperation, which is what can be"
            f" read; theory has {ratio:.4g} times the central node’s in the limit",
        )
    ]


def errors(kept: Kept, *, experiment: str, alone: bool = False) -> list[PanelDocument]:
    """Errors of lone learners, or of the network, beside the central node's."""
    curves = []
    for name in (*(_alone(experiment) if alone else [_COOPERATING]), _CENTRAL):
        one = curve(experiment, name)
        along = [float(n) for n in one.rounds]
        predicted, dashes = f"{name}, predicted", True
        curves.append(CurveDocument.of(name, along, floats(one.measured)))
        curves.append(CurveDocument.of(predicted, along, floats(one.predicted), dashed=dashes))
    words = "without cooperation" if alone else "cooperating"
    return [
        PanelDocument(
            title=f"{find_experiment(experiment).title}, {words}",
            x="round", y="MSE less the noise", log_y=True, curves=curves,
        )
    ]  # fmt: skip


def _last(values: list[float | None]) -> float:
    return float(values[-1] or 0.0)
