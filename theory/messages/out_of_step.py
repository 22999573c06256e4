"""Where learning stops if lost differences are never noticed.

A listener's replica is what it received: in the mean a share 1 − p of the speaker's, who takes off
all of it. With A = W_γ − p (W_γ off its diagonal), whose rows sum to less than one,

    E Λ^(n) = A (E Λ^(n−1) + E z) + something within (1 − W_ii)(2 − p) Δ/2,

so that E Λ^(n) is within (2 − p) Δ/(2p) of Σ_{k≤n} A^k E z + A^n p₀, p₀ the prior's: bounded as n
grows. (docs: mathematics/rare-messages)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents
from theory.messages.losing import Unacknowledged
from theory.messages.mixing import mixed_network
from theory.network import Network
from theory.network.stationary import DENSE_AGENTS
from theory.network.structure import as_dense
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, fail, read_only


@dataclass(frozen=True, eq=False)
class OutOfStep(Shown):
    """Expected log-ratios against the first hypothesis after so many rounds.

    Attributes
    ----------
    ratios
        Shape (N, M − 1), in nats.
    slack
        How far the expected ones are from these at most.
    rounds
        n; None for the limit.
    """

    ratios: FloatArray
    slack: float
    rounds: int | None


@typed
def out_of_step(
    network: Network, model: FiniteModel, quantiser: Unacknowledged, *, rounds: int | None = None
) -> OutOfStep:
    """What agents believe in the mean whose messages get lost without notice, up to rounding.

    Parameters
    ----------
    network, model
        N agents each; W, not yet W_γ.
    quantiser
        What is sent, and how often it is lost: above 0.
    rounds
        n; None for the limit.

    Raises
    ------
    ValueError
        If network and model do not fit, nothing is lost, the network has more than 2000 agents, or
        `rounds` is below 1.
    """
    check_same_agents(network, model)
    loss = float(quantiser.loss)
    if loss == 0:
        raise fail("loss", "a number above 0", "0", "replicas stay in step without losses")
    if network.agents > DENSE_AGENTS:
        wanted = f"at most {DENSE_AGENTS} agents"
        raise fail("network", wanted, network.agents, "take a smaller network")
    W = as_dense(mixed_network(network, quantiser.mixing).weights)
    kept = W - loss * (W - np.diag(W.diagonal()))
    others, kinds = range(1, len(model.hypotheses)), model.assignment
    means = np.array([[law.mean for law in model.log_ratio_laws(0, m)] for m in others]).T[kinds]
    slack = (2 - loss) * float(quantiser.step) / (2 * loss)
    if rounds is None:
        ratios = np.linalg.solve(np.eye(network.agents) - kept, kept @ means)
        return OutOfStep(read_only(ratios), slack, None)
    ratios = (model.log_priors[:, :1] - model.log_priors[:, 1:])[kinds]
    for _ in range(as_integer("rounds", rounds, minimum=1)):
        ratios = kept @ (ratios + means)
    return OutOfStep(read_only(ratios), slack, rounds)
