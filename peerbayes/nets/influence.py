"""Whose word counts for how much in a training: as the network says, or by the data held."""

from __future__ import annotations

from empirical.train.data.agents_data import AgentsData
from theory.changing import AnyNetwork
from theory.network import Network
from theory.validation import fail

INFLUENCES = ("network", "data")


def weighed(
    network: AnyNetwork, data: AgentsData, influence: str
) -> tuple[AnyNetwork, tuple[str, ...]]:
    """The network that is trained on, and what is to be noted of it.

    Parameters
    ----------
    influence
        ``"network"``: the weights as they are; ``"data"``: on the same links, weights whose
        stationary distribution is proportional to the examples that agents train on
        (:func:`theory.design.reweighted`).

    Raises
    ------
    ValueError
        If it is neither, the network changes, or its agents are not those of the data.
    """
    if influence not in INFLUENCES:
        wanted = " or ".join(map(repr, INFLUENCES))
        raise fail("influence", wanted, repr(influence), "choose one of them")
    if influence == "network":
        return network, ()
    if not isinstance(network, Network):
        wanted = '"network", the weights as they are, for a network that changes'
        raise fail("influence", wanted, repr(influence), "leave it out")
    held = [len(examples) for examples in data.train]
    if len(held) != network.agents:
        remedy = "give each agent of the network data, or change the network"
        raise fail("network", f"{len(held)} agents, as many as hold data", network.agents, remedy)
    from theory.design import reweighted

    found = reweighted(network, held)
    v = found.stationary_distribution
    note = f"weights: by the data, agents' influence from {v.min():.3g} to {v.max():.3g}"
    return found, (f"{note}; modulus {found.slem:.3g}, the network's own {network.slem:.3g}",)
