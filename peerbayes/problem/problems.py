"""Every kind of problem that a file or a built-in may describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from peerbayes.messages import input_error

if TYPE_CHECKING:
    from peerbayes.problem.changing import ChangingProblem
    from peerbayes.problem.faulty import FaultyProblem
    from peerbayes.problem.finite import Problem
    from peerbayes.problem.network_alone import NetworkAlone
    from peerbayes.problem.regression import RegressionProblem

FiniteProblem: TypeAlias = "Problem | ChangingProblem | FaultyProblem"
"""Every kind of problem with finitely many hypotheses."""
ModelledProblem: TypeAlias = "FiniteProblem | RegressionProblem"
"""Every kind of problem in which agents observe something."""
AnyProblem: TypeAlias = "ModelledProblem | NetworkAlone"
_Wanted = TypeVar("_Wanted", bound="AnyProblem")

_WORDS = {
    "Problem": "finitely many hypotheses on a fixed network",
    "ChangingProblem": "a network that changes",
    "FaultyProblem": "faulty agents",
    "RegressionProblem": "a regression",
    "NetworkAlone": "a network alone",
}


def with_model(problem: AnyProblem) -> ModelledProblem:
    """The problem, if its agents observe something.

    Raises
    ------
    ValueError
        If it is a network alone.
    """
    from peerbayes.problem.network_alone import NetworkAlone

    if not isinstance(problem, NetworkAlone):
        return problem
    remedy = "write a problem file with [model] or [regression], and the graph as network.file"
    raise input_error(problem.name, (), "a problem with a model", "a network alone", remedy)


def of_kind(problem: AnyProblem, kind: type[_Wanted], command: str) -> _Wanted:
    """The problem, if it is of the kind that a command takes.

    Raises
    ------
    ValueError
        If it is of another kind.
    """
    if isinstance(problem, kind):
        return problem
    raise input_error(
        problem.name,
        (),
        f"{_WORDS[kind.__name__]} for '{command}'",
        _WORDS[type(problem).__name__],
        "leave the option out, or use another command ('peerbayes --help')",
    )
