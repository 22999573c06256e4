"""The quick numbers of a problem: those that follow a hand that drags.

Each is the number of `pb.analyse`, by the same function and to the last bit. What takes long is
left out: certified intervals, Chernoff's sample sizes, estimates from long courses of a network
that changes at random. A page asks for these when the hand rests. ``kinds`` says of each number
what it is.
"""

from __future__ import annotations

import time
from functools import singledispatch
from typing import Any

import numpy as np

from peerbayes.documents import number, numbers
from peerbayes.explorer.documents import Table, problem_of
from peerbayes.explorer.quick_sizes import quick_sizes
from peerbayes.kinds.changing.analyse import kind_of_change
from peerbayes.kinds.faulty.analyse import FaultyAnalysis
from peerbayes.kinds.regression.analyse import analyse_regression
from peerbayes.problem.problems import ChangingProblem, FaultyProblem, Problem, RegressionProblem
from peerbayes.quantities.learning import LEARNING, in_doubles
from theory import FiniteModel, LearningRate, Network, error_exponent, learning_rate
from theory.changing import influence
from theory.changing.delays import RandomNetwork
from theory.learnability.silence import silent_rates
from theory.robustness import Average, TrimmedMean
from theory.validation import FloatArray

DELTA = 0.05


def numbers_of(document: Table, *, delta: float = DELTA) -> Table:
    """The quick numbers of the problem that a document describes.

    Parameters
    ----------
    delta
        Probability of error that sample sizes allow.

    Raises
    ------
    ValueError
        For anything wrong with the document, in one line. What cannot be computed of a good one is
        null, and ``notes`` says why.
    """
    start = time.perf_counter()
    problem = problem_of(document)
    found: Table = {"network": None, "learning": None, "regression": None, "samples": None}
    try:
        found |= {"kinds": {}, "notes": [], **_numbers(problem, delta)}
    except ValueError as error:
        # The file is good, and can be edited on; what it asks cannot be computed.
        found |= {"kinds": {}, "notes": [str(error)]}
    found["milliseconds"] = 1000 * (time.perf_counter() - start)
    return found


@singledispatch
def _numbers(problem: Any, delta: float) -> Table:
    raise TypeError(f"no problem: {type(problem).__name__}")


@_numbers.register
def _(problem: Problem, delta: float) -> Table:
    network, model = problem.network, problem.model
    rate = learning_rate(network, model)
    exponent = error_exponent(network, model, rate=rate)
    learning = LEARNING.tree(in_doubles(model, rate, exponent))
    learning["indispensable"] = indispensable(model, rate, network.stationary_distribution)
    return {
        "network": _network(network),
        "learning": learning,
        "samples": quick_sizes(network, model, rate, delta=delta),
        "kinds": _NETWORK | _LEARNING | _SAMPLES,
    }


@_numbers.register
def _(problem: ChangingProblem, delta: float) -> Table:
    network, model = problem.network, problem.model
    rate = learning_rate(network, model)
    shares = influence(network)
    exponent, notes = None, []
    if isinstance(network, RandomNetwork):
        notes.append("exponent: an estimate from a long course of the network, when the hand rests")
    else:
        try:
            exponent = error_exponent(network, model, rate=rate)
        except ValueError as error:
            notes.append(f"exponent: {error}")
    learning = LEARNING.tree(in_doubles(model, rate, exponent))
    learning["indispensable"] = indispensable(model, rate, shares.values)
    total = float(shares.values.sum())
    return {
        "network": {
            "changes": kind_of_change(problem),
            "stationary_distribution": (shares.values / total).tolist(),
            "influence": shares.values.tolist(),
            "total_influence": shares.total,
            "influence_per_time": None if shares.per_time is None else numbers(shares.per_time),
            "slem": None,
            "irreducible": True,
            "period": None,
            "reversible": None,
        },
        "learning": learning,
        "kinds": _NETWORK | _LEARNING,
        "notes": notes,
    }


@_numbers.register
def _(problem: FaultyProblem, delta: float) -> Table:
    analysis = FaultyAnalysis(problem, check_graph=False)
    document = analysis.document()
    faultless = analysis.faultless
    names = problem.model.hypotheses
    faults = document.faults.as_json()
    rates, what = _honest_rates(problem, analysis)
    binding = None if rates is None else min(rates, key=lambda name: rates[name], default=None)
    return {
        "network": _network(problem.network),
        "learning": {
            "optimal_hypotheses": faults["optimal_hypotheses"],
            "compromise": None,
            "globally_learnable": not faultless.is_compromise,
            "rate": None if rates is None or binding is None else number(rates[binding]),
            "binding_hypothesis": binding,
            "rates": {} if rates is None else {name: number(r) for name, r in rates.items()},
            "error_exponent": None,
            "binding_for_exponent": None,
            "exponents": {},
            "divergences": LEARNING.tree(in_doubles(problem.model, faultless, None))["divergences"],
            "ambiguous_pairs": [[names[a], names[b]] for a, b in problem.model.ambiguous_pairs],
            "faultless_rate": number(faultless.rate),
            "indispensable": indispensable(
                problem.model, faultless, problem.network.stationary_distribution
            ),
        },
        "faults": faults,
        "kinds": _NETWORK | _LEARNING | {"rate": what, "rates": what},
        "notes": [*document.notes, *_unchecked(problem)],
    }


@_numbers.register
def _(problem: RegressionProblem, delta: float) -> Table:
    document = analyse_regression(problem).document()
    return {
        "network": _network(problem.network),
        "regression": document.regression.as_json(),
        "kinds": _NETWORK | {"regression": "float"},
        "notes": document.notes,
    }


def _honest_rates(
    problem: FaultyProblem, analysis: FaultyAnalysis
) -> tuple[dict[str, float] | None, str]:
    """The slowest honest agent's rate, by wrong hypothesis, and what kind of number it is.

    Under plain averaging it is predicted; by other rules bounded from below, where anything is
    guaranteed. None where nothing is known.
    """
    names, wrong = problem.model.hypotheses, analysis.wrong
    if isinstance(problem.faults.rule, Average):
        if analysis.averaging is None:
            return None, "float"
        slowest = analysis.averaging.rates.min(axis=0)
        return {names[m]: float(slowest[m]) for m in wrong}, "float"
    if analysis.guaranteed is None:
        return None, "lower bound"
    return {names[m]: float(analysis.guaranteed[m]) for m in wrong}, "lower bound"


def _unchecked(problem: FaultyProblem) -> list[str]:
    """What is said of a graph whose robustness was not looked at."""
    if not isinstance(problem.faults.rule, TrimmedMean):
        return []
    return ["robustness: of the graph, when the hand rests"]


def _network(network: Network) -> Table:
    return {
        "stationary_distribution": network.stationary_distribution.tolist(),
        "slem": number(network.slem),
        "irreducible": True,
        "period": network.period,
        "reversible": network.is_reversible,
    }


def indispensable(model: FiniteModel, rate: LearningRate, v: FloatArray) -> list[int]:
    """The agents without whose data the network no longer learns: K without them is not above 0.

    Nobody is, where there is nothing to reject or the network does not learn with everybody.
    """
    wrong = [m for m in range(len(model.hypotheses)) if m not in rate.reference]
    if not wrong or not rate.rate > 0:
        return []
    # Compromises may be as good as each other with everybody, and not without one agent.
    left = np.max(
        [
            silent_rates(model, v, target=best, wrong=np.array(wrong, dtype=np.int64)).values
            for best in rate.reference
        ],
        axis=0,
    )
    return [int(agent) for agent in np.flatnonzero(left <= 0)]


_NETWORK = {
    "stationary_distribution": "float",
    "slem": "float",
    "irreducible": "exact",
    "period": "exact",
    "reversible": "float",
}
_LEARNING = {
    "optimal_hypotheses": "float",
    "rate": "float",
    "rates": "float",
    "error_exponent": "float",
    "exponents": "float",
    "divergences": "float",
    "indispensable": "float",
    "ambiguous_pairs": "float",
}
_SAMPLES = {"repaired": "upper bound", "printed": "estimate", "printed_p2": "estimate"}
