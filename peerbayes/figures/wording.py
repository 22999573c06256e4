"""Numbers and names as the report prints them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DASH = "–"
# Values that differ by less, relative to their size, differ by rounding alone.
EQUAL = 1e-12
_MOST_NAMED = 4
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Fact:
    """A key number of a page, with its name and a word on what it is."""

    name: str
    value: str
    remark: str = ""


def clean(value: Any) -> Any:
    r"""The same nested value with every string fit for a page: no control or half characters.

    >>> clean({"name": "a\x00b", "shares": [1.0, None]})
    {'name': 'a\ufffdb', 'shares': [1.0, None]}
    """
    if isinstance(value, str):
        # Control characters (Cc) and lone surrogates (Cs) may not stand in HTML or UTF-8;
        # format characters (Cf) can turn the direction of the text around them.
        return "".join(
            "\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t" else c
            for c in value
        )
    if isinstance(value, list):
        return [clean(entry) for entry in value]
    if isinstance(value, dict):
        return {clean(key): clean(entry) for key, entry in value.items()}
    return value


def subscripts(text: str) -> str:
    """The text with the numbers of symbols set below the line; for the project's own words.

    >>> subscripts("v_1 = 9a/(9a+8), W_ii and pool_2 stay")
    'v₁ = 9a/(9a+8), W_ii and pool_2 stay'
    """
    return re.sub(
        r"(?<![^\W_])([^\W\d_])_(\d+)", lambda m: m[1] + m[2].translate(_SUBSCRIPTS), text
    )


def power_of_ten(exponent: int) -> str:
    """Ten to a whole power, as text.

    >>> power_of_ten(-12)
    '10⁻¹²'
    """
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def count(value: object) -> str:
    r"""A whole number, its thousands apart (by no-break spaces).

    >>> count(3346987), count(188), count(None)
    ('3\u202f346\u202f987', '188', '–')
    """
    if not _is_number(value):
        return DASH
    return f"{value:,.0f}".replace(",", "\u202f")


def number(value: object, digits: int = 4) -> str:
    r"""A number to so many significant digits, a dash where there is none.

    >>> number(0.0200631), number(0.05), number(3.31e-38, 2), number(0), number(float("nan"))
    ('0.02006', '0.05', '3.3 × 10⁻³⁸', '0', '–')
    >>> number(-0.999999)
    '-1'
    >>> number(3346987.0)
    '3\u202f346\u202f987'
    """
    if not _is_number(value):
        return DASH
    value = float(value)  # type: ignore[arg-type]
    if value == 0:
        return "0"
    if 1e4 <= abs(value) < 1e9 or (value.is_integer() and abs(value) < 1e9):
        return count(value)
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if -5 <= power < 9:
        text = f"{value:.{max(0, digits - 1 - power)}f}"
        # 0.05000 is a round number, 0.0230 was measured.
        return text.rstrip("0").rstrip(".") if text.endswith("00") and "." in text else text
    # A plain 1 in front of a power says nothing.
    factor = "" if mantissa.strip("0.") == "1" and digits == 1 else f"{mantissa} × "
    return factor + power_of_ten(power)


def percentage(share: object) -> str:
    r"""A share as per cent.

    >>> percentage(1.0), percentage(0.99951), percentage(None)
    ('100\xa0%', '99.95\xa0%', '–')
    """
    if not _is_number(share):
        return DASH
    return f"{100 * float(share):.4g}\u00a0%"  # type: ignore[arg-type]


def listed(words: list[str], *, joint: str = "and") -> str:
    """Words in quotation marks, as a sentence takes them.

    >>> listed(["a", "b", "c"])
    '“a”, “b” and “c”'
    """
    quoted = [f"“{word}”" for word in words]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {joint} {quoted[-1]}"


def agents_with(values: Sequence[float], value: float, names: Sequence[str] | None = None) -> str:
    """The agents that have this value, up to rounding, by their names; the first few of many.

    >>> agents_with([0.25, 0.5, 0.25], 0.5), agents_with([0.25, 0.5, 0.25], 0.25)
    ('agent 1', 'agents 0 and 2')
    >>> agents_with([0.1] * 10, 0.1)
    '10 agents: 0, 1, 2, …'
    """
    called = names or [str(i) for i in range(len(values))]
    same = [called[i] for i, x in enumerate(values) if abs(x - value) <= EQUAL * abs(value)]
    if len(same) > _MOST_NAMED:
        return f"{len(same)} agents: {', '.join(same[:3])}, …"
    if len(same) == 1:
        return f"agent {same[0]}"
    return f"agents {', '.join(same[:-1])} and {same[-1]}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
