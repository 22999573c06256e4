"""The quick numbers of a problem: those that follow a hand that drags.

Each is the number of `pb.analyse`, by the same function and to the last bit. What takes long is
left out: certified intervals, Chernoff's sample sizes, estimates from long courses of a network
that changes at random. A page asks for these when the hand rests. ``kinds`` says of each number
what it is, as its quantity declares it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import singledispatch
from types import SimpleNamespace
from typing import Any

import numpy as np

from peerbayes.documents import number
from peerbayes.explorer.documents import Table, problem_of
from peerbayes.kinds.changing.analyse import CHANGING_NETWORK
from peerbayes.kinds.faulty.analyse import FaultyAnalysis
from peerbayes.kinds.regression.analyse import analyse_regression
from peerbayes.problem.problems import ChangingProblem, FaultyProblem, Problem, RegressionProblem
from peerbayes.quantities.learning import LEARNING, Learnt, in_doubles
from peerbayes.quantities.network import NETWORK
from peerbayes.quantities.sizes import SAMPLES
from peerbayes.settings.questions import DEFAULT_DELTA
from theory import FiniteModel, LearningRate, Network, error_exponent, learning_rate
from theory.bounds.samples import printed_rounds
from theory.bounds.tails.chernoff import hoeffding_bounds
from theory.bounds.tails.events import ErrorEvents
from theory.changing import influence
from theory.changing.delays import RandomNetwork
from theory.learnability.cover import silent_rates
from theory.robustness import Average, TrimmedMean
from theory.validation import FloatArray

# What a page says of numbers that are not right up to rounding, by what they are declared to be.
_WORDS = {
    "lower": "lower bound",
    "upper": "upper bound",
    "certified": "certified",
    "printed": "estimate",
    "estimate": "estimate",
}
_KINDS = {
    quantity.key: _WORDS.get(quantity.kind or table.kind, "float")
    for table in (NETWORK, LEARNING, SAMPLES)
    for quantity in table.quantities
} | {"irreducible": "exact", "period": "exact"}
# Rows of W^k that agree to this end the table of Hoeffding's bound.
_SETTLED = 1e-13
# Rounds of the table, and multiplications in all of them: some milliseconds.
_MOST_ROUNDS = 60
_MOST_WORK = 5e6


def numbers_of(document: Table, *, delta: float = DEFAULT_DELTA) -> Table:
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
    parts = ("network", "learning", "regression", "samples")
    found: Table = {**dict.fromkeys(parts), "kinds": _KINDS, "notes": []}
    try:
        found |= _numbers(problem, delta)
    except ValueError as error:
        # The file is good, and can be edited on; what it asks cannot be computed.
        found["notes"] = [str(error)]
    found["milliseconds"] = 1000 * (time.perf_counter() - start)
    return found


@singledispatch
def _numbers(problem: Any, delta: float) -> Table:
    raise TypeError(f"no problem: {type(problem).__name__}")


@_numbers.register
def _(problem: Problem, delta: float) -> Table:
    network, model = problem.network, problem.model
    rate = learning_rate(network, model)
    learnt = in_doubles(model, rate, error_exponent(network, model, rate=rate))
    return {
        "network": _network(network),
        "learning": _learning(learnt, model, rate, network.stationary_distribution),
        "samples": quick_sizes(network, model, rate, delta=delta),
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
    declared = CHANGING_NETWORK.tree(SimpleNamespace(problem=problem, influence=shares))
    share = (shares.values / float(shares.values.sum())).tolist()
    unknown = dict.fromkeys(("slem", "period", "reversible"))
    return {
        "network": {**declared, "stationary_distribution": share, "irreducible": True, **unknown},
        "learning": _learning(in_doubles(model, rate, exponent), model, rate, shares.values),
        "notes": notes,
    }


@_numbers.register
def _(problem: FaultyProblem, delta: float) -> Table:
    model, network = problem.model, problem.network
    analysis = FaultyAnalysis(problem, check_graph=False)
    document, faultless = analysis.document(), analysis.faultless
    faults = document.faults.as_json()
    rates, what = _honest_rates(problem, analysis)
    binding = min(rates or {}, key=lambda name: (rates or {})[name], default=None)
    learnt = replace(
        in_doubles(model, faultless, None),
        optimal_hypotheses=faults["optimal_hypotheses"],
        compromise=None,
        rate=None if rates is None or binding is None else rates[binding],
        binding_hypothesis=binding,
        rates=rates or {},
        exponents={},
    )
    learning = _learning(learnt, model, faultless, network.stationary_distribution)
    # Whether the graph is robust takes a second to say.
    trims = isinstance(problem.faults.rule, TrimmedMean)
    unchecked = ["robustness: of the graph, when the hand rests"] if trims else []
    return {
        "network": _network(network),
        "learning": {**learning, "faultless_rate": number(faultless.rate)},
        "faults": faults,
        "kinds": _KINDS | {"rate": what, "rates": what},
        "notes": [*document.notes, *unchecked],
    }


@_numbers.register
def _(problem: RegressionProblem, delta: float) -> Table:
    document = analyse_regression(problem).document()
    return {
        "network": _network(problem.network),
        "regression": document.regression.as_json(),
        "notes": document.notes,
    }


def _network(network: Network) -> Table:
    return {
        "stationary_distribution": network.stationary_distribution.tolist(),
        "slem": number(network.slem),
        "irreducible": True,
        "period": network.period,
        "reversible": network.is_reversible,
    }


def _learning(learnt: Learnt, model: FiniteModel, rate: LearningRate, v: FloatArray) -> Table:
    return {**LEARNING.tree(learnt), "indispensable": indispensable(model, rate, v)}


def _honest_rates(
    problem: FaultyProblem, analysis: FaultyAnalysis
) -> tuple[dict[str, float] | None, str]:
    """The slowest honest agent's rate, by wrong hypothesis, and what kind of number it is.

    Under plain averaging it is predicted; by other rules bounded from below, where anything is
    guaranteed. None where nothing is known.
    """
    rates, what = analysis.guaranteed, "lower bound"
    if isinstance(problem.faults.rule, Average):
        averaging, what = analysis.averaging, "float"
        rates = None if averaging is None else averaging.rates.min(axis=0)
    names = problem.model.hypotheses
    return None if rates is None else {names[m]: float(rates[m]) for m in analysis.wrong}, what


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


def quick_sizes(network: Network, model: FiniteModel, rate: LearningRate, *, delta: float) -> Table:
    """The rungs of `theory.sample_sizes` that take milliseconds; null stands for the others.

    The printed ones, and Hoeffding's where W settles soon.
    """
    found: Table = {
        "delta": delta,
        "printed": printed_rounds(network, model, delta=delta).rounds,
        "printed_p2": printed_rounds(network, model, delta=delta, paper="P2").rounds,
        "repaired": None,
        "chernoff": None,
        "certified": None,
    }
    wrong = len(model.hypotheses) - len(rate.reference)
    slem = network.slem
    rounds = np.log(_SETTLED) / np.log(slem) if 0 < slem < 1 else 1.0
    work = rounds * network.agents**2 * (network.agents + 3 * wrong)
    if not wrong or rate.undecided or rounds > _MOST_ROUNDS or work > _MOST_WORK:
        return found
    bounds = [bound for bound in hoeffding_bounds(ErrorEvents(network, model)) if bound is not None]
    sizes = [n for bound in bounds if (n := bound.smallest_rounds(delta)) is not None]
    return {**found, "repaired": min(sizes, default=None)}
