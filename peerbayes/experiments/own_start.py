"""P2's Remark 7 put to work: every agent begins from an initialisation of its own.

Everything else is the row's: data, network, recipe, noise and order of the data. What stands here
decides numbers of the parts ``own initialisation`` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from empirical.nets.posterior import Posterior

# In the settings of every such part: a hash of this file's code when the first of them were run.
# It stays, so that their records are still of these settings; a change of `begin_apart` changes
# the behaviour marks of "own initialisation".
OWN_START = "1539f07f243e"


def begin_apart(posterior: Posterior, *, seed: int) -> None:
    """Draw the means of every agent but the first anew, in place; widths stay.

    The law is that of :func:`empirical.nets.posterior.shared_initialisation`, whose draw with
    `seed` the first agent keeps.

    Parameters
    ----------
    posterior
        Beliefs before the first round, all at one point.
    seed
        Of the shared initialisation; those of the other agents follow from it.
    """
    import numpy as np

    from empirical.nets.posterior import shared_initialisation

    for agent in range(1, posterior.agents):
        state = np.random.SeedSequence(seed, spawn_key=(agent,)).generate_state(1, np.uint64)
        own = int(state[0] >> np.uint64(2))
        begin = shared_initialisation(posterior.architecture, 1, std=1.0, seed=own)
        posterior.mean[agent].copy_(begin.mean[0])
