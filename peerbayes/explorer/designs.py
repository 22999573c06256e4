"""Designs for a page: new weights, the next edge, who should hold which data.

Asked as `pb.design` and `pb.place` ask; their certificates come with the answer. What is found is
a document too: with `peerbayes.problem.writing`, as ``--write`` writes it, or by edits.
"""

from __future__ import annotations

from typing import Any

from peerbayes.designs.next_edge import NextEdge
from peerbayes.designs.outcome import DesignOutcome
from peerbayes.designs.placements import PlacementResult, checked_placement, placement_on
from peerbayes.designs.request import checked_design
from peerbayes.explorer.documents import Table, asked_about, canonical, opened, problem_of
from peerbayes.explorer.edits import edited, named_anew
from peerbayes.explorer.seen import OBJECTIVES, view_of
from peerbayes.explorer.tables import as_edges, entries_of, with_entries
from peerbayes.kinds.registry import kind_of
from peerbayes.messages import choose, describe
from peerbayes.settings.declared import made_flat
from peerbayes.settings.questions import Design, Placement
from theory.design.search import time_budget
from theory.progress import Progress
from theory.validation import fail

_SECONDS = 60.0
# Numbers of a design, and of a placement, beside its objective.
_OF_WEIGHTS = (
    *("rate", "error_exponent", "slem", "mean_slem", "samples", "method", "limit"),
    *("excess_error_constant", "total_influence", "stationary_distribution", "influence"),
)
_OF_PLACES = (
    *("value", "original", "worst", "excess_error_constant", "limit", "method", "binding"),
)


def design(request: Table, progress: Progress | None = None) -> Table:
    """The design that a request asks for.

    Parameters
    ----------
    request
        ``document``, ``objective``, ``constraints`` (keys of the table [design]; of a placement:
        ``fixed_agents``, and ``objective`` for what to place for), ``delta``, ``seconds``.

    Raises
    ------
    ValueError
        If no design reaches the objective, limits exclude each other, or something is wrong with
        the request; in one line.
    """
    document = asked_about(request)
    objective = choose("objective", request.get("objective"), OBJECTIVES)
    limits = request.get("constraints") or {}
    if not isinstance(limits, dict):
        raise fail("constraints", "a table of limits", describe(limits), "give it in braces")
    limits = {key: value for key, value in limits.items() if value is not None}
    given = {key: request[key] for key in ("delta", "seconds") if request.get(key) is not None}
    how: Table = {"delta": 0.05, "seconds": _SECONDS} | given
    if objective == "placement":
        answer = _placement(document, limits, how, progress)
    elif objective == "next-edge":
        answer = _next_edge(document, limits, how, progress)
    else:
        how |= {"objective": objective, "changes": limits, "replicates": 0}
        answer = _weights(document, how, progress)
    answer["objective"] = objective
    answer["document"] = named_anew(document, answer["document"])
    before, answer["view"] = view_of(document), view_of(answer["document"])
    answer["changes"] = changed_weights(before["weights"], answer["view"]["weights"])
    return answer


def _weights(document: Table, how: Table, progress: Progress | None) -> Table:
    found = _designed(document, how, progress)
    content = found.document().as_json()
    recommended = content.get("recommended")
    sentence = [recommended["sentence"]] if recommended else []
    return {
        "document": opened(found.designed_problem()),
        "certificate": content.get("certificate"),
        "baselines": content.get("baselines", {}),
        "designed": {key: content[key] for key in _OF_WEIGHTS if key in content},
        "binding": content.get("binding"),
        "failed": content.get("failed", False),
        "stopped": content.get("stopped_by_time_budget", False),
        "words": [*sentence, *content.get("notes", [])],
    }


def _designed(document: Table, how: Table, progress: Progress | None) -> DesignOutcome:
    """The design, or the best that was found when its time was up."""
    asked, problem = checked_design(made_flat(Design, how)), problem_of(document)
    with time_budget(asked.seconds) as budget:
        found: DesignOutcome = kind_of(problem).design(problem, asked, progress)
    if not budget.stopped:
        return found
    remark = f"stopped after {asked.seconds:g} seconds: the best found by then"
    return found.remarked(remark, stopped=True)


def _next_edge(document: Table, limits: Table, how: Table, progress: Progress | None) -> Table:
    """The edge that saves most rounds under the network's rule, or under uniform weights."""
    if limits:
        document = canonical({**document, "design": {**document.get("design", {}), **limits}})
    network = document["network"]
    follows = as_edges(network) is not None
    rule = network.get("rule", "uniform") if follows else "uniform"
    found = _designed(document, {**how, "objective": "next-edge", "rule": rule}, progress)
    assert isinstance(found, NextEdge)
    content = found.document().as_json()
    best = content["added"][0] if content["added"] else None
    new, words = document, list(content["notes"])
    if best is not None:
        listener, speaker = best["edge"]
        both = found.added.base.edge is None and not _is_directed(document)
        rules = [] if follows else [{"kind": "set-rule", "rule": rule}]
        link = {"kind": "add-link", "from": listener, "to": speaker, "both": both}
        new = edited(document, [*rules, link])
        if not follows:
            words.insert(0, f"the weights are those of the rule {rule}, before and after")
    return {
        "document": new,
        "edge": None if best is None else best["edge"],
        "certificate": None,
        "baselines": {"as given": content["base"]},
        "designed": best,
        "added": content["added"][:20],
        "removed": content["removed"][:20],
        "words": words,
    }


def _is_directed(document: Table) -> bool:
    links = {(i, j) for i, j, _ in view_of(document)["weights"]}
    return any((j, i) not in links for i, j in links)


def _placement(document: Table, limits: Table, how: Table, progress: Progress | None) -> Table:
    for key in limits:
        choose("constraints", key, ("fixed_agents", "objective"))
    fixed = tuple(limits.get("fixed_agents", ()))
    wanted = Placement(**how, objective=limits.get("objective", "rate"), fixed=fixed, replicates=0)
    problem = problem_of(document)
    asked = placement_on(checked_placement(wanted), problem.network)
    with time_budget(asked.seconds):
        found: PlacementResult = kind_of(problem).place(problem, asked, progress)
    content: dict[str, Any] = found.document().as_json()
    holders = content["assignment"]
    listed = entries_of(document)
    new = with_entries(document, [listed[holder] for holder in holders])
    batch = document.get("learning", {}).get("batch")
    if isinstance(batch, list):
        moved = [batch[holder] for holder in holders]
        new["learning"] = {**document["learning"], "batch": moved}
    return {
        "document": canonical(new),
        "certificate": content.get("certificate"),
        "baselines": {"as given": {"value": content.get("original")}},
        "designed": {key: content[key] for key in _OF_PLACES if key in content},
        "assignment": holders,
        "moved": content["moved"],
        "words": list(content["notes"]),
    }


def changed_weights(before: list[list[float]], after: list[list[float]]) -> list[list[float]]:
    """[listener, speaker, before, after] wherever a weight changed."""
    old = {(i, j): w for i, j, w in before}
    new = {(i, j): w for i, j, w in after}
    pairs = ((i, j, old.get((i, j), 0.0), new.get((i, j), 0.0)) for i, j in sorted(old | new))
    return [[i, j, was, now] for i, j, was, now in pairs if abs(was - now) > 1e-12]
