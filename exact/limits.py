"""What a simulation would cost, worked out before it starts.

Numbers of rounds and replicates are typed by hand, and a few zeros too many ask for centuries or
for more memory than there is. Both are refused in one line, before anything is allocated.
"""

from __future__ import annotations

import os
import re
from decimal import Decimal

from theory.validation import as_integer, fail

# Observations drawn in one run: more than a month of one core at 3·10⁷ a second, which is about
# what a core does on small networks. It keeps all counts well within 64 bits, too.
LARGEST_WORK = 10**14

# What a run may ask for: the share of the machine's memory left by the rest of what runs there,
# or this where the system does not tell how much there is.
MEMORY_SHARE = (3, 4)
UNKNOWN_MEMORY = 8 << 30

NUMBER = 8  # bytes of a float64, and of a count


def check_work(*, rounds: int, replicates: int, agents: int) -> None:
    """Refuse a run of more than `LARGEST_WORK` observations; `rounds` is the last recorded one.

    Raises
    ------
    ValueError
        If rounds · replicates · agents exceeds the limit.
    """
    work = rounds * replicates * agents
    if work > LARGEST_WORK:
        raise fail(
            "rounds × replicates × agents",
            f"at most {scientific(LARGEST_WORK)} observations, about a month of one core",
            f"{rounds} × {replicates} × {agents} = {scientific(work)}",
            "ask for fewer rounds or replicates, or a smaller network",
        )


def memory_limit() -> int:
    """Bytes a run may ask for: three quarters of the machine's memory, or 8 GiB if not known."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # no such call, or no such name
        return UNKNOWN_MEMORY
    if memory <= 0 or os.sysconf("SC_PHYS_PAGES") < 0:
        return UNKNOWN_MEMORY
    part, whole = MEMORY_SHARE
    return memory * part // whole


def as_memory(argument: str, value: int | str) -> int:
    """A number of bytes, at least one: as it is, or as text such as "500M" or "2GiB".

    K, M, G, T stand for powers of 1000, Ki, Mi, Gi, Ti for powers of 1024; a B may follow.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> as_memory("memory", "500M"), as_memory("memory", "1.5GiB"), as_memory("memory", 2**30)
    (500000000, 1610612736, 1073741824)
    """
    if not isinstance(value, str):
        return as_integer(argument, value, minimum=1)
    match = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?) *([KMGT]?)(i?)B?", value, re.IGNORECASE)
    if match is not None and not (match[3] and not match[2]):
        power = " KMGT".index(match[2].upper() or " ")
        size = int(Decimal(match[1]) * (1024 if match[3] else 1000) ** power)
        if size > 0:
            return size
    raise fail(
        argument, "a size such as 500M or 2GiB", repr(value[:60]), "give a number and its unit"
    )


def scientific(number: int) -> str:
    """Three digits and a power of ten, however large: a float would overflow."""
    return f"{Decimal(number).normalize():.3g}"


def gibibytes(size: int) -> str:
    """A number of bytes in GiB, to two digits or so, however large."""
    value = (Decimal(size) / (1 << 30)).normalize()
    return f"{value:.0f}" if 10 <= value < 10**6 else f"{value:.2g}"
