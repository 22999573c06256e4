"""How a simulation is cut up: replicates into chunks, rounds into blocks.

Every choice here follows from the sizes of the problem alone, so that results do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm

from theory import Network

# What a stack of operands may take of a core's own cache, commonly 1 to 2 MiB.
STACK_BYTES = 5 << 17
STACK_ROWS = 80
DEEPEST = 16
CACHE_LINE = 8  # numbers
# Symbols drawn in one go: enough to hide the cost of a call, few enough to stay in cache.
DRAWS_AT_ONCE = 1 << 15
# A compiled product of dense W is at least as quick as a library's up to about so many agents, the
# library's being as wide; and saves more than loading it takes from so many multiply-adds on.
COMPILED_AGENTS = 64
COMPILED_WORK = 1 << 31


@dataclass(frozen=True)
class Plan:
    """How a run is cut up: a function of the problem alone, so that results are too.

    Attributes
    ----------
    replicates
        Replicates of a chunk; the last chunk may have fewer.
    quantum
        A chunk's storage is rounded up to a multiple of this many replicates.
    depth
        Rounds of one product or sweep, s.
    """

    replicates: int
    quantum: int
    depth: int

    def storage(self, replicates: int) -> int:
        """Replicates to keep room for (and to draw), those beyond the wanted ones ignored."""
        return -(-replicates // self.quantum) * self.quantum


def plan_for(network: Network, *, columns: int, group: int = 1) -> Plan:
    """The plan for a network, C = `columns`, and `group` replicates to a symbol."""
    agents = network.agents
    if network.is_sparse:
        # Rows of a few cache lines at least, if memory allows.
        numbers = max(STACK_BYTES // (8 * agents), min(64, (1 << 24) // agents))
        return Plan(max(1, numbers // columns), 1, DEEPEST)
    return dense_plan(agents, columns=columns, group=group)


def dense_plan(agents: int, *, columns: int, group: int = 1) -> Plan:
    """The plan for N = `agents` agents with dense weights, whatever the weights are."""
    depth = min(max(1, STACK_ROWS // agents), DEEPEST)
    # A product of fewer columns is limited by reading W.
    numbers = max(STACK_BYTES // (8 * (depth + 1) * agents), 1024)
    wanted = numbers // columns
    aligned_rows = lcm(group, CACHE_LINE // gcd(columns, CACHE_LINE))
    quantum = aligned_rows if aligned_rows <= wanted else group
    return Plan(max(1, wanted // quantum) * quantum, quantum, depth)


def batch_of(plan: Plan, symbols: int) -> int:
    """How many rounds to draw at once, of `symbols` symbols each: a multiple of the depth."""
    rounds = DRAWS_AT_ONCE // symbols
    return max(1, rounds // plan.depth) * plan.depth


def is_compiled(agents: int, *, numbers: int) -> bool:
    """Whether a run with dense W carries its `numbers`, of all rounds and one agent, compiled."""
    return agents <= COMPILED_AGENTS and agents**2 * numbers >= COMPILED_WORK
