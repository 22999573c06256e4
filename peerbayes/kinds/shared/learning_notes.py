"""What several analyses of social learning say alike: their numbers, and why one is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from peerbayes.documents import interval
from theory import ErrorExponent, LearningRate, SampleSizes


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


def learning_facts(
    names: Sequence[str],
    rate: LearningRate,
    exponent: ErrorExponent | None,
    samples: SampleSizes,
) -> Iterator[tuple[str, object]]:
    """What an analysis prints in a few lines: rates in nats a round, sample sizes in rounds.

    `names` are those of all hypotheses.
    """
    yield "settles on", tuple(names[m] for m in rate.reference)
    yield "rate K", rate.rate
    if rate.binding is not None:
        yield "bound by", names[rate.binding]
    if exponent is not None:
        yield "exponent E", exponent.exponent
    yield "delta", samples.delta
    sizes = ("printed", samples.printed), ("repaired", samples.repaired)
    for name, size in (*sizes, ("chernoff", samples.chernoff)):
        if size.rounds is not None:
            yield f"samples, {name}", size.rounds
    if (certified := interval(samples.certified)) is not None:
        yield "samples, certified", tuple(certified)
