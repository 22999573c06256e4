"""From a problem to the file that describes it: the way back of `peerbayes.problem.reading`.

A problem that was read is written as it stood in its file, exact numbers included. One that was
built in Python is written from its value objects: doubles as the shortest decimals that read back
as the same doubles, so that the file loads to an equal problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from peerbayes.problem.changing import ChangingProblem
from peerbayes.problem.faulty import FaultyProblem
from peerbayes.problem.files import write_document
from peerbayes.problem.finite import Problem
from peerbayes.problem.messages_section import messages_table
from peerbayes.problem.new_weights import weights_section
from peerbayes.problem.problems import AnyProblem, with_model
from peerbayes.problem.regression import RegressionProblem
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.changing import (
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
)
from theory.network.structure import as_dense
from theory.regression import RegressionAgent, RegressionModel
from theory.robustness import BEHAVIOURS, RULES, Behaviour, Clip, Rule, TrimmedMean
from theory.validation import FloatArray, fail

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
