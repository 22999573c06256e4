"""The document that a page holds, and the problem that it describes.

A document is the content of a problem file as plain tables, lists, strings and numbers: what
`peerbayes.problem.writing.document_of` gives. Documents that were read last are kept with their
problems, so that one question after another about the same document reads it once, and an edit of
a network does not read the model again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from peerbayes.messages import describe
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.reading import problem_from_document
from peerbayes.problem.writing import document_of
from theory.validation import fail

Table = dict[str, Any]

MOST_AGENTS = 1000
"""The largest network that a page shows."""
_NAME = "problem"
_KEPT = 4

_READ: deque[tuple[Table, AnyProblem]] = deque(maxlen=_KEPT)


def problem_of(document: Table) -> AnyProblem:
    """The problem that a document describes.

    Raises
    ------
    ValueError
        For anything wrong with the document, in one line, or if it has more than 1 000 agents.
    """
    if not isinstance(document, Mapping):
        raise fail("document", "a table", describe(document), "open a problem first")
    for known, problem in _READ:
        if known is document:
            return problem
    _check_size(document)
    problem = problem_from_document({"name": _NAME, **document})
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
    written = problem.specification.document()
    _READ.append((written, problem))
    return written


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
