"""Which agents trimming lets the evidence reach.

Trimming drops what few say. Evidence that only some agents have passes on where it is heard often
enough (docs: mathematics/faults), and two closures of the set of informative agents tell:

* let agents join who hear at least f + 1 that have joined. Whoever is left over *never* learns by
  the trimmed mean that tolerates f, liars or none: what comes from outside is trimmed;
* let agents join who hear at least 2f + 1 that have joined, f of whom may lie. If all join, all
  honest agents learn, provided that agents pool seldom enough, and that all give themselves some
  weight or all are informative.

Between the two the answer is open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from theory.network import Network
from theory.network.structure import off_diagonal
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_integer, fail


@dataclass(frozen=True)
class TrimmedSpread(Shown):
    """Whom the evidence of some agents reaches through trimmed means that tolerate f.

    Attributes
    ----------
    status
        "reached": everybody learns if agents pool seldom enough and nobody hears more than f
        liars; "blocked": somebody never learns, even if nobody lies; "undecided".
    reached
        Agents that join at threshold 2f + 1, the informative ones among them.
    blocked
        Agents that are left over at threshold f + 1.
    """

    status: Literal["reached", "blocked", "undecided"]
    reached: tuple[int, ...]
    blocked: tuple[int, ...]


@typed
def trimmed_spread(network: Network, informative: Iterable[int], *, tolerate: int) -> TrimmedSpread:
    """Whom the evidence of `informative` agents reaches, by closures.

    Parameters
    ----------
    network
        Agents hear those they give weight to.
    informative
        The agents whose own data tell two hypotheses apart, and on average in favour of the true
        one, I_j > 0; the honest ones of all others have no evidence about these, z = 0.
    tolerate
        f, at least 0.

    Raises
    ------
    ValueError
        If nobody is informative, or an agent does not exist.

    Examples
    --------
    Two rows of a torus know, three do not: with one neighbour trimmed on each side an agent of the
    third row hears but one that knows.

    >>> torus = Network.from_topology("torus", shape=[5, 5])
    >>> trimmed_spread(torus, range(10), tolerate=1).status
    'blocked'
    >>> trimmed_spread(torus, range(25), tolerate=1).status
    'reached'
    """
    f = as_integer("tolerate", tolerate, minimum=0)
    N = network.agents
    seeds = sorted({as_integer("informative", i, minimum=0, maximum=N - 1) for i in informative})
    if not seeds:
        raise fail("informative", "at least one agent", "none", "name those whose data tell")
    reached = _closure(network, seeds, 2 * f + 1)
    blocked = np.flatnonzero(~_closure(network, seeds, f + 1))
    # Where all have evidence nobody needs to keep what it has.
    keeps = len(seeds) == N or bool((network.weights.diagonal() > 0).all())
    everybody = bool(reached.all()) and keeps
    return TrimmedSpread(
        status="blocked" if blocked.size else "reached" if everybody else "undecided",
        reached=tuple(np.flatnonzero(reached).tolist()),
        blocked=tuple(blocked.tolist()),
    )


def _closure(network: Network, seeds: list[int], threshold: int) -> np.ndarray:
    """Agents that join, from `seeds`, once `threshold` of those they hear have; shape (N,)."""
    links = off_diagonal(network.weights)
    joined = np.zeros(network.agents, dtype=bool)
    joined[seeds] = True
    while True:
        count = np.bincount(links.row[joined[links.column]], minlength=network.agents)
        new = (count >= threshold) & ~joined
        if not new.any():
            return joined
        joined |= new
