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
  `learn` from observations of one's own; `many` asks it of many problems; of a
  family of networks: `formula`; of the papers' experiments: `run`; `plot` draws networks,
  problems and results; `explore` shows a problem on a page, where it can be moved;
- **live networks**: `launch` runs the agents of a problem as processes of this machine;
- **live agents**: `watch` listens to agents that run as processes, beside what theory predicts;
- **nets of one's own**: `train` a torch module on a network (what is not said each time is said
  by `Examples`, `Method` and `Job`), `train_file` what a net file says, `load_trained` what they
  left;
- **single numbers**: `learning_rate`, `error_exponent`, `sample_sizes`, `account` (the probability
  of error round by round, between bounds), `expected_log_ratio`;
- **records**: `write_report`; `pb.records.read_record` reads one.

The commands of ``peerbayes`` on the command line call these very functions. The packages `theory`,
`exact` and `empirical` below hold everything they are made of. Names are imported when they are
first used, so that importing this package is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerbayes._version import __version__ as __version__
from peerbayes.start import refuse_hidden_packages

refuse_hidden_packages()

from theory.lazy import show_lazily  # noqa: E402

if TYPE_CHECKING:
    from peerbayes import faults as faults
    from peerbayes import quantisers as quantisers
    from peerbayes.front.analyse import analyse as analyse
    from peerbayes.front.design import design as design
    from peerbayes.front.design import place as place
    from peerbayes.front.explore import explore as explore
    from peerbayes.front.formula import formula as formula
    from peerbayes.front.learn import learn as learn
    from peerbayes.front.live import launch as launch
    from peerbayes.front.live import watch as watch
    from peerbayes.front.many import many as many
    from peerbayes.front.plot import plot as plot
    from peerbayes.front.problems import load as load
    from peerbayes.front.problems import problem_of as problem_of
    from peerbayes.front.problems import save as save
    from peerbayes.front.run import run as run
    from peerbayes.front.simulate import simulate as simulate
    from peerbayes.front.train import load_trained as load_trained
    from peerbayes.front.train import train as train
    from peerbayes.front.train import train_file as train_file
    from peerbayes.front.verify import verify as verify
    from peerbayes.problem.builtins.families import BUILTINS as BUILTINS
    from peerbayes.problem.builtins.loading import load_variants as load_variants
    from peerbayes.problem.problems import ChangingProblem as ChangingProblem
    from peerbayes.problem.problems import FaultyProblem as FaultyProblem
    from peerbayes.problem.problems import Problem as Problem
    from peerbayes.problem.problems import RegressionProblem as RegressionProblem
    from peerbayes.report.page import write_report as write_report
    from peerbayes.settings.nets import Examples as Examples
    from peerbayes.settings.nets import Job as Job
    from peerbayes.settings.nets import Method as Method
    from theory.bounds import account as account
    from theory.bounds import sample_sizes as sample_sizes
    from theory.changing import DelayedNetwork as DelayedNetwork
    from theory.changing import MarkovNetwork as MarkovNetwork
    from theory.changing import PeriodicNetwork as PeriodicNetwork
    from theory.changing import RandomLinks as RandomLinks
    from theory.changing import RandomPresence as RandomPresence
    from theory.learning import FiniteAgent as FiniteAgent
    from theory.learning import FiniteModel as FiniteModel
    from theory.learning import GaussianAgent as GaussianAgent
    from theory.learning import error_exponent as error_exponent
    from theory.learning import expected_log_ratio as expected_log_ratio
    from theory.learning import learning_rate as learning_rate
    from theory.network import Network as Network
    from theory.regression import RegressionAgent as RegressionAgent
    from theory.regression import RegressionModel as RegressionModel
    from theory.robustness import Faults as Faults
else:
    show_lazily(__name__)
