"""What a network learns, and how fast: the numbers, their names, their back end in doubles.

Rates and exponents are in nats a round; the wrong hypotheses go by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import Field

from peerbayes.figures.wording import Fact, number
from peerbayes.quantities.numbers import IN_DOUBLES, PROVED, NumberTypes
from peerbayes.quantities.quantity import Quantity, Table
from peerbayes.quantities.showing import several, text
from theory import FiniteModel, LearningRate
from theory.validation import FloatArray
from theory.values import Value

Names = list[str]
Pair = Annotated[list[str], Field(min_length=2, max_length=2)]


@dataclass(frozen=True, eq=False)
class Learnt(Value):
    """What is learnt, in numbers of some arithmetic.

    Attributes
    ----------
    reference, is_compromise
        What the network settles on, and whether that is a compromise, because no hypothesis is
        best for every agent; None: not decided.
    rate, binding_hypothesis, rates
        K, the hypothesis that binds it, and the rate of each wrong one.
    error_exponent, binding_for_exponent, exponents
        The same of E.
    divergences
        I_j of each wrong hypothesis, agent by agent.
    ambiguous_pairs
        Hypotheses that no agent tells apart.
    batch
        Observations a round, agent by agent; None where all are 1.
    log_ratio_bound
        C = log(L/α); None in doubles, and where likelihoods have no bound.
    error_exponent_standard_error
        Of an exponent that is an estimate; 0 where it is exact.
    notes
        Why a number is missing, or how it was computed.
    """

    reference: tuple[str, ...]
    is_compromise: bool | None
    rate: Any
    binding_hypothesis: str | None
    rates: Mapping[str, Any]
    error_exponent: Any
    binding_for_exponent: str | None
    exponents: Mapping[str, Any]
    divergences: Mapping[str, Any]
    ambiguous_pairs: tuple[tuple[str, str], ...]
    batch: tuple[int, ...] | None = None
    log_ratio_bound: Any = None
    error_exponent_standard_error: float | None = None
    notes: tuple[str, ...] = ()


class Exponent(Protocol):
    """An error exponent, and the hypothesis that binds it."""

    @property
    def exponent(self) -> float:
        """E."""

    @property
    def binding(self) -> int | None:
        """The hypothesis with the least exponent."""

    @property
    def exponents(self) -> FloatArray:
        """By hypothesis."""


def in_doubles(
    model: FiniteModel,
    rate: LearningRate,
    exponent: Exponent | None,
    *,
    standard_error: float | None = None,
) -> Learnt:
    """Rates and exponents in double precision; without an exponent, None stands for each.

    `standard_error` is that of an exponent that is an estimate.
    """
    names = model.hypotheses
    wrong = [m for m in range(len(names)) if m not in rate.reference]
    information = model.information(rate.reference[0])
    return Learnt(
        reference=tuple(names[m] for m in rate.reference),
        is_compromise=rate.is_compromise,
        rate=rate.rate,
        binding_hypothesis=name_of(names, rate.binding),
        rates={names[m]: float(rate.rates[m]) for m in wrong},
        error_exponent=None if exponent is None else exponent.exponent,
        binding_for_exponent=None if exponent is None else name_of(names, exponent.binding),
        exponents={
            names[m]: None if exponent is None else float(exponent.exponents[m]) for m in wrong
        },
        divergences={names[m]: information[:, m] for m in wrong},
        ambiguous_pairs=tuple((names[a], names[b]) for a, b in model.ambiguous_pairs),
        batch=batches_of(model),
        error_exponent_standard_error=standard_error,
    )


def batches_of(model: FiniteModel) -> tuple[int, ...] | None:
    """How many observations each agent draws a round; None where each draws one."""
    drawn = model.batches
    return tuple(drawn.tolist()) if (drawn > 1).any() else None


def name_of(names: Sequence[str], index: int | None) -> str | None:
    """The name of a hypothesis by its number; None for none."""
    return None if index is None else names[index]


# What is said of them ---------------------------------------------------------------------------


def reference_of(document: Any) -> list[str]:
    """What the network settles on: the optimal hypotheses, or the compromise."""
    return document.optimal_hypotheses or document.compromise or []


def against(unit: str, name: str | None) -> str:
    """A unit on a page, and the hypothesis that binds where there is one."""
    return unit if name is None else f"{unit}, bound by “{name}”"


BATCH = Quantity(
    "batch",
    list[int] | None,
    lambda learnt: learnt.batch,
    label="observations a round",
    words=lambda value, _: several(value),
    meaning="observations a round, agent by agent; only where not all are 1",
    optional=True,
)


def _binds(value: str | None) -> str:
    return "" if value is None else f", bound by: {value}"


def _uncertain(document: Any) -> str:
    """What follows an exponent: nothing where it is exact, or where there is none."""
    error = getattr(document, "error_exponent_standard_error", 0)
    if error is None:
        return "" if document.error_exponent is None else " ± unknown"
    return f" ± {text(error)}" if error else ""


def _uncertain_on_a_page(document: Any) -> str:
    """What goes between an exponent and its unit."""
    error = getattr(document, "error_exponent_standard_error", 0)
    if error is None:
        return "" if document.error_exponent is None else "of unknown error, "
    return f"± {number(error, 2)} " if error else ""


def _alone(value: Any, _: Any) -> str:
    return text(value)


def _rate_words(value: Any, document: Any) -> str:
    return f"{text(value)} nats a round{_binds(document.binding_hypothesis)}"


def _exponent_words(value: Any, document: Any) -> str:
    bound = _binds(document.binding_for_exponent)
    return f"{text(value)}{_uncertain(document)} nats a round{bound}"


def _pairs(value: list[list[str]], _: Any) -> str | None:
    return "; ".join(" and ".join(pair) for pair in value) or None


def learning_table(
    name: str,
    meaning: str,
    types: NumberTypes,
    *more: Quantity,
    rate: str = "learning rate K",
) -> Table:
    """The quantities of learning in numbers of some arithmetic; `rate` is what K is called.

    Where numbers are proved, the hypotheses that bind them have lines of their own.
    """
    proved = types is PROVED
    return Table(
        name,
        meaning,
        (
            BATCH,
            Quantity(
                "optimal_hypotheses",
                Names,
                lambda learnt: () if learnt.is_compromise else learnt.reference,
                label=lambda d: (
                    "optimal hypotheses" if d.optimal_hypotheses else "network compromise"
                ),
                words=lambda _, d: ", ".join(reference_of(d) or ["not decided"]),
                short="settles on",
            ),
            Quantity(
                "compromise",
                Names | None,
                lambda learnt: learnt.reference if learnt.is_compromise else None,
                short="settles on",
                meaning="where no hypothesis is best for every agent: what the network settles on",
                default=None,
            ),
            Quantity(
                "globally_learnable",
                bool | None,
                lambda learnt: None if learnt.is_compromise is None else not learnt.is_compromise,
                meaning="null: not decided",
            ),
            Quantity(
                "rate",
                types.number,
                lambda learnt: learnt.rate,
                label=rate,
                unit="nats a round",
                words=_alone if proved else _rate_words,
                short="rate K",
                fact=lambda value, d: Fact(
                    rate[0].upper() + rate[1:],
                    number(value),
                    against("nats per round", d.binding_hypothesis),
                ),
                kind=types.kind,
                meaning="K; null where there is nothing to reject",
            ),
            Quantity(
                "binding_hypothesis",
                str | None,
                lambda learnt: learnt.binding_hypothesis,
                label="  bound by" if proved else None,
                short="bound by",
            ),
            Quantity(
                "rates",
                dict.__class_getitem__((str, types.number)),
                lambda learnt: learnt.rates,
                unit="nats a round",
                column="rate",
                kind=types.kind,
            ),
            Quantity(
                "error_exponent",
                types.number,
                lambda learnt: learnt.error_exponent,
                label="error exponent E",
                unit="nats a round",
                words=_alone if proved else _exponent_words,
                short="exponent E",
                fact=lambda value, d: Fact(
                    "Error exponent E",
                    number(value),
                    _uncertain_on_a_page(d) + against("per round", d.binding_for_exponent),
                ),
                kind=types.kind,
            ),
            Quantity(
                "binding_for_exponent",
                str | None,
                lambda learnt: learnt.binding_for_exponent,
                label="  bound by " if proved else None,
            ),
            Quantity(
                "exponents",
                dict.__class_getitem__((str, types.number)),
                lambda learnt: learnt.exponents,
                unit="nats a round",
                column="exponent",
                kind=types.kind,
                default=dict,
            ),
            Quantity(
                "divergences",
                dict.__class_getitem__((str, types.numbers)),
                lambda learnt: learnt.divergences,
                unit="nats",
                kind=types.kind,
                meaning="I_j of each hypothesis, agent by agent",
            ),
            Quantity(
                "ambiguous_pairs",
                list[Pair],
                lambda learnt: learnt.ambiguous_pairs,
                label="nobody can tell apart",
                words=_pairs,
                meaning="hypotheses that no agent tells apart",
            ),
            *more,
        ),
        rows=("Rejection of hypotheses, nats a round", "hypothesis"),
    )


LEARNING = learning_table(
    "LearningDocument", "What is learnt, and how fast, in doubles.", IN_DOUBLES
)
PROVED_LEARNING = learning_table(
    "ProvedLearningDocument",
    "What is learnt, and how fast: each number proved.",
    PROVED,
    Quantity(
        "log_ratio_bound",
        PROVED.number,
        lambda learnt: learnt.log_ratio_bound,
        kind="proved",
        meaning="C = log(L/alpha); null if likelihoods have no bound",
    ),
)
