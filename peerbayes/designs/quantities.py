"""The numbers of designs, each declared once, whatever the kind of problem; and their records.

A design is a `FINITE_DESIGN`, a `CHANGING_DESIGN` or a `REGRESSION_DESIGN`, by the kind of its
problem, or a `NEXT_EDGE`, by its objective. It holds rows of the networks compared by their names,
the design first: what is said of the design itself is what is said of every network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from peerbayes.designs.details import DETAILS, LEARNABILITY
from peerbayes.designs.shared import (
    CERTIFICATE,
    CHANGING_ROW,
    FINITE_ROW,
    MODULUS,
    NAMES,
    NOTES,
    PROBLEM,
    REGRESSION_ROW,
    Agent,
    E,
    K,
    ProblemRecord,
    certificate_words,
    certified_ends,
    shortened,
)
from peerbayes.designs.weight_text import LinksDocument, weights_document
from peerbayes.documents import Document, GraphDocument, Numbers
from peerbayes.figures.wording import Fact, count, listed
from peerbayes.quantities.numbers import NUMBER, NUMBERS, ROUNDS
from peerbayes.quantities.quantity import Quantity, Table, entries, entry
from peerbayes.tables import interval, rounds

if TYPE_CHECKING:
    from theory.design import EdgeEffect

DESIGNED = "designed"
"""The design's own name among the networks compared."""

# What every design says -------------------------------------------------------------------------

CERTIFIED, BOUNDED = "certified rounds", "rounds by Chernoff's bound"
RECOMMENDATION = Table(
    "Recommendation",
    "Which of the networks compared is best for what the problem is about.",
    entries(
        network=entry(str, "its name: 'designed', or one of the baselines"),
        by=entry(
            Literal["certified rounds", "rounds by Chernoff's bound", "limit and c of the error"]
        ),
        value=entry(NUMBER, "of the network recommended: its rounds, or the limit"),
        designed=entry(NUMBER, "the same of the design; null if nothing is known"),
        sentence=entry(str),
    ),
)


def _certificate(value: Any, document: Any) -> str | None:
    return certificate_words(value, of_mixing=document.objective == "mixing")


def _mixing(value: Any, document: Any) -> str | None:
    """What the weights mix like, where that is not the objective."""
    return None if document.objective == "mixing" else certificate_words(value, of_mixing=True)


def _every(method: str, certificate: str) -> tuple[Quantity, ...]:
    """What every design says; both paths lead to how weights were found, and what proves them."""
    return (
        NAMES,
        PROBLEM,
        *entries(
            objective=entry(
                Literal["rate", "exponent", "samples", "mixing", "trade-off", "bytes"],
                get="request.objective",
                label="objective",
                short="objective",
                fact=lambda value, _: Fact("Objective", value),
            ),
            method=entry(str, "how the weights were found", method, label="weights by"),
            certificate=entry(
                CERTIFICATE, get=certificate, may_lack=True, label="certificate", words=_certificate
            ),
            recommended=entry(
                RECOMMENDATION,
                "null if no network is proved of",
                lambda _: None,  # follows from the rest: see `DesignedWeights.document`
                may_lack=True,
                older=None,
            ),
            failed=entry(bool, "whether a solver gave up"),
            stopped_by_time_budget=entry(bool, get="stopped", older=False),
            record=entry(str | None, "file of the record", "record_path", older=None),
            written=entry(
                str | None,
                "problem file with the designed weights",
                "written_path",
                older=None,
                label="written to",
                words=lambda value, _: value,
            ),
        ),
        NOTES,
    )


_V: dict[str, Any] = {"label": "influence of each agent v"}
_TARGET = entries(
    target=entry(
        str,
        "hypothesis to settle on",
        lambda design: design.problem.model.hypotheses[design.target],
        label="to settle on",
        short="target",
    )
)
_ONE_NETWORK = entries(
    stationary_distribution=entry(
        NUMBERS, get="found.weights.expected.stationary_distribution", short="v", **_V
    ),
    weights=entry(
        list[list[float]] | LinksDocument,
        get=lambda design: weights_document(design.found.weights.network.weights),
    ),
    mixing=entry(
        CERTIFICATE, get="found.weights.certificate", may_lack=True, label="mixing", words=_mixing
    ),
)


# Designs ----------------------------------------------------------------------------------------


def _of(path: str, table: Table, *, without: str = "") -> tuple[Quantity, ...]:
    """The quantities of something that lies in a design, as if they were its own."""
    get = entry(Any, get=path).of

    def lifted(q: Quantity) -> Quantity:
        return replace(q, get=lambda design: q.of(get(design)))

    return tuple(lifted(q) for q in table.quantities if q.key != without)


def _baselines(row: Table) -> tuple[Quantity, ...]:
    """The networks that a design is compared with, by their names."""

    def get(design: Any) -> dict[str, Any]:
        return {name: row(entry) for name, entry in design.rows.items() if name != DESIGNED}

    return entries(baselines=entry(row.by_name, get=get, table=row))


def _binding(value: Sequence[str], document: Any) -> str | None:
    shares = document.multipliers or {}
    names = [f"{name} ({shares[name]:.3g})" if name in shares else name for name in value]
    return shortened(names, ", ", ", and {} more") or None


FINITE_DESIGN = Table(
    "FiniteDesignDocument",
    "A design for finitely many hypotheses.",
    (
        *_of("designed", FINITE_ROW, without="settles_on"),
        *_every("found.weights.method", "found.certificate"),
        *_of("found.details", DETAILS),
        *_TARGET,
        *_ONE_NETWORK,
        *entries(
            binding=entry(
                list[str],
                label="binding",
                words=_binding,
                fact=lambda value, _: Fact("Rejected last", listed(value[:6])) if value else None,
            ),
            multipliers=entry(dict[str, float] | None, get=lambda d: d.found.binding or None),
        ),
        *_baselines(FINITE_ROW),
        *entries(learnability=entry(LEARNABILITY, may_lack=True, older=None)),
    ),
)
CHANGING_DESIGN = Table(
    "ChangingDesignDocument",
    "A design for a network that changes.",
    (
        *_of("designed", CHANGING_ROW),
        *_every("method", "certificate"),
        *_TARGET,
        *entries(
            influence=entry(NUMBERS, get="designed.influence.values", **_V),
            weights=entry(
                list[LinksDocument],
                "of each phase; one if only links change",
                lambda design: [LinksDocument.of(weights) for weights in design.matrices],
            ),
        ),
        *_baselines(CHANGING_ROW),
    ),
)
REGRESSION_DESIGN = Table(
    "RegressionDesignDocument",
    "A design for a regression.",
    (
        *_of("designed", REGRESSION_ROW),
        *_every("found.weights.method", "found.certificate"),
        *_ONE_NETWORK,
        *_baselines(REGRESSION_ROW),
    ),
)

# The next edge ----------------------------------------------------------------------------------

Edge = tuple[Agent, Agent]
# The best candidates of a large graph are listed.
_LISTED = 50


class NamedEffect(NamedTuple):
    """What one edge does, and the names of the hypotheses."""

    effect: EdgeEffect
    names: Sequence[str]

    @property
    def binding(self) -> str | None:
        """The hypothesis that is rejected last; None if there is none."""
        index = self.effect.binding
        return None if index is None else str(self.names[index])


EFFECT = Table(
    "EffectDocument",
    "A network with one edge more or less.",
    entries(
        edge=entry(Edge | None, "null: the network as it is", "effect.edge", older=None),
        rate=entry(NUMBER, get="effect.rate", **K),
        error_exponent=entry(NUMBER, get="effect.exponent", **E),
        slem=entry(NUMBER, get="effect.slem", **MODULUS),
        chernoff=entry(
            ROUNDS,
            get="effect.samples",
            column="Chernoff",
            words=lambda value, _: rounds(value),
            kind="upper",
        ),
        certified=certified_ends(
            "effect.certified", column="certified", words=lambda value, _: interval(value)
        ),
        settles_on=entry(str, get=lambda named: named.names[named.effect.reference]),
        binding=entry(str | None),
    ),
)


def _effects(path: str) -> Quantity:
    """What each edge of a list does, best first."""
    listed = entry(Any, get=path).of

    def get(result: Any) -> list[NamedEffect]:
        names = result.problem.model.hypotheses
        return [NamedEffect(effect, names) for effect in listed(result)[:_LISTED]]

    return entry(EFFECT, get=get, many=True)


NEXT_EDGE = Table(
    "NextEdgeDocument",
    "Which edge to add, and which are least missed; best first.",
    (
        NAMES,
        PROBLEM,
        *entries(
            objective=entry(Literal["next-edge"], get=lambda _: "next-edge"),
            rule=entry(str, get="added.rule", short="rule"),
            delta=entry(Annotated[float, Field(gt=0, lt=1)], get="request.delta"),
            base=entry(EFFECT, get=lambda r: NamedEffect(r.added.base, r.problem.model.hypotheses)),
            added=_effects("added.ranked"),
            removed=_effects("removed.ranked"),
            bridges=entry(
                list[Edge],
                get=lambda result: [(int(a), int(b)) for a, b in result.removed.bridges],
                fact=lambda value, _: Fact(
                    "Bridges", count(len(value)), "without one the network falls apart"
                ),
            ),
            candidates=entry(
                int,
                get=lambda r: len(r.added.ranked) + r.added.candidates_skipped,
                fact=lambda value, _: Fact("Candidates", count(value)),
            ),
            candidates_skipped=entry(int, get="added.candidates_skipped"),
            stopped_by_time_budget=entry(bool, get="stopped", older=False),
            record=entry(str | None, get="record_path", older=None),
        ),
        NOTES,
    ),
)

# Records ----------------------------------------------------------------------------------------

DESIGNS = {
    "added": NEXT_EDGE,
    "influence": CHANGING_DESIGN,
    "excess_error_constant": REGRESSION_DESIGN,
    "": FINITE_DESIGN,
}


class CurveDocument(Document):
    """How belief grew in simulated runs on one network."""

    name: str
    hypothesis: str = Field(description="rejected last")
    rate: float = Field(description="predicted slope, nats a round")
    rounds: list[int]
    mean: list[float]
    standard_error: Numbers
    failures: list[float] = Field(description="share of runs in which some agent was wrong")


class DesignRecord(ProblemRecord):
    """What `design` leaves on disk."""

    forms = DESIGNS

    before: GraphDocument | None = None
    after: GraphDocument | None = None
    curves: list[CurveDocument] = Field(default_factory=list)
