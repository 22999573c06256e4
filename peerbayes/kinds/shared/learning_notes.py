"""What several analyses of social learning say alike: why a number is missing."""

from __future__ import annotations

from collections.abc import Sequence


def reference_notes(
    names: Sequence[str],
    reference: Sequence[int],
    *,
    is_compromise: bool | None,
    undecided: Sequence[int] = (),
) -> list[str]:
    """What is to be said of the hypotheses that a network settles on, one sentence each.

    Parameters
    ----------
    names
        All hypotheses.
    reference
        Those that the network settles on, by number.
    is_compromise
        Whether no hypothesis is best for every agent; None if that is not decided.
    undecided
        Those of the reference that double precision does not tell from its first.
    """
    notes = []
    if is_compromise:
        notes.append(
            "no hypothesis is best for every agent: rates are those of the network compromise, "
            + ", ".join(names[m] for m in reference)
        )
    if undecided:
        notes.append(
            "double precision does not tell whether these are as good as "
            f"{names[reference[0]]}; they count as ties, and no bound is given (--certify "
            f"decides): {', '.join(names[m] for m in undecided)}"
        )
    if len(reference) == len(names):
        notes.append("every hypothesis is optimal: there is no rate and nothing to reject")
    return notes
