"""Regressions on scikit-learn's diabetes data, its features or its patients split over agents.

Labels are those of the data, which no linear model explains: errors are those against the
regression on all features of all training patients. Beside the network stands a central node
that sees all features of one patient a round.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from empirical import RegressionTable
    from peerbayes.problem.regression import RegressionProblem
    from theory.progress import Progress
    from theory.regression import RegressionModel

# Of the split into training and test patients, and of the deal: part of the problems' definition.
SEED = 0
_SHARES = (0.5, 0.25, 0.25)
_TITLES = {
    "features": "three agents with a group of features each, on all patients",
    "components": "three agents with a group of principal components each, on all patients",
    "rows": "three agents with all features, of patients of their own",
}


@dataclass(frozen=True)
class DiabetesBuiltin:
    """Three ways to split the data over a path of three agents."""

    name: str
    title: str
    default: str
    needs_data: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants' names, in order."""
        return tuple(f"{self.name} {split}" for split in _TITLES)

    def build(
        self, names: tuple[str, ...], *, data: Path | None, progress: Progress | None
    ) -> tuple[RegressionProblem, ...]:
        """The problems of some of the variants."""
        return tuple(
            _problem(self.name, split) for split in _TITLES if f"{self.name} {split}" in names
        )


def _problem(family: str, split: str) -> RegressionProblem:
    from empirical import load_diabetes
    from peerbayes.problem.regression import RegressionProblem
    from theory.network import Network
    from theory.regression import RegressionAgent

    table = load_diabetes(seed=SEED)
    if split == "components":
        table = table.principal_components()
    return RegressionProblem(
        name=f"{family} {split}",
        title=f"scikit-learn's diabetes data, {_TITLES[split]}",
        network=Network.from_topology("path", agents=3),
        regression=_model(table, split),
        family=family,
        parameters={"split": split},
        node=RegressionAgent(inputs=table.inputs, targets=table.targets, noise_std=table.noise_std),
    )


def _model(table: RegressionTable, split: str) -> RegressionModel:
    from empirical import split_features, split_rows

    if split == "rows":
        return split_rows(table, _SHARES, seed=SEED)
    if split == "features":
        return split_features(table)
    names = table.features[1:]
    groups = {"first": names[:4], "second": names[4:7], "third": names[7:]}
    return split_features(table, groups)
