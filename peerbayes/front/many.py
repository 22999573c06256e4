"""`many`: one question about many problems, by as many workers as there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from peerbayes.problem.problems import AnyProblem
    from theory.progress import Progress

R = TypeVar("R")


def many(
    question: Callable[..., R],
    problems: Sequence[AnyProblem | str | Path],
    *,
    workers: int = 1,
    backend: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> list[R]:
    """The answers to one question about many problems, in the problems' order.

    Each process takes a problem at a time, on one thread. The answers are those of one problem
    after the other, to the last bit.

    Parameters
    ----------
    question
        `pb.analyse`, `pb.simulate`, `pb.verify` or another function of a problem.
    problems
        Of any kind, or the names or the files of some; files are read by the workers.
    workers, backend
        How many processes, and whose: of joblib, or of a dask or ray cluster, as for `simulate`.
    progress
        Called as progress(done, total), in problems.
    settings
        What the question is asked with, the same for all problems.

    Raises
    ------
    ValueError
        If `problems` are no list, `workers` or `backend` are not as for `simulate`, or the question
        cannot be answered.

    Examples
    --------
    >>> from peerbayes.front.analyse import analyse
    >>> [answer.problem.name for answer in many(analyse, ["two-coins", "p2-star"], certify=True)]
    ['two-coins', 'p2-star a=0.5']
    """
    from exact.parallel import spread
    from theory.validation import fail

    if isinstance(problems, str | Path) or not isinstance(problems, Sequence):
        raise fail("problems", "a list of problems", "one", "put it in brackets")
    asked = partial(question, **settings)
    return spread(asked, problems, workers=workers, backend=backend, progress=progress)
