"""From a problem file to the problem that it describes.

A problem comes from a file (`read_problem`), from a parsed document (`problem_from_document`) or
from a built-in (`peerbayes.problem.builtins.loading`). Bad input ends in a ``ValueError`` of one
line: file, place, expected, got, remedy. The keys of a file are described in docs:
reference/problem-files, and by the JSON schema that ``peerbayes schema problem`` prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from pydantic import ValidationError

from peerbayes.messages import input_error, translate
from peerbayes.problem.agents_by_name import by_number, transposed
from peerbayes.problem.entries import Section, placed
from peerbayes.problem.exchange_sections import FaultsSection, StuckFault
from peerbayes.problem.files import read_document, source_of
from peerbayes.problem.model_section import ModelSection, check_batches
from peerbayes.problem.network_section import build_network, changes_of
from peerbayes.problem.problems import Problem
from peerbayes.problem.specification import (
    SECTIONS,
    ProblemSpecification,
    RegressionSpecification,
)
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.problem.problems import (
        ChangingProblem,
        FaultyProblem,
        ModelledProblem,
        RegressionProblem,
    )
    from theory import FiniteModel
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
    variant: _Variant = {"family": family, "parameters": dict(parameters or {})}
    document = by_number(document, source=source, folder=folder)
    if "regression" in document:
        return _regression(document, source, variant)
    if set(document) <= {"name", "title", "network"} and "network" in document:
        wanted = "the key 'model', or 'regression'"
        raise input_error(source, ("model",), wanted, "none", "add it")
    try:
        specification = ProblemSpecification.model_validate(document)
    except ValidationError as error:
        raise _refused(error, document, source, ProblemSpecification) from None
    if changes_of(specification.network) is not None:
        return _changing(specification, source, variant, model)
    if specification.faults is None:
        return _finite(specification, source, variant, model)
    if specification.messages is not None:
        remedy = "leave out one of the two tables"
        raise input_error(source, ("messages",), "none with [faults]", "both", remedy)
    problem = _finite(specification, source, variant, model)
    with placed(source, "faults", specification.faults):
        return _faulty(problem, specification.faults, specification.model)


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


class _Variant(TypedDict):
    """Which variant of a built-in a document is, if it is one."""

    family: str
    parameters: dict[str, float | int | str]


def _finite(
    specification: ProblemSpecification,
    source: str,
    variant: _Variant,
    model: FiniteModel | None,
) -> Problem:
    from theory import Network

    network = build_network(specification.network, specification.name, source=source)
    assert isinstance(network, Network)
    _check_agents(source, "model", specification.model.agent_count, network.agents)
    check_batches(source, "model", specification.learning, specification.model.agents)
    with placed(source, "model", specification.model):
        model = model or specification.build_model()
    title = specification.title or ""
    messages = None if specification.messages is None else specification.messages.build()
    with placed(source, "messages", specification.messages or specification):
        return Problem(
            specification.name, title, network, model, specification, messages=messages, **variant
        )


def _changing(
    specification: ProblemSpecification,
    source: str,
    variant: _Variant,
    model: FiniteModel | None,
) -> ChangingProblem:
    from peerbayes.problem.problems import ChangingProblem
    from theory import Network

    for key in ("faults", "messages"):
        if getattr(specification, key) is not None:
            wanted = "a network that stays the same"
            remedy = f"leave out [{key}], or what changes"
            raise input_error(source, (key,), wanted, "one that changes", remedy)
    network = build_network(specification.network, specification.name, source=source)
    assert not isinstance(network, Network)
    _check_agents(source, "model", specification.model.agent_count, network.agents)
    check_batches(source, "model", specification.learning, specification.model.agents)
    with placed(source, "model", specification.model):
        model = model or specification.build_model()
    title = specification.title or ""
    return ChangingProblem(specification.name, title, network, model, specification, **variant)


def _faulty(problem: Problem, section: FaultsSection, model: ModelSection) -> FaultyProblem:
    from peerbayes.problem.problems import FaultyProblem
    from theory.robustness import Faults
    from theory.robustness.faults import checked_faults

    faults: dict[int, Behaviour] = {}
    entries = [entry for entry in model.agents for _ in range(entry.count)]
    for k, fault in enumerate(section.agents):
        for index, agent in enumerate(fault.agents):
            if agent >= problem.network.agents:
                wanted = f"an agent from 0 to {problem.network.agents - 1}"
                raise fail(f"agents[{k}].agents[{index}]", wanted, agent, "correct it")
            with _entry(k):
                if isinstance(fault, StuckFault):
                    behaviour = fault.build(entries[agent].outcome_names)
                else:
                    behaviour = fault.build()
                faults[agent] = behaviour
                if len(faults) < problem.network.agents:
                    checked_faults(problem.network, problem.model, {agent: behaviour})
    among = Faults(
        faults,
        section.build_rule(),
        pool_every=section.pool_every,
        beyond_tolerance=section.beyond_tolerance,
    )
    return FaultyProblem(problem, among)


@contextmanager
def _entry(index: int) -> Iterator[None]:
    """Put the entry of [[faults.agents]] in front of a message about one agent's fault."""
    try:
        yield
    except ValueError as error:
        text = re.sub(r"^faults\[\d+\]\.", "", str(error))
        raise ValueError(f"agents[{index}].{text}") from None


def _regression(document: Mapping[str, Any], source: str, variant: _Variant) -> RegressionProblem:
    from peerbayes.problem.problems import RegressionProblem
    from theory import Network

    if "messages" in document:
        wanted = "none with [regression], whose beliefs are sent as they are"
        raise input_error(source, ("messages",), wanted, "some", "leave it out")
    if "model" in document:
        wanted = "exactly one of the tables model, regression"
        raise input_error(source, (), wanted, "both", "keep one of them")
    try:
        specification = RegressionSpecification.model_validate(dict(document))
    except ValidationError as error:
        raise _refused(error, document, source, RegressionSpecification) from None
    key = changes_of(specification.network)
    if key is not None:
        wanted = "a network that stays as it is, for a regression"
        raise input_error(source, ("network", key), wanted, key, "give weights that do not change")
    network = build_network(specification.network, specification.name, source=source)
    assert isinstance(network, Network)
    _check_agents(source, "regression", specification.regression.agent_count, network.agents)
    table = specification.regression
    check_batches(source, "regression", specification.learning, table.agents)
    with placed(source, "regression", table):
        regression = specification.build_regression()
        node = None if table.node is None else table.node.build(table.noise_std)
    return RegressionProblem(
        specification.name,
        specification.title or "",
        network,
        regression,
        specification,
        node=node,
        **variant,
    )


def _check_agents(source: str, table: str, described: int, agents: int) -> None:
    if described != agents:
        raise input_error(
            source,
            (table, "agents"),
            f"{agents} agents, as many as the network has",
            f"{described} (the sum of the counts)",
            f"change a count in [[{table}.agents]], or the network",
        )
