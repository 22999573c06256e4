"""The search for a case that breaks a statement: one loop for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from flint import arb

from theory.claims.claim import Effort, Finding, Role, Witness


@dataclass(frozen=True)
class Attempt:
    """One case: is the statement certainly broken, how close it came, and the two numbers."""

    is_broken: bool
    ratio: float
    predicted: float
    measured: float


def at_most(measured: arb, bound: arb) -> Attempt:
    """The case of "measured ≤ bound", both balls.

    Broken means certainly broken. Balls that overlap have width 2^-200 or so here: then the two
    are equal as far as can be told, and the bound is attained.
    """
    ratio = float((measured / bound).mid()) if bound > 0 else 1.0
    return Attempt(bool(measured > bound), ratio, float(bound.mid()), float(measured.mid()))


def hunt(
    effort: Effort,
    name: str,
    usual: int,
    attempt: Callable[[np.random.Generator], Attempt | None],
    what: str,
) -> Finding:
    """Try random cases; those for which `attempt` returns None do not meet the hypotheses.

    Stops at the first case that breaks the statement. `what` says what the cases are.
    """
    rng = effort.generator(name)
    wanted, tried = effort.cases(usual), 0
    closest: Attempt | None = None
    for _ in range(20 * wanted):
        found = attempt(rng)
        if found is None:
            continue
        tried += 1
        if found.is_broken or (effort.tighten < 1 and found.ratio > effort.tighten):
            text = f"broken by case {tried} of {what}: {found.measured:.6g} > {found.predicted:.6g}"
            return Finding(False, text, found.predicted, found.measured, tried, closest=found.ratio)
        if closest is None or found.ratio > closest.ratio:
            closest = found
        if tried == wanted:
            break
    if closest is None:
        return Finding(False, f"no case of {what} met the hypotheses", cases=0)
    text = f"{tried} cases of {what}; closest approach {closest.ratio:.4g} of the bound"
    return Finding(True, text, closest.predicted, closest.measured, tried, closest=closest.ratio)


def inspect(
    effort: Effort,
    name: str,
    usual: int,
    is_right: Callable[[np.random.Generator], bool | None],
    what: str,
) -> Finding:
    """The same for statements that are no bounds; None is a case that does not count."""

    def attempt(rng: np.random.Generator) -> Attempt | None:
        answer = is_right(rng)
        return None if answer is None else Attempt(not answer, 0.0, 1.0, float(answer))

    found = hunt(effort, name, usual, attempt, what)
    if found.cases == 0:
        return found
    text = f"{found.cases} cases of {what}"
    text = f"{text}: none breaks it" if found.holds else f"broken by the last of {text}"
    return Finding(found.holds, text, cases=found.cases)


def search_witness(
    role: Role,
    name: str,
    usual: int,
    is_right: Callable[[np.random.Generator], bool | None],
    what: str,
    *,
    text: str | None = None,
) -> Witness:
    """A witness that is `inspect`; its text is `what` if left out."""
    return Witness(role, text or what, lambda effort: inspect(effort, name, usual, is_right, what))


def bound_witness(
    role: Role,
    name: str,
    usual: int,
    attempt: Callable[[np.random.Generator], Attempt | None],
    what: str,
) -> Witness:
    """A witness that is `hunt`."""
    return Witness(role, what, lambda effort: hunt(effort, name, usual, attempt, what))
