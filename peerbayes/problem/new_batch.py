"""Problems whose agents draw other batches; a file says so in its table ``[learning]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from peerbayes.problem.faulty import FaultyProblem
from peerbayes.problem.finite import Problem
from peerbayes.problem.learning_section import LearningSection
from peerbayes.problem.problems import AnyProblem, with_model
from peerbayes.problem.regression import RegressionProblem
from peerbayes.problem.specification import (
    FileSpecification,
    ProblemSpecification,
    RegressionSpecification,
)
from theory import FiniteModel
from theory.changing.delays import AnyNetwork
from theory.learning.batches import as_batches
from theory.network.labels import agent_numbers
from theory.regression import RegressionModel

S = TypeVar("S", bound=FileSpecification)
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


def _written(file: S, name: str, sizes: Sequence[int]) -> S:
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
