"""Quantities that designs and placements share: certificates, rounds, networks compared, records.

Networks are compared by rows: a `NetworkRow` for finitely many hypotheses, an analysis of a network
that changes, a `RegressionRow`. K, E and mixing are called the same everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    field_serializer,
    field_validator,
)

from peerbayes.documents import Document, Interval, Rounds
from peerbayes.figures.wording import Fact, number
from peerbayes.problem.problems import AnyProblem
from peerbayes.quantities.numbers import NUMBER
from peerbayes.quantities.quantity import NOTE, Quantity, Table, entries, entry, quantity, table_of
from peerbayes.quantities.showing import Result
from peerbayes.quantities.sizes import Sizes, both_ends
from peerbayes.tables import interval, rounds
from theory.changing import mean_slem
from theory.showing import Value

if TYPE_CHECKING:
    from exact import SimulatedSampleSize
    from theory import Network

Agent: TypeAlias = Annotated[int, Field(ge=0)]
Agents: TypeAlias = Annotated[
    list[Agent], BeforeValidator(lambda value: np.asarray(value).tolist())
]
# Of longer lists the beginning is shown.
MOST_ROWS = 12


def called(document: Any, agent: int) -> str:
    """An agent's name, or its number."""
    return str(agent) if document.names is None else str(document.names[agent])


def shortened(words: Sequence[str], separator: str, left: str = "; {} more") -> str:
    """The first of some texts, and how many are left."""
    more = len(words) - MOST_ROWS
    return separator.join(words[:MOST_ROWS]) + (left.format(more) if more > 0 else "")


# What all say -----------------------------------------------------------------------------------

NAMES, PROBLEM, NOTES = entries(
    names=entry(
        list[str] | None, "what the agents are called", "problem.network.names", optional=True
    ),
    problem=entry(str, get="problem.name"),
    notes=entry(list[str], label=NOTE),
)


# Certificates -----------------------------------------------------------------------------------

CERTIFICATE = Table(
    "CertificateDocument",
    "How far a design may be from the best: its value, a bound on every value, their gap.",
    entries(
        value=entry(NUMBER),
        bound=entry(NUMBER),
        gap=entry(NUMBER),
        sense=entry(str, "maximise or minimise"),
        kind=entry(str, "exact, certified, rounded or local: what the bound rests on"),
    ),
)
_KINDS = {
    "exact": "exact",
    "certified": "certified",
    "rounded": "up to rounding",
    "local": "a local search",
}


def certificate_words(certificate: Any, _: Any = None, *, of_mixing: bool = False) -> str | None:
    """A value beside what no design can pass; None without a certificate."""
    if certificate is None:
        return None
    kind, value = _KINDS[certificate.kind], f"{certificate.value:.9g}"
    if certificate.bound is None:
        return f"{value}, no bound known ({kind})"
    others = f"any {of_this_v(certificate)}" if of_mixing else "any design"
    bound = f"{side(certificate)} {certificate.bound:.9g}"
    return f"{value}; {others}: {bound} (gap {certificate.gap:.2g}, {kind})"


def of_this_v(certificate: Any) -> str:
    """Of which W the mixing is bounded: a local search, on directed graphs, bounds that of all."""
    return f"{'' if certificate.kind == 'local' else 'reversible '}W with this v"


def side(certificate: Any) -> str:
    """On which side of the bound every value lies."""
    return "at most" if certificate.sense == "maximise" else "at least"


# Rounds -----------------------------------------------------------------------------------------

ROUNDS = table_of(
    Sizes,
    "RoundsDocument",
    "Rounds after which some agent errs with probability at most delta.",
    without="printed repaired printed_p2",
    changed={"chernoff": {"meaning": "proved to be enough, up to rounding"}},
)
SIMULATED_ROUNDS = Table(
    "SimulatedRoundsDocument",
    "The number of rounds that simulated runs needed, with its confidence limits.",
    entries(
        rounds=entry(int | None),
        lower=entry(int | None),
        upper=entry(int | None),
        replicates=entry(Rounds, kind="given"),
    ),
    kind="measured",
)


def rounds_words(samples: Any, _: Any = None) -> str:
    """Both certified ends, or else the number that Chernoff's bound says is enough."""
    return interval(samples.certified) if samples.certified else rounds(samples.chernoff)


def _certified_words(samples: Any, _: Any) -> str | None:
    """Both certified ends, or else up to which number they lie by Chernoff's bound."""
    if samples is None or (samples.certified is None and samples.chernoff is None):
        return None
    return ("" if samples.certified else "to ") + rounds_words(samples)


def certified_ends(path: str, **more: Any) -> Quantity:
    """Both ends of an enclosure of rounds, there at `path`; null where there is none."""

    def get(source: Any) -> Any:
        size = attrgetter(path)(source)
        return None if size is None else both_ends(size)

    return entry(Interval | None, get=get, kind="certified", **more)


# Networks compared ------------------------------------------------------------------------------


def _shown(label: str, short: str, **more: Any) -> dict[str, Any]:
    """What a quantity is called, wherever it stands."""
    return {"label": label, "short": short, **more}


_NATS = "nats a round"
K = _shown("learning rate K", "rate K", column="K", unit=_NATS, fact="Rate K")
E = _shown("error exponent E", "exponent E", column="E", unit=_NATS, fact="Exponent E")
MODULUS = _shown("subdominant modulus", "slem", column="modulus", fact="Subdominant modulus")
LIMIT = _shown("limit of the error", "limit of the error")
CONSTANT = _shown(
    "error c/n with c", "error, times n", fact=lambda c, _: Fact("Error", f"{number(c)}/n")
)
_ENOUGH: dict[str, Any] = {"column": "certified", "words": _certified_words}


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkRow(Value):
    """One network of a comparison, for finitely many hypotheses.

    `rate` is that of the target against its strongest rival, min_θ Σ_j v_j I_j; not positive if
    the network settles on another hypothesis, and then there is nothing else to say of it.
    """

    network: Network
    rate: float = quantity(NUMBER, "K in nats a round, of the target", older=None, **K)
    error_exponent: float | None = quantity(
        NUMBER, "E in nats a round", start=None, older=None, **E
    )
    slem: float = quantity(NUMBER, "subdominant modulus", older=None, **MODULUS)
    samples: Sizes | None = quantity(ROUNDS, start=None, may_lack=True, older=None, **_ENOUGH)
    simulated: SimulatedSampleSize | None = quantity(
        SIMULATED_ROUNDS,
        start=None,
        may_lack=True,
        older=None,
        column="simulated",
        words=lambda value, _: value and rounds(value.rounds),
    )
    settles_on: str = quantity(str, older="")


FINITE_ROW = table_of(NetworkRow, "BaselineRow", "A network that the design is compared with.")


def _settled(row: Any) -> str:
    return ", ".join(row.problem.model.hypotheses[m] for m in row.rate.reference)


CHANGING_ROW = Table(
    "ChangingRow",
    "One network that changes, of a comparison.",
    entries(
        rate=entry(NUMBER, get="rate.rate", **K),
        settles_on=entry(str, get=_settled, older="", short="settles on"),
        total_influence=entry(NUMBER, get="influence.total"),
        error_exponent=entry(NUMBER, get=lambda a: a.exponent and a.exponent.exponent, **E),
        mean_slem=entry(
            NUMBER,
            "subdominant modulus of what a round does on average",
            lambda analysis: mean_slem(analysis.problem.network),
            older=None,
            label="subdominant modulus, mean",
            column="modulus",
        ),
        samples=entry(ROUNDS, get="sizes", **_ENOUGH),
    ),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionRow(Value):
    """One network of a comparison, for a regression."""

    limit: float = quantity(NUMBER, "of the excess error", column="limit", **LIMIT)
    excess_error_constant: float = quantity(
        NUMBER, "c of the excess error c/n", column="c of c/n", **CONSTANT
    )
    slem: float = quantity(NUMBER, "subdominant modulus", **MODULUS)


REGRESSION_ROW = table_of(
    RegressionRow, "RegressionRow", "One network of a comparison, for a regression."
)


# Outcomes and records ---------------------------------------------------------------------------


def form_of(value: Any, forms: Mapping[str, Table]) -> Table:
    """The table of a JSON object, or of a document: by a key that only it has, else that of ""."""
    keys = value if isinstance(value, Mapping) else vars(value)
    return next(table for key, table in forms.items() if not key or key in keys)


class ProblemRecord(Document):
    """What a design or a placement leaves on disk: problem, request and result."""

    forms: ClassVar[Mapping[str, Table]]
    """Tables that the result may be of; see `form_of`."""

    title: str
    specification: dict[str, Any] | None = Field(description="the problem's file, if it has one")
    seed: int = Field(ge=0)
    delta: float = Field(gt=0, lt=1)
    result: Any

    @field_validator("result", mode="before")
    @classmethod
    def _read(cls, result: Any) -> Any:
        return form_of(result, cls.forms).read(result) if isinstance(result, Mapping) else result

    @field_serializer("result", mode="wrap")
    def _kept(self, result: Any, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Not where it is, so that it can be moved, nor what follows from the rest."""
        passing = ("record", "written", "recommended")
        return {key: value for key, value in write(result).items() if key not in passing}


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome(Result, ABC):
    """What a design or a placement came to.

    Attributes
    ----------
    problem, request
        What it was asked of, and what was asked.
    remarks
        What is to be said of it as a whole, one sentence each.
    record_path
        Where it is on disk; None if it left no record.
    """

    problem: AnyProblem
    request: Any
    remarks: tuple[str, ...] = ()
    record_path: Path | None = None

    @property
    def failed(self) -> bool:
        """Whether a solver gave up on the way; a search always ends with something."""
        return False

    def remarked(self, *remarks: str, **changes: Any) -> Self:
        """The same with remarks before its own, and with other changes."""
        return replace(self, remarks=(*remarks, *self.remarks), **changes)

    @abstractmethod
    def record(self) -> ProblemRecord:
        """What is left on disk."""

    def recorded(self) -> dict[str, Any]:
        """What every record says."""
        specification = self.problem.specification
        return {
            "title": self.problem.title,
            "specification": None if specification is None else specification.document(),
            "seed": self.request.seed,
            "delta": self.request.delta,
            "result": self.document(),
        }
