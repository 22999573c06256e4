"""A problem with finitely many hypotheses on a network that stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from peerbayes.problem.posed import PosedFixed, finite_parts
from peerbayes.problem.specification import ProblemSpecification
from theory import FiniteModel, Network
from theory.rational import RationalModel

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False)
class Problem(PosedFixed):
    """A network of agents, and their model.

    Parameters
    ----------
    name, title
        A short name, and one line about it (possibly empty).
    network, model
        Equally many agents in both.
    specification
        The parsed file, exact numbers included; None for problems whose model was learnt from
        data and has no file.
    family, parameters
        For one variant of a built-in: the built-in's name, and what was varied.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """

    faults: ClassVar[None] = None
    """Nobody is faulty."""
    without_file: ClassVar[str] = "hypotheses that were learnt from data"
    """What a problem of this kind comes from if it has no file."""

    name: str
    title: str
    network: Network
    model: FiniteModel
    specification: ProblemSpecification | None = None
    family: str = ""
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check("model", self.model.agents)

    def _posed(self) -> tuple[object, ...]:
        return finite_parts(self.model)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from self._heading("model")
        yield "hypotheses", self.model.hypotheses

    @cached_property
    def rational_model(self) -> RationalModel:
        """The model with the file's own fractions; doubles are read as binary fractions."""
        if self.specification is None:
            return RationalModel.from_model(self.model)
        return self.specification.model.build_rational()
