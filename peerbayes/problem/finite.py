"""A problem with finitely many hypotheses on a network that stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from peerbayes.problem.posed import PosedFixed, finite_parts

if TYPE_CHECKING:
    from peerbayes.problem.specification import ProblemSpecification
    from theory import FiniteModel, Network
    from theory.messages import Quantiser
    from theory.rational import RationalModel


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
    messages
        What agents send; None if they send their beliefs as they are.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, or messages have fewer levels than
        never overload.
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
    messages: Quantiser | None = None

    def __post_init__(self) -> None:
        self._check("model", self.model.agents)
        if self.messages is not None and self.messages.levels is not None:
            from theory.messages import message_levels
            from theory.messages.compressed import with_levels

            needed = message_levels(self.network, self.model, self.messages)
            with_levels(self.messages, needed)

    def _posed(self) -> tuple[object, ...]:
        return (*finite_parts(self.model), self.messages)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from self._heading("model")
        yield "hypotheses", self.model.hypotheses
        if self.messages is not None:
            yield "messages", self.messages

    @cached_property
    def rational_model(self) -> RationalModel:
        """The model with the file's own fractions; doubles are read as binary fractions."""
        from theory.rational import RationalModel

        if self.specification is None:
            return RationalModel.from_model(self.model)
        return self.specification.build_rational_model()
