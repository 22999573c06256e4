"""One agent of :class:`empirical.train.run.TrainingRun`, which trains any net by any learner."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from empirical.live.agent import Apart, Said, own_share
from empirical.train.learners.learner import Belief
from empirical.train.plan import TrainingPlan
from empirical.train.pooling import sum_in_turn
from empirical.train.run import TrainingRun
from theory.network import Network
from theory.validation import as_integer, fail


class PlanAgent:
    """One agent, between two rounds.

    Parameters
    ----------
    agent
        Its number.
    plan
        That of the training of all agents, on a fixed network and without a codec.

    Raises
    ------
    ValueError
        As :class:`~empirical.train.run.TrainingRun`; or if the network changes by itself, or a
        codec is to write the messages.
    """

    def __init__(self, agent: int, plan: TrainingPlan) -> None:
        if not isinstance(plan.network, Network):
            wanted = "a fixed network: links between processes fail by themselves"
            raise fail("network", wanted, type(plan.network).__name__, "leave the changes out")
        if plan.codec is not None:
            remedy = "leave [messages] out"
            raise fail("messages", "float32 as it is between processes", plan.codec.name, remedy)
        agents = plan.network.agents
        self.agent = as_integer("agent", agent, minimum=0, maximum=agents - 1)
        self._run = TrainingRun(
            plan.net,
            plan.likelihood,
            own_share(plan.shares(), agent),
            plan.network,
            plan.learner,
            rounds=plan.rounds,
            local_steps=plan.local_steps,
            batch=plan.batch,
            seed=plan.seed,
            schedule=plan.schedule,
            decay=plan.decay,
            warm_up=plan.warm_up,
            products=plan.products,
            exchange=Apart(agents, self.agent),
        )
        self.begin: Said = {name: row[0].clone() for name, row in self._run.message().items()}

    @property
    def round(self) -> int:
        """The round that began last, from 1; 0 before the first."""
        return self._run.round

    @property
    def products(self) -> str:
        """What matrices are multiplied by (:mod:`empirical.kernels.products`)."""
        return self._run.products

    def learn(self) -> Said:
        """The local steps of the next round, and what is then said; may be views of the state.

        Raises
        ------
        TrainingFailed
            If a loss or a belief is not finite any more.
        """
        _, messages = self._run.local_phase()
        return {name: values[0] for name, values in messages.items()}

    def pool(self, heard: Mapping[int, Said], weights: Mapping[int, float]) -> None:
        """End the round (:class:`~empirical.live.agent.AgentTraining`)."""
        speakers = sorted(j for j, weight in weights.items() if weight > 0)
        if speakers == [self.agent]:
            return  # what it has stays to the last bit
        own = self._run.message()
        for name, values in own.items():
            said = {j: values[0] if j == self.agent else heard[j][name] for j in speakers}
            sum_in_turn(values, [(0, said[j], weights[j]) for j in speakers], [0])
        self._run.hear(own)

    def skip(self, round: int) -> None:
        """Be away until the end of a round, which is not before the last one."""
        self._run.skip(round)

    def belief(self) -> Belief:
        """Mean and variance of the weights, shape (1, d)."""
        return self._run.belief()

    def state(self) -> dict[str, Tensor]:
        """That of the run."""
        return self._run.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there.

        Raises
        ------
        ValueError
            If a tensor is missing or of another shape.
        """
        self._run.restore(state)
