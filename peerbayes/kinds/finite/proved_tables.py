"""Proved numbers as tables for people: fractions, expressions, and intervals.

An interval is written as its middle and a distance that covers both ends; an exact number with
more than a few signs is followed by its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from peerbayes.kinds.finite.documents import (
    ProvedAnalysisDocument,
    ProvedMessagesDocument,
    RoundsInterval,
)
from peerbayes.kinds.finite.tables import at_rounds_parts
from peerbayes.kinds.shared.learning_tables import (
    batches,
    indistinguishable,
    ladder_table,
    rejection_table,
    settled_on,
)
from peerbayes.kinds.shared.proved_documents import ExpressionDocument, Proved
from peerbayes.tables import facts_table, notes_text, rounds

# Longer expressions are left to --json.
_LONGEST = 44


def proved(value: Proved | None) -> str:
    """A proved number for people.

    >>> from peerbayes.kinds.shared.proved_documents import IntervalDocument
    >>> proved("9/25"), proved(None), proved(IntervalDocument(lower=0.25, upper=0.75))
    ('9/25', '-', '0.5 ± 3e-01')
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return _shortened(value)
    text = _interval(value.lower, value.upper)
    expression = value.expression if isinstance(value, ExpressionDocument) else None
    if expression is None or len(expression) > _LONGEST:
        return text
    return f"{expression} = {text}"


def _alone(value: Proved | None) -> str:
    """The same without an expression."""
    if isinstance(value, ExpressionDocument):
        return _interval(value.lower, value.upper)
    return proved(value)


def _interval(lower: float | None, upper: float | None) -> str:
    if lower is None or upper is None:
        return "infinite" if lower is None and upper is None else f"at least {lower:.6g}"
    low, high = Fraction(lower), Fraction(upper)
    if low == high:
        return f"{lower:.17g}"
    for digits in range(2, 18):
        shown = f"{float((low + high) / 2):.{digits}g}"
        distance = max(high - Fraction(shown), Fraction(shown) - low)
        # As short as it can be without making the distance much larger than it is.
        if distance <= high - low:
            break
    return f"{shown} ± {_rounded_up(distance)}"


def _rounded_up(distance: Fraction) -> str:
    """A positive number with one digit, never too small."""
    text = f"{float(distance):.0e}"
    if Fraction(text) < distance:
        mantissa, _, exponent = text.partition("e")
        more = int(mantissa) + 1
        text = f"{more}e{exponent}" if more < 10 else f"1e{int(exponent) + 1:+03d}"
    return text


def _shortened(text: str) -> str:
    """A long fraction is given as a decimal with its number of digits."""
    if len(text) <= _LONGEST:
        return text
    numerator, _, denominator = text.partition("/")
    value = int(numerator) / int(denominator or "1")
    return f"{value:.12g}… (a fraction of {len(numerator)} and {len(denominator)} digits)"


def _listed(values: Sequence[Proved]) -> str:
    """Each distinct value once, with the agents that it belongs to if they differ."""
    texts = [proved(value) for value in values]
    if len(set(texts)) == 1:
        return texts[0]
    runs = [(text, list(group)) for text, group in groupby(enumerate(texts), lambda x: x[1])]
    parts = []
    for text, group in runs:
        first, last = group[0][0], group[-1][0]
        where = f"agent {first}" if first == last else f"agents {first} to {last}"
        parts.append(f"{text} ({where})")
    if len(parts) > 12:
        parts = [*parts[:11], f"… {len(parts) - 11} more"]
    return "\n".join(parts)


def proved_parts(result: ProvedAnalysisDocument) -> list[RenderableType]:
    """The tables of `analyse --exact` and `analyse --certify`."""
    network, learning = result.network, result.learning
    facts = {
        "numbers": "exact" if result.arithmetic == "exact" else "certified: middle ± distance",
        "agents": str(network.agents),
        "stationary distribution v": _listed(network.stationary_distribution),
        "subdominant modulus": proved(network.slem),
        "second eigenvalue": proved(network.second_eigenvalue),
        "deviation D_i (rounds)": _listed(network.deviation),
        "reversible": "yes" if network.reversible else "no",
        **batches(learning.batch),
        **settled_on(learning),
        "learning rate K": proved(learning.rate),
        "  bound by": learning.binding_hypothesis or "-",
        "error exponent E": proved(learning.error_exponent),
        "  bound by ": learning.binding_for_exponent or "-",
        **indistinguishable(learning),
    }
    kept = f"parts that took long are kept in {result.record}"
    return [
        facts_table(result.problem, facts),
        Text(),
        *rejection_table(learning, _alone),
        ladder_table(result.samples, _rounds),
        notes_text([*result.notes, *([kept] if result.record else [])]),
        *_messages(result.messages),
        *at_rounds_parts(result.at_rounds),
    ]


def _messages(result: ProvedMessagesDocument | None) -> list[RenderableType]:
    """The table of what messages cost; nothing without one."""
    if result is None:
        return []
    facts = {
        "quantiser": f"{result.quantiser}, steps of {result.step} nats",
        "mixing": result.mixing,
        "levels (least)": f"{rounds(result.levels)} ({rounds(result.least_levels)})",
        "bytes a message": rounds(result.message_bytes),
        "bytes a round": f"{result.bytes_per_round} on {result.links} links",
        "moves a log-ratio by at most": _listed(result.deviation),
        "rounds enough": rounds(result.certified_rounds[1]),
        "bytes enough": rounds(result.certified_bytes[1]),
    }
    return [Text(), facts_table("Messages", facts)]


def _rounds(value: int | RoundsInterval | None) -> str:
    if not isinstance(value, RoundsInterval):
        return rounds(value)
    if value.lower == value.upper:
        return rounds(value.lower)
    return f"{rounds(value.lower)} to {rounds(value.upper)}"
