"""Decentralised Bayesian learning over graphs: predict the learning rate, then measure it.

``import peerbayes as pb`` is all that most users need:

- **networks**: `Network`, and those that change: `PeriodicNetwork`, `MarkovNetwork`,
  `RandomLinks`, `RandomPresence`, `DelayedNetwork`;
- **models**: `FiniteAgent`, `GaussianAgent`, `FiniteModel`, and for linear regression
  `RegressionAgent`, `RegressionModel`;
- **faults and messages** of a problem: `Faults`, of what each agent does and how the others pool
  (`pb.faults.Push`, `pb.faults.TrimmedMean`, ...), and quantisers (`pb.quantisers.Uniform`, ...);
- **problems**: `problem_of` makes one of a network and a model, `load` reads one from a file or by
  name, `save` writes one; `Problem`, `ChangingProblem`, `FaultyProblem` and `RegressionProblem`
  are their types, `BUILTINS` what goes by name, `load_variants` all variants of a built-in;
- **what can be asked** of a problem: `analyse`, `simulate`, `verify`, `design`, `place`, and
  `learn` from observations of one's own; of a
  family of networks: `formula`; of the papers' experiments: `run`; `plot` draws networks,
  problems and results; `explore` shows a problem on a page, where it can be moved;
- **live networks**: `launch` runs the agents of a problem as processes of this machine;
- **live agents**: `watch` listens to agents that run as processes, beside what theory predicts;
- **nets of one's own**: `train` a torch module on a network, `train_file` what a net file says,
  `load_trained` what they left;
- **single numbers**: `learning_rate`, `error_exponent`, `sample_sizes`, `account` (the probability
  of error round by round, between bounds), `expected_log_ratio`;
- **records**: `read_record`, `write_report`.

The commands of ``peerbayes`` on the command line call these very functions. The packages `theory`,
`exact` and `empirical` below hold everything they are made of. Names are imported when they are
first used, so that importing this package is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerbayes import shadowing
from peerbayes._version import __version__ as __version__

shadowing.refuse_hidden_packages()

from theory.lazy import show_lazily  # noqa: E402

if TYPE_CHECKING:
    from peerbayes import faults as faults
    from peerbayes import quantisers as quantisers
    from peerbayes.front.analyse import analyse
    from peerbayes.front.design import design, place
    from peerbayes.front.explore import explore
    from peerbayes.front.formula import formula
    from peerbayes.front.learn import learn
    from peerbayes.front.live import launch, watch
    from peerbayes.front.plot import plot
    from peerbayes.front.problems import load, problem_of, save
    from peerbayes.front.run import run
    from peerbayes.front.simulate import simulate
    from peerbayes.front.train import load_trained, train
    from peerbayes.front.train_file import train_file
    from peerbayes.front.verify import verify
    from peerbayes.problem.builtins.families import BUILTINS
    from peerbayes.problem.builtins.loading import load_variants
    from peerbayes.problem.problems import (
        ChangingProblem,
        FaultyProblem,
        Problem,
        RegressionProblem,
    )
    from peerbayes.records import read_record
    from peerbayes.report.page import write_report
    from theory.bounds import account, sample_sizes
    from theory.changing import (
        DelayedNetwork,
        MarkovNetwork,
        PeriodicNetwork,
        RandomLinks,
        RandomPresence,
    )
    from theory.learning import (
        FiniteAgent,
        FiniteModel,
        GaussianAgent,
        error_exponent,
        expected_log_ratio,
        learning_rate,
    )
    from theory.network import Network
    from theory.regression import RegressionAgent, RegressionModel
    from theory.robustness import Faults
else:
    show_lazily(__name__)

__all__ = [
    "BUILTINS",
    "ChangingProblem",
    "DelayedNetwork",
    "Faults",
    "FaultyProblem",
    "FiniteAgent",
    "FiniteModel",
    "GaussianAgent",
    "MarkovNetwork",
    "Network",
    "PeriodicNetwork",
    "Problem",
    "RandomLinks",
    "RandomPresence",
    "RegressionAgent",
    "RegressionModel",
    "RegressionProblem",
    "account",
    "analyse",
    "design",
    "error_exponent",
    "expected_log_ratio",
    "explore",
    "formula",
    "launch",
    "learn",
    "learning_rate",
    "load",
    "load_trained",
    "load_variants",
    "place",
    "plot",
    "problem_of",
    "read_record",
    "run",
    "sample_sizes",
    "save",
    "simulate",
    "train",
    "train_file",
    "verify",
    "watch",
    "write_report",
]
