"""Every kind of problem: the one place that knows which value object is of which kind."""

from __future__ import annotations

from typing import Any

from peerbayes.kinds.changing.kind import ChangingKind
from peerbayes.kinds.faulty.kind import FaultyKind
from peerbayes.kinds.finite.kind import FiniteKind
from peerbayes.kinds.network_alone import NetworkAloneKind
from peerbayes.kinds.regression.kind import RegressionKind
from peerbayes.kinds.shared.kind import Kind
from peerbayes.problem.problems import AnyProblem

KINDS: tuple[Kind[Any], ...] = (
    FiniteKind(),
    ChangingKind(),
    FaultyKind(),
    RegressionKind(),
    NetworkAloneKind(),
)


def kind_of(problem: AnyProblem) -> Kind[Any]:
    """The kind of a problem.

    Examples
    --------
    >>> from peerbayes.problem.builtins.loading import load_problem
    >>> type(kind_of(load_problem("p1-regression"))).__name__
    'RegressionKind'
    """
    return next(kind for kind in KINDS if kind.problem is type(problem))


def kind_of_record(form: str | None) -> Kind[Any]:
    """The kind of problem of a record, by its key ``"form"``; None means that there is none."""
    return next((kind for kind in KINDS if kind.form == form), KINDS[0])
