"""The kinds of networks: those that change, and the fixed one, the simplest of them."""

from __future__ import annotations

from typing import TypeAlias

from theory.changing.delays import DelayedNetwork
from theory.changing.links import RandomLinks
from theory.changing.markov import MarkovNetwork
from theory.changing.periodic import PeriodicNetwork
from theory.changing.presence import RandomPresence
from theory.network.network import Network

RandomNetwork: TypeAlias = MarkovNetwork | RandomLinks | RandomPresence
ChangingNetwork: TypeAlias = PeriodicNetwork | RandomNetwork | DelayedNetwork
AnyNetwork: TypeAlias = Network | ChangingNetwork


def as_fixed(network: AnyNetwork) -> AnyNetwork:
    """The network; where nothing about it changes, as a :class:`theory.Network`.

    Nothing changes in one phase in which everybody observes, nor where no message is late.

    Examples
    --------
    >>> as_fixed(PeriodicNetwork([[[0.5, 0.5], [0.25, 0.75]]])).weights.tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    if isinstance(network, PeriodicNetwork) and network.period == 1:
        phase = network.phases[0]
        if phase.observes.all():
            name, layout, names = network.name, network.layout, network.names
            return Network(phase.weights, name=name, layout=layout, names=names)
    if isinstance(network, DelayedNetwork) and network.longest == 0:
        return network.network
    return network
