"""Learners: how an agent trains between two consensuses, and what is pooled."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from empirical.train.averaging import Averaging, AveragingAdam, Learner
from empirical.train.backprop import Backprop
from empirical.train.natural_gradient import NaturalGradient, Sites
from theory.validation import fail, meant

_KINDS = (Backprop, Averaging, AveragingAdam, NaturalGradient, Sites)

# By the names that files and commands use.
LEARNERS: dict[str, type[Learner]] = {kind.name: kind for kind in _KINDS}


def learner_of(name: str, **settings: Any) -> Learner:
    """A learner with settings of its own; the others have their defaults.

    A number of None has no limit, as JSON writes infinity in the words of learners.

    Raises
    ------
    ValueError
        If there is no such learner, it has no such setting, or a setting is out of range.

    Examples
    --------
    >>> learner_of("averaging", rate=0.1)
    Averaging(rate=0.1, momentum=0.9, pool_momentum=False, weighting='data')
    """
    if name not in LEARNERS:
        remedy = meant(str(name), LEARNERS, otherwise="choose one of them")
        raise fail("learner", f"one of {', '.join(LEARNERS)}", repr(name), remedy)
    kind: Any = LEARNERS[name]
    known = [field.name for field in fields(kind)]
    limitless = {setting for setting, value in settings.items() if value is None}
    settings.update(dict.fromkeys(limitless, math.inf))
    for setting, value in settings.items():
        if setting not in known:
            remedy = meant(setting, known, otherwise="leave it out")
            raise fail(f"settings of {name}", f"any of {', '.join(known)}", repr(setting), remedy)
        usual = getattr(kind, setting)
        wanted = str if isinstance(usual, str) else int | float
        if not isinstance(value, wanted) or isinstance(value, bool) != isinstance(usual, bool):
            such = "a number" if usual is None else f"such as {usual!r}"
            raise fail(setting, such, repr(value), "give a value")
    learner: Learner = kind(**settings)
    return learner
