"""Networks that change, run: many replicates of any kind of changing network.

What a round does in each kind is written on :mod:`exact.changing.phases`,
:mod:`exact.changing.links`, :mod:`exact.changing.presence` and :mod:`exact.changing.delays`; the
loop is :class:`exact.changing.process.ProcessRunner`.
"""

from __future__ import annotations

from exact.changing.delays import DelayedProcess
from exact.changing.links import LinksProcess
from exact.changing.phases import MarkovProcess, PeriodicProcess
from exact.changing.presence import PresenceProcess
from exact.changing.task import Footprint, ProcessTask, process_task
from exact.run import Run
from exact.task import check_agents
from theory import FiniteModel, Network
from theory.changing import (
    ChangingNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
    influence,
)
from theory.typed import typed

# Besides what every process has, each knows `layers`, `links` and `draws` (see run_process), and
# whether it is `fresh`: whether agents always pool what is said in the same round.
ChangingProcess = PeriodicProcess | MarkovProcess | LinksProcess | PresenceProcess | DelayedProcess


@typed
def changing_task(
    network: ChangingNetwork | Network, model: FiniteModel, *, run: Run
) -> ProcessTask:
    """The simulation of a network that changes, checked and cut up.

    What is random about the network is drawn afresh in every replicate, on a stream of its own:
    with the same seed, agents of all networks see the same data (which those that rest in a round
    do not use). `reference` is Θ*, or, if that is empty, the hypotheses the network settles on by
    :func:`theory.changing.influence`.

    Raises
    ------
    ValueError
        If the network is of no kind that is known, network and model disagree on the number of
        agents, or the run would take more than 10¹⁴ observations.
    """
    process = process_for(network)
    check_agents(network, model)
    # The influence takes a while on large networks, and is not needed if one hypothesis suits all.
    reference = model.optimal_hypotheses or model.compromise(influence(network).values)
    return process_task(
        process,
        model,
        run=run,
        reference=reference,
        linear=True,
        footprint=Footprint(process.layers, process.links, process.draws),
        marks=(network,),
    )


@typed
def process_for(network: ChangingNetwork | Network) -> ChangingProcess:
    """The process of a network's kind.

    Raises
    ------
    ValueError
        If it is none of the kinds known.
    """
    if isinstance(network, PeriodicNetwork | Network):
        return PeriodicProcess(network)
    if isinstance(network, MarkovNetwork):
        return MarkovProcess(network)
    if isinstance(network, RandomLinks):
        return LinksProcess(network)
    if isinstance(network, RandomPresence):
        return PresenceProcess(network)
    return DelayedProcess(network)
