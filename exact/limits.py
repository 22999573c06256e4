"""What a simulation would cost, worked out before it starts.

Numbers of rounds and replicates are typed by hand, and a few zeros too many ask for centuries or
for more memory than there is. Both are refused in one line, before anything is allocated.
"""

from __future__ import annotations

import os
from decimal import Decimal

from exact.propagation import Plan, batch_of
from theory import Network
from theory.validation import fail

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


def check_memory(size: int) -> None:
    """Refuse a run that would take `size` bytes of memory, if that is too many.

    Raises
    ------
    ValueError
        If `size` exceeds :func:`memory_limit`.
    """
    limit = memory_limit()
    if size > limit:
        raise fail(
            "record, paths",
            f"at most {gibibytes(limit)} GiB for what is kept and for the run itself",
            f"about {gibibytes(size)} GiB",
            "record fewer rounds, keep fewer paths, or take fewer agents or hypotheses",
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


def simulation_bytes(
    network: Network,
    plan: Plan,
    *,
    columns: int,
    hypotheses: int,
    rounds: int,
    replicates: int,
    times: int,
    paths: int,
) -> int:
    """Bytes at the peak of a simulation beyond the network and the model: a rough estimate.

    Parameters
    ----------
    network, plan
        N agents, and how the run is cut up.
    columns, hypotheses
        C, carried from round to round, and M.
    rounds, replicates, times, paths
        n, R, T recorded rounds, and P replicates of which Λ is kept.
    """
    agents = network.agents
    room = plan.storage(min(plan.replicates, replicates))
    # Means, squares and standard errors with one intermediate result, for agents and for their
    # average; counts of errors and of what was settled on.
    kept = times * (4 * (agents + 1) * hypotheses + agents + hypotheses)
    kept += paths * times * agents * hypotheses
    # Three copies of Λ of a chunk where statistics are taken: itself, one without the best
    # hypothesis, and deviations from the mean or the rows of those who are wrong.
    chunk = 3 * agents * room * hypotheses
    layers = 3 if network.is_sparse else plan.depth + 2
    engine = layers * agents * room * columns
    # Words, symbols and noise.
    draws = 3 * min(rounds, batch_of(plan, room * agents)) * room * agents
    # The powers of a dense W side by side, for going up and for going down.
    powers = 0 if network.is_sparse else 2 * plan.depth * agents**2
    prior = 2 * agents * hypotheses
    return NUMBER * (kept + prior + powers + engine + max(chunk, draws))


def scientific(number: int) -> str:
    """Three digits and a power of ten, however large: a float would overflow."""
    return f"{Decimal(number).normalize():.3g}"


def gibibytes(size: int) -> str:
    """A number of bytes in GiB, to two digits or so, however large."""
    value = (Decimal(size) / (1 << 30)).normalize()
    return f"{value:.0f}" if 10 <= value < 10**6 else f"{value:.2g}"
