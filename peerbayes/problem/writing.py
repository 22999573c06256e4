"""From a problem to the file that describes it: the way back of `peerbayes.problem.reading`.

A problem that was read is written as it stood in its file, exact numbers included. One that was
built in Python is written from its value objects: doubles as the shortest decimals that read back
as the same doubles, so that the file loads to an equal problem.

A problem with another network keeps the tables of its file, and `[network]` is made of weights:
doubles with as many digits as bring them back, fractions as text, many agents link by link.
`[network.changes]` stays where it acts on given weights; gossip, clocks, walks and rotations, whose
weights follow from what happens, are written phase by phase. Other batches stand in `[learning]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from peerbayes.problem.changes_section import PhaseSection, SequenceNetwork
from peerbayes.problem.exchange_sections import MessagesSection, messages_table
from peerbayes.problem.files import write_document
from peerbayes.problem.model_section import LearningSection
from peerbayes.problem.network_section import LinksNetwork, WeightsNetwork
from peerbayes.problem.problems import (
    AnyProblem,
    FaultyProblem,
    ModelledProblem,
    Problem,
    RegressionProblem,
    with_model,
)
from peerbayes.problem.specification import FileSpecification, leaves
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.changing import (
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
)
from theory.changing.delays import AnyNetwork
from theory.learning.batches import as_batches
from theory.messages import Quantiser
from theory.network.labels import agent_numbers
from theory.network.structure import Weights, as_dense
from theory.regression import RegressionAgent, RegressionModel
from theory.robustness import BEHAVIOURS, RULES, Behaviour, Clip, Faults, TrimmedMean
from theory.scientific import sparse
from theory.validation import FloatArray, fail

Table = dict[str, Any]
Rows = Sequence[Sequence[Fraction]]
S = TypeVar("S", bound=FileSpecification)

MOST_ROWS = 100
"""Weights of more agents are written link by link."""
# Phases are written row by row: beyond this a file has more than a few hundred megabytes.
_MOST_AGENTS = 5000
# Doubles of fractions with such a denominator are written as these.
_SIMPLE = 999
# Numbers of a list that become part of a problem's name.
_NAMED = 6


def document_of(problem: AnyProblem) -> Table:
    """The content of a problem's file, as plain tables, lists, strings and numbers.

    Raises
    ------
    ValueError
        If a problem that was built in Python has something that no file says, or its network
        changes among more than 5000 agents; the message says what.
    """
    problem = with_model(problem)
    if problem.specification is not None:
        return problem.specification.document()
    if isinstance(problem, FaultyProblem):
        inner = document_of(problem.problem)
        return {**inner, "faults": _faults(problem.faults, problem.model)}
    table: Table = {"name": problem.name} | ({"title": problem.title} if problem.title else {})
    table["network"] = _network(problem.network)
    if isinstance(problem, RegressionProblem):
        table["regression"] = _regression(problem.regression)
        if problem.node is not None:
            table["regression"]["node"] = _regression_agent(problem.node)
        return table
    table["model"] = _model(problem.model)
    if problem.messages is not None:
        table["messages"] = messages_table(problem.messages)
    return table


def write_problem(problem: AnyProblem, path: str | Path) -> Path:
    """Write a problem file, TOML or JSON by its ending; it loads to an equal problem.

    What stands at `path` is replaced when the new file is whole.

    Raises
    ------
    ValueError
        As `document_of`, or if the ending is another or the file cannot be written.
    """
    return write_document(Path(path), document_of(problem))


# Networks ---------------------------------------------------------------------------------------


def _network(network: Any) -> Table:
    """The table [network] of a network that was built in Python."""
    match network:
        case Network():
            section: Any = weights_section(network.weights, names=network.names)
            table: Table = section.model_dump(mode="json", exclude_defaults=True)
            return table
        case PeriodicNetwork() | MarkovNetwork():
            section = _sequence(network, network.names)
            return dict(section.model_dump(mode="json", exclude_defaults=True))
        case RandomLinks():
            changes = {"kind": "links", "up": _one_number("up", np.asarray(network.up))}
            changes |= {"on_loss": network.on_loss, "symmetric": network.symmetric}
        case RandomPresence():
            changes = {"kind": "presence", "present": _one_number("present", network.present)}
            if network.mean_absence is not None:
                changes["mean_absence"] = _one_number("mean_absence", network.mean_absence)
        case DelayedNetwork():
            delays = np.asarray(network.delays)
            key = "delays" if delays.ndim else "delay"
            changes = {"kind": "delays", key: delays.tolist()}
        case _:
            wanted, got = "a network that changes as a file can say", type(network).__name__
            raise fail("network", wanted, got, "see docs: reference/problem-files")
    return {**_network(network.network), "changes": changes}


def _one_number(argument: str, values: FloatArray) -> float:
    numbers = np.unique(values)
    if numbers.size != 1:
        wanted = "one number for all agents or links, in a file"
        raise fail(argument, wanted, f"{numbers.size} different ones", "keep it in Python")
    return float(numbers[0])


def _sequence(
    network: PeriodicNetwork | MarkovNetwork, names: tuple[str, ...] | None
) -> SequenceNetwork:
    """The table [network] of a network given phase by phase."""
    phases = _phases(network)
    law: dict[str, Any] = {}
    if isinstance(network, MarkovNetwork):
        rows = _doubles(network.transition)
        law = {"transition": rows, "initial": network.initial, "event_rate": network.event_rate}
        law = {key: value for key, value in law.items() if value is not None}
        if network.initial is not None:
            law["initial"] = tuple(network.initial.tolist())
        if len(law) == 1 and network.is_independent and all(rows[0]):
            law = {"probabilities": rows[0]}
    return SequenceNetwork(sequence=phases, names=names, **law)


def _phases(network: PeriodicNetwork | MarkovNetwork) -> tuple[PhaseSection, ...]:
    if network.agents > _MOST_AGENTS:
        remedy = "describe the network by edges and a rule, or by a topology"
        wanted = f"at most {_MOST_AGENTS} agents in a file"
        raise fail("network", wanted, network.agents, remedy)
    return tuple(
        PhaseSection(
            weights=_doubles(as_dense(phase.weights)),
            active=None
            if phase.observes.all()
            else tuple(int(j) for j in np.flatnonzero(phase.observes)),
        )
        for phase in network.phases
    )


def weights_section(
    weights: Weights, known: Rows | None = None, *, exact: bool = False, **options: Any
) -> WeightsNetwork | LinksNetwork:
    """The table [network] of given weights; rows of simple fractions are written as such.

    Parameters
    ----------
    known, exact
        Rows of fractions to prefer: all of them if they are `exact`, else those that are near.
    options
        Further keys of the table, such as ``names``; None: left out.
    """
    agents = weights.shape[0]
    options = {key: value for key, value in options.items() if value is not None}
    if agents <= MOST_ROWS:
        table: list[list[Any]] = [list(row) for row in _doubles(as_dense(weights))]
        for i, given in enumerate(known or ()):
            # Fractions of a row that was not moved: the same numbers but for rounding.
            if exact or all(
                (share == 0) == (w == 0) and abs(float(share) - w) <= 4 * np.spacing(w)
                for share, w in zip(given, table[i], strict=True)
            ):
                table[i] = list(given)
        table = [_simple(row) or row if isinstance(row[0], float) else row for row in table]
        return WeightsNetwork(weights=tuple(map(tuple, table)), **options)
    links: list[Any]
    if known is not None and exact:
        links = [
            (i, j, share) for i, row in enumerate(known) for j, share in enumerate(row) if share
        ]
    else:
        entries = sparse.coo_array(sparse.csr_array(weights))
        axes: tuple[Any, ...] = (*entries.coords, entries.data)
        links = [*zip(*(axis.tolist() for axis in axes), strict=True)]
    return LinksNetwork(links=tuple(links), agents=agents, **options)


def _doubles(weights: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in np.asarray(weights, dtype=np.float64).tolist())


def _simple(row: Sequence[float]) -> list[Fraction] | None:
    """The row as fractions of small denominators, if their doubles are the row's; else None."""
    shares = [Fraction(w).limit_denominator(_SIMPLE) for w in row]
    same = sum(shares) == 1 and all(float(s) == w for s, w in zip(shares, row, strict=True))
    return shares if same else None


# Models -----------------------------------------------------------------------------------------


def _listed(tables: Iterable[Table]) -> list[Table]:
    """Entries for agents in a row: neighbours that are alike share one."""
    entries = []
    for table, alike in groupby(tables):
        count = len(list(alike))
        entries.append(({"count": count} if count > 1 else {}) | table)
    return entries


def _model(model: FiniteModel) -> Table:
    uniform = -np.log(len(model.hypotheses))
    kinds = [
        {
            **({"batch": kind.batch} if kind.batch > 1 else {}),
            **_agent(kind, model.hypotheses),
            **({} if (logs == uniform).all() else {"log_prior": logs.tolist()}),
        }
        for kind, logs in zip(model.kinds, model.log_priors, strict=True)
    ]
    agents = _listed(kinds[kind] for kind in model.assignment)
    return {"hypotheses": list(model.hypotheses), "agents": agents}


def _agent(agent: FiniteAgent | GaussianAgent, names: Sequence[str]) -> Table:
    if isinstance(agent, GaussianAgent):
        return {
            "inputs": agent.inputs.tolist(),
            "likelihood_mean": agent.means.tolist(),
            "likelihood_std": agent.std,
            "truth_mean": agent.truth_means.tolist(),
            "truth_std": agent.truth_std,
        }
    agent = agent.single or agent
    if (tables := agent.tables) is not None:
        return {
            **({"inputs": tables.inputs.tolist()} if tables.inputs.size > 1 else {}),
            "truth": tables.truth.tolist(),
            "likelihood": tables.likelihood.tolist(),
        }
    return {
        "probabilities": agent.probabilities.tolist(),
        "log_likelihoods": agent.log_likelihoods.tolist(),
        "entropy": agent.entropy,
        "true_hypotheses": [names[m] for m in agent.true_hypotheses],
    }


def _faults(faults: Faults, model: FiniteModel) -> Table:
    """The table [faults]."""
    rule = faults.rule
    table: Table = {"rule": next(name for name, kind in RULES.items() if type(rule) is kind)}
    if isinstance(rule, TrimmedMean):
        if rule.lost != "own":
            raise fail("rule", "lost = 'own', in a file", rule.lost, "keep it in Python")
        table["tolerate"] = rule.tolerate
    if isinstance(rule, Clip):
        table["radius"] = rule.radius
    table["pool_every"] = faults.pool_every
    table["agents"] = [
        {"agents": [agent], **_behaviour(agent, fault, model)}
        for agent, fault in faults.behaviours.items()
    ]
    return table | ({"beyond_tolerance": True} if faults.beyond_tolerance else {})


def _behaviour(agent: int, fault: Behaviour, model: FiniteModel) -> Table:
    name = next(name for name, kind in BEHAVIOURS.items() if type(fault) is kind)
    table: Table = {"behaviour": name}
    for key, value in vars(fault).items():
        if key == "log_belief":
            table["belief"] = np.exp(value).tolist()
        elif key in ("hypothesis", "first", "second") and isinstance(value, int):
            table[key] = model.hypotheses[value]
        elif isinstance(value, np.ndarray):
            wanted = "a behaviour that a file can say"
            raise fail(f"faults[{agent}]", wanted, f"{name} with {key}", "keep it in Python")
        elif value is not None:
            table[key] = value
    return table


def _regression(model: RegressionModel) -> Table:
    each = model.prior_covariance.ndim == 3 or model.prior_mean.ndim == 2
    size = model.dimension
    covariances = np.broadcast_to(model.prior_covariance, (model.agents, size, size))
    means = np.broadcast_to(model.prior_mean, (model.agents, size))
    kinds = [_regression_agent(kind) for kind in model.kinds]
    agents = [kinds[kind] for kind in model.assignment]
    shared: Table = {"prior_covariance": covariances[0].tolist()}
    if each:
        priors = zip(means.tolist(), covariances.tolist(), strict=True)
        agents = [
            table | {"prior_mean": mean, "prior_covariance": covariance}
            for table, (mean, covariance) in zip(agents, priors, strict=True)
        ]
        shared = {}
    elif means[0].any():
        shared["prior_mean"] = means[0].tolist()
    return {
        "theta": model.theta.tolist(),
        "noise_std": model.kinds[0].noise_std,
        **shared,
        "agents": _listed(agents),
        "test_second_moment": model.test_second_moment.tolist(),
    }


def _regression_agent(agent: RegressionAgent) -> Table:
    law = {"uniform": "ranges", "normal": "second_moment", "data": "inputs"}[agent.law]
    table: Table = {law: getattr(agent, law).tolist()}
    for key in ("noise_std", "claimed_noise_std", "batch", "tempering"):
        table[key] = getattr(agent, key)
    return table | ({} if agent.targets is None else {"targets": agent.targets.tolist()})


# Problems with another network -------------------------------------------------------------------


def with_network(
    problem: AnyProblem,
    network: Any,
    *,
    rows: Rows | None = None,
    messages: Quantiser | None = None,
) -> AnyProblem:
    """The problem with another network of the same kind, in its file too if it has one.

    Parameters
    ----------
    rows
        The weights as fractions, where they are known.
    messages
        What agents send from now on; None for what they send already.
    """
    if isinstance(problem, FaultyProblem):
        inner = with_network(problem.problem, network, rows=rows)
        assert isinstance(inner, Problem)
        return replace(problem, problem=inner)
    network = _named(network, problem.network.names)
    file = problem.specification
    if file is not None:
        file = _with_weights(file, network, rows=rows)
    changes: dict[str, Any] = {"network": network}
    if messages is not None:
        changes["messages"] = messages
        if file is not None:
            section = MessagesSection.model_validate(messages_table(messages))
            file = file.model_copy(update={"messages": section})
    changes["specification"] = file
    return replace(problem, **changes)


def _named(network: Any, names: tuple[str, ...] | None) -> Any:
    """The network with these names of its agents, if it has none."""
    if names is None or network.names is not None:
        return network
    if isinstance(network, Network | PeriodicNetwork | MarkovNetwork):
        return replace(network, names=names)
    return replace(network, network=replace(network.network, names=names))


def _with_weights(file: S, network: Any, *, rows: Rows | None) -> S:
    """The file with this network in place of its own.

    Rows of fractions that the file has already, in the same place, are kept.
    """
    section: Any = file.network
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        if isinstance(section, SequenceNetwork):
            new: Any = section.model_copy(update={"sequence": _phases(network)})
        else:
            new = _sequence(network, section.names)
        return file.model_copy(update={"network": new})
    weights = (network if isinstance(network, Network) else network.network).weights
    kept = {key: getattr(section, key, None) for key in ("changes", "names", "positions")}
    known = _given_rows(file, weights.shape[0]) if rows is None else rows
    new = weights_section(weights, known, exact=rows is not None, **kept)
    return file.model_copy(update={"network": new})


def _given_rows(file: FileSpecification, agents: int) -> Rows | None:
    """The rows of the file's own network, if they are fractions."""
    section = file.network
    if isinstance(section, SequenceNetwork) or agents > MOST_ROWS:
        return None
    if any(isinstance(leaf, float) for leaf in leaves(section.model_dump(exclude={"changes"}))):
        return None
    rational = section.build_rational(file.name)
    if rational.agents != agents:
        return None
    return [[Fraction(share) for share in row] for row in rational.rows]


# Problems with other batches ---------------------------------------------------------------------

Batch: TypeAlias = int | Sequence[int] | Mapping[str, int]
"""Observations a round: of all agents, of each, or of some by name."""


def batches_on(
    batch: Batch, network: AnyNetwork, model: FiniteModel | RegressionModel
) -> int | Sequence[int]:
    """A number for all agents or one for each; agents that are not named draw what they drew.

    Raises
    ------
    ValueError
        If there is no agent of a name.
    """
    if not isinstance(batch, Mapping):
        return batch
    sizes = [model.kinds[kind].batch for kind in model.assignment.tolist()]
    for name, size in batch.items():
        sizes[agent_numbers("batch", [name], network)[0]] = size
    return sizes


def with_batch(problem: AnyProblem, batch: Batch) -> AnyProblem:
    """The problem whose agents draw `batch` observations a round, in its file too if it has one.

    One number for all agents, one for each, or a table of some by name; the name of the problem
    says which, so that records differ.

    Raises
    ------
    ValueError
        If a number is not whole and at least 1, there is not one for each agent, or a batch is too
        large for its agent.
    """
    problem = with_model(problem)
    table = "regression" if isinstance(problem, RegressionProblem) else "model"
    model = getattr(problem, table)
    sizes = as_batches(batches_on(batch, problem.network, model), problem.network.agents)
    if isinstance(problem, FaultyProblem):
        inner = with_batch(problem.problem, sizes)
        assert isinstance(inner, Problem)
        return FaultyProblem(inner, problem.faults)
    changes: dict[str, Any] = {"name": f"{problem.name} batch={_text(sizes)}"}
    file = problem.specification
    if file is not None:
        section = getattr(file, table)
        agents = tuple(one.model_copy(update={"batch": None}) for one in section.agents)
        shared = sizes[0] if len(set(sizes)) == 1 else tuple(sizes)
        tables = {
            table: section.model_copy(update={"agents": agents}),
            "learning": LearningSection(batch=shared),
        }
        changes["specification"] = file.model_copy(update=changes | tables)
    changed: ModelledProblem = replace(problem, **changes, **{table: model.batched(sizes)})
    return changed


def _text(sizes: Sequence[int]) -> str:
    if len(set(sizes)) == 1:
        return str(sizes[0])
    if len(sizes) <= _NAMED:
        return ",".join(map(str, sizes))
    return f"{min(sizes)} to {max(sizes)}"
