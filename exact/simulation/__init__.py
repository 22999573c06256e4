"""Simulations of finitely many hypotheses, on every kind of network: one door.

:func:`simulate` draws the observations and keeps statistics of Λ at chosen rounds, in memory that
grows neither with the number of rounds nor of replicates. Replicates may be spread over processes,
and a run that was killed be resumed, without changing a bit of the result (:mod:`exact.parallel`).
:func:`prepare` says beforehand what a simulation would cost, and :func:`learn_given` runs one on
observations that are given.

What a round does is written with each kind: a network that stays as it is on
:mod:`exact.learning`, one that changes on :mod:`exact.changing.simulation`, faulty agents on
:mod:`exact.faults.process`. Regressions have a door of their own, of the same shape:
:func:`exact.simulate_regression`.
"""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from exact.simulation.kinds import learn_given, prepare, simulate
else:
    show_lazily(__name__)

__all__ = ["learn_given", "prepare", "simulate"]
