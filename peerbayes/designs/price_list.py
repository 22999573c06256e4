"""The objective bytes: what to send, and on which of the usual weights."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from peerbayes.designs.documents import ObjectiveDetails
from peerbayes.designs.found import Found
from peerbayes.designs.request import DesignRequest, DesignTask
from peerbayes.designs.weights import Weights, weights_for
from peerbayes.message_documents import MessagesDocument, PriceDocument
from peerbayes.problem.finite import Problem
from theory.design import Constraints, baselines
from theory.design.time_budget import is_spent
from theory.messages import FewestBytes, fewest_bytes
from theory.messages.cells import HEADER
from theory.network.structure import as_dense
from theory.progress import Progress
from theory.validation import fail


def cheapest_messages(
    problem: Problem,
    request: DesignRequest,
    task: DesignTask,
    target: int,
    progress: Progress | None,
) -> Found:
    """The cheapest messages on the weights as given, on those of the rules, and on the fastest."""
    model = problem.model
    header = HEADER if problem.messages is None else problem.messages.header
    candidates = _candidates(request, task)
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
    details = ObjectiveDetails(messages=MessagesDocument.of(best.best), prices=prices)
    note = "steps, mixing and weights were searched, and are not proved to be the best"
    return Found(recommended, None, {}, details, (note,), quantiser=best.quantiser)


def _candidates(request: DesignRequest, task: DesignTask) -> dict[str, Weights]:
    """The networks that messages are priced on, by name: where limits are set, one within them."""
    fastest = weights_for(task, task.stationary, thorough=False, seed=request.seed)
    if task.constraints != Constraints():
        return {"fastest for its v": fastest}
    given = {"as given": task.network}
    given |= {entry.name: entry.network for entry in baselines(task.graph)}
    known = {name: Weights(network, network, None, name) for name, network in given.items()}
    return {**known, "fastest for its v": fastest}
