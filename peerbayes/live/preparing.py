"""From a problem to its agents' shares (`peerbayes.live.share`), and to its list of members."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from exact.sampling import kind_rows
from peerbayes.live.members import Members
from peerbayes.live.share import Share
from peerbayes.messages import input_error
from peerbayes.problem.model_section import FiniteAgentSection
from peerbayes.problem.problems import (
    AnyProblem,
    FaultyProblem,
    FiniteProblem,
    NetworkAlone,
    Problem,
    RegressionProblem,
    with_model,
)
from peerbayes.problem.writing import document_of
from peerbayes.records import plain
from theory import FiniteAgent, FiniteModel, Network
from theory.changing import DelayedNetwork, RandomLinks, RandomPresence
from theory.robustness import Clip, Rule, TrimmedMean
from theory.robustness.faults import Average
from theory.scientific import sparse

_SHORT = 16


def network_id(problem: AnyProblem) -> str:
    """First 16 hexadecimal digits of a problem's digest: what its peers call their network.

    Of a problem that a file can describe, of what that says; of others, of their numbers.
    """
    document: Any
    try:
        document = plain(document_of(problem))
    except ValueError:
        document = _listed(problem._parts())
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_SHORT]


def members_of(problem: AnyProblem) -> Members:
    """The list of members that a problem describes, epoch 0.

    Agents without names are called by their numbers.

    Raises
    ------
    ValueError
        If the problem has no hypotheses, or its weights change by a plan of their own.
    """
    problem = with_model(problem)
    if isinstance(problem, RegressionProblem):
        wanted = "a problem with finitely many hypotheses"
        raise input_error(problem.name, (), wanted, "a regression", "give another problem")
    base = problem.network
    if isinstance(base, RandomLinks | RandomPresence | DelayedNetwork):
        base = base.network
    elif not isinstance(problem, Problem | FaultyProblem):
        wanted = "a network whose weights stay, or links, presence or delays that vary"
        got = f"a {type(base).__name__}"
        remedy = "live peers have no plan of rounds to follow; give the mean network"
        raise input_error(problem.name, (), wanted, got, remedy)
    assert isinstance(base, Network)
    if problem.messages is not None:
        wanted, got = "beliefs that are sent as they are", problem.messages.name
        raise input_error(problem.name, (), wanted, got, "leave out [messages]")
    weights = sparse.csr_array(base.weights)
    rows = []
    for i in range(weights.shape[0]):
        one = slice(weights.indptr[i], weights.indptr[i + 1])
        pairs = zip(weights.indices[one].tolist(), weights.data[one].tolist(), strict=True)
        rows.append({j: w for j, w in pairs if w > 0})
    names = [str(i) for i in range(base.agents)] if base.names is None else base.names
    model: FiniteModel = problem.model
    return Members(
        network=network_id(problem),
        epoch=0,
        names=tuple(names),
        rows=tuple(rows),
        log_priors=tuple(map(tuple, model.log_priors[model.assignment].tolist())),
    )


def shares_of(problem: AnyProblem) -> tuple[Share, ...]:
    """Every agent's share of a problem, in the network's order.

    Agents that the problem calls faulty are honest here, and pool by the problem's rule like all
    others: what lies to a live network is a process of somebody else's.

    Raises
    ------
    ValueError
        As `members_of`.
    """
    members = members_of(problem)
    assert not isinstance(problem, RegressionProblem | NetworkAlone)
    model = problem.model
    contents = [
        {
            "hypotheses": list(model.hypotheses),
            "law": law,
            "claims": claims,
            "batch": kind.batch,
        }
        for kind, law, claims in zip(model.kinds, _laws(model), claims_of(problem), strict=True)
    ]
    network = problem.network
    on_loss = network.on_loss if isinstance(network, RandomLinks) else "last"
    rule = rule_document(problem.faults.rule) if isinstance(problem, FaultyProblem) else {}
    return tuple(
        Share(problem.name, name, "finite", members, on_loss, rule, contents[kind])
        for name, kind in zip(members.names, model.assignment.tolist(), strict=True)
    )


def rule_document(rule: Rule) -> dict[str, Any]:
    """A robust rule as keys of a ``[faults]`` table; empty for the plain average."""
    if isinstance(rule, TrimmedMean):
        return {"rule": "trimmed-mean", "tolerate": rule.tolerate}
    if isinstance(rule, Clip):
        return {"rule": "clip", "radius": rule.radius}
    return {} if isinstance(rule, Average) else {"rule": "median"}


def _laws(model: FiniteModel) -> list[dict[str, Any]]:
    """Of each kind of agent: what it draws in a round, as numbers."""
    return [
        {"probabilities": p.tolist(), "offsets": offsets.tolist()}
        | ({"slopes": slopes.tolist()} if slopes.any() else {})
        for p, offsets, slopes in kind_rows(model)
    ]


def claims_of(problem: FiniteProblem) -> list[dict[str, Any]]:
    """Claims about one observation by each kind of agent (`peerbayes.live.observations.Claims`)."""
    model = problem.model
    specification = problem.specification
    sections: list[Any] = [None] * model.agents
    if specification is not None:
        entries = specification.model.agents
        sections = [entry for entry in entries for _ in range(entry.count)]
    first = [model.assignment.tolist().index(k) for k in range(len(model.kinds))]
    claims = []
    for kind, agent in zip(model.kinds, first, strict=True):
        section = sections[agent]
        if isinstance(section, FiniteAgentSection):
            with np.errstate(divide="ignore"):
                logs = np.log(np.array(section.likelihood, dtype=np.float64))
            claims.append({"form": "tables", "logs": plain(logs), **_outcomes(section)})
        elif isinstance(kind, FiniteAgent):
            single = kind.single or kind
            if single.tables is not None:
                with np.errstate(divide="ignore"):
                    logs = np.log(single.tables.likelihood)
                claims.append({"form": "tables", "logs": plain(logs), **_outcomes(section)})
                continue
            rows = single.log_likelihoods.tolist()
            claims.append({"form": "outcomes", "logs": rows, **_outcomes(section)})
        else:
            claims.append({"form": "normal", "means": kind.means.tolist(), "std": kind.std})
    return claims


def _outcomes(section: Any) -> dict[str, Any]:
    names = getattr(section, "outcomes", None)
    return {} if names is None else {"names": list(names)}


def _listed(part: object) -> Any:
    """Any part of a problem as JSON takes it."""
    if isinstance(part, np.ndarray):
        return part.tolist()
    if isinstance(part, tuple | list):
        return [_listed(one) for one in part]
    if is_dataclass(part):
        return [_listed(getattr(part, field.name)) for field in fields(part)]
    return repr(part)
