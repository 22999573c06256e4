"""The numbers of a network that stays as it is: its v, its eigenvalues, how slowly it mixes.

They are the same in every arithmetic. `in_doubles` is one of the three ways to compute them; the
other two, fractions and intervals, are in `peerbayes.kinds.shared.analyse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from peerbayes.figures.wording import Fact, agents_with, count, number
from peerbayes.quantities.numbers import NUMBER, PER_AGENT, PROVED, SHARES, FractionText
from peerbayes.quantities.quantity import quantity, table_of
from theory.showing import Value

if TYPE_CHECKING:
    from theory import Network

ONE_AGENT = "one agent has no second eigenvalue"
Count = Annotated[int, Field(ge=1)]
_Multiplicity = Annotated[int, Field(ge=0)] | None


def _largest_share(value: Sequence[float], document: Any) -> Fact:
    return Fact("Largest v", number(max(value)), agents_with(value, max(value), document.names))


def _modulus(value: float | None, _: Any) -> Fact:
    return Fact("Second eigenvalue", number(value), "largest modulus below 1")


def _largest_deviation(value: Sequence[float | None], _: Any) -> Fact:
    known = [d for d in value if d is not None]
    largest = max(known) if len(known) == len(value) else None
    return Fact("Largest deviation D", number(largest), "rounds")


def count_fact(value: int, _: Any) -> Fact:
    """The number of agents on a page."""
    return Fact("Agents", count(value))


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkNumbers(Value):
    """What is known of a network that stays as it is; `notes` say why a number is missing."""

    agents: int = quantity(Count, label="agents", fact=count_fact, kind="given")
    stationary_distribution: Any = quantity(
        SHARES, "v, agent by agent", label="stationary distribution v", fact=_largest_share
    )
    slem: Any = quantity(NUMBER, "subdominant modulus", label="subdominant modulus", fact=_modulus)
    second_eigenvalue: Any = quantity(NUMBER, "largest signed one but 1", label="second eigenvalue")
    deviation: Any = quantity(
        PER_AGENT, "D_i in rounds", label="deviation D_i (rounds)", fact=_largest_deviation
    )
    irreducible: bool = quantity(bool, start=True, older=True)
    period: int = quantity(Count, older=1)
    reversible: bool = quantity(bool, label="reversible")
    names: Sequence[str] | None = quantity(
        list[str] | None, "what the agents are called", start=None, optional=True
    )
    # In doubles alone.
    stationary_method: str | None = quantity(str | None, start=None, older=None)
    deviation_lower: Any = quantity(
        Annotated[list[float | None], Field(min_length=1)] | None,
        start=None,
        older=None,
        kind="lower",
    )
    # Certified alone.
    slem_method: str = quantity(str, start="")
    second_eigenvalue_method: str | None = quantity(str | None, start=None)
    deviation_method: str = quantity(str, start="")
    # Exact alone.
    zero_eigenvalues: int | None = quantity(
        _Multiplicity, "multiplicity of eigenvalue 0", start=None, optional=True
    )
    diagonalisable: bool | None = quantity(bool | None, start=None, optional=True)
    kemeny_constant: Any = quantity(FractionText, start=None)
    notes: tuple[str, ...] = ()


_DOUBLES = "stationary_method deviation_lower names"
_CERTIFIED = "slem_method second_eigenvalue_method deviation_method"
_EXACT = "zero_eigenvalues diagonalisable kemeny_constant"
NETWORK = table_of(
    NetworkNumbers,
    "NetworkDocument",
    "The network that stays as it is, in `analyse`: what theory says of it in doubles.",
    without=f"{_CERTIFIED} {_EXACT}",
    changed={
        "stationary_distribution": {
            "meaning": "v, agent by agent; positive, but below 1e-308 read as 0"
        },
        "deviation": {"meaning": "D_i in rounds, rounded up", "kind": "upper"},
    },
)
CERTIFIED_NETWORK = table_of(
    NetworkNumbers,
    "CertifiedNetworkDocument",
    "The network in `analyse --certify`: intervals.",
    without=f"{_DOUBLES} {_EXACT}",
    numbers=PROVED,
    kind="proved",
)
EXACT_NETWORK = table_of(
    NetworkNumbers,
    "ExactNetworkDocument",
    "The network in `analyse --exact`: fractions and expressions.",
    without=f"{_DOUBLES} {_CERTIFIED}",
    numbers=PROVED,
    kind="proved",
)


def in_doubles(network: Network) -> NetworkNumbers:
    """The numbers of a network in double precision."""
    return NetworkNumbers(
        agents=network.agents,
        stationary_distribution=network.stationary_distribution,
        slem=network.slem,
        second_eigenvalue=network.second_eigenvalue,
        deviation=network.deviation.upper,
        period=network.period,
        reversible=network.is_reversible,
        names=network.names,
        stationary_method=network.stationary.method,
        deviation_lower=network.deviation.lower,
        notes=tuple(spectrum_notes(network)),
    )


def spectrum_notes(network: Network) -> list[str]:
    """Why the subdominant modulus or the second eigenvalue is missing, if one is."""
    note = ONE_AGENT if network.agents == 1 else network.spectrum.note
    return [note] if note else []
