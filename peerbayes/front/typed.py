"""Types of questions whose answer depends on the kind of problem, for editors and type checkers.

The kind of a problem object is its class, and that of a built-in follows from its name
(`peerbayes.problem.builtins.loading`). Of a file nothing is known before it is read: its answers
are of type ``Any``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from peerbayes.problem.builtins.loading import (
        ChangingName,
        FaultyName,
        FiniteName,
        RegressionName,
    )
    from peerbayes.problem.problems import (
        AnyProblem,
        ChangingProblem,
        FaultyProblem,
        Problem,
        RegressionProblem,
    )
    from peerbayes.settings.declared import Settings

P = ParamSpec("P")
Finite = TypeVar("Finite", covariant=True)
Changing = TypeVar("Changing", covariant=True)
Faulty = TypeVar("Faulty", covariant=True)
Regression = TypeVar("Regression", covariant=True)


class ByKind(Protocol[Finite, Changing, Faulty, Regression, P]):
    """A question with an answer of its own type for each of the four kinds of problem."""

    @overload
    def __call__(
        self, problem: FiniteName | Problem, /, *args: P.args, **kwargs: P.kwargs
    ) -> Finite: ...
    @overload
    def __call__(
        self, problem: ChangingName | ChangingProblem, /, *args: P.args, **kwargs: P.kwargs
    ) -> Changing: ...
    @overload
    def __call__(
        self, problem: FaultyName | FaultyProblem, /, *args: P.args, **kwargs: P.kwargs
    ) -> Faulty: ...
    @overload
    def __call__(
        self, problem: RegressionName | RegressionProblem, /, *args: P.args, **kwargs: P.kwargs
    ) -> Regression: ...
    @overload
    def __call__(
        self, problem: AnyProblem | str | Path, /, *args: P.args, **kwargs: P.kwargs
    ) -> Any: ...
    @overload
    def __call__(
        self, problem: AnyProblem | str | Path, settings: Settings, /, **keywords: Any
    ) -> Any: ...
