"""From a problem file to the problem that it describes.

A problem comes from a file (`read_problem`), from a parsed document (`problem_from_document`) or
from a built-in (`peerbayes.problem.builtins.loading`). Bad input ends in a ``ValueError`` of one
line: file, place, expected, got, remedy. The keys of a file are described in docs:
reference/problem-files, and by the JSON schema that ``peerbayes schema problem`` prints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from peerbayes.messages import Place, input_error, translate
from peerbayes.problem.agents_by_name import by_number, in_order, transposed
from peerbayes.problem.entries import Section, placed, worded
from peerbayes.problem.exchange_sections import FaultsSection
from peerbayes.problem.files import read_document, source_of
from peerbayes.problem.model_section import ModelSection, check_batches
from peerbayes.problem.network_section import build_network, changes_of
from peerbayes.problem.problems import (
    ChangingProblem,
    FaultyProblem,
    ModelledProblem,
    NetworkAlone,
    Problem,
    RegressionProblem,
)
from peerbayes.problem.specification import (
    SECTIONS,
    FileSpecification,
    ProblemSpecification,
    RegressionSpecification,
    section_of,
)
from theory import Network
from theory.validation import fail

if TYPE_CHECKING:
    from theory import FiniteModel
    from theory.changing import AnyNetwork
    from theory.robustness import Behaviour


def read_problem(path: str | Path) -> ModelledProblem:
    """The problem that a TOML or JSON file describes.

    Raises
    ------
    ValueError
        For anything wrong with the file, in one line that names the file and the place.
    """
    path = Path(path)
    source = source_of(path)
    name = path.stem if source == str(path) else source
    document = {"name": name, **read_document(path)}
    return problem_from_document(document, source=source, folder=path.parent)


def problem_from_document(
    document: Mapping[str, Any],
    *,
    source: str = "",
    folder: Path | None = None,
    family: str = "",
    parameters: Mapping[str, float | int | str] | None = None,
    model: FiniteModel | None = None,
) -> ModelledProblem:
    """The problem that a parsed document describes; `source` names it in error messages.

    Parameters
    ----------
    folder
        From where a graph file is looked for; None: there is none.
    family, parameters
        Which variant of a built-in it is, if it is one.
    model
        What the tables [model] and [learning] describe, if it was built before from the same
        tables; left out: it is built.

    Raises
    ------
    ValueError
        For anything wrong with the document, in one line that names the place.

    Examples
    --------
    >>> problem = problem_from_document({
    ...     "name": "coins",
    ...     "network": {"weights": [["9/10", "1/10"], ["3/5", "2/5"]]},
    ...     "model": {
    ...         "hypotheses": ["fair", "loaded"],
    ...         "agents": [{
    ...             "count": 2,
    ...             "truth": "fair",
    ...             "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]],
    ...         }],
    ...     },
    ... })
    >>> problem.network.agents, problem.is_exact
    (2, True)
    """
    document = by_number(document, source=source, folder=folder)
    specification = _specified(document, source)
    posed: dict[str, Any] = {
        "name": specification.name,
        "title": specification.title or "",
        "network": _network(specification, source),
        "specification": specification,
        "family": family,
        "parameters": dict(parameters or {}),
    }
    with placed(source, specification.table_name, specification.table):
        posed[specification.table_name] = model or specification.build()
        if isinstance(specification, RegressionSpecification):
            table = specification.regression
            node = None if table.node is None else table.node.build(table.noise_std)
            return RegressionProblem(node=node, **posed)
    if not isinstance(posed["network"], Network):
        return ChangingProblem(**posed)
    messages, faults = specification.messages, specification.faults
    sent = None if messages is None else messages.build()
    with placed(source, "messages", messages or specification):
        problem = Problem(messages=sent, **posed)
    if faults is None:
        return problem
    with placed(source, "faults", faults):
        return _faulty(problem, faults, specification.model)


def _specified(
    document: Mapping[str, Any], source: str
) -> ProblemSpecification | RegressionSpecification:
    """A document, checked; its agents in the order of the network."""

    def refused(place: Place, wanted: str, got: object, remedy: str) -> ValueError:
        return input_error(source, place, wanted, got, remedy)

    is_regression = "regression" in document
    whose = {"messages": "beliefs are sent as they are", "faults": "agents are all honest"}
    for table in (key for key in whose if is_regression and key in document):
        raise refused(
            (table,), f"none with [regression], whose {whose[table]}", "some", "leave it out"
        )
    if is_regression and "model" in document:
        wanted = "exactly one of the tables model, regression"
        raise refused((), wanted, "both", "keep one of them")
    if set(document) <= {"name", "title", "network"} and "network" in document:
        remedy = (
            'add what agents see: [model], hypotheses = ["fair", "loaded"] and [[model.agents]]; '
            "of a network alone 'analyse' takes a graph file, such as net.edges"
        )
        raise refused(("model",), "a table [model], or [regression]", "[network] alone", remedy)
    kind = RegressionSpecification if is_regression else ProblemSpecification
    try:
        specification = kind.model_validate(document)
    except ValidationError as error:
        raise _refused(error, document, source, kind) from None
    given = [key for key in ("faults", "messages") if getattr(specification, key, None) is not None]
    change = changes_of(specification.network)
    if change is not None and is_regression:
        wanted = "a network that stays as it is, for a regression"
        raise refused(("network", change), wanted, change, "give weights that do not change")
    if change is not None and given:
        remedy = f"leave out [{given[0]}], or what changes"
        raise refused((given[0],), "a network that stays the same", "one that changes", remedy)
    if len(given) > 1:
        remedy = "leave out one of the two tables"
        raise refused(("messages",), "none with [faults]", "both", remedy)
    name, section = specification.table_name, specification.table
    agents = in_order(section.agents, specification.network.names, source, (name, "agents"))
    if agents is section.agents:
        return specification
    return specification.model_copy(update={name: section.model_copy(update={"agents": agents})})


def _refused(
    error: ValidationError, document: Mapping[str, Any], source: str, whole: type[Section]
) -> ValueError:
    """What is wrong with a document, in one line."""
    refused = translate(error, source=source, sections={**SECTIONS, "": whole})
    is_sum = "network.weights[" in str(refused) and "that sum to" in str(refused)
    if is_sum and transposed(document):
        wanted, got = "rows that sum to 1", "columns that do"
        remedy = "give the transpose: row i has what agent i puts on all"
        return input_error(source, ("network", "weights"), wanted, got, remedy)
    return refused


def _network(specification: FileSpecification, source: str) -> AnyNetwork:
    """The network, of as many agents as the entries of the other table describe together."""
    network = build_network(specification.network, specification.name, source=source)
    table, agents = specification.table_name, specification.table.agents
    described = sum(agent.count for agent in agents)
    if described != network.agents:
        wanted = f"{network.agents} agents, as many as the network has"
        got = f"{described} (the sum of the counts)"
        remedy = f"change a count in [[{table}.agents]], or the network"
        raise input_error(source, (table, "agents"), wanted, got, remedy)
    check_batches(source, table, specification.learning, agents)
    return network


def _faulty(problem: Problem, section: FaultsSection, model: ModelSection) -> FaultyProblem:
    from theory.robustness import Faults
    from theory.robustness.faults import checked_faults

    faults: dict[int, Behaviour] = {}
    entries = [entry for entry in model.agents for _ in range(entry.count)]
    for k, fault in enumerate(section.agents):
        for index, agent in enumerate(fault.agents):
            if agent >= problem.network.agents:
                wanted = f"an agent from 0 to {problem.network.agents - 1}"
                raise fail(f"agents[{k}].agents[{index}]", wanted, agent, "correct it")
            with worded(partial(_of_fault, k)):
                faults[agent] = behaviour = fault.build(entries[agent].outcome_names)
                if len(faults) < problem.network.agents:
                    checked_faults(problem.network, problem.model, {agent: behaviour})
    among = Faults(
        faults,
        section.build_rule(),
        pool_every=section.pool_every,
        beyond_tolerance=section.beyond_tolerance,
    )
    return FaultyProblem(problem, among)


def _of_fault(index: int, text: str) -> str:
    """A message about one agent's fault, with its entry of [[faults.agents]] in front."""
    return f"agents[{index}]." + re.sub(r"^faults\[\d+\]\.", "", text)


def read_network(path: Path) -> NetworkAlone:
    """The network of a graph file.

    Raises
    ------
    ValueError
        If it is none, in one line that names the file.
    """
    from peerbayes.problem.graph_files import network_table

    section = section_of(network_table(path), source=str(path))
    network = build_network(section, path.stem, source=str(path))
    assert isinstance(network, Network)
    return NetworkAlone(path.stem, network)
