"""Every kind of problem that a file or a built-in may describe."""

from __future__ import annotations

from typing import TypeAlias

from peerbayes.messages import input_error
from peerbayes.problem.changing import ChangingProblem
from peerbayes.problem.faulty import FaultyProblem
from peerbayes.problem.finite import Problem
from peerbayes.problem.regression import RegressionProblem

__all__ = [
    "AnyProblem",
    "ChangingProblem",
    "FaultyProblem",
    "Problem",
    "RegressionProblem",
    "finite_problem",
]

AnyProblem: TypeAlias = Problem | ChangingProblem | FaultyProblem | RegressionProblem

_KINDS = {
    ChangingProblem: "a network that changes",
    FaultyProblem: "faulty agents",
    RegressionProblem: "a regression",
}


def finite_problem(problem: AnyProblem, command: str) -> Problem:
    """The problem, if it has a finite set of hypotheses and a fixed network.

    Raises
    ------
    ValueError
        If it is of another kind, which `command` does not take.
    """
    if isinstance(problem, Problem):
        return problem
    raise input_error(
        problem.name,
        (),
        f"finitely many hypotheses on a fixed network for '{command}'",
        _KINDS[type(problem)],
        "leave the option out, or use another command ('peerbayes --help')",
    )
