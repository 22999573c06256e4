"""Proved numbers as tables for people: fractions, expressions, and intervals.

An interval is written as its middle and a distance that covers both ends; an exact number with
more than a few signs is followed by its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from peerbayes.kinds.learning_tables import indistinguishable, ladder_table, rejection_table
from peerbayes.tables import facts_table, interval, notes_text, rounds

# Longer expressions are left to --json.
_LONGEST = 44


def proved(value: Any) -> str:
    """A proved number of the JSON object for people.

    >>> proved("9/25"), proved(None), proved({"lower": 0.25, "upper": 0.75})
    ('9/25', '-', '0.5 ± 3e-01')
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return _shortened(value)
    if isinstance(value, int | float):
        return f"{value:.6g}"
    text = _interval(value["lower"], value["upper"])
    expression = value.get("expression")
    if expression is None or len(expression) > _LONGEST:
        return text
    return f"{expression} = {text}"


def _alone(value: Any) -> str:
    """The same without an expression."""
    return proved({**value, "expression": None} if isinstance(value, Mapping) else value)


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


def _listed(values: Sequence[Any]) -> str:
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


def proved_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The tables of `analyse --exact` and `analyse --certify`."""
    network, learning, samples = result["network"], result["learning"], result["samples"]
    facts = {
        "numbers": "exact" if result["arithmetic"] == "exact" else "certified: middle ± distance",
        "agents": str(network["agents"]),
        "stationary distribution v": _listed(network["stationary_distribution"]),
        "subdominant modulus": proved(network["slem"]),
        "second eigenvalue": proved(network["second_eigenvalue"]),
        "deviation D_i (rounds)": _listed(network["deviation"]),
        "reversible": "yes" if network["reversible"] else "no",
    }
    names = learning["optimal_hypotheses"] or learning["compromise"] or ["not decided"]
    kind = "optimal hypotheses" if learning["optimal_hypotheses"] else "network compromise"
    facts |= {
        kind: ", ".join(names),
        "learning rate K": proved(learning["rate"]),
        "  bound by": learning["binding_hypothesis"] or "-",
        "error exponent E": proved(learning["error_exponent"]),
        "  bound by ": learning["binding_for_exponent"] or "-",
    }
    facts |= indistinguishable(learning)
    parts: list[RenderableType] = [facts_table(result["problem"], facts), Text()]
    exponents = learning["exponents"]
    if learning["rates"]:
        rates = learning["rates"].items()
        rows = [(name, _alone(rate), _alone(exponents[name])) for name, rate in rates]
        parts.append(rejection_table(rows))
    notes = list(result["notes"])
    if result["record"]:
        notes.append(f"parts that took long are kept in {result['record']}")
    return [*parts, ladder_table(samples, _rounds), notes_text(notes)]


def _rounds(value: Any) -> str:
    if isinstance(value, Mapping):
        same = value["lower"] == value["upper"]
        return rounds(value["lower"]) if same else interval([value["lower"], value["upper"]])
    return rounds(value)
