"""Which of the networks compared to use: the design is best by its own objective alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from peerbayes.designs.documents import (
    FiniteDesignDocument,
    NetworkDesign,
    Recommendation,
    RegressionDesignDocument,
    RegressionRow,
)

Unit = Literal["certified rounds", "rounds by Chernoff's bound"]
DESIGNED = "designed"
# What differs by less is rounding, and no reason to prefer another network to the design.
_SAME = 1e-9


def recommend(result: NetworkDesign, *, delta: float) -> Recommendation | None:
    """The best of the networks that a design is compared with, itself included."""
    if isinstance(result, RegressionDesignDocument):
        return by_error(result.objective, {DESIGNED: result, **result.baselines})
    if isinstance(result, FiniteDesignDocument):
        samples = {DESIGNED: result.samples}
        samples |= {name: row.samples for name, row in result.baselines.items()}
    else:
        # Rounds of a network that settles on another hypothesis are no rounds to the target.
        samples = {
            name: row.samples if result.target in row.settles_on.split(", ") else None
            for name, row in {DESIGNED: result, **result.baselines}.items()
        }
    return by_rounds(result.objective, samples, delta=delta)


def by_rounds(objective: str, samples: Mapping[str, Any], *, delta: float) -> Recommendation | None:
    """The network with the fewest rounds that are proved to be enough; the first among equals.

    Certified numbers are compared by their upper ends; where no network has one, Chernoff's bounds
    are. None where nothing is proved of any network.

    Parameters
    ----------
    samples
        By name, the design first under the name ``"designed"``; None for networks that settle on
        another hypothesis.
    """
    known = {name: entry for name, entry in samples.items() if entry is not None}
    certified = {n: entry.certified[1] for n, entry in known.items() if entry.certified}
    bounded = {n: entry.chernoff for n, entry in known.items() if entry.chernoff is not None}
    rounds = certified or bounded
    if not rounds:
        return None
    name = min(rounds, key=rounds.__getitem__)
    best, own = rounds[name], rounds.get(DESIGNED)
    unit: Unit = "certified rounds" if certified else "rounds by Chernoff's bound"
    start = f"for an error of at most {delta:g} use {_named(name)}: {best} {unit}"
    if name == DESIGNED:
        sentence = f"{start}, the fewest of these networks"
    elif own is None:
        sentence = f"{start}; no number of rounds is proved of the design"
    else:
        sentence = (
            f"{start}; the design takes {own}: the objective {objective} costs {own - best} "
            "rounds (the objective samples looks for the fewest)"
        )
    return Recommendation(
        network=name,
        by=unit,
        value=best,
        designed=own,
        sentence=sentence,
    )


def by_error(objective: str, rows: Mapping[str, RegressionRow]) -> Recommendation | None:
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
    limit, constant = known[name]
    vanishes = limit == 0
    value, designed = (constant, own and own[1]) if vanishes else (limit, own and own[0])
    what = f"error {constant:.4g}/n" if vanishes else f"limit of the error {limit:.4g}"
    sentence = f"use {_named(name)}: {what}"
    if name == DESIGNED:
        sentence += ", the least of these networks"
    elif designed is not None:
        sentence += f"; the design has {designed:.4g}{'/n' if vanishes else ''}"
        sentence += f": the objective {objective} costs accuracy"
    return Recommendation(
        network=name,
        by="limit and c of the error",
        value=value,
        designed=designed,
        sentence=sentence,
    )


def _named(name: str) -> str:
    return "the designed weights" if name == DESIGNED else f"the weights {name!r}"
