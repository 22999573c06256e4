"""`peerbayes analyse`: everything theory predicts of one problem, before any run.

Value objects in, a result object out; nothing is printed here.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from peerbayes.kinds.finite.analysis import Analysis, InDoubles
from peerbayes.kinds.shared.kind import Arithmetic
from peerbayes.kinds.shared.learning_notes import reference_notes
from peerbayes.problem.problems import Problem
from peerbayes.quantities import learning, messages, sizes
from peerbayes.quantities.network import in_doubles as numbers_of
from theory import error_exponent, learning_rate, sample_sizes
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
        return _in_doubles(problem, delta)
    from peerbayes.kinds.finite.proofs import prove

    return prove(problem, arithmetic=arithmetic, delta=delta, out=out, progress=progress)


def _in_doubles(problem: Problem, delta: float) -> Analysis:
    network, model = problem.network, problem.model
    rate = learning_rate(network, model)
    exponent = error_exponent(network, model, rate=rate)
    ladder = sample_sizes(network, model, delta=delta, rate=rate, exponent=exponent)
    found = None
    if problem.messages is not None:
        from theory.messages import compressed_learning

        found = compressed_learning(
            network, model, problem.messages, delta=delta, uncompressed=ladder
        )
    mixing, enough = numbers_of(network), sizes.in_doubles(ladder)
    notes = reference_notes(
        model.hypotheses,
        rate.reference,
        is_compromise=rate.is_compromise,
        undecided=rate.undecided,
    )
    if not np.isfinite(network.deviation.upper).all():
        mixing = replace(
            mixing,
            notes=(*mixing.notes, "no finite upper bound on the deviation of every agent"),
        )
    return Analysis(
        problem=problem,
        arithmetic="double",
        mixing=mixing,
        learning=learning.in_doubles(model, rate, exponent),
        sizes=enough,
        notes=(*notes, *mixing.notes, *enough.notes),
        costs=None if found is None else messages.in_doubles(found),
        doubles=InDoubles(rate, exponent, ladder, found),
    )
