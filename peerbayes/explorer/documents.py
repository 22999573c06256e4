"""The document that a page holds, and the problem that it describes.

A document is the content of a problem file as plain tables, lists, strings and numbers: what
`peerbayes.problem.writing.document_of` gives. Documents that were read last are kept with their
problems, so that one question after another about the same document reads it once; so are tables
[model], which an edit of a network leaves as they are.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from peerbayes.messages import describe
from peerbayes.problem.model_section import ModelSection
from peerbayes.problem.problems import AnyProblem, ModelledProblem, RegressionProblem
from peerbayes.problem.reading import problem_from_document
from peerbayes.problem.specification import ProblemSpecification
from peerbayes.problem.writing import document_of
from theory import FiniteModel
from theory.validation import fail

Table = dict[str, Any]

MOST_AGENTS = 1000
"""The largest network that a page shows."""
_NAME = "problem"
_KEPT = 4


class _Described(NamedTuple):
    """Tables [model], as given and as written, and [learning]; and what they are read as."""

    given: Any
    written: Table
    learning: Any
    section: ModelSection
    model: FiniteModel


_READ: deque[tuple[Table, ModelledProblem]] = deque(maxlen=_KEPT)
_MODELS: deque[_Described] = deque(maxlen=_KEPT)


def asked_about(request: Mapping[str, Any]) -> Table:
    """The document that a request is about.

    Raises
    ------
    ValueError
        If there is none.
    """
    document = request.get("document")
    if not isinstance(document, dict):
        raise fail("document", "a table", describe(document), "open a problem first")
    return document


def problem_of(document: Table) -> ModelledProblem:
    """The problem that a document describes.

    Raises
    ------
    ValueError
        For anything wrong with the document, in one line, or if it has more than 1 000 agents.
    """
    for read, problem in _READ:
        if read is document:
            return problem
    _check_size(document.get("network"))
    given, known = {"name": _NAME, **document}, _described(document)
    if known is None:
        problem = problem_from_document(given)
    else:
        problem = problem_from_document({**given, "model": known.section}, model=known.model)
    _check_agents(problem.network.agents)
    _READ.append((document, problem))
    return problem


def canonical(document: Table) -> Table:
    """The document as the problem file writes it, fractions in lowest terms.

    The table [model] is as it was written before if it is the same.

    Raises
    ------
    ValueError
        For anything wrong with the document, in one line.
    """
    problem = problem_of(document)
    specification = problem.specification
    if specification is None:
        return document
    known = _described(document)
    if known is not None:
        rest = specification.model_dump(mode="json", exclude_defaults=True, exclude={"model"})
        tables = {**rest, "model": known.written}
        written = {key: tables[key] for key in type(specification).model_fields if key in tables}
    else:
        written = specification.document()
        if isinstance(specification, ProblemSpecification) and not isinstance(
            problem, RegressionProblem
        ):
            given, learning = document["model"], document.get("learning")
            section, model = specification.model, problem.model
            _MODELS.append(_Described(given, written["model"], learning, section, model))
    _READ.append((written, problem))
    return written


def _described(document: Table) -> _Described | None:
    """The model of a document, if its tables were read before."""
    table, learning = document.get("model"), document.get("learning")
    return next(
        (m for m in _MODELS if m.learning == learning and table in (m.given, m.written)), None
    )


def opened(problem: AnyProblem) -> Table:
    """The document of a problem that was loaded or built in Python.

    Raises
    ------
    ValueError
        If it has something that no file says, or more than 1 000 agents.
    """
    _check_agents(problem.network.agents)
    return canonical(document_of(problem))


def _check_size(network: object) -> None:
    """Refuse what would take long to read before it is read."""
    table: Mapping[str, Any] = network if isinstance(network, Mapping) else {}
    agents, shape, dimension = (table.get(key) for key in ("agents", "shape", "dimension"))
    if isinstance(agents, int):
        _check_agents(agents)
    if isinstance(shape, list) and all(isinstance(side, int) for side in shape):
        _check_agents(math.prod(max(1, side) for side in shape))
    if isinstance(dimension, int) and dimension >= MOST_AGENTS.bit_length():
        raise fail("network.dimension", "at most 9, on a page", dimension, "use the command line")


def _check_agents(agents: int) -> None:
    if agents > MOST_AGENTS:
        wanted = f"at most {MOST_AGENTS} agents, on a page"
        raise fail("network.agents", wanted, agents, "use the command line")
