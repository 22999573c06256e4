"""What a network learns, and how fast: the numbers, their names, their back end in doubles.

Rates and exponents are in nats a round; the wrong hypotheses go by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import Field

from peerbayes.documents import Number
from peerbayes.figures.wording import Fact, number
from peerbayes.quantities.numbers import NAMED, NAMED_LISTS, NUMBER, PROVED
from peerbayes.quantities.quantity import quantity, table_of
from peerbayes.quantities.showing import text
from theory.showing import Value
from theory.validation import FloatArray

if TYPE_CHECKING:
    from theory import FiniteModel, LearningRate

_Pair = Annotated[list[str], Field(min_length=2, max_length=2)]
_Names = list[str] | None
_NATS = "nats a round"


# Words of some quantities -----------------------------------------------------------------------


def reference_of(document: Any) -> list[str]:
    """What the network settles on: the optimal hypotheses, or the compromise."""
    return document.optimal_hypotheses or document.compromise or []


def _settles(document: Any) -> str:
    return "optimal hypotheses" if document.optimal_hypotheses else "network compromise"


def _binds(value: str | None) -> str:
    return "" if value is None else f", bound by: {value}"


def _rate_words(value: Any, document: Any) -> str:
    return f"{text(value)} {_NATS}{_binds(document.binding_hypothesis)}"


def _exponent_words(value: Any, document: Any) -> str:
    error = getattr(document, "error_exponent_standard_error", 0)
    if error is None:
        uncertain = "" if value is None else " ± unknown"
    else:
        uncertain = f" ± {text(error)}" if error else ""
    return f"{text(value)}{uncertain} {_NATS}{_binds(document.binding_for_exponent)}"


def _against(unit: str, name: str | None) -> str:
    return unit if name is None else f"{unit}, bound by “{name}”"


def _rate_fact(value: Any, document: Any) -> Fact:
    words = _against("nats per round", document.binding_hypothesis)
    return Fact("Learning rate K", number(value), words)


def _exponent_fact(value: Any, document: Any) -> Fact:
    error = getattr(document, "error_exponent_standard_error", 0)
    if error is None:
        uncertain = "" if value is None else "of unknown error, "
    else:
        uncertain = f"± {number(error, 2)} " if error else ""
    words = _against("per round", document.binding_for_exponent)
    return Fact("Error exponent E", number(value), uncertain + words)


def _pairs(value: list[list[str]], _: Any) -> str | None:
    return "; ".join(" and ".join(pair) for pair in value) or None


# The quantities ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Learnt(Value):
    """What is learnt, in numbers of some arithmetic; `notes` say why one is missing."""

    batch: Sequence[int] | None = quantity(
        list[int] | None,
        "observations a round, agent by agent; only where not all are 1",
        label="observations a round",
        kind="given",
        start=None,
        optional=True,
    )
    optimal_hypotheses: tuple[str, ...] = quantity(
        list[str],
        label=_settles,
        words=lambda _, document: ", ".join(reference_of(document) or ["not decided"]),
        short="settles on",
    )
    compromise: tuple[str, ...] | None = quantity(
        _Names,
        "where no hypothesis is best for every agent: what the network settles on",
        short="settles on",
        older=None,
    )
    globally_learnable: bool | None = quantity(bool | None, "null: not decided")
    rate: Any = quantity(
        NUMBER,
        "K; null where there is nothing to reject",
        label="learning rate K",
        unit=_NATS,
        words=_rate_words,
        short="rate K",
        fact=_rate_fact,
    )
    binding_hypothesis: str | None = quantity(str | None, short="bound by")
    rates: Mapping[str, Any] = quantity(NAMED, unit=_NATS, column="rate")
    error_exponent: Any = quantity(
        NUMBER,
        label="error exponent E",
        unit=_NATS,
        words=_exponent_words,
        short="exponent E",
        fact=_exponent_fact,
    )
    binding_for_exponent: str | None = quantity(str | None)
    exponents: Mapping[str, Any] = quantity(NAMED, unit=_NATS, column="exponent", older=dict)
    divergences: Mapping[str, Any] = quantity(
        NAMED_LISTS, "I_j of each hypothesis, agent by agent", unit="nats"
    )
    ambiguous_pairs: tuple[tuple[str, str], ...] = quantity(
        list[_Pair],
        "hypotheses that no agent tells apart",
        label="nobody can tell apart",
        words=_pairs,
    )
    log_ratio_bound: Any = quantity(
        NUMBER, "C = log(L/alpha); null if likelihoods have no bound", start=None
    )
    error_exponent_standard_error: float | None = quantity(
        Number,
        "0 where the exponent is exact, null where it is not known",
        kind="estimate",
        start=None,
        older=None,
    )
    notes: tuple[str, ...] = ()


_REJECTION = ("Rejection of hypotheses, nats a round", "hypothesis")
LEARNING = table_of(
    Learnt,
    "LearningDocument",
    "What is learnt, and how fast, in doubles.",
    without="log_ratio_bound error_exponent_standard_error",
    rows=_REJECTION,
)
CHANGING_LEARNING = table_of(
    Learnt,
    "ChangingLearningDocument",
    "What is learnt, and how fast; the exponent may be an estimate.",
    without="log_ratio_bound",
    changed={
        "rate": {
            "label": "learning rate",
            "fact": lambda value, d: replace(_rate_fact(value, d), name="Learning rate"),
        }
    },
    rows=_REJECTION,
)
# Where numbers are proved, the hypotheses that bind them have lines of their own.
PROVED_LEARNING = table_of(
    Learnt,
    "ProvedLearningDocument",
    "What is learnt, and how fast: each number proved.",
    without="error_exponent_standard_error",
    changed={
        "rate": {"words": lambda value, _: text(value)},
        "binding_hypothesis": {"label": "  bound by"},
        "error_exponent": {"words": lambda value, _: text(value)},
        "binding_for_exponent": {"label": "  bound by "},
    },
    numbers=PROVED,
    kind="proved",
    rows=_REJECTION,
)


# In doubles -------------------------------------------------------------------------------------


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
    values = None if exponent is None else exponent.exponents
    return Learnt(
        **settled(
            names,
            rate.reference,
            is_compromise=rate.is_compromise,
            undecided=rate.undecided,
        ),
        rate=rate.rate,
        binding_hypothesis=name_of(names, rate.binding),
        rates={names[m]: float(rate.rates[m]) for m in wrong},
        error_exponent=None if exponent is None else exponent.exponent,
        binding_for_exponent=None if exponent is None else name_of(names, exponent.binding),
        exponents={names[m]: None if values is None else float(values[m]) for m in wrong},
        divergences={names[m]: information[:, m] for m in wrong},
        ambiguous_pairs=tuple((names[a], names[b]) for a, b in model.ambiguous_pairs),
        batch=batches_of(model),
        error_exponent_standard_error=standard_error,
    )


def settled(
    names: Sequence[str],
    reference: Sequence[int],
    *,
    is_compromise: bool | None,
    undecided: Sequence[int] = (),
) -> dict[str, Any]:
    """What a network settles on, as `Learnt` has it, with notes on it, a sentence each.

    Parameters
    ----------
    names
        All hypotheses.
    reference
        Those that the network settles on, by number.
    is_compromise
        Whether no hypothesis is best for every agent; None if that is not decided.
    undecided
        Those of the reference that double precision does not tell from its first.
    """
    best = tuple(names[m] for m in reference)
    notes = []
    if is_compromise:
        notes.append(
            "no hypothesis is best for every agent: rates are those of the network compromise, "
            + ", ".join(best)
        )
    if undecided:
        notes.append(
            f"double precision does not tell whether these are as good as {best[0]}; they count "
            "as ties, and no bound is given (--certify decides): "
            + ", ".join(names[m] for m in undecided)
        )
    if len(reference) == len(names):
        notes.append("every hypothesis is optimal: there is no rate and nothing to reject")
    return {
        "optimal_hypotheses": () if is_compromise else best,
        "compromise": best if is_compromise else None,
        "globally_learnable": None if is_compromise is None else not is_compromise,
        "notes": tuple(notes),
    }


def batches_of(model: FiniteModel) -> tuple[int, ...] | None:
    """How many observations each agent draws a round; None where each draws one."""
    drawn = model.batches
    return tuple(drawn.tolist()) if (drawn > 1).any() else None


def name_of(names: Sequence[str], index: int | None) -> str | None:
    """The name of a hypothesis by its number; None for none."""
    return None if index is None else names[index]
