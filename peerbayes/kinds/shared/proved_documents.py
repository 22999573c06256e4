"""Proved numbers as JSON takes them, and the proved numbers of a network.

With ``--certify`` every number is an interval. With ``--exact`` what is rational is a fraction, and
any other number an expression beside an interval; what has no closed form is an interval alone.
"""

from __future__ import annotations

from typing import Annotated, Self, TypeAlias

from pydantic import ConfigDict, Field

from peerbayes.documents import Document, Number
from theory.numbers import Enclosure


class IntervalDocument(Document):
    """An interval that contains the truth; null stands for infinite."""

    model_config = ConfigDict(extra="forbid")

    lower: Number
    upper: Number

    @classmethod
    def of(cls, value: Enclosure) -> Self:
        """The document of an enclosure."""
        # Adding zero turns −0.0 into 0.0.
        return cls(lower=value.lower + 0.0, upper=value.upper + 0.0)


class ExpressionDocument(Document):
    """An exact number and an interval around it; the expression is null without closed form."""

    model_config = ConfigDict(extra="forbid")

    expression: str | None
    lower: Number
    upper: Number

    @classmethod
    def of(cls, value: Enclosure, expression: str | None = None) -> Self:
        """The document of an enclosure, with an expression if there is one."""
        return cls(expression=expression, lower=value.lower + 0.0, upper=value.upper + 0.0)


FractionText: TypeAlias = Annotated[str, Field(pattern="^-?[0-9]+(/[0-9]+)?$")]
"""An exact rational."""

Proved: TypeAlias = FractionText | ExpressionDocument | IntervalDocument
"""A number that is proved: a fraction, an expression with an interval, or an interval."""


class _ProvedNetwork(Document):
    left_out = frozenset({"notes", "zero_eigenvalues", "diagonalisable"})

    agents: int = Field(ge=1)
    irreducible: bool = True
    period: int = Field(ge=1)
    reversible: bool
    stationary_distribution: list[Proved] = Field(min_length=1, description="v, agent by agent")
    slem: Proved | None = Field(description="subdominant modulus")
    second_eigenvalue: Proved | None = Field(description="largest signed one but 1")
    deviation: list[Proved] = Field(min_length=1, description="D_i in rounds")
    notes: list[str] | None = Field(default=None, description="in kept parts of long proofs alone")


class CertifiedNetworkDocument(_ProvedNetwork):
    """The network in `analyse --certify`: intervals."""

    slem_method: str
    second_eigenvalue_method: str | None
    deviation_method: str


class ExactNetworkDocument(_ProvedNetwork):
    """The network in `analyse --exact`: fractions and expressions."""

    zero_eigenvalues: int | None = Field(
        default=None, ge=0, description="multiplicity of eigenvalue 0"
    )
    diagonalisable: bool | None = None
    kemeny_constant: FractionText


ProvedNetworkDocument: TypeAlias = ExactNetworkDocument | CertifiedNetworkDocument
"""The network in an analysis whose numbers are proved."""
