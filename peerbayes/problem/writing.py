"""From a problem to the file that describes it: the way back of `peerbayes.problem.reading`.

A problem that was read is written as it stood in its file, exact numbers included. One that was
built in Python is written from its value objects: doubles as the shortest decimals that read back
as the same doubles, so that the file loads to an equal problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
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
    ChangingProblem,
    FaultyProblem,
    Problem,
    RegressionProblem,
    with_model,
)
from peerbayes.problem.specification import (
    FileSpecification,
    ProblemSpecification,
    RegressionSpecification,
)
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.changing import (
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
)
from theory.changing.delays import AnyNetwork
from theory.learning.batches import as_batches
from theory.messages import Quantiser
from theory.network.labels import agent_numbers
from theory.network.structure import Weights, as_dense
from theory.regression import RegressionAgent, RegressionModel
from theory.robustness import BEHAVIOURS, RULES, Behaviour, Clip, Rule, TrimmedMean
from theory.scientific import sparse
from theory.validation import FloatArray, fail

# From a problem to the file that describes it ----------------------------------------------------


Table = dict[str, Any]

# A matrix is written row by row: beyond this its file has more than a few hundred megabytes.
_MOST_AGENTS = 5000


def document_of(problem: AnyProblem) -> Table:
    """The content of a problem's file, as plain tables, lists, strings and numbers.

    Raises
    ------
    ValueError
        If a problem that was built in Python has something that no file says, or its network has
        more than 5000 agents; the message says what.
    """
    problem = with_model(problem)
    specification = problem.specification
    if specification is not None:
        return specification.document()
    head: Table = {"name": problem.name} | ({"title": problem.title} if problem.title else {})
    return head | _body(problem)


def write_problem(problem: AnyProblem, path: str | Path) -> Path:
    """Write a problem file, TOML or JSON by its ending; it loads to an equal problem.

    What stands at `path` is replaced when the new file is whole.

    Raises
    ------
    ValueError
        As `document_of`, or if the ending is another or the file cannot be written.
    """
    return write_document(Path(path), document_of(problem))


@singledispatch
def _body(problem: Any) -> Table:
    raise TypeError(f"no problem: {type(problem).__name__}")


@_body.register
def _(problem: Problem) -> Table:
    table = {"network": _weights(problem.network), "model": _model(problem.model)}
    if problem.messages is not None:
        table["messages"] = messages_table(problem.messages)
    return table


@_body.register
def _(problem: ChangingProblem) -> Table:
    return {"network": _changing(problem.network), "model": _model(problem.model)}


@_body.register
def _(problem: FaultyProblem) -> Table:
    inner = document_of(problem.problem)
    agents = [
        {"agents": [agent], **_behaviour(agent, fault, problem.model)}
        for agent, fault in problem.faults.behaviours.items()
    ]
    faults = problem.faults
    table: Table = {**_rule(faults.rule), "pool_every": faults.pool_every, "agents": agents}
    if faults.beyond_tolerance:
        table["beyond_tolerance"] = True
    return {**inner, "faults": table}


@_body.register
def _(problem: RegressionProblem) -> Table:
    regression = _regression(problem.regression)
    if problem.node is not None:
        regression["node"] = _regression_agent(problem.node)
    return {"network": _weights(problem.network), "regression": regression}


def _weights(network: Network) -> Table:
    section = weights_section(network.weights, names=network.names)
    table: Table = section.model_dump(mode="json", exclude_defaults=True)
    return table


def _dense(weights: Any, agents: int) -> list[list[float]]:
    if agents > _MOST_AGENTS:
        remedy = "describe the network by edges and a rule, or by a topology"
        raise fail("network", f"at most {_MOST_AGENTS} agents in a file", agents, remedy)
    rows: list[list[float]] = as_dense(weights).tolist()
    return rows


def _changing(network: Any) -> Table:
    match network:
        case PeriodicNetwork():
            return _names(network) | {"sequence": [_phase(phase) for phase in network.phases]}
        case MarkovNetwork():
            phases = [_phase(phase) for phase in network.phases]
            table: Table = _names(network) | {"sequence": phases}
            table["transition"] = network.transition.tolist()
            if network.initial is not None:
                table["initial"] = network.initial.tolist()
            return (
                table if network.event_rate is None else table | {"event_rate": network.event_rate}
            )
        case RandomLinks():
            changes = {"on_loss": network.on_loss, "symmetric": network.symmetric}
            up = _one_number("up", np.asarray(network.up))
            return {**_weights(network.network), "changes": {"kind": "links", "up": up, **changes}}
        case RandomPresence():
            table = {"kind": "presence", "present": _one_number("present", network.present)}
            if network.mean_absence is not None:
                table["mean_absence"] = _one_number("mean_absence", network.mean_absence)
            return {**_weights(network.network), "changes": table}
        case DelayedNetwork():
            delays = np.asarray(network.delays)
            table = {"delay": int(delays)} if delays.ndim == 0 else {"delays": delays.tolist()}
            return {**_weights(network.network), "changes": {"kind": "delays", **table}}
    wanted = "a network that changes as a file can say"
    raise fail("network", wanted, type(network).__name__, "see docs: reference/problem-files")


def _names(network: PeriodicNetwork | MarkovNetwork) -> Table:
    return {} if network.names is None else {"names": list(network.names)}


def _one_number(argument: str, values: FloatArray) -> float:
    numbers = np.unique(values)
    if numbers.size != 1:
        wanted = "one number for all agents or links, in a file"
        raise fail(argument, wanted, f"{numbers.size} different ones", "keep it in Python")
    return float(numbers[0])


def _phase(phase: Phase) -> Table:
    agents = phase.weights.shape[0]
    table: Table = {"weights": _dense(phase.weights, agents)}
    active = np.flatnonzero(np.asarray(phase.active))
    return table if active.size == agents else table | {"active": active.tolist()}


def _model(model: FiniteModel) -> Table:
    agents = []
    for kind, members in groupby(model.assignment.tolist()):
        count = len(list(members))
        agents.append(
            {
                **({"count": count} if count > 1 else {}),
                **({"batch": batch} if (batch := model.kinds[kind].batch) > 1 else {}),
                **_agent(model.kinds[kind], model.hypotheses),
                **_prior(model.log_priors[kind]),
            }
        )
    return {"hypotheses": list(model.hypotheses), "agents": agents}


def _prior(logs: FloatArray) -> Table:
    return {} if (logs == -np.log(logs.size)).all() else {"log_prior": logs.tolist()}


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


def _rule(rule: Rule) -> Table:
    table: Table = {"rule": next(name for name, kind in RULES.items() if type(rule) is kind)}
    if isinstance(rule, TrimmedMean):
        if rule.lost != "own":
            raise fail("rule", "lost = 'own', in a file", rule.lost, "keep it in Python")
        table["tolerate"] = rule.tolerate
    return table | ({"radius": rule.radius} if isinstance(rule, Clip) else {})


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
    agents = []
    each = model.prior_covariance.ndim == 3 or model.prior_mean.ndim == 2
    covariances = np.broadcast_to(model.prior_covariance, (model.agents, *_square(model)))
    means = np.broadcast_to(model.prior_mean, (model.agents, model.dimension))
    for i, kind in enumerate(model.assignment.tolist()):
        table = _regression_agent(model.kinds[kind])
        if each:
            table |= {
                "prior_mean": means[i].tolist(),
                "prior_covariance": covariances[i].tolist(),
            }
        agents.append(table)
    entries = []
    for table, alike in groupby(agents):
        count = len(list(alike))
        entries.append(({"count": count} if count > 1 else {}) | table)
    shared: Table = {} if each else {"prior_covariance": covariances[0].tolist()}
    if not each and means[0].any():
        shared["prior_mean"] = means[0].tolist()
    return {
        "theta": model.theta.tolist(),
        "noise_std": model.kinds[0].noise_std,
        **shared,
        "agents": entries,
        "test_second_moment": model.test_second_moment.tolist(),
    }


def _square(model: RegressionModel) -> tuple[int, int]:
    return model.dimension, model.dimension


def _regression_agent(agent: RegressionAgent) -> Table:
    law = {"uniform": "ranges", "normal": "second_moment", "data": "inputs"}[agent.law]
    table: Mapping[str, Any] = {
        law: getattr(agent, law).tolist(),
        "noise_std": agent.noise_std,
        "claimed_noise_std": agent.claimed_noise_std,
        "batch": agent.batch,
        "tempering": agent.tempering,
    }
    targets = {} if agent.targets is None else {"targets": agent.targets.tolist()}
    return {**table, **targets}


# Problems with another network; a file keeps its tables, and `[network]` is made of weights ------


S = TypeVar("S", bound=FileSpecification)
Rows = Sequence[Sequence[Fraction]]

MOST_ROWS = 100
"""Weights of more agents are written link by link."""
# Doubles of fractions with such a denominator are written as these.
_SIMPLE = 999


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
    given, file = problem.specification, None
    if given is not None:
        if isinstance(network, Network):
            file = with_weights(given, network, rows=rows)
        else:
            file = with_changing_weights(given, network)
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


def with_weights(specification: S, network: Network, *, rows: Rows | None = None) -> S:
    """The file with this network in place of its own.

    Parameters
    ----------
    rows
        The same weights as fractions, where they are known; rows of fractions that the file has
        already, in the same place, are kept by themselves.
    """
    changes = getattr(specification.network, "changes", None)
    known = rows if rows is not None else _given_rows(specification, network.agents)
    section = weights_section(
        network.weights,
        known,
        exact=rows is not None,
        changes=changes,
        names=specification.network.names,
        positions=getattr(specification.network, "positions", None),
    )
    return specification.model_copy(update={"network": section})


def with_changing_weights(specification: S, network: ChangingNetwork) -> S:
    """The file with the weights of this network that changes in place of its own."""
    section = specification.network
    if not isinstance(network, PeriodicNetwork | MarkovNetwork):
        return with_weights(specification, network.network)
    phases = tuple(
        PhaseSection(
            weights=_table(as_dense(phase.weights)),
            active=None
            if phase.observes.all()
            else tuple(int(j) for j in np.flatnonzero(phase.observes)),
        )
        for phase in network.phases
    )
    if isinstance(section, SequenceNetwork):
        new = section.model_copy(update={"sequence": phases})
    elif isinstance(network, MarkovNetwork):
        law: dict[str, Any] = {"transition": _table(network.transition)}
        if network.initial is not None:
            law["initial"] = tuple(network.initial.tolist())
        if network.event_rate is not None:
            law["event_rate"] = network.event_rate
        if len(law) == 1 and network.is_independent:
            law = {"probabilities": _table(network.transition[:1])[0]}
        new = SequenceNetwork(sequence=phases, names=section.names, **law)
    else:
        new = SequenceNetwork(sequence=phases, names=section.names)
    return specification.model_copy(update={"network": new})


def weights_section(
    weights: Weights,
    known: Rows | None = None,
    *,
    exact: bool = False,
    changes: Any = None,
    names: tuple[str, ...] | None = None,
    positions: Any = None,
) -> WeightsNetwork | LinksNetwork:
    """The table [network] of given weights; rows of simple fractions are written as such.

    Parameters
    ----------
    known, exact
        Rows of fractions to prefer: all of them if they are `exact`, else those that are near.
    changes
        The table [network.changes]; None if nothing changes.
    names, positions
        Of the agents, if they have any.
    """
    agents = weights.shape[0]
    options: dict[str, Any] = {} if changes is None else {"changes": changes}
    if names is not None:
        options["names"] = names
    if positions is not None:
        options["positions"] = positions
    if agents <= MOST_ROWS:
        table: list[list[Any]] = [list(row) for row in _table(as_dense(weights))]
        for i, given in enumerate(known or ()):
            # Fractions of a row that was not moved: the same numbers but for rounding.
            if exact or all(
                (share == 0) == (w == 0) and abs(float(share) - w) <= 4 * np.spacing(w)
                for share, w in zip(given, table[i], strict=True)
            ):
                table[i] = list(given)
        table = [_simple(row) or row if isinstance(row[0], float) else row for row in table]
        return WeightsNetwork(weights=tuple(map(tuple, table)), **options)
    if known is not None and exact:
        links = [
            (i, j, share) for i, row in enumerate(known) for j, share in enumerate(row) if share
        ]
    else:
        entries = sparse.coo_array(sparse.csr_array(weights))
        listener, speaker = (axis.tolist() for axis in entries.coords)
        values: list[Any] = entries.data.tolist()
        links = list(zip(listener, speaker, values, strict=True))
    return LinksNetwork(links=tuple(links), agents=agents, **options)


def _given_rows(specification: FileSpecification, agents: int) -> Rows | None:
    """The rows of the file's own network, if they are fractions."""
    section = specification.network
    if isinstance(section, SequenceNetwork) or agents > MOST_ROWS:
        return None
    own = section.model_dump(exclude={"changes", "probability", "radius"})
    if any(isinstance(value, float) for value in _numbers(own)):
        return None
    rational = section.build_rational(specification.name)
    if rational.agents != agents:
        return None
    return [[Fraction(share) for share in row] for row in rational.rows]


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        yield value
        return
    for entry in value:
        yield from _numbers(entry)


def _table(weights: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in np.asarray(weights, dtype=np.float64).tolist())


def _simple(row: Sequence[float]) -> list[Fraction] | None:
    """The row as fractions of small denominators, if their doubles are the row's; else None."""
    shares = [Fraction(w).limit_denominator(_SIMPLE) for w in row]
    same = sum(shares) == 1 and all(float(s) == w for s, w in zip(shares, row, strict=True))
    return shares if same else None


# Problems whose agents draw other batches; a file says so in its table ``[learning]`` ------------


F = TypeVar("F", bound=FileSpecification)
# Numbers of a list that become part of a problem's name.
_NAMED = 6


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
    model = problem.regression if isinstance(problem, RegressionProblem) else problem.model
    sizes = as_batches(batches_on(batch, problem.network, model), problem.network.agents)
    if isinstance(problem, FaultyProblem):
        inner = with_batch(problem.problem, sizes)
        assert isinstance(inner, Problem)
        return FaultyProblem(inner, problem.faults)
    name = f"{problem.name} batch={_text(sizes)}"
    if isinstance(problem, RegressionProblem):
        file = problem.specification
        return replace(
            problem,
            name=name,
            regression=problem.regression.batched(sizes),
            specification=None if file is None else _written(file, name, sizes),
        )
    given = problem.specification
    return replace(
        problem,
        name=name,
        model=problem.model.batched(sizes),
        specification=None if given is None else _written(given, name, sizes),
    )


def _text(sizes: Sequence[int]) -> str:
    if len(set(sizes)) == 1:
        return str(sizes[0])
    if len(sizes) <= _NAMED:
        return ",".join(map(str, sizes))
    return f"{min(sizes)} to {max(sizes)}"


def _written(file: F, name: str, sizes: Sequence[int]) -> F:
    """The file with these batches in place of its own."""
    batch = sizes[0] if len(set(sizes)) == 1 else tuple(sizes)
    changes: dict[str, object] = {"name": name, "learning": LearningSection(batch=batch)}
    if isinstance(file, ProblemSpecification):
        agents = tuple(one.model_copy(update={"batch": None}) for one in file.model.agents)
        changes["model"] = file.model.model_copy(update={"agents": agents})
    if isinstance(file, RegressionSpecification):
        entries = tuple(one.model_copy(update={"batch": None}) for one in file.regression.agents)
        changes["regression"] = file.regression.model_copy(update={"agents": entries})
    return file.model_copy(update=changes)
