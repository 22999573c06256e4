"""All that a training's numbers follow from, as one value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.likelihoods.laws import Likelihood
from empirical.messages.codec import Codec
from empirical.nets.shares import Shares
from empirical.train.averaging import Learner, Share, one_of
from empirical.train.coded_pooling import MISSING
from empirical.train.data.agents_data import AgentsData
from empirical.train.data.examples import Examples
from empirical.train.federated import Server
from empirical.train.net import Net
from empirical.train.steps import Schedule
from exact.checkpoint import content_sha256, fingerprint
from theory.changing import AnyNetwork
from theory.validation import FloatArray, as_integer, fail

# How much memory a run will take, before it takes it ---------------------------------------------


# Weights of the tried net: no other tensor of a learner has as many columns.
TRIED = 64
GIB = 2**30


@dataclass(frozen=True)
class Vectors:
    """How many vectors of d numbers an agent takes.

    Attributes
    ----------
    kept
        From round to round.
    steps
        In addition during its local steps.
    message
        Said in a round.
    fresh
        Of those, the ones that are not also kept.
    """

    kept: int
    steps: int
    message: int
    fresh: int


def vectors_of(learner: Learner, share: Share) -> Vectors:
    """What one agent takes with this learner; `share` is of one agent."""
    state = learner.start(torch.zeros(TRIED), share)
    work, message = learner.begin(state, share), learner.message(state)
    own = {values.data_ptr() for values in state.values()}
    new = {name: values for name, values in message.items() if values.data_ptr() not in own}
    return Vectors(_count(state), _count(work), _count(message), _count(new))


def _count(tensors: Mapping[str, Tensor]) -> int:
    return sum(len(values) for values in tensors.values() if values.shape[1:] == (TRIED,))


def free_memory(device: str = "cpu") -> int | None:
    """Bytes that a GPU, this machine, or the group of processes we are in, has left.

    None if that is unknown.
    """
    if device == "cuda":
        # What torch holds of it and has given to nobody is free as well.
        idle = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        return int(torch.cuda.mem_get_info()[0] + idle)
    found = []
    information = Path("/proc/meminfo")
    if information.is_file():
        lines = information.read_text(encoding="ascii").splitlines()
        found += [1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable:")]
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            used = int((group / "memory.current").read_text(encoding="ascii"))
            found.append(max(int(limit) - used, 0))
    except (OSError, ValueError):
        pass
    return min(found, default=None)


def check_memory(needed: int, *, free: int | None, agents: int, parameters: int) -> None:
    """Refuse a run that will not fit.

    Parameters
    ----------
    needed, free
        Bytes; nothing is refused where it is unknown what is free.
    agents, parameters
        What the message names.

    Raises
    ------
    ValueError
        If more is needed than is free.
    """
    if free is not None and needed > free:
        raise fail(
            "memory",
            f"at most the {free / GIB:.1f} GiB that are free",
            f"{needed / GIB:.1f} GiB for {agents} agents of {parameters} weights",
            "train a smaller net or fewer agents, spread them over more machines,"
            " or choose a learner that keeps less",
        )


# All that a training's numbers follow from, as one value -----------------------------------------


# How often, over a whole training, agents look at validation data if nothing else is said.
LOOKS = 50
# Examples of a step, of agents that have fewer some of them twice.
BATCH = 50
# Posterior samples that a prediction averages on validation and test data.
DRAWS = 20


@dataclass(frozen=True, eq=False)
class TrainingPlan:
    """What is trained on which data, how, and when it ends.

    Parameters
    ----------
    name
        What the training is called.
    net, likelihood, network, learner
        What N agents train, what its outputs mean, who hears whom, and how they learn.
    data
        Of each agent, for training and validation, standardised or not; test data, which are looked
        at once, at the end.
    rounds, local_steps, batch, seed
        Rounds at most, local steps a round, examples a step, and the seed of all that is random.
    patience
        End after so many looks at validation data without a smaller mean −log ℓ, and keep the
        beliefs that had the smallest; None: all rounds are run, and the last beliefs kept.
    every
        Rounds between two looks at validation data; None: about fifty looks in all.
    draws
        Posterior samples that a prediction averages.
    clients
        Agents that a server draws to learn in a round (:mod:`empirical.train.federated`); None:
        all learn, and hear their neighbours.
    schedule, decay, warm_up, products, codec, missing
        As of :class:`~empirical.train.run.TrainingRun`.
    title
        One line on what it is about, or nothing.
    notes
        What the user did not say and was chosen.

    Raises
    ------
    ValueError
        If a number is out of range, agents do not fit, patience has no validation data, or no
        server can serve the training.
    """

    name: str
    net: Net
    likelihood: Likelihood
    network: AnyNetwork
    learner: Learner
    data: AgentsData
    rounds: int
    local_steps: int
    batch: int = BATCH
    seed: int = 0
    patience: int | None = None
    every: int | None = None
    draws: int = DRAWS
    clients: int | None = None
    schedule: Schedule = "cosine"
    decay: float = 1.0
    warm_up: float = 0.0
    products: str = "auto"
    codec: Codec | None = None
    missing: str = "own"
    title: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("rounds", "local_steps", "batch"):
            as_integer(name, getattr(self, name), minimum=1)
        for name in ("patience", "every"):
            if getattr(self, name) is not None:
                as_integer(name, getattr(self, name), minimum=1)
        as_integer("draws", self.draws, minimum=0)
        one_of("missing", self.missing, MISSING)
        held = sum(map(len, self.data.train))
        if self.batch > max(held, BATCH):
            wanted = f"at most {held}, which all agents together have to train on"
            raise fail("batch", wanted, self.batch, "make it smaller")
        check_memory(  # of one net alone; the run looks at all of them
            4 * self.net.parameters,
            free=free_memory(),
            agents=1,
            parameters=self.net.parameters,
        )
        as_integer("seed", self.seed, minimum=0)
        if self.network.agents != self.data.agents:
            raise fail(
                "network",
                f"{self.data.agents} agents, as many as hold data",
                f"{self.network.agents}",
                "give each agent of the network data, or change the network",
            )
        if self.clients is not None:
            Server(self.clients).check_fits(self.network, self.learner, self.codec, None)
        if self.data.other is not None and self.data.test is None:
            wanted = "test data, which other inputs are to be told from"
            raise fail("other", wanted, "none", "give test data, or leave other out")
        if self.patience is not None and not self.has_validation:
            raise fail(
                "patience", "validation data, by which to stop", "none",
                "set a share apart with validation, or leave patience out",
            )  # fmt: skip

    @property
    def has_validation(self) -> bool:
        """Whether some agent has validation data."""
        return any(len(examples) for examples in self.data.validation)

    @property
    def interval(self) -> int:
        """Rounds between two looks at validation data."""
        return self.every or -(-self.rounds // LOOKS)

    @property
    def unit(self) -> FloatArray | float:
        """What a step of 1 of a stored label is in the user's units."""
        scaling = self.data.target_scaling
        return 1.0 if scaling is None else scaling.std

    def tensors(self, argument: str, examples: Examples) -> tuple[Tensor, Tensor]:
        """Examples as net and likelihood take them; `argument` names the labels in messages."""
        inputs = torch.from_numpy(np.array(examples.inputs))
        if not len(examples):
            return inputs, torch.zeros(0)
        return inputs, torch.from_numpy(
            np.array(self.likelihood.as_labels(argument, examples.labels))
        )

    def shares(self, device: str = "cpu") -> Shares:
        """The training examples of all agents, each one's own."""
        pairs = [
            self.tensors(f"labels of agent {name!r}", examples)
            for name, examples in zip(self.data.names, self.data.train, strict=True)
        ]
        ends = np.cumsum([0, *(len(labels) for _, labels in pairs)])
        rows = tuple(torch.arange(int(a), int(b)) for a, b in pairwise(ends))
        inputs, labels = (torch.cat(parts).to(device) for parts in zip(*pairs, strict=True))
        return Shares(inputs, labels, tuple(own.to(device) for own in rows))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that the trained nets follow from: data, settings, versions of libraries.

        Test data are not among it: nothing is chosen by them.
        """
        numbers = [self.rounds, self.local_steps, self.batch, self.seed, self.patience]
        text = json.dumps({**self._words, "torch": version("torch")}, sort_keys=True)
        return fingerprint(text, *self._content, numbers, self.interval, self.draws)

    @cached_property
    def content_sha256(self) -> str:
        """SHA-256 of net, learner, network and training data, whatever the numbers and versions."""
        return content_sha256(json.dumps(self._words, sort_keys=True), *self._content)

    @property
    def _words(self) -> dict[str, Any]:
        words: dict[str, Any] = {
            "net": self.net.words,
            "likelihood": self.likelihood.words,
            "learner": self.learner.words(),
            "rates": [self.schedule, self.decay, self.warm_up],
            "products": self.products,
        }
        words |= {} if self.codec is None else {"messages": self.messages}
        return words if self.clients is None else {**words, "clients": self.clients}

    @property
    def _content(self) -> tuple[Any, ...]:
        data = self.data
        examples = [[e.inputs, e.labels] for part in (data.train, data.validation) for e in part]
        scales = [data.scaling, data.target_scaling]
        start = self.net.initial(self.seed).numpy()
        return start, data.names, self.network, examples, scales

    @cached_property
    def test_sha256(self) -> str | None:
        """What test data are known by again, however they are standardised; None without.

        The SHA-256 of their labels, in the units of the data to nine digits, and of the inputs'
        shape.
        """
        test, scaling = self.data.test, self.data.target_scaling
        if test is None:
            return None
        labels = test.labels if scaling is None else scaling.undo(test.labels)
        text = " ".join(f"{label:.8e}" for label in np.ravel(labels).tolist())
        return hashlib.sha256(f"{test.inputs.shape} {text}".encode("ascii")).hexdigest()

    @property
    def messages(self) -> dict[str, Any] | None:
        """How messages are written, in words; None without a codec."""
        if self.codec is None:
            return None
        return {**self.codec.words(), "missing": self.missing}

    @property
    def settings(self) -> dict[str, Any]:
        """The numbers of the plan, for records."""
        return {
            "rounds": self.rounds,
            "local_steps": self.local_steps,
            "batch": self.batch,
            "seed": self.seed,
            "patience": self.patience,
            "every": self.interval,
            "draws": self.draws,
            **({} if self.clients is None else {"clients": self.clients}),
            "schedule": self.schedule,
            "decay": self.decay,
            "warm_up": self.warm_up,
            "products": self.products,
        }
