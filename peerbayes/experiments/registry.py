"""Every experiment by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from peerbayes.experiments.codecs import CODECS
from peerbayes.experiments.experiment import Experiment
from peerbayes.experiments.gae import GAE
from peerbayes.experiments.link import LINKS
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.nets import NetExperiment
from peerbayes.experiments.regression import RegressionExperiment
from peerbayes.messages import choose

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
