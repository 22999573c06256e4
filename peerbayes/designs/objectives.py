"""What each objective leads to: v by the objective, W by its mixing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from peerbayes.designs.details import Details, ExactRate
from peerbayes.designs.request import DesignTask
from peerbayes.designs.weights import Found, Weights, exactly, expected, weights_for
from peerbayes.documents import number
from peerbayes.quantities.messages import in_doubles
from theory import FiniteModel, Network
from theory.design import (
    Certificate,
    Constraints,
    DesignGraph,
    best_exponent,
    exact_optimal_rate,
    fewest_samples,
    optimal_rate,
    trade_off,
    worst_case_exponent,
)
from theory.design.rate.rate_program import as_good
from theory.design.search import is_spent
from theory.messages import FewestBytes, fewest_bytes
from theory.messages.quantiser import HEADER
from theory.network.graphs import weights_on_links
from theory.network.structure import as_dense
from theory.progress import Progress
from theory.scientific import csgraph, sparse
from theory.validation import FloatArray, fail

# Distances between all pairs of more agents take seconds.
_MOST_PATHS = 500


def find(task: DesignTask, progress: Progress | None = None) -> Found:
    """The design that the objective asks for.

    Raises
    ------
    ValueError
        If no design reaches the objective, or limits exclude each other; in one line.
    """
    search = {
        "mixing": _mixing,
        "rate": _rate,
        "exponent": _exponent,
        "samples": _samples,
        "trade-off": _trade_off,
        "bytes": _cheapest_messages,
    }
    return search[task.request.objective](task, progress)


def _mixing(task: DesignTask, _: Progress | None) -> Found:
    weights = weights_for(task, task.stationary, thorough=True)
    return Found(weights, weights.certificate, {})


def _rate(task: DesignTask, _: Progress | None) -> Found:
    problem, model, names = task.problem, task.problem.model, task.problem.model.hypotheses
    best = optimal_rate(model, target=task.target, influences=task.influences)
    certificate = best.certificate
    notes: tuple[str, ...] = ()
    if len(best.silent):
        share = f"{len(best.silent)} of {model.agents} agents"
        notes = (
            f"K alone prefers silence from {share}, which are held at the smallest influence "
            f"allowed, {task.minimum_influence:g}; without that K would be "
            f"{number(best.boundary_rate):.6g}",
        )
    weights, exact = weights_for(task, best.stationary_distribution), None
    if task.request.variant.exact:
        exact_model = problem.rational_model if problem.is_exact else model
        proved = exact_optimal_rate(exact_model, target=task.target, influences=task.influences)
        weights = exactly(weights, proved.stationary_distribution, task)
        exact = ExactRate(
            rate=str(proved.rate),
            enclosure=proved.enclosure,
            stationary_distribution=proved.stationary_distribution,
            multipliers={names[m]: str(proved.multipliers[m]) for m in proved.binding},
            weights=weights.rows,
        )
        certificate = proved.certificate
    details = Details(agents=best, boundary=best, is_unique=best.is_unique, exact=exact)
    binding = {names[m]: float(best.multipliers[m]) for m in best.binding}
    return Found(weights, certificate, binding, details, notes)


def _exponent(task: DesignTask, _: Progress | None) -> Found:
    model, names = task.problem.model, task.problem.model.hypotheses
    if task.request.variant.worst_case:
        worst = worst_case_exponent(model, influences=task.influences)
        binding = {
            f"{names[pair.hypothesis]} when {names[pair.truth]} is true": pair.multiplier
            for pair in worst.binding
        }
        details = Details(worst_case_exponent=worst.exponent)
        note = "every hypothesis may be the true one: data are taken to follow its likelihoods"
        weights = weights_for(task, worst.stationary_distribution)
        return Found(weights, worst.certificate, binding, details, (note,))
    best = best_exponent(model, target=task.target, influences=task.influences)
    binding = {names[one.hypothesis]: one.multiplier for one in best.binding}
    details = Details(uniform_exponent=best.uniform_exponent)
    notes = () if best.certificate else ("errors become impossible: there is nothing to prove",)
    weights = weights_for(task, best.stationary_distribution)
    return Found(weights, best.certificate, binding, details, notes)


def _searched(
    task: DesignTask, network: Network, certificate: Certificate | None, details: Details, note: str
) -> Found:
    """The weights that a local search found."""
    weights = Weights(network, expected(network, task), None, "local search")
    return Found(weights, certificate, {}, details, (note,) if note else ())


def _samples(task: DesignTask, progress: Progress | None) -> Found:
    found = fewest_samples(task.graph, task.problem.model, **task.search, progress=progress)
    details = Details(starts=found.starts, best_for_influence=found.best_for_influence)
    return _searched(task, found.network, found.certificate, details, found.note)


def _trade_off(task: DesignTask, progress: Progress | None) -> Found:
    curve = trade_off(
        task.graph, task.problem.model, objective="rate", **task.search, progress=progress
    )
    best = curve.recommended
    return _searched(
        task, best.network, best.certificate, Details(trade_off=curve.points), curve.note
    )


def information_at(model: FiniteModel, v: FloatArray, target: int) -> dict[int, float]:
    """Σ_j v_j I_j(target, θ) of every hypothesis θ that is not right whenever the target is."""
    information = v @ model.information(target)
    right = as_good(model, target)
    return {m: float(information[m]) for m in range(len(model.hypotheses)) if m not in right}


def binding_at(model: FiniteModel, v: FloatArray, target: int) -> dict[str, float]:
    """The hypotheses that are rejected last at v: each with the share 1/number of them."""
    against = information_at(model, v, target)
    lowest = min(against.values(), default=0.0)
    last = [m for m, told in against.items() if np.isclose(told, lowest, rtol=1e-9, atol=0.0)]
    return {model.hypotheses[m]: 1 / len(last) for m in last}


# Bytes ------------------------------------------------------------------------------------------
#
# Bytes are links × a message × rounds. More links make rounds fewer, down to what the data need,
# and every round dearer: so trees, which have the fewest links, are priced beside the whole graph.


def _cheapest_messages(task: DesignTask, progress: Progress | None) -> Found:
    """The cheapest messages on the weights as given, those of rules, the fastest, and trees."""
    model, messages = task.problem.model, task.problem.messages
    header = HEADER if messages is None else messages.header
    candidates = _candidates(task)
    found: dict[str, tuple[Weights, FewestBytes | None]] = {}
    known: dict[bytes, FewestBytes | None] = {}
    for done, (name, weights) in enumerate(candidates.items()):
        if done and is_spent():
            break
        if progress is not None:
            progress(done, len(candidates))
        network = weights.network
        mark = as_dense(network.weights).tobytes()
        if mark not in known:
            known[mark] = None
            if task.target in model.reference_hypotheses(network.stationary_distribution):
                # A network that is not proved to learn has no price.
                with suppress(ValueError):
                    known[mark] = fewest_bytes(
                        network, model, delta=task.request.delta, header=header
                    )
        found[name] = (weights, known[mark])
    priced = {name: price for name, (_, price) in found.items() if price is not None}
    if not priced:
        wanted = "bounded log-ratios, and a network that is proved to settle on the target"
        raise fail("objective", wanted, "'bytes' without one", "see what analyse says")
    name = min(priced, key=lambda name: priced[name].certified_bytes)
    best = priced[name].best
    prices = [(name, price.best if price else None) for name, (_, price) in found.items()]
    details = Details(messages=in_doubles(best), prices=prices)
    note = "links, steps, mixing and weights were searched, and are not proved to be the best"
    weights = replace(found[name][0], method=f"weights {name}; a search of steps")
    return Found(weights, None, {}, details, (note,), quantiser=best.quantiser)


def _candidates(task: DesignTask) -> dict[str, Weights]:
    """The networks that messages are priced on, by name: where limits are set, one within them."""
    model = task.problem.model
    fastest = weights_for(task, task.stationary)
    if task.constraints != Constraints():
        return {"fastest for its v": fastest}
    graph = task.graph
    given = task.usual
    for root in _roots(graph, model, task.target):
        word = str(root) if graph.names is None else graph.names[root]
        tree = graph.tree_from(root)
        weights = weights_on_links(tree.links, agents=tree.agents, rule="uniform")
        given[f"uniform, tree from {word}"] = tree.network(weights, name="uniform")
    known = {name: Weights(network, network, None, name) for name, network in given.items()}
    return {**known, "fastest for its v": fastest}


def _roots(graph: DesignGraph, model: FiniteModel, target: int) -> tuple[int, ...]:
    """From where trees are grown: the graph's middle, and the agent whose data say most."""
    if not graph.is_undirected or len(graph.edges) < graph.agents:
        return ()  # no links to spare
    if graph.agents <= _MOST_PATHS:
        places = (np.ones(len(graph.links), dtype=bool), graph.links.T)
        pattern = sparse.csr_array(places, shape=(graph.agents, graph.agents))
        paths = csgraph.shortest_path(pattern, unweighted=True)
        middle = min(range(graph.agents), key=lambda i: (paths[i].max(), paths[i].sum()))
    else:
        middle = int(np.argmax(graph.degrees))
    told = model.divergences.sum(axis=1) - len(model.hypotheses) * model.divergences[:, target]
    most = middle if told[middle] == told.max() else int(np.argmax(told))
    return tuple(dict.fromkeys((middle, most)))
