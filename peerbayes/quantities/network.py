"""The numbers of a network that stays as it is: its v, its eigenvalues, how slowly it mixes.

They are the same in every arithmetic. `in_doubles` is one of the three ways to compute them; the
other two, fractions and intervals, are in `peerbayes.kinds.shared.network_proofs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from peerbayes.figures.wording import Fact, agents_with, count, number
from peerbayes.quantities.numbers import IN_DOUBLES, PROVED, FractionText, NumberTypes
from peerbayes.quantities.quantity import Quantity, Table
from theory import Network
from theory.values import Value

ONE_AGENT = "one agent has no second eigenvalue"


@dataclass(frozen=True, eq=False)
class NetworkNumbers(Value):
    """What is known of a network that stays as it is.

    Attributes
    ----------
    agents, period, reversible, names
        N, the period of W, whether it is reversible, what the agents are called.
    stationary_distribution
        v, agent by agent.
    slem, second_eigenvalue
        The subdominant modulus, and the largest signed eigenvalue but 1; None where unknown.
    deviation, deviation_lower
        D_i in rounds, agent by agent, rounded up; lower bounds, in doubles alone.
    kemeny_constant, zero_eigenvalues, diagonalisable
        In exact arithmetic alone.
    methods
        How numbers were computed, by their keys.
    notes
        Why a number is missing, or how it was computed.
    """

    agents: int
    period: int
    reversible: bool
    stationary_distribution: Any
    slem: Any
    second_eigenvalue: Any
    deviation: Any
    names: tuple[str, ...] | None = None
    deviation_lower: Any = None
    kemeny_constant: Any = None
    zero_eigenvalues: int | None = None
    diagonalisable: bool | None = None
    methods: tuple[tuple[str, str | None], ...] = ()
    notes: tuple[str, ...] = ()

    def method(self, key: str) -> str | None:
        """How a number was computed."""
        return dict(self.methods).get(key)


def in_doubles(network: Network) -> NetworkNumbers:
    """The numbers of a network in double precision."""
    return NetworkNumbers(
        agents=network.agents,
        period=network.period,
        reversible=network.is_reversible,
        stationary_distribution=network.stationary_distribution,
        slem=network.slem,
        second_eigenvalue=network.second_eigenvalue,
        deviation=network.deviation.upper,
        names=None if network.names is None else tuple(network.names),
        deviation_lower=network.deviation.lower,
        methods=(("stationary_distribution", network.stationary.method),),
        notes=tuple(spectrum_notes(network)),
    )


def spectrum_notes(network: Network) -> list[str]:
    """Why the subdominant modulus or the second eigenvalue is missing, if one is."""
    note = ONE_AGENT if network.agents == 1 else network.spectrum.note
    return [note] if note else []


# What is said of them ---------------------------------------------------------------------------


def largest_share(value: Sequence[float], document: Any) -> Fact:
    """The agents whose observations count most."""
    return Fact("Largest v", number(max(value)), agents_with(value, max(value), document.names))


def _largest_deviation(value: Sequence[float | None], document: Any) -> Fact:
    known = [d for d in value if d is not None]
    return Fact(
        "Largest deviation D", number(max(known) if len(known) == len(value) else None), "rounds"
    )


def _method(key: str) -> Any:
    return lambda numbers: numbers.method(key)


AGENTS = Quantity(
    "agents",
    Annotated[int, Field(ge=1)],
    lambda numbers: numbers.agents,
    label="agents",
    fact=lambda value, _: Fact("Agents", count(value)),
)
NAMES = Quantity(
    "names",
    list[str] | None,
    lambda numbers: None if numbers.names is None else list(numbers.names),
    meaning="what the agents are called",
    optional=True,
)


def _numbers(types: NumberTypes, *, v: str, deviation: str) -> tuple[Quantity, ...]:
    """What is said in every arithmetic; `v` and `deviation` are what these two mean in it."""
    return (
        AGENTS,
        Quantity(
            "stationary_distribution",
            types.shares,
            lambda numbers: numbers.stationary_distribution,
            label="stationary distribution v",
            fact=largest_share,
            kind=types.kind,
            meaning=v,
        ),
        Quantity(
            "slem",
            types.number,
            lambda numbers: numbers.slem,
            label="subdominant modulus",
            fact=lambda value, _: Fact(
                "Second eigenvalue", number(value), "largest modulus below 1"
            ),
            kind=types.kind,
            meaning="subdominant modulus",
        ),
        Quantity(
            "second_eigenvalue",
            types.number,
            lambda numbers: numbers.second_eigenvalue,
            label="second eigenvalue",
            kind=types.kind,
            meaning="largest signed one but 1",
        ),
        Quantity(
            "deviation",
            types.per_agent,
            lambda numbers: numbers.deviation,
            label="deviation D_i (rounds)",
            fact=_largest_deviation,
            kind="upper" if types is IN_DOUBLES else types.kind,
            meaning=deviation,
        ),
        Quantity("irreducible", bool, lambda _: True, default=True),
        Quantity("period", Annotated[int, Field(ge=1)], lambda numbers: numbers.period, default=1),
        Quantity("reversible", bool, lambda numbers: numbers.reversible, label="reversible"),
    )


NETWORK = Table(
    "NetworkDocument",
    "The network that stays as it is, in `analyse`: what theory says of it in doubles.",
    (
        *_numbers(
            IN_DOUBLES,
            v="v, agent by agent; positive, but below 1e-308 read as 0",
            deviation="D_i in rounds, rounded up",
        ),
        Quantity("stationary_method", str | None, _method("stationary_distribution"), default=None),
        Quantity(
            "deviation_lower",
            IN_DOUBLES.per_agent | None,
            lambda numbers: numbers.deviation_lower,
            kind="lower",
            default=None,
        ),
        NAMES,
    ),
)

_PROVED = _numbers(PROVED, v="v, agent by agent", deviation="D_i in rounds")
CERTIFIED_NETWORK = Table(
    "CertifiedNetworkDocument",
    "The network in `analyse --certify`: intervals.",
    (
        *_PROVED,
        Quantity("slem_method", str, _method("slem")),
        Quantity("second_eigenvalue_method", str | None, _method("second_eigenvalue")),
        Quantity("deviation_method", str, _method("deviation")),
    ),
)
EXACT_NETWORK = Table(
    "ExactNetworkDocument",
    "The network in `analyse --exact`: fractions and expressions.",
    (
        *_PROVED,
        Quantity(
            "zero_eigenvalues",
            Annotated[int, Field(ge=0)] | None,
            lambda numbers: numbers.zero_eigenvalues,
            kind="proved",
            meaning="multiplicity of eigenvalue 0",
            optional=True,
        ),
        Quantity(
            "diagonalisable",
            bool | None,
            lambda numbers: numbers.diagonalisable,
            kind="proved",
            optional=True,
        ),
        Quantity(
            "kemeny_constant",
            FractionText,
            lambda numbers: numbers.kemeny_constant,
            kind="proved",
        ),
    ),
)
