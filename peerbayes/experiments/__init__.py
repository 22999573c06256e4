"""The papers' experiments: one seeded, resumable run each, printed beside measured and predicted.

An experiment is a small frozen configuration (`peerbayes.experiments.registry`) whose parts run one
by one; each is kept on disk once done: an interrupted run goes on (`peerbayes.experiments.run`).
"""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from peerbayes.experiments.experiment import Experiment as Experiment
    from peerbayes.experiments.experiment import Line as Line
    from peerbayes.experiments.registry import EXPERIMENTS as EXPERIMENTS
    from peerbayes.experiments.registry import find_experiment as find_experiment
    from peerbayes.experiments.run import ExperimentRun as ExperimentRun
    from peerbayes.experiments.run import run_experiment as run_experiment
else:
    show_lazily(__name__)
