"""The document that a page holds, and the problem that it describes.

A document is the content of a problem file as plain tables, lists, strings and numbers: what
`peerbayes.problem.writing.document_of` gives. Documents that were read last are kept with their
problems, so that one question after another about the same document reads it once; so are tables
[model], which an edit of a network leaves as they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, eq=False)
class _Described:
    """Tables [model] and [learning] that were read.

    Attributes
    ----------
    given, written, learning
        The table [model] as it was given and as it is written, and the table [learning].
    section, model
        What they are read as.
    """

    given: Any
    written: Table
    learning: Any
    section: ModelSection
    model: FiniteModel


_READ: deque[tuple[Table, ModelledProblem]] = deque(maxlen=_KEPT)
_MODELS: deque[_Described] = deque(maxlen=_KEPT)


def problem_of(document: object) -> ModelledProblem:
    """The problem that a document describes.

    Raises
    ------
    ValueError
        For anything wrong with the document, in one line, or if it has more than 1 000 agents.
    """
    if not isinstance(document, dict):
        raise fail("document", "a table", describe(document), "open a problem first")
    for read, problem in _READ:
        if read is document:
            return problem
    _check_size(document)
    known = _described(document)
    if known is None:
        problem = problem_from_document({"name": _NAME, **document})
    else:
        given = {"name": _NAME, **document, "model": known.section}
        problem = problem_from_document(given, model=known.model)
    if problem.network.agents > MOST_AGENTS:
        raise _too_many(problem.network.agents)
    _READ.append((document, problem))
    return problem


def canonical(document: Table) -> Table:
    """The document as the problem file writes it, fractions in lowest terms.

    Raises
    ------
    ValueError
        For anything wrong with the document, in one line.
    """
    problem = problem_of(document)
    if problem.specification is None:
        return document
    written = _written(document, problem)
    _READ.append((written, problem))
    return written


def _described(document: Table) -> _Described | None:
    """The model of a document, if its tables were read before."""
    table, learning = document.get("model"), document.get("learning")
    return next(
        (m for m in _MODELS if m.learning == learning and table in (m.given, m.written)), None
    )


def _written(document: Table, problem: ModelledProblem) -> Table:
    """The content of the file, the model as it was written before if it is the same."""
    specification = problem.specification
    assert specification is not None
    if isinstance(problem, RegressionProblem):
        return specification.document()
    assert isinstance(specification, ProblemSpecification)
    known = _described(document)
    if known is None:
        written = specification.document()
        learning = document.get("learning")
        section, model = specification.model, problem.model
        _MODELS.append(_Described(document["model"], written["model"], learning, section, model))
        return written
    rest = specification.model_dump(mode="json", exclude_defaults=True, exclude={"model"})
    tables = {**rest, "model": known.written}
    return {key: tables[key] for key in type(specification).model_fields if key in tables}


def opened(problem: AnyProblem) -> Table:
    """The document of a problem that was loaded or built in Python.

    Raises
    ------
    ValueError
        If it has something that no file says, or more than 1 000 agents.
    """
    if problem.network.agents > MOST_AGENTS:
        raise _too_many(problem.network.agents)
    return canonical(document_of(problem))


def _check_size(document: Mapping[str, Any]) -> None:
    """Refuse what would take long to read before it is read."""
    network = document.get("network")
    agents = network.get("agents") if isinstance(network, Mapping) else None
    if isinstance(agents, int) and agents > MOST_AGENTS:
        raise _too_many(agents)
    shape = network.get("shape") if isinstance(network, Mapping) else None
    if isinstance(shape, list) and all(isinstance(side, int) for side in shape):
        product = 1
        for side in shape:
            product *= max(1, side)
        if product > MOST_AGENTS:
            raise _too_many(product)
    dimension = network.get("dimension") if isinstance(network, Mapping) else None
    if isinstance(dimension, int) and dimension >= MOST_AGENTS.bit_length():
        raise fail("network.dimension", "at most 9, on a page", dimension, "use the command line")


def _too_many(agents: int) -> ValueError:
    wanted = f"at most {MOST_AGENTS} agents, on a page"
    return fail("network.agents", wanted, agents, "use the command line")
