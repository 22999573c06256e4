"""Which of the networks compared to use, and what that costs, in a sentence and in a few words.

A design is best by its own objective alone: what a problem is about, few rounds or small errors,
may be had from another network.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from peerbayes.designs.quantities import BOUNDED, CERTIFIED, DESIGNED, RECOMMENDATION
from peerbayes.designs.shared import REGRESSION_ROW, side
from peerbayes.quantities.showing import ends_text
from peerbayes.tables import number, rounds
from theory.showing import Words

_GIVEN = "as given"
# What differs by less is rounding, and no reason to prefer another network to the design.
_SAME = 1e-9


def networks_of(result: Any) -> dict[str, Any]:
    """The networks compared, by their names: the design first."""
    return {DESIGNED: result, **result.baselines}


def recommend(result: Any, *, delta: float) -> Any:
    """The best of the networks that a design is compared with, itself included; None if none is."""
    rows = networks_of(result)
    if hasattr(result, "excess_error_constant"):
        return by_error(result.objective, rows)
    if hasattr(result, "influence"):
        # Rounds of a network that settles on another hypothesis are no rounds to the target.
        rows = {n: row for n, row in rows.items() if result.target in row.settles_on.split(", ")}
    samples = {name: row.samples for name, row in rows.items()}
    return by_rounds(result.objective, samples, delta=delta)


def by_rounds(objective: str, samples: Mapping[str, Any], *, delta: float) -> Any:
    """The network with the fewest rounds that are proved to be enough; the first among equals.

    Certified numbers are compared by their upper ends; where no network has one, Chernoff's bounds
    are. None where nothing is proved of any network.

    Parameters
    ----------
    samples
        By name, the design first under the name ``"designed"``; None for networks that settle on
        another hypothesis.
    """
    samples = {name: entry for name, entry in samples.items() if entry is not None}
    certified = {n: entry.certified[1] for n, entry in samples.items() if entry.certified}
    bounded = {n: entry.chernoff for n, entry in samples.items() if entry.chernoff is not None}
    known = certified or bounded
    if not known:
        return None
    name = min(known, key=known.__getitem__)
    best, own = known[name], known.get(DESIGNED)
    unit = CERTIFIED if certified else BOUNDED
    sentence = f"for an error of at most {delta:g} use {_named(name)}: {best} {unit}"
    if name == DESIGNED:
        sentence += ", the fewest of these networks"
    elif own is None:
        sentence += "; no number of rounds is proved of the design"
    else:
        sentence += (
            f"; the design takes {own}: the objective {objective} costs {own - best} "
            "rounds (the objective samples looks for the fewest)"
        )
    return RECOMMENDATION.read(
        {"network": name, "by": unit, "value": best, "designed": own, "sentence": sentence}
    )


def by_error(objective: str, rows: Mapping[str, Any]) -> Any:
    """The network with the least error of a regression: by its limit, then by c of c/n."""
    known = {
        name: (row.limit, row.excess_error_constant)
        for name, row in rows.items()
        if row.limit is not None and row.excess_error_constant is not None
    }
    if not known:
        return None
    name = min(known, key=known.__getitem__)
    own = known.get(DESIGNED)
    if own is not None and all(
        math.isclose(a, b, rel_tol=_SAME, abs_tol=1e-12)
        for a, b in zip(own, known[name], strict=True)
    ):
        name = DESIGNED
    vanishes = known[name][0] == 0
    value, designed = known[name][vanishes], own and own[vanishes]
    what = f"error {value:.4g}/n" if vanishes else f"limit of the error {value:.4g}"
    sentence = f"use {_named(name)}: {what}"
    if name == DESIGNED:
        sentence += ", the least of these networks"
    elif designed is not None:
        sentence += f"; the design has {designed:.4g}{'/n' if vanishes else ''}"
        sentence += f": the objective {objective} costs accuracy"
    by = "limit and c of the error"
    return RECOMMENDATION.read(
        {"network": name, "by": by, "value": value, "designed": designed, "sentence": sentence}
    )


def _named(name: str) -> str:
    return "the designed weights" if name == DESIGNED else f"the weights {name!r}"


# In a few words ---------------------------------------------------------------------------------


def advice(result: Any) -> Iterator[tuple[str, Words]]:
    """Which of the networks compared to use, what they take, the cost, and the certificate."""
    best, certificate = result.recommended, result.certificate
    if best is not None:
        kept = "the weights as given: leave them as they are"
        yield "use", Words(kept if best.network == _GIVEN else _named(best.network))
        rows, counted = networks_of(result), best.by in (CERTIFIED, BOUNDED)
        key = "limit" if not counted and rows[best.network].limit else "excess_error_constant"
        texts = [
            f"{_rounds(row.samples, best.by) if counted else number(getattr(row, key))} {name}"
            for name in dict.fromkeys((_GIVEN, DESIGNED, best.network))
            if (row := rows.get(name)) is not None
        ]
        yield best.by if counted else str(REGRESSION_ROW[key].label), Words(", ".join(texts))
        if best.network != DESIGNED and None not in (best.designed, best.value):
            more = f"{rounds(round(best.designed - best.value))} rounds" if counted else "accuracy"
            yield "cost", Words(f"the objective {result.objective} costs {more}")
    if certificate is not None and certificate.value is not None:
        bound = certificate.bound
        others = (
            f"any design: {side(certificate)} {bound:.6g}"
            if bound is not None
            else "no bound known"
        )
        yield "certificate", Words(f"{certificate.value:.6g}; {others}")


def _rounds(samples: Any, by: str) -> str:
    if samples is None:
        return "none proved"
    return rounds(samples.chernoff) if by == BOUNDED else ends_text(samples.certified)
