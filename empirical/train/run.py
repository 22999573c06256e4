"""The engine: any net, any data, any network and any learner, round by round.

Between two consensuses agents do not depend on each other. On a CPU they are computed a few at a
time, all local steps of a round before the next few, so that an agent's tensors are still in the
cache at its next step; on a GPU all at once, and nothing waits for the device within a round. The
order of an agent's data and its noise depend on the seed, its number and its step, never on who is
computed beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.kernels.noise import keys, on
from empirical.kernels.products import SETTINGS, chosen
from empirical.kernels.products import products as torch_products
from empirical.kernels.replayed import Replayed
from empirical.kernels.sweeps import Rate
from empirical.likelihoods.laws import Likelihood
from empirical.messages.codec import Codec
from empirical.nets.exchange import Exchange, OneProcess
from empirical.nets.shares import Drawn, EpochsAnew, Order, Shares
from empirical.train.averaging import Belief, Learner, State, below_one, one_of
from empirical.train.federated import ServedPooling, Server
from empirical.train.history import RoundReport
from empirical.train.net import Net
from empirical.train.parts import (
    AT_ONCE,
    agreed_products,
    check_device,
    check_fit,
    first_weights,
    one_each,
    pooling_of,
    share_of,
)
from empirical.train.plan import GIB, TrainingPlan, check_memory, free_memory, vectors_of
from empirical.train.pooling import Round, restore_tensors
from empirical.train.steps import Schedule, Steps, checked, share_of_rate
from theory.changing import AnyNetwork
from theory.validation import FloatArray, as_integer, as_positive, fail

__all__ = ["RoundReport", "TrainingRun", "run_of_plan"]


class TrainingRun:
    """A run, between two rounds.

    Parameters
    ----------
    net, likelihood
        What is trained, and what its outputs say of a label.
    shares
        Who holds which data, on `device`.
    network
        Any network of `theory`, with as many agents as hold data.
    learner
        How agents learn.
    rounds, local_steps, batch
        Of the run; steps of an agent in a round; examples in a step. The latter two of all agents
        alike, or a number for each.
    seed
        Of the first weights, the order of the data, the noise, and what is random about the
        network.
    schedule, decay, warm_up
        How learning rates fall (:func:`empirical.train.steps.share_of_rate`), after they rose
        linearly over the share `warm_up` of the rounds.
    products
        What a module multiplies float32 matrices by
        (:func:`empirical.kernels.products.chosen`); the run's `products` says the choice.
    codec, missing
        How messages are written, and what stands in for what they say nothing of
        (:class:`~empirical.train.coded_pooling.CodedPooling`); left out: float32, without frames.
    exchange
        Which agents this process holds, and how it reaches the others
        (:func:`empirical.nets.exchange.connect`); left out: all of them.
    device
        ``"cpu"`` or ``"cuda"``.
    start
        First weights, shape (d,), or (N, d) where every agent begins with its own, without a
        server; left out: those that the net draws by the seed.
    at_once
        How many agents are computed together; left out: a few on a CPU, else all. The results do
        not depend on it beyond rounding in the net's products.
    server
        Draws the agents that learn in a round, and averages what they say, in place of neighbours
        (:mod:`empirical.train.federated`); left out: there is none.

    Raises
    ------
    ValueError
        If parts do not fit each other, a number is out of range, the device is absent, nobody
        ever hears of an agent's data, there is not enough memory, or no server can serve the run.
    """

    def __init__(
        self,
        net: Net,
        likelihood: Likelihood,
        shares: Shares,
        network: AnyNetwork,
        learner: Learner,
        *,
        rounds: int,
        local_steps: int | Sequence[int],
        batch: int | Sequence[int],
        seed: int,
        schedule: Schedule = "cosine",
        decay: float = 1.0,
        warm_up: float = 0.0,
        products: str = "auto",
        codec: Codec | None = None,
        missing: str = "own",
        exchange: Exchange | None = None,
        device: str = "cpu",
        start: Tensor | None = None,
        at_once: int | None = None,
        server: Server | None = None,
    ) -> None:
        check_fit(net, likelihood, shares, network)
        self.net, self.likelihood, self.network, self.learner = net, likelihood, network, learner
        self.rounds = as_integer("rounds", rounds, minimum=1)
        steps = one_each("local_steps", local_steps, shares.agents)
        batches = one_each("batch", batch, shares.agents)
        self.seed = as_integer("seed", seed, minimum=0)
        self.device = check_device(device)
        one_of("schedule", schedule, ("cosine", "geometric"))
        self._schedule, self._decay = schedule, as_positive("decay", decay)
        below_one("warm_up", warm_up)
        self._warm_up = warm_up
        everybody = share_of(network, shares)
        self._vectors = vectors_of(learner, everybody.of(slice(0, 1)))
        everybody = everybody.to(self.device)
        self._begin = first_weights(
            net, start, agents=shares.agents, seed=self.seed, to=self.device, server=server
        )
        self._pooling = pooling_of(
            network, net, learner,
            learner.start(self._begin[:1], everybody.of(slice(0, 1))),
            exchange=exchange, codec=codec, missing=missing, seed=self.seed, server=server,
        )  # fmt: skip
        self.own = self._pooling.own
        self._share = everybody.of(slice(self.own.start, self.own.stop))
        self._shares = shares.of(self.own)
        self._batches = [batches[agent] for agent in self.own]
        self._counts = np.array([steps[agent] for agent in self.own])
        order = Order if server is None else EpochsAnew
        sizes = zip(self.own, self._shares.sizes, self._batches, strict=True)
        self._drawn = Drawn(
            [order(size, batch, seed=self.seed, agent=agent) for agent, size, batch in sizes]
        )
        self._steps = np.zeros(len(self.own), dtype=np.int64)
        self._keys = on(torch.device(self.device), keys(self.seed, self.own))
        self._held = torch.cat(self._shares.indices)
        self._replayed = self._recorder()
        self._first_held = np.cumsum([0, *self._shares.sizes])
        # Rows of the state: one for each own agent; of a server one for each client of a round.
        self._server = server
        self._rows = len(self.own) if server is None else server.clients
        self._row_of = np.arange(len(self.own))
        few = AT_ONCE if self.device == "cpu" else len(self.own)
        self._at_once = few if at_once is None else as_integer("at_once", at_once, minimum=1)
        free = free_memory(self.device)
        check_memory(self.footprint, free=free, agents=len(self.own), parameters=net.parameters)
        self.products = agreed_products(
            products, net, exchange or OneProcess(), agents=network.agents, device=self.device
        )
        self.round = 0
        self._message: dict[str, Tensor] | None = None

    @cached_property
    def _state(self) -> State:
        """What own agents keep, made when first asked for: a run may be refused before that."""
        alike = len(self._begin) == 1
        own = self._begin if alike else self._begin[self.own.start : self.own.stop]
        return self.learner.start(own[: self._rows], self._share.of(slice(0, self._rows)))

    @cached_property
    def _lasting(self) -> State:
        """What remains of the state between two rounds: all of it, or what a server holds."""
        if self._server is None:
            return self._state
        return self.learner.start(self._begin[:1], self._share.of(slice(0, 1)))

    # Rounds -----------------------------------------------------------------------------------

    def run_round(self, *, before: Callable[[Belief], None] | None = None) -> RoundReport:
        """Local steps, then consensus.

        Parameters
        ----------
        before
            Called with what own agents believe between the two.

        Raises
        ------
        TrainingFailed
            If a loss or a message is not finite any more; the message names agent and round.
        ValueError
            If a device's memory does not suffice for the nets' passes.
        """
        begin = time.perf_counter()
        losses, active = self._train()
        loss, messages = self._said(losses, active)
        if before is not None:
            before(self.belief())
        whole = self._pooling.rounds.at(self.round).traffic(self.own, messages)
        sent = self.pool(messages)
        steps = int(self._counts[active].sum())
        return RoundReport(self.round, loss, steps, sent, time.perf_counter() - begin, whole)

    def local_phase(self) -> tuple[FloatArray, dict[str, Tensor]]:
        """The local steps of the next round: mean losses, and what own agents say.

        For a caller who pools by itself: :meth:`hear` ends the round.

        Raises
        ------
        TrainingFailed
            As of :meth:`run_round`.
        """
        return self._said(*self._train())

    def message(self) -> dict[str, Tensor]:
        """What own agents say now, vectors of shape (n, d); may be views of the state."""
        self._message = self.learner.message(self._state, self._message)
        return self._message

    def pool(self, messages: Mapping[str, Tensor]) -> int:
        """The consensus that ends a round: what own agents say is pooled, in place, and heard.

        Returns
        -------
        int
            Bytes that own agents sent, over all links.
        """
        sent = self._pooling.pool(messages, number=self.round, pace=self.rate(self.round))
        self._hear(messages)
        return sent

    def hear(self, pooled: Mapping[str, Tensor]) -> None:
        """Take in what every own agent has pooled, vectors of shape (n, d)."""
        self.learner.hear(self._state, pooled)

    def skip(self, round: int) -> None:
        """Own agents are away until the end of a round that is not before the last one."""
        self.round = as_integer("round", round, minimum=self.round)

    def rate(self, round: int) -> float:
        """What learning rates are multiplied by in a round, counted from 1."""
        rise = min(1.0, round / (self._warm_up * self.rounds)) if self._warm_up else 1.0
        return rise * share_of_rate(self._schedule, round, rounds=self.rounds, decay=self._decay)

    def belief(self) -> Belief:
        """What own agents believe, rows in their order; the means are views.

        Of a server all have what it serves.
        """
        if not isinstance(self._pooling, ServedPooling):
            return self.learner.belief(self._state)
        served = self._lasting
        if self._pooling.average is not None:
            served = {name: values.clone() for name, values in served.items()}
            self.learner.hear(served, self._pooling.average)
        one, size = self.learner.belief(served), (len(self.own), -1)
        variance = None if one.variance is None else one.variance.expand(size)
        return Belief(one.mean.expand(size), variance)

    @property
    def pools(self) -> bool:
        """Whether agents pool what they believe; clients of a server do not."""
        return self._server is None

    @property
    def footprint(self) -> int:
        """Bytes of memory that the run's own tensors take at most, the data left out.

        A bound for networks without memory of lost messages, where what is kept grows with bad
        luck; the net's own passes come on top.
        """
        vectors, agents = self._vectors, self._rows
        late = self._pooling.rounds.longest or 0
        speakers = min(self.network.agents, agents + len(self._shares.indices))
        steps = min(self._at_once, agents) * vectors.steps
        said = agents * vectors.fresh + late * speakers * vectors.message
        numbers = self.net.parameters * (agents * vectors.kept + max(steps, said))
        numbers += len(self._begin) * self.net.parameters
        return 4 * numbers + self._pooling.footprint

    # State ------------------------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """All that the rest of the run depends on, between two rounds; views, not copies."""
        return {**self._own_state(), **self._pooling.state()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`; what follows is what would have followed there, bit by bit.

        Raises
        ------
        ValueError
            If a tensor is missing or of another shape, or this machine has not the run's products.
        """
        mine = self._own_state()
        self._pooling.restore(state)
        restore_tensors(mine, state)
        self._steps = mine["steps"].numpy()
        self._replayed = self._recorder()
        self.round = int(mine["round"][0])
        self.products = chosen(SETTINGS[int(mine["products"][0])], device=self.device)

    def _own_state(self) -> dict[str, Tensor]:
        return {
            **{f"learner.{name}": values for name, values in self._lasting.items()},
            "steps": torch.tensor(self._steps),
            "round": torch.tensor([self.round]),
            "products": torch.tensor([SETTINGS.index(self.products)]),
            **({} if self._server is None else self._pooling.state()),
        }

    # A round ----------------------------------------------------------------------------------

    def _train(self) -> tuple[Tensor, list[int]]:
        """Local steps of the next round: mean losses, and which of the own agents trained."""
        self.round += 1
        observes = self._pooling.rounds.at(self.round).observes
        active = [k for k, agent in enumerate(self.own) if observes[agent]]
        if self._server is not None:
            self._row_of[active] = range(len(active))
            for name, values in self._state.items():
                values.copy_(self._lasting[name])
        rate = self.rate(self.round)
        losses = torch.full((len(self.own),), torch.nan, dtype=torch.float64, device=self.device)
        try:
            with torch_products(self.products, device=self.device):
                for some in self._groups(active):
                    self._local_steps(some, rate, losses)
        except torch.OutOfMemoryError:
            got = f"none for the passes of {len(active)} nets beside {self.footprint / GIB:.1f} GiB"
            remedy = "make the batch smaller, or train a smaller net or fewer agents"
            raise fail("memory", f"some that is free on {self.device!r}", got, remedy) from None
        return losses, active

    def _said(self, losses: Tensor, active: list[int]) -> tuple[FloatArray, dict[str, Tensor]]:
        """Losses on the host, and messages, both checked."""
        messages = self.message()
        if self._server is None:
            loss = checked(losses, active, messages, agents=self.own, round=self.round)
            return loss, messages
        loss, every = np.full(len(self.own), np.nan), range(len(active))
        loss[active] = checked(losses[active], every, messages, agents=active, round=self.round)
        return loss, messages

    def _groups(self, active: list[int]) -> list[list[int]]:
        """Agents computed together, with equally many steps and batches of the same sizes.

        On a CPU neighbours in number, whose rows are views.
        """

        def kind(k: int) -> tuple[int, ...]:
            held = 0 if self._server is None else self._shares.sizes[k]
            return self._batches[k], int(self._counts[k]), held

        groups: list[list[int]] = []
        place = self._row_of
        if self.device != "cpu":
            active = sorted(active, key=kind)
        for k in active:
            last = groups[-1] if groups else []
            alike = last and kind(last[-1]) == kind(k)
            beside = self.device != "cpu" or (last and place[last[-1]] == place[k] - 1)
            if alike and beside and len(last) < self._at_once:
                last.append(k)
            else:
                groups.append([k])
        return groups

    def _local_steps(self, some: list[int], rate: float, losses: Tensor) -> None:
        """All local steps of some agents; their mean losses go to `losses`."""
        places, sizes = self._places(some)
        given = places, torch.from_numpy(self._steps[some]).to(self.device)
        pace = rate if self.device == "cpu" else losses.new_full((), rate)
        all_alike = len(some) == len(self.own) and getattr(self.net, "together", False)
        recorded = all_alike and self._server is None
        walk = self._replayed if recorded else partial(self._walk, some, sizes=sizes)
        losses[self._index(some)] = walk(*given, pace)
        self._steps[some] += len(places)
        if self.device != "cpu" and self._server is None:  # while the device works
            self._drawn.ahead(some, self._since(some), len(places))

    def _recorder(self) -> Replayed:
        """The local steps of all own agents, by the products of now."""
        return Replayed(partial(self._walk, list(range(len(self.own)))))

    def _walk(
        self,
        some: list[int],
        places: Tensor,
        taken: Tensor,
        rate: Rate,
        *,
        sizes: Sequence[int] | None = None,
    ) -> Tensor:
        """All local steps of some agents, in place; their mean losses, shape (k,), float64."""
        own, rows = self._index(some), self._index(self._row_of[some].tolist())
        state = {name: values[rows] for name, values in self._state.items()}
        share = self._share.of(own)
        batch = Steps(
            self.net,
            self.likelihood,
            self._shares,
            places=places,
            agents=[self.own[k] for k in some],
            taken=taken,
            keys=self._keys[own],
            seed=self.seed,
            rate=rate,
            sizes=sizes,
        )
        if self._server is not None:  # what they keep begins anew
            batch.steps.zero_()
        work = self.learner.begin(state, share)
        total = torch.zeros(len(some), dtype=torch.float64, device=places.device)
        while batch.next():
            total += self.learner.step(state, work, batch, share)
        self.learner.end(state, work, share)
        if not isinstance(rows, slice):
            for name, values in state.items():
                self._state[name][rows] = values
        return total / len(places)

    def _index(self, some: list[int]) -> slice | Tensor:
        """Rows of a tensor: a slice, whose rows are views, if there is one."""
        beside = some == list(range(some[0], some[-1] + 1))
        return slice(some[0], some[-1] + 1) if beside else torch.tensor(some, device=self.device)

    def _places(self, some: list[int]) -> tuple[Tensor, Sequence[int] | None]:
        """Rows of the inputs for every step of some agents, shape (steps, k, batch).

        And how many examples each step has, where some have fewer than a batch.
        """
        held = self._drawn.rows(some, self._since(some), int(self._counts[some[0]]))
        sizes = None if self._server is None else (held[:, 0] >= 0).sum(axis=1).tolist()
        held = np.maximum(held, 0) + self._first_held[some][:, None]
        return self._held[torch.from_numpy(held).to(self.device)], sizes

    def _since(self, some: list[int]) -> list[int]:
        """From which step, or round of a server, the next batches of some agents are."""
        return self._steps[some].tolist() if self._server is None else [self.round] * len(some)

    def _hear(self, messages: Mapping[str, Tensor]) -> None:
        """Pooled messages become state; who pools with nobody keeps its own to the last bit."""
        if self._server is not None:
            self.learner.hear(self._lasting, {name: each[:1] for name, each in messages.items()})
            return
        round = self._pooling.rounds.at(self.round)
        assert isinstance(round, Round)
        pools = round.pools[self.own.start : self.own.stop]
        if pools.all():
            self.learner.hear(self._state, messages)
            return
        rows = torch.from_numpy(np.flatnonzero(pools)).to(self.device)
        state = {name: values[rows] for name, values in self._state.items()}
        self.learner.hear(state, {name: values[rows] for name, values in messages.items()})
        for name, values in state.items():
            self._state[name][rows] = values


# Of a run, as a plan has them.
_OF_PLANS = (
    "rounds", "local_steps", "batch", "seed", "schedule", "decay", "warm_up", "products", "codec",
    "missing",
)  # fmt: skip


def run_of_plan(
    plan: TrainingPlan, shares: Shares, *, exchange: Exchange | None, device: str = "cpu"
) -> TrainingRun:
    """The training that a plan says, before its first round, of these shares of its data.

    Raises
    ------
    ValueError
        As of :class:`TrainingRun`.
    """
    how: dict[str, Any] = {name: getattr(plan, name) for name in _OF_PLANS}
    return TrainingRun(
        plan.net, plan.likelihood, shares, plan.network, plan.learner,
        exchange=exchange, device=device,
        server=None if plan.clients is None else Server(plan.clients), **how,
    )  # fmt: skip
