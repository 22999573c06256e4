"""How something measured is held against something printed: rules, tolerances and reasons."""

from __future__ import annotations

from collections.abc import Sequence

from peerbayes.experiments.net_lines import SPREAD, Printed, accuracy_tolerance, is_reproduced
from peerbayes.figures.wording import number
from peerbayes.sources.documents import CheckDocument, Outcome


def accuracy_check(what: str, printed: str, values: Sequence[float]) -> CheckDocument:
    """An accuracy in per cent, one value a seed, beside the printed one."""
    known = Printed.read(printed)
    if not values:
        return undecided(what, printed)
    allowed = accuracy_tolerance(known, len(values))
    mean = sum(values) / len(values)
    seeds = f"{len(values)} seed{'s' * (len(values) != 1)}"
    return CheckDocument(
        what=what,
        printed=printed,
        measured=mean,
        wanted=f"{known.value:g} ± {number(allowed, 2)}",
        holds=is_reproduced(known, values),
        reason=f"read to ± {known.reading:g}; one run of theirs, {seeds} of ours, each with a"
        f" standard deviation of {100 * SPREAD:g} % of the error rate; two deviations",
    )


def above(
    what: str, printed: str, measured: float | None, bound: float, reason: str, *, unit: str = ""
) -> CheckDocument:
    """Something that has to exceed a bound."""
    if measured is None:
        return undecided(what, printed)
    wanted = f"above {number(bound, 3)}{f' {unit}' if unit else ''}"
    return CheckDocument(
        what=what, printed=printed, measured=measured, wanted=wanted, holds=measured > bound,
        reason=reason,
    )  # fmt: skip


def below(
    what: str, printed: str, measured: float | None, bound: float, reason: str
) -> CheckDocument:
    """Something that has to stay below a bound."""
    if measured is None:
        return undecided(what, printed)
    return CheckDocument(
        what=what, printed=printed, measured=measured, wanted=f"below {number(bound, 3)}",
        holds=measured < bound, reason=reason,
    )  # fmt: skip


def undecided(what: str, printed: str, reason: str = "no record") -> CheckDocument:
    """Something printed beside which nothing was measured."""
    return CheckDocument(
        what=what, printed=printed, measured=None, wanted="", holds=None, reason=reason
    )


def outcome(checks: Sequence[CheckDocument]) -> Outcome:
    """The verdict on a figure: one failure decides; so does all that was printed and holds.

    Examples
    --------
    >>> outcome([undecided("accuracy", "97.55")])
    'undecidable here'
    """
    if any(check.holds is False for check in checks):
        return "not reproduced"
    if not checks or any(check.holds is None for check in checks):
        return "undecidable here"
    return "reproduced"
