"""What a design comes to, in a few words: what to use, what it brings, and what it costs.

For what is printed of a result in Python; the tables of the command say the same at length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from peerbayes.designs.documents import (
    NetworkDesign,
    Recommendation,
    RegressionDesignDocument,
)
from peerbayes.designs.edges import edge_words
from peerbayes.designs.recommend import DESIGNED
from peerbayes.tables import interval, number, rounds
from theory.showing import Words

_GIVEN = "as given"
_TEXTS = {
    DESIGNED: "the designed weights",
    _GIVEN: "the weights as given: leave them as they are",
}
_ENOUGH = "rounds by Chernoff's bound"


def design_advice(result: NetworkDesign) -> Iterator[tuple[str, Words]]:
    """Which of the networks compared to use, what they take, the cost, and the certificate."""
    if result.recommended is not None:
        yield from _recommended(result, result.recommended)
    yield from _certificate(result.certificate)


def _recommended(result: NetworkDesign, advice: Recommendation) -> Iterator[tuple[str, Words]]:
    yield "use", Words(_TEXTS.get(advice.network, f"the weights {advice.network!r}"))
    names = dict.fromkeys((_GIVEN, DESIGNED, advice.network))
    if isinstance(result, RegressionDesignDocument):
        errors = {DESIGNED: result, **result.baselines}
        limits = bool(errors[advice.network].limit)
        label = "limit of the error" if limits else "error c/n with c"
        texts = {
            name: number(errors[name].limit if limits else errors[name].excess_error_constant)
            for name in names
            if name in errors
        }
    else:
        label = advice.by
        samples = {
            DESIGNED: result.samples,
            **{name: row.samples for name, row in result.baselines.items()},
        }
        texts = {name: _rounds(samples[name], label) for name in names if name in samples}
    yield label, Words(", ".join(f"{text} {name}" for name, text in texts.items()))
    if advice.network != DESIGNED and advice.designed is not None and advice.value is not None:
        more = "accuracy"
        if not isinstance(result, RegressionDesignDocument):
            more = f"{rounds(round(advice.designed - advice.value))} rounds"
        yield "cost", Words(f"the objective {result.objective} costs {more}")


def edge_advice(result: Any) -> Iterator[tuple[str, Words]]:
    """Which edge to add, or none, and what the network takes now and with it."""
    best = min(result.added, key=_enough, default=None)
    before, certified = result.base, "certified rounds"
    if best is None or best.edge is None or not _is_better(best, before):
        yield "use", Words("no new edge: leave the network as it is")
    else:
        yield "use", Words(f"add {edge_words(result, best.edge)}")
    if best is None:
        return
    if best.certified and before.certified:
        now, after = _interval(before.certified), _interval(best.certified)
    else:
        certified, now, after = _ENOUGH, rounds(before.chernoff), rounds(best.chernoff)
    yield certified, Words(f"{now} as it is, {after} with the best edge")


def _certificate(certificate: Any) -> Iterator[tuple[str, Words]]:
    """The value of a design beside what no design can pass."""
    if certificate is None or certificate.value is None:
        return
    value, bound = f"{certificate.value:.6g}", certificate.bound
    side = "at most" if certificate.sense == "maximise" else "at least"
    known = "no bound known" if bound is None else f"any design: {side} {bound:.6g}"
    yield "certificate", Words(f"{value}; {known}")


def _rounds(samples: Any, by: str) -> str:
    if samples is None:
        return "none proved"
    return rounds(samples.chernoff) if by == _ENOUGH else _interval(samples.certified)


def _interval(ends: Sequence[int] | None) -> str:
    return rounds(ends[0]) if ends and ends[0] == ends[1] else interval(ends)


def _enough(effect: Any) -> float:
    """Rounds that are proved to be enough."""
    known = [effect.certified[1]] if effect.certified else []
    known += [] if effect.chernoff is None else [effect.chernoff]
    return min(known, default=float("inf"))


def _is_better(best: Any, before: Any) -> bool:
    """Whether fewer rounds are proved to be enough, by one kind of proof."""
    if best.settles_on != before.settles_on:
        return False
    if best.certified and before.certified:
        return bool(best.certified[1] < before.certified[1])
    if best.chernoff is None or before.chernoff is None:
        return best.chernoff is not None
    return bool(best.chernoff < before.chernoff)
