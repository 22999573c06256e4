"""From a problem, an experiment's row or a net file to its agents' shares, and its list of members.

Torch is not needed for that: the share of an agent that trains a net names what is trained and on
which data; its process reads the data itself, and keeps its own part (`peerbayes.live.nets`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exact.sampling import kind_rows
from peerbayes.experiments.net_run import network_of
from peerbayes.live.members import Members, Share, rule_keys
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
from theory.scientific import sparse
from theory.validation import as_integer, fail

if TYPE_CHECKING:
    from peerbayes.experiments.net_rows import Row

DEFAULT_RECIPE = "best"
_SHORT = 16


def _digest(document: Any, **how: Any) -> str:
    """First 16 hexadecimal digits of a document's SHA-256."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, **how).encode()).hexdigest()[:_SHORT]


def _rows(network: Network) -> tuple[dict[int, float], ...]:
    """Each agent's positive weights, by the number of the agent weighed."""
    matrix = sparse.csr_array(network.weights)
    found = []
    for i in range(network.agents):
        some = slice(matrix.indptr[i], matrix.indptr[i + 1])
        pairs = zip(matrix.indices[some].tolist(), matrix.data[some].tolist(), strict=True)
        found.append({j: w for j, w in sorted(pairs) if w > 0})
    return tuple(found)


def _names(network: Network, names: Sequence[str] | None) -> tuple[str, ...]:
    """Names of agents; those without are called by their numbers."""
    return tuple(map(str, range(network.agents))) if names is None else tuple(names)


# Hypotheses -------------------------------------------------------------------------------------


def network_id(problem: AnyProblem) -> str:
    """First 16 hexadecimal digits of a problem's digest: what its peers call their network.

    Of a problem that a file can describe, of what that says; of others, of their numbers.
    """
    document: Any
    try:
        document = plain(document_of(problem))
    except ValueError:
        document = _listed(problem._parts())
    return _digest(document, separators=(",", ":"))


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
    model: FiniteModel = problem.model
    return Members(
        network=network_id(problem),
        epoch=0,
        names=_names(base, base.names),
        rows=_rows(base),
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
    rule = rule_keys(problem.faults.rule) if isinstance(problem, FaultyProblem) else {}
    return tuple(
        Share(problem.name, name, "finite", members, on_loss, rule, contents[kind])
        for name, kind in zip(members.names, model.assignment.tolist(), strict=True)
    )


def _laws(model: FiniteModel) -> list[dict[str, Any]]:
    """Of each kind of agent: what it draws in a round, as numbers."""
    return [
        {"probabilities": p.tolist(), "offsets": offsets.tolist()}
        | ({"slopes": slopes.tolist()} if slopes.any() else {})
        for p, offsets, slopes in kind_rows(model)
    ]


def claims_of(problem: FiniteProblem) -> list[dict[str, Any]]:
    """Claims about one observation by each kind of agent (`peerbayes.live.evidence.Claims`)."""
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
        names = getattr(section, "outcomes", None)
        named = {} if names is None else {"names": list(names)}
        tables: Any = None
        single = (kind.single or kind) if isinstance(kind, FiniteAgent) else None
        if isinstance(section, FiniteAgentSection):
            tables = np.array(section.likelihood, dtype=np.float64)
        elif single is not None and single.tables is not None:
            tables = single.tables.likelihood
        if tables is not None:
            with np.errstate(divide="ignore"):
                claims.append({"form": "tables", "logs": plain(np.log(tables)), **named})
        elif isinstance(kind, FiniteAgent):
            rows = (kind.single or kind).log_likelihoods.tolist()
            claims.append({"form": "outcomes", "logs": rows, **named})
        else:
            claims.append({"form": "normal", "means": kind.means.tolist(), "std": kind.std})
    return claims


def _listed(part: object) -> Any:
    """Any part of a problem as JSON takes it."""
    if isinstance(part, np.ndarray):
        return part.tolist()
    if isinstance(part, tuple | list):
        return [_listed(one) for one in part]
    if is_dataclass(part):
        return [_listed(getattr(part, field.name)) for field in fields(part)]
    return repr(part)


# Nets -------------------------------------------------------------------------------------------


def net_shares(
    problem: str, *, seed: int | None = None, recipe: str | None = None, data: Path | None = None
) -> tuple[Share, ...]:
    """Every agent's share of a training, in the network's order.

    Parameters
    ----------
    problem
        The name of a row, of which the main network is taken; or the path of a net file.
    seed
        Of all that is random, at least 0; left out: 0, or that of the file. The first part of
        ``peerbayes run`` with the same seed has the same numbers.
    recipe
        Of a row: a name of :mod:`peerbayes.experiments.net_recipes`.
    data
        Folder of the files of MNIST and Fashion-MNIST; left out: the usual places.

    Raises
    ------
    ValueError
        If the network changes by itself, a server averages, or messages are written by a codec; or
        as :func:`~peerbayes.nets.reading.read_net_file`.
    """
    from peerbayes.experiments.net_rows import ROWS

    if seed is not None:
        as_integer("seed", seed, minimum=0)
    where = None if data is None else str(data.resolve())
    if problem in ROWS:
        return _of_row(ROWS[problem], seed or 0, recipe or DEFAULT_RECIPE, where)
    if recipe is not None:
        raise fail("recipe", "one of an experiment's row", repr(recipe), "leave it out")
    return _of_file(Path(problem), seed, data, where)


def _of_row(row: Row, seed: int, recipe: str, data: str | None) -> tuple[Share, ...]:
    from peerbayes.experiments.net_rows import RECIPE_NAMES, Part, part_values

    if recipe not in RECIPE_NAMES:
        raise fail("recipe", ", ".join(RECIPE_NAMES), repr(recipe), "choose one of them")
    variant = row.variant(row.main)
    if row.is_federated or "rotating_star" in variant.network:
        wanted, remedy = "a row with a fixed network", "take a star or a grid"
        raise fail(row.name, wanted, "a network that changes by a plan", remedy)
    from empirical.data import CHECKSUMS

    network = network_of(variant.network)
    assert isinstance(network, Network)
    values = part_values(row, Part(recipe, "cooperating", row.main, 0), is_quick=False)
    what = {
        "row": row.name,
        "variant": row.main,
        "recipe": recipe,
        "seed": seed,
        "values": values,
        "hidden": list(row.hidden),
        "dealing": variant.dealing,
        "images": dict(CHECKSUMS[row.dataset]),
    }
    content = {"form": "row", "data": data, "rounds": values["rounds_run"], **what}
    return _shares(row.name, network, what, content, names=network.names)


def _of_file(
    path: Path, seed: int | None, data: Path | None, where: str | None
) -> tuple[Share, ...]:
    from peerbayes.nets.reading import read_net_file

    problem = read_net_file(path, directory=data, seed=seed)
    if not isinstance(problem.network, Network):
        wanted = "a fixed network: links between processes fail by themselves"
        remedy = "leave network.changes out"
        raise fail(f"{path}: network", wanted, type(problem.network).__name__, remedy)
    if problem.specification.messages is not None:
        wanted, got = "weights as they are, in float32", problem.specification.messages.codec
        raise fail(f"{path}: messages", wanted, repr(got), "leave [messages] out")
    if problem.training.clients is not None:
        wanted, got = "neighbours, who are all there in every round", "a server that draws clients"
        raise fail(f"{path}: training.clients", wanted, got, "leave clients out")
    what = {"document": problem.specification.document(), "sources": list(problem.data.sources)}
    content = {
        "form": "file",
        "path": str(path.resolve()),
        "data": where,
        "seed": problem.training.seed,
        "rounds": problem.training.rounds,
    }
    return _shares(problem.name, problem.network, what, content, names=problem.data.names)


def _shares(
    name: str,
    network: Network,
    what: Mapping[str, Any],
    content: Mapping[str, Any],
    *,
    names: tuple[str, ...] | None,
) -> tuple[Share, ...]:
    """Shares that differ in the agent's name alone; `what` is all that numbers depend on."""
    rows = _rows(network)
    weights = [{str(j): weight for j, weight in row.items()} for row in rows]
    members = Members(
        network=_digest([what, weights], default=list),
        epoch=0,
        names=_names(network, names),
        rows=rows,
    )
    return tuple(Share(name, one, "net", members, content=dict(content)) for one in members.names)
