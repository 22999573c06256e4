"""What one objective of a design says more than others."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import (
    Field,
)

from peerbayes.designs.shared import Agents
from peerbayes.documents import (
    Document,
    Interval,
    MaybeInterval,
    Number,
    Numbers,
    Rounds,
)
from peerbayes.quantities.messages import MESSAGES
from theory.messages import CompressedLearning


class AgentsOfRate(Document):
    """What each agent means for the largest rate."""

    marginal_value: Numbers = Field(description="nats a round and unit of influence")
    floor_cost: Numbers = Field(description="nats a round that the agent's floor costs")
    silent: Agents = Field(description="held at the smallest influence allowed")


class BoundaryDocument(Document):
    """The largest rate without a floor on influence."""

    rate: Number
    price: Number = Field(description="nats a round that a unit of the floor costs")


class ExactRate(Document):
    """The largest rate in exact arithmetic."""

    rate: str
    enclosure: Any
    stationary_distribution: list[str]
    multipliers: dict[str, str]
    weights: list[list[str]] | None = Field(
        default=None, description="weights with exactly this stationary distribution"
    )


class StartDocument(Document):
    """Where one search for the fewest rounds began, and what it came to."""

    name: str
    chernoff: Rounds | None
    certified: Interval | None
    rate: Number
    error_exponent: Number
    slem: Number


class TradeOffPoint(Document):
    """One point between the largest rate and the fastest mixing."""

    share: float = Field(description="of the largest rate that was asked for")
    rate: float
    error_exponent: Number
    slem: float
    slem_bound: Number
    chernoff: Rounds | None
    certified: Interval | None
    efficient: bool = Field(description="whether no other point is better in both")
    stationary_distribution: Numbers


class PriceDocument(Document):
    """The cheapest messages that were found on one network; null where none are certified."""

    network: str
    step: Number = None
    mixing: Number = None
    levels: int | None = None
    certified_rounds: MaybeInterval | None = None
    certified_bytes: MaybeInterval | None = None

    @classmethod
    def of(cls, name: str, found: CompressedLearning | None) -> Self:
        """One line of a comparison."""
        if found is None:
            return cls(network=name)
        return cls(
            network=name,
            step=float(found.quantiser.step),
            mixing=float(found.quantiser.mixing),
            levels=found.quantiser.levels,
            certified_rounds=list(found.certified_rounds),
            certified_bytes=list(found.certified_bytes),
        )


class ObjectiveDetails(Document):
    """What only some objectives say."""

    left_out = frozenset(
        {"agents", "boundary", "is_unique", "exact", "worst_case_exponent", "uniform_exponent",
         "starts", "best_for_influence", "trade_off", "messages", "prices", "names"}
    )  # fmt: skip

    agents: AgentsOfRate | None = None
    boundary: BoundaryDocument | None = None
    is_unique: bool | None = None
    exact: ExactRate | None = None
    worst_case_exponent: Number = None
    uniform_exponent: Number = None
    starts: list[StartDocument] | None = None
    best_for_influence: int | None = Field(
        default=None, description="rounds of the fastest weights for the best influence"
    )
    trade_off: list[TradeOffPoint] | None = None
    messages: Annotated[Any, MESSAGES] | None = Field(default=None, description="what to send")
    prices: list[PriceDocument] | None = Field(
        default=None, description="the cheapest messages on each network compared"
    )
