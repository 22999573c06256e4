"""`peerbayes analyse`: everything theory predicts of one problem, before any run.

Value objects in, a result object out; nothing is printed here.
"""

from __future__ import annotations

from pathlib import Path

from peerbayes.kinds.finite.analysis import Analysis, InDoubles
from peerbayes.kinds.shared.kind import Arithmetic
from peerbayes.problem.finite import Problem
from theory import error_exponent, learning_rate, sample_sizes
from theory.messages import compressed_learning
from theory.progress import Progress
from theory.validation import as_probability


def analyse(
    problem: Problem,
    *,
    arithmetic: Arithmetic = "double",
    delta: float = 0.05,
    out: Path | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """Predict mixing, best hypotheses, rate, exponent and sample sizes.

    Parameters
    ----------
    arithmetic
        "double"; "exact" for a problem all of whose numbers are exact, "certified" for any.
    delta
        Probability of error that sample sizes allow, in (0, 1).
    out
        Folder for the parts of proofs that take long: after an interruption they are read back.
        None keeps nothing.
    progress
        Called with (steps done, all steps) while numbers are proved.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1); or, of proved numbers, the problem has doubles (exact), it is
        too large, or a record of an earlier run is damaged or cannot be written.
    """
    delta = as_probability("delta", delta)
    if arithmetic == "double":
        return Analysis(problem, _in_doubles(problem, delta))
    from peerbayes.kinds.finite.proofs import prove

    found = prove(problem, arithmetic=arithmetic, delta=delta, out=out, progress=progress)
    return Analysis(problem, found, arithmetic)


def _in_doubles(problem: Problem, delta: float) -> InDoubles:
    rate = learning_rate(problem.network, problem.model)
    exponent = error_exponent(problem.network, problem.model, rate=rate)
    samples = sample_sizes(
        problem.network, problem.model, delta=delta, rate=rate, exponent=exponent
    )
    messages = None
    if problem.messages is not None:
        messages = compressed_learning(
            problem.network, problem.model, problem.messages, delta=delta, uncompressed=samples
        )
    return InDoubles(problem, rate, exponent, samples, messages)
