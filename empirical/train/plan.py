"""All that a training's numbers follow from, as one value."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.nets.shares import Shares
from empirical.train.data.examples import Examples
from empirical.train.data.scaling import Scaling
from empirical.train.learners.learner import Learner
from empirical.train.likelihoods.likelihood import Likelihood
from empirical.train.net import Net
from empirical.train.rounds import AnyNetwork
from exact.checkpoint import fingerprint
from theory.validation import as_integer, fail

# How often, over a whole training, agents look at validation data if nothing else is said.
LOOKS = 50
# Posterior samples that a prediction averages on validation and test data.
DRAWS = 20


@dataclass(frozen=True, eq=False)
class TrainingPlan:
    """What is trained on which data, how, and when it ends.

    Attributes
    ----------
    name
        What the training is called.
    agents
        What the agents are called.
    net, likelihood, network, learner
        What N agents train, what its outputs mean, who hears whom, and how they learn.
    train, validation
        Of each agent, in the units of the data; an agent may have no validation data.
    test
        Examples that are looked at once, at the end; or None.
    other
        Inputs of another data set, to see whether agents are unsure of them; or None.
    inputs, targets
        How inputs and numbers to be predicted are standardised; None: as they are.
    classes
        Names of the classes, or None.
    rounds, local_steps, batch, seed
        Rounds at most, local steps a round, examples a step, and the seed of all that is random.
    patience
        End after so many looks at validation data without a smaller mean −log ℓ, and keep the
        beliefs that had the smallest; None: all rounds are run, and the last beliefs kept.
    every
        Rounds between two looks at validation data; None: about fifty looks in all.
    draws
        Posterior samples that a prediction averages.
    sources
        Files that data were read from, with their SHA-256.
    notes
        What the user did not say and was chosen.

    Raises
    ------
    ValueError
        If a number is out of range, agents do not fit, or patience has no validation data.
    """

    name: str
    agents: tuple[str, ...]
    net: Net
    likelihood: Likelihood
    network: AnyNetwork
    learner: Learner
    train: tuple[Examples, ...]
    validation: tuple[Examples, ...]
    rounds: int
    local_steps: int
    test: Examples | None = None
    other: NDArray[Any] | None = None
    inputs: Scaling | None = None
    targets: Scaling | None = None
    classes: tuple[str, ...] | None = None
    batch: int = 50
    seed: int = 0
    patience: int | None = None
    every: int | None = None
    draws: int = DRAWS
    sources: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for name in ("rounds", "local_steps", "batch"):
            as_integer(name, getattr(self, name), minimum=1)
        for name in ("patience", "every"):
            if getattr(self, name) is not None:
                as_integer(name, getattr(self, name), minimum=1)
        as_integer("draws", self.draws, minimum=0)
        as_integer("seed", self.seed, minimum=0)
        if self.network.agents != len(self.train):
            raise fail(
                "network",
                f"{len(self.train)} agents, as many as hold data",
                f"{self.network.agents}",
                "give each agent of the network data, or change the network",
            )
        for agent, examples in zip(self.agents, self.train, strict=True):
            if not len(examples):
                raise fail(
                    "data", "examples of every agent to train on", f"none of agent {agent}",
                    "leave the agent out, or give it data",
                )  # fmt: skip
        if self.patience is not None and not self.has_validation:
            raise fail(
                "patience", "validation data, by which to stop", "none",
                "set a share apart with validation, or leave patience out",
            )  # fmt: skip

    @property
    def has_validation(self) -> bool:
        """Whether some agent has validation data."""
        return any(len(examples) for examples in self.validation)

    @property
    def interval(self) -> int:
        """Rounds between two looks at validation data."""
        return self.every or -(-self.rounds // LOOKS)

    @property
    def unit(self) -> Any:
        """What a step of 1 of a stored label is in the user's units."""
        return 1.0 if self.targets is None else self.targets.std

    @cached_property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(self.train[0].inputs.shape[1:])

    def tensors(self, argument: str, examples: Examples) -> tuple[Tensor, Tensor]:
        """Examples as net and likelihood take them, standardised."""
        labels = examples.labels
        if self.targets is not None and len(labels):
            labels = self.targets.apply(labels)
        stored = self.likelihood.as_labels(argument, np.asarray(labels))
        return self.input_tensor(examples.inputs), torch.from_numpy(np.array(stored))

    def input_tensor(self, inputs: NDArray[Any]) -> Tensor:
        """Inputs as the net takes them, standardised."""
        array = inputs if self.inputs is None else self.inputs.apply(inputs)
        kind = np.int64 if array.dtype.kind == "i" else np.float32
        return torch.from_numpy(np.array(array, dtype=kind))

    def shares(self) -> Shares:
        """The training examples of all agents, each one's own."""
        pairs = [
            self.tensors(f"labels of agent {name}", examples)
            for name, examples in zip(self.agents, self.train, strict=True)
        ]
        ends = np.cumsum([0, *(len(labels) for _, labels in pairs)])
        rows = tuple(
            torch.arange(int(a), int(b)) for a, b in zip(ends[:-1], ends[1:], strict=True)
        )
        return Shares(torch.cat([x for x, _ in pairs]), torch.cat([y for _, y in pairs]), rows)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that the trained nets follow from: data, settings, versions of libraries.

        Test data are not among it: nothing is chosen by them.
        """
        words = {
            "net": self.net.words,
            "likelihood": self.likelihood.words,
            "learner": self.learner.words,
            "torch": version("torch"),
        }
        data = [[e.inputs, e.labels] for part in (self.train, self.validation) for e in part]
        scales = [None if s is None else [s.mean, s.std] for s in (self.inputs, self.targets)]
        numbers = [self.rounds, self.local_steps, self.batch, self.seed, self.patience, self.every]
        text = json.dumps(words, sort_keys=True, default=str)
        return fingerprint(
            text, list(self.agents), self.network, data, scales, numbers, self.draws
        )

    @cached_property
    def test_sha256(self) -> str | None:
        """SHA-256 of the test examples; None without."""
        return None if self.test is None else sha256_of(self.test)

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
        }


def sha256_of(examples: Examples) -> str:
    """SHA-256 of inputs and labels, with their types and shapes."""
    digest = hashlib.sha256()
    for array in (examples.inputs, examples.labels):
        digest.update(f"{array.dtype.str} {array.shape}:".encode("ascii"))
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
