"""The command: one problem of any kind, one request, one result, one record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from peerbayes.design.next_edge import NextEdge, next_edge
from peerbayes.design.request import DesignRequest
from peerbayes.kinds.changing.design import ChangingDesign, design_changing
from peerbayes.kinds.finite.design import Design, design_problem
from peerbayes.kinds.regression.design import RegressionDesign, design_regression
from peerbayes.problem.changing import ChangingProblem
from peerbayes.problem.faulty import FaultyProblem
from peerbayes.problem.problems import AnyProblem, finite_problem
from peerbayes.problem.regression import RegressionProblem
from peerbayes.records import check_folder, file_name, write_record
from theory.design.time_budget import time_budget

Progress = Callable[[int, int], None]
AnyDesign: TypeAlias = Design | RegressionDesign | ChangingDesign | NextEdge


def design(
    problem: AnyProblem,
    request: DesignRequest,
    *,
    out: Path | None = None,
    progress: Progress | None = None,
) -> AnyDesign:
    """The design that a request asks for, for a problem of any kind.

    Faulty agents are designed for as if they were honest; a note says so.

    Parameters
    ----------
    out
        Folder for the record; left out: none is written.

    Raises
    ------
    ValueError
        If the request does not go with the problem, no design reaches the objective, limits
        exclude each other, or the record cannot be written; in one line.
    """
    if out is not None:
        check_folder(out)
    if progress is not None:
        progress(0, 1)  # a bar from the start, before anything is known of how far there is to go
    with time_budget(request.seconds) as budget:
        result = _result(problem, request, progress)
    if budget.stopped:
        remark = (
            f"stopped by the time budget of {budget.seconds:g} seconds: the best found by then; "
            "more time may find better (--seconds)"
        )
        result = replace(result, stopped=True, remarks=(remark, *result.remarks))
    if out is None:
        return result
    path = out / file_name("design", result.problem.name, request.objective)
    write_record(path, kind="design", body=result.as_record())
    return replace(result, record_path=path)


def _result(problem: AnyProblem, request: DesignRequest, progress: Progress | None) -> AnyDesign:
    if isinstance(problem, RegressionProblem):
        return design_regression(problem, request)
    if isinstance(problem, ChangingProblem):
        return design_changing(problem, request, progress=progress)
    remark = ""
    if isinstance(problem, FaultyProblem):
        problem, remark = problem.problem, "designed as if nobody were faulty"
    fixed = finite_problem(problem, "design")
    found: Design | NextEdge = (
        next_edge(fixed, request)
        if request.objective == "next-edge"
        else design_problem(fixed, request, progress=progress)
    )
    return replace(found, remarks=(remark, *found.remarks)) if remark else found
