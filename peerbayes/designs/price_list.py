"""The objective bytes: what to send, on which links, and with which of the usual weights.

Bytes are links × a message × rounds. More links make rounds fewer, down to what the data need, and
every round dearer: so trees, which have the fewest links, are priced beside the whole graph.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from peerbayes.designs.details import ObjectiveDetails, PriceDocument
from peerbayes.designs.found import Found
from peerbayes.designs.request import DesignTask
from peerbayes.designs.weights import Weights, weights_for
from peerbayes.problem.problems import Problem
from peerbayes.quantities.messages import MESSAGES, in_doubles
from peerbayes.settings.questions import Design
from theory.design import Constraints, DesignGraph, baselines
from theory.design.time_budget import is_spent
from theory.learning.model import FiniteModel
from theory.messages import FewestBytes, fewest_bytes
from theory.messages.quantiser import HEADER
from theory.network.graphs import weights_on_links
from theory.network.structure import as_dense
from theory.progress import Progress
from theory.scientific import csgraph, sparse
from theory.validation import fail

# Distances between all pairs of more agents take seconds.
_MOST_PATHS = 500


def cheapest_messages(
    problem: Problem,
    request: Design,
    task: DesignTask,
    target: int,
    progress: Progress | None,
) -> Found:
    """The cheapest messages on the weights as given, those of rules, the fastest, and trees."""
    model = problem.model
    header = HEADER if problem.messages is None else problem.messages.header
    candidates = _candidates(request, task, model, target)
    prices: list[PriceDocument] = []
    best: FewestBytes | None = None
    recommended: Weights | None = None
    known: dict[bytes, FewestBytes | None] = {}
    for done, (name, weights) in enumerate(candidates.items()):
        if done and is_spent():
            break
        if progress is not None:
            progress(done, len(candidates))
        mark = as_dense(weights.network.weights).tobytes()
        if mark in known:
            same = known[mark]
            prices.append(PriceDocument.of(name, None if same is None else same.best))
            continue
        found = None
        if target in model.reference_hypotheses(weights.network.stationary_distribution):
            # A network that is not proved to learn has no price.
            with suppress(ValueError):
                found = fewest_bytes(weights.network, model, delta=request.delta, header=header)
        known[mark] = found
        prices.append(PriceDocument.of(name, None if found is None else found.best))
        if found is not None and (best is None or found.certified_bytes < best.certified_bytes):
            best, recommended = found, replace(weights, method=f"weights {name}; a search of steps")
    if best is None or recommended is None:
        wanted = "bounded log-ratios, and a network that is proved to settle on the target"
        raise fail("objective", wanted, "'bytes' without one", "see what analyse says")
    details = ObjectiveDetails(messages=MESSAGES.document(in_doubles(best.best)), prices=prices)
    note = "links, steps, mixing and weights were searched, and are not proved to be the best"
    return Found(recommended, None, {}, details, (note,), quantiser=best.quantiser)


def _candidates(
    request: Design, task: DesignTask, model: FiniteModel, target: int
) -> dict[str, Weights]:
    """The networks that messages are priced on, by name: where limits are set, one within them."""
    fastest = weights_for(task, task.stationary, thorough=False, seed=request.seed)
    if task.constraints != Constraints():
        return {"fastest for its v": fastest}
    graph = task.graph
    given = {"as given": task.network}
    given |= {entry.name: entry.network for entry in baselines(graph)}
    for root in _roots(graph, model, target):
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
