"""The papers' experiments: one seeded, resumable run each, printed beside measured and predicted.

An experiment is a small frozen configuration (`peerbayes.experiments.registry`) with parts that are
run one by one; what a part finds is kept on disk as soon as it is done, so that an interrupted run
can be taken up again (`peerbayes.experiments.run`).
"""

from peerbayes.experiments.experiment import Experiment, Line
from peerbayes.experiments.registry import EXPERIMENTS, find_experiment
from peerbayes.experiments.run import ExperimentRun, run_experiment

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "ExperimentRun",
    "Line",
    "find_experiment",
    "run_experiment",
]
