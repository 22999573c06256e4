"""`pb.analyse`: everything theory predicts of a problem, before any run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from peerbayes.front.problems import as_problem
from peerbayes.progress import stage
from peerbayes.settings.declared import question
from peerbayes.settings.questions import Analyse

if TYPE_CHECKING:
    from peerbayes.front.typed import ByKind, P
    from peerbayes.kinds.changing.analyse import ChangingAnalysis
    from peerbayes.kinds.faulty.analyse import FaultyAnalysis
    from peerbayes.kinds.finite.analyse import Analysis
    from peerbayes.kinds.registry import Result
    from peerbayes.kinds.regression.analyse import RegressionAnalysis
    from peerbayes.problem.problems import AnyProblem

    _Analyses: TypeAlias = ByKind[Analysis, ChangingAnalysis, FaultyAnalysis, RegressionAnalysis, P]


def _question(settings: Callable[P, Analyse]) -> Callable[[Any], _Analyses[P]]:
    """The question, its answer typed by the kind of the problem."""
    made: Any = question(settings)
    return cast("Callable[[Any], _Analyses[P]]", made)


@_question(Analyse)
def analyse(problem: AnyProblem | str | Path, how: Analyse) -> Result:
    """Mixing, best hypotheses, rate, exponent and sample sizes; draws nothing.

    Parameters
    ----------
    problem
        Of any kind, or the name or the file of one.

    Raises
    ------
    ValueError
        If an option does not go with the kind of problem, or is out of range.

    Examples
    --------
    >>> analyse("two-coins").as_json()["learning"]["binding_hypothesis"]
    'loaded'
    """
    from peerbayes.kinds.registry import kind_of
    from peerbayes.resources import announce_analysis
    from theory.network import Network
    from theory.network.stationary import DENSE_AGENTS

    found = as_problem(problem, how)
    network = found.network
    if how.notice is not None:
        announce_analysis(found.name, network.agents, how.notice)
    in_doubles = how.arithmetic == "double"
    word = "analyse" if in_doubles else "prove"
    progress = stage(how.progress, f"{found.name}: {word}")
    if in_doubles and isinstance(network, Network) and network.agents > DENSE_AGENTS:
        network.prepare(progress)
    result: Result = kind_of(found).analyse(found, how, progress)
    return result
