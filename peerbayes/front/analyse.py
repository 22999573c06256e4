"""`pb.analyse`: everything theory predicts of a problem, before any run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.front.problems import Batch, as_problem
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.kinds.shared.kind import Arithmetic, Result
    from peerbayes.problem.problems import AnyProblem
    from theory.progress import Progress


def analyse(
    problem: AnyProblem | str | Path,
    *,
    delta: float | None = None,
    exact: bool = False,
    certify: bool = False,
    rounds: int | None = None,
    out: str | Path | None = None,
    data: str | Path | None = None,
    batch: Batch | None = None,
    progress: Progress | None = None,
) -> Result:
    """Mixing, best hypotheses, rate, exponent and sample sizes; draws nothing.

    Parameters
    ----------
    problem
        Of any kind, or the name or the file of one.
    delta
        Probability of error that sample sizes allow, in (0, 1); .05 if left out.
    exact, certify
        Fractions and expressions (the problem's numbers must be exact), or intervals that contain
        the truth; doubles if neither.
    rounds
        Also certify what so many rounds are good for.
    out
        With `exact` or `certify`: folder for the parts that take long; left out: none are kept.
    data
        Folder of the image files, for built-ins that need them.
    batch
        Observations a round, in place of the problem's: a number, or one for each agent. The name
        of the problem then says so.
    progress
        Called with (done, total) while numbers are proved, or those of a large network found.

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
    from peerbayes.kinds.shared.kind import AnalysisRequest
    from theory.network import Network
    from theory.network.stationary import DENSE_AGENTS

    if exact and certify:
        raise fail("exact, certify", "one of the two", "both", "keep one of them")
    arithmetic: Arithmetic = "exact" if exact else "certified" if certify else "double"
    request = AnalysisRequest(delta, arithmetic, rounds, None if out is None else Path(out))
    found = as_problem(problem, data, batch)
    network = found.network
    if arithmetic == "double" and isinstance(network, Network) and network.agents > DENSE_AGENTS:
        network.prepare(progress)
    result: Result = kind_of(found).analyse(found, request, progress)
    return result
