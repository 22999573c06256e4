"""What only some objectives of a design say, and what no weights can mend: their quantities.

A search leaves in `Found.details`, by the keys of `DETAILS`, what the tables here are of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from peerbayes.designs.shared import MODULUS, Agents, E, K, certified_ends, rounds_words
from peerbayes.documents import MaybeInterval, Rounds
from peerbayes.quantities.messages import MESSAGES, MessageCosts
from peerbayes.quantities.numbers import NUMBER, NUMBERS
from peerbayes.quantities.quantity import Quantity, Table, entries, entry, quantity, table_of
from peerbayes.tables import rounds
from theory.showing import Value

if TYPE_CHECKING:
    from theory.design import OptimalRate, SampleStart, TradePoint
    from theory.learnability import Learnability
    from theory.messages import CompressedLearning
    from theory.numbers import Enclosure

AGENTS_OF_RATE = Table(
    "AgentsOfRate",
    "What each agent means for the largest rate.",
    entries(
        marginal_value=entry(NUMBERS, "nats a round and unit of influence", "marginal_values"),
        floor_cost=entry(NUMBERS, "nats a round that the agent's floor costs", "floor_costs"),
        silent=entry(Agents, "held at the smallest influence allowed"),
    ),
)
BOUNDARY = Table(
    "BoundaryDocument",
    "The largest rate without a floor on influence.",
    entries(
        rate=entry(NUMBER, get="boundary_rate"),
        price=entry(NUMBER, "nats a round that a unit of the floor costs"),
    ),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactRate(Value):
    """The largest rate in exact arithmetic."""

    rate: str = quantity(str)
    enclosure: Enclosure = quantity(Any)
    stationary_distribution: tuple[Fraction, ...] = quantity(list[str])
    multipliers: Mapping[str, str] = quantity(dict[str, str])
    weights: tuple[tuple[Fraction, ...], ...] | None = quantity(
        list[list[str]] | None, "weights with exactly this stationary distribution", older=None
    )


EXACT_RATE = table_of(ExactRate, "ExactRate", str(ExactRate.__doc__), kind="proved")
START = Table(
    "StartDocument",
    "Where one search for the fewest rounds began, and what it came to.",
    entries(
        name=entry(str),
        chernoff=entry(Rounds | None, kind="upper"),
        certified=certified_ends("samples"),
        rate=entry(NUMBER, **K),
        error_exponent=entry(NUMBER, get="exponent", **E),
        slem=entry(NUMBER, **MODULUS),
    ),
)
TRADE_OFF_POINT = Table(
    "TradeOffPoint",
    "One point between the largest rate and the fastest mixing.",
    entries(
        share=entry(
            float,
            "of the largest rate that was asked for",
            column="share of the best K",
            words=lambda value, point: f"{value:.3g}" + " (dominated)" * (not point.efficient),
        ),
        rate=entry(float, **K),
        error_exponent=entry(NUMBER, get="exponent", **E),
        slem=entry(float, **MODULUS),
        slem_bound=entry(NUMBER, column="at least", kind="lower"),
        chernoff=entry(Rounds | None, kind="upper"),
        certified=certified_ends(
            "certified", column="rounds", words=lambda _, point: rounds_words(point)
        ),
        efficient=entry(bool, "whether no other point is better in both", "is_pareto"),
        stationary_distribution=entry(NUMBERS, get="network.stationary_distribution"),
    ),
    title="Rate against mixing",
)


def _priced(kind: Any, path: str, column: str, **more: Any) -> Quantity:
    """A quantity of the cheapest messages on a network: of a pair (name, messages or None)."""

    def get(pair: tuple[str, Any]) -> Any:
        value = None if pair[1] is None else attrgetter(path)(pair[1])
        return float(value) if isinstance(value, Fraction) else value

    return entry(kind, get=get, older=None, column=column, **more)


def _most(ends: Sequence[int] | None, _: Any) -> str | None:
    return None if ends is None else rounds(ends[1])


_Ends = MaybeInterval | None
PRICE = Table(
    "PriceDocument",
    "The cheapest messages that were found on one network; null where none are certified.",
    entries(
        network=entry(str, get=lambda pair: pair[0], column="network"),
        step=_priced(NUMBER, "quantiser.step", "step, nats"),
        mixing=_priced(NUMBER, "quantiser.mixing", "mixing"),
        levels=_priced(int | None, "quantiser.levels", "levels", words=lambda n, _: rounds(n)),
        certified_rounds=_priced(_Ends, "certified_rounds", "rounds", words=_most),
        certified_bytes=_priced(_Ends, "certified_bytes", "bytes", words=_most),
    ),
    title="Fewest certified bytes",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Details(Value):
    """What only some objectives say; None for all others."""

    agents: OptimalRate | None = quantity(AGENTS_OF_RATE, start=None, optional=True)
    boundary: OptimalRate | None = quantity(BOUNDARY, start=None, optional=True)
    is_unique: bool | None = quantity(bool | None, start=None, optional=True)
    exact: ExactRate | None = quantity(EXACT_RATE, start=None, optional=True)
    worst_case_exponent: float | None = quantity(NUMBER, start=None, optional=True)
    uniform_exponent: float | None = quantity(NUMBER, start=None, optional=True)
    starts: Sequence[SampleStart] | None = quantity(START, many=True, start=None, optional=True)
    best_for_influence: int | None = quantity(
        int | None,
        "rounds of the fastest weights for the best influence",
        start=None,
        optional=True,
    )
    trade_off: Sequence[TradePoint] | None = quantity(
        TRADE_OFF_POINT, many=True, start=None, optional=True
    )
    messages: MessageCosts | None = quantity(MESSAGES, "what to send", start=None, optional=True)
    prices: Sequence[tuple[str, CompressedLearning | None]] | None = quantity(
        PRICE,
        "the cheapest messages on each network compared",
        many=True,
        start=None,
        optional=True,
    )


DETAILS = table_of(Details, "ObjectiveDetails", "What only some objectives say.")

# Who matters ------------------------------------------------------------------------------------

FEWEST = Table(
    "FewestDocument",
    "As few agents as possible that together tell the hypotheses apart.",
    entries(
        agents=entry(Agents),
        size=entry(int),
        lower=entry(int, kind="lower"),
        proved=entry(bool, get="is_minimal"),
    ),
)
CHANGES_OF_RATES = Table(
    "ChangesOfRates",
    "Rates and exponents when one agent at a time is silent, or gone.",
    entries(
        rates=entry(NUMBERS, get=lambda pair: pair[0]),
        error_exponents=entry(NUMBERS, get=lambda pair: pair[1]),
    ),
)
DEPARTURES = Table(
    "DeparturesDocument",
    "What the network loses with each agent.",
    entries(
        silent=entry(CHANGES_OF_RATES, get=attrgetter("silent_rates", "silent_exponents")),
        removed=entry(CHANGES_OF_RATES, get=attrgetter("removed_rates", "removed_exponents")),
        critical=entry(Agents, "nothing is learnt without them"),
        cuts=entry(
            Agents,
            "the graph falls apart without them",
            lambda departures: [cut.agent for cut in departures.cuts],
        ),
    ),
)


def _pairs(known: Learnability) -> list[tuple[str, str]]:
    names = known.hypotheses
    return [(names[a], names[b]) for a, b in known.separation.unseparable_pairs]


LEARNABILITY = Table(
    "LearnabilityDocument",
    "Which hypotheses no weights can tell apart, and which agents matter.",
    entries(
        unseparable_pairs=entry(list[tuple[str, str]], get=_pairs),
        redundant_agents=entry(Agents, get="separation.redundant"),
        sufficient_agents=entry(FEWEST, get="sufficient"),
        sufficient_for_target=entry(FEWEST, may_lack=True),
        departures=entry(DEPARTURES, may_lack=True),
    ),
    title="What no weights can mend, and who matters",
)
