"""Which hypothesis a design is to make the network settle on, and which are wrong then.

Where some hypotheses are best for every agent, Θ* ≠ ∅, the network settles on them whatever its
weights are; wrong is what is outside Θ*. Where Θ* is empty the network settles on the minimiser of
Σ_j v_j D_j, which the design chooses with v: a target has to be named, and all others are wrong
(docs: mathematics/rate).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from theory.learning.model import FiniteModel
from theory.rational.model import RationalModel
from theory.validation import FloatArray, IntArray, as_position, fail, read_only

Model: TypeAlias = FiniteModel | RationalModel

_NAMED = 4


@dataclass(frozen=True, eq=False)
class RateTarget:
    """What is to win, and against what.

    Attributes
    ----------
    target
        The hypothesis that the network shall settle on.
    reference
        Θ*, or the target alone if Θ* is empty.
    wrong
        The hypotheses to be rejected, sorted; not empty.
    """

    target: int
    reference: tuple[int, ...]
    wrong: IntArray


def rate_target(model: Model, target: int | str | None) -> RateTarget:
    """The target, checked: some agent has evidence for it against every wrong hypothesis.

    Raises
    ------
    ValueError
        If no target is named and Θ* is empty; if the target is outside a Θ* that is not; if all
        hypotheses are optimal; if no agent's data favour the target over some wrong hypothesis.
    """
    names = model.hypotheses
    optimal = model.optimal_hypotheses
    if target is None:
        if not optimal:
            raise fail(
                "target",
                "the hypothesis to settle on, as none is best for every agent",
                None,
                "name one; reachable_targets() lists those that some network settles on",
            )
        target = optimal[0]
    target = as_position("target", target, names)
    if optimal and target not in optimal:
        raise fail(
            "target",
            f"{named(names, optimal)}, on which every network settles",
            repr(names[target]),
            "leave the target out",
        )
    reference = optimal or (target,)
    wrong = np.array([m for m in range(len(names)) if m not in reference], dtype=np.int64)
    if not wrong.size:
        raise fail(
            "hypotheses",
            "one that fits worse than another for some agent",
            f"{len(names)} that fit equally well: no agent tells {names[0]!r} from {names[1]!r}",
            "no network separates them: change the hypotheses or the data",
        )
    if not optimal:
        _check_separated(names, evidence_signs(model, target), target, wrong)
    return RateTarget(target, reference, read_only(wrong))


def evidence_signs(model: Model, target: int) -> IntArray:
    """The sign of I(target, θ) of each kind that occurs, shape (K', M); decided if rational.

    In doubles, differences within their own rounding error count as none.
    """
    if isinstance(model, RationalModel):
        kinds = sorted(set(model.assignment))
        table = model.kind_divergences
        return np.array([[(d - table[k][target]).sign() for d in table[k]] for k in kinds])
    present = np.unique(model.assignment)
    return model.comparison(target).signs[present].astype(np.int64)


def wins(model: FiniteModel, aim: RateTarget, influence: FloatArray) -> bool:
    """Whether the network rejects every wrong hypothesis at this v: told by doubles for certain."""
    signs = model.weighted_comparison(influence, aim.target).signs
    return bool((signs[aim.wrong] > 0).all())


def named(names: tuple[str, ...], which: tuple[int, ...] | list[int]) -> str:
    """Some hypotheses by name, cut short."""
    shown = ", ".join(repr(names[m]) for m in which[:_NAMED])
    return f"{shown}, …" if len(which) > _NAMED else shown


def _check_separated(names: tuple[str, ...], signs: IntArray, target: int, wrong: IntArray) -> None:
    best = signs[:, wrong].max(axis=0)
    blind = [int(m) for m in wrong[best <= 0] if not signs[:, m].any()]
    if blind:
        raise fail(
            "model",
            "some agent that tells the target from every other hypothesis",
            f"no agent tells {names[target]!r} from {names[blind[0]]!r}",
            "the rate is 0 for every network: drop one of the two, or add an agent that sees the "
            "difference",
        )
    better = [int(m) for m in wrong[best <= 0]]
    if better:
        raise fail(
            "target",
            "a hypothesis that some agent's data favour over every other",
            f"{names[target]!r}, which {named(names, better)} fits at least as well everywhere",
            f"no network settles on it: choose {names[better[0]]!r}, say",
        )
