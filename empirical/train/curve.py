"""A training run followed: what the agents know, before and after consensus, at chosen rounds.

Predictions are made by the mean weights and by posterior samples. Looking costs time, so that it
is done at few rounds, on some of the test images and with few samples; at the end all test images
are used. What is found goes into a checkpoint together with the state of the training, so that a
run that was killed and taken up again ends with the same numbers, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.dealing import stratified_subset
from empirical.keeping import Generations
from empirical.nets.posterior import Posterior
from empirical.train.evaluation import evaluate, mean_probabilities
from empirical.train.followed import Followed
from empirical.train.history import plain
from empirical.train.scores import Scores
from empirical.train.steps import TrainingFailed
from theory.validation import FloatArray, IntArray, as_integer, fail

# Shares of the weights whose σ lies below the numbers on record.
SPREAD = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Schedule:
    """When and how closely to look.

    Parameters
    ----------
    records
        At how many rounds at most, the first and the last among them.
    images, draws
        How many test images, every label in its proportion, and how many posterior samples over
        the rounds.
    last_images, last_draws
        The same at the end.
    agents
        How many agents at most are looked at over the rounds: the first ones. At the end all are.
    """

    records: int = 20
    images: int = 2000
    draws: int = 3
    last_images: int = 10_000
    last_draws: int = 10
    agents: int = 12

    def __post_init__(self) -> None:
        for name in ("records", "images", "draws", "last_images", "last_draws", "agents"):
            as_integer(name, getattr(self, name), minimum=2 if name == "records" else 1)

    def rounds(self, total: int) -> tuple[int, ...]:
        """The rounds to look at: half of them dense at the beginning, half evenly spread.

        Examples
        --------
        >>> Schedule(records=8).rounds(100)
        (1, 5, 22, 25, 50, 75, 100)
        """
        half = self.records // 2
        early = np.geomspace(1, total, half)
        even = np.linspace(0, total, self.records - half + 1)[1:]
        rounds = {max(1, round(float(one))) for one in (*early, *even)}
        return tuple(sorted(rounds))


@dataclass(frozen=True, eq=False)
class Test:
    r"""Test images, and which labels each agent has itself.

    Parameters
    ----------
    inputs, labels
        Shapes (n, \*input_shape) and (n,), on the device of the training.
    own_labels
        One set of labels for each agent.
    never_seen
        Labels that no agent has.
    other_inputs
        Shape (m, ...): images of another kind altogether, to see at the end whether entropy tells
        them; None: there are none.
    """

    __test__ = False  # no test of this program

    inputs: Tensor
    labels: IntArray
    own_labels: tuple[tuple[int, ...], ...]
    never_seen: tuple[int, ...] = ()
    other_inputs: Tensor | None = None

    def sample(self, size: int) -> IntArray | None:
        """Positions of `size` images, every label in its proportion; None for all of them."""
        if size >= self.labels.size:
            return None
        return stratified_subset(self.labels, size, seed=0)


@dataclass(frozen=True, eq=False)
class Curve:
    """What was seen of a run, in plain values.

    Attributes
    ----------
    points
        One mapping a recorded round: ``round``, ``local_steps``, ``bytes`` and ``seconds`` so
        far, each agent's ``loss`` and ``divergence`` (nats), ``sigma`` (quantiles `SPREAD` of each
        agent's σ), and ``before`` and ``after`` the consensus the measurements by ``mean``
        weights and ``sampled``. What does not exist is None.
    last
        The same measurements of all agents at the end, with the confusion matrices.
    last_before
        The same before the last consensus; None where there is none.
    agents
        Which agents the points are of.
    seconds
        Of training, without the looking.
    """

    points: tuple[Mapping[str, Any], ...]
    last: Mapping[str, Any]
    last_before: Mapping[str, Any] | None
    agents: tuple[int, ...]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The JSON object of one curve."""
        return {
            "spread": list(SPREAD),
            "agents": list(self.agents),
            "points": list(self.points),
            "last": dict(self.last),
            "last_before": None if self.last_before is None else dict(self.last_before),
            "seconds": self.seconds,
        }


def follow(
    learner: Followed,
    test: Test,
    *,
    rounds: int,
    schedule: Schedule,
    seed: int,
    generations: Generations | None = None,
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> Curve:
    """Train to the end and look on.

    Parameters
    ----------
    learner
        Before its first round.
    rounds
        How many to run.
    seed
        Of the samples of predictions.
    generations
        Where to keep what is unfinished, and, with `resume`, where to go on from.
    progress
        Called with (rounds done, rounds).
    say
        Called with the accuracy so far, in words.

    Raises
    ------
    TrainingFailed
        If a loss or a belief is not finite; the message names agent and round, and the file with
        the last good state.
    ValueError
        If a checkpoint cannot be written.
    """
    as_integer("rounds", rounds, minimum=1)
    if learner.round != 0:
        raise fail("learner", "one before its first round", learner.round, "make a new one")
    look = _Look(test, schedule, seed, learner.posterior.agents, samples=not learner.is_point)
    points: list[Mapping[str, Any]] = []
    steps, sent, seconds = 0, 0, 0.0
    good: int | None = None
    kept = generations.load() if generations is not None and resume else None
    if kept is not None:
        learner.restore(kept.tensors)
        points, good = kept.words["points"], learner.round
        steps, sent, seconds = (kept.words[key] for key in ("local_steps", "bytes", "seconds"))
    recorded = set(schedule.rounds(rounds))
    last_before: Mapping[str, Any] | None = None
    while learner.round < rounds:
        seen, is_last = learner.round + 1 in recorded, learner.round + 1 == rounds
        wanted = range(look.everyone) if is_last else look.agents if seen else ()
        try:
            step = learner.advance(before=wanted)
            now = learner.round
            after = look.at(learner.posterior, look.agents, round=now) if seen else None
            rows = range(len(look.agents))
            before = look.at(step.before, rows, round=now) if step.before else None
            if is_last and step.before:
                last_before = look.last(step.before)
        except TrainingFailed as error:
            if generations is None or good is None:
                raise
            where = f"the last good state, of round {good}, is kept in {generations.newest}"
            raise TrainingFailed(f"{error}; {where}") from None
        steps, sent = steps + step.local_steps, sent + step.bytes_sent
        seconds += step.seconds
        if after is not None:
            points.append(
                {
                    "round": learner.round,
                    "local_steps": steps,
                    "bytes": sent,
                    "seconds": round(seconds, 3),
                    "loss": _numbers(step.loss, look.agents),
                    "divergence": _numbers(step.divergence, look.agents),
                    "sigma": _sigma(learner.posterior, look.agents) if look.samples else None,
                    "before": before,
                    "after": after,
                }
            )
            if say is not None:
                say(f"{100 * float(np.mean(after['mean']['accuracy'])):.1f} %")
        if progress is not None:
            progress(learner.round, rounds)
        if generations is None or learner.round == rounds:
            continue
        if good is None or generations.due():
            totals = {"local_steps": steps, "bytes": sent, "seconds": seconds, "rounds": rounds}
            generations.save(learner.round, learner.state(), {"points": points, **totals})
            good = learner.round
    last = look.last(learner.posterior)
    return Curve(tuple(points), last, last_before, look.agents, round(seconds, 3))


@dataclass(frozen=True, eq=False)
class _Look:
    """Measurements of beliefs, as plain values."""

    test: Test
    schedule: Schedule
    seed: int
    everyone: int
    samples: bool

    @property
    def agents(self) -> tuple[int, ...]:
        """Who is looked at over the rounds."""
        return tuple(range(min(self.everyone, self.schedule.agents)))

    def at(self, posterior: Posterior, rows: Sequence[int], *, round: int) -> dict[str, Any]:
        """Of those agents, who are these rows of the beliefs."""
        belief = posterior.of(rows)
        self._check(belief, round)
        found = self._both(belief, self.agents, self.schedule.images, self.schedule.draws)
        return {name: _measured(one) for name, one in found.items()}

    def last(self, posterior: Posterior) -> dict[str, Any]:
        """Of everyone, in the last round."""
        schedule, everyone = self.schedule, range(self.everyone)
        images, draws = schedule.last_images, schedule.last_draws
        found = self._both(posterior, everyone, images, draws, others=self.test.other_inputs)
        return {
            name: {**_measured(one), "confusion": one.by_class["confusion"].tolist()}
            for name, one in found.items()
        }

    def _check(self, belief: Posterior, round: int) -> None:
        """Weights may be finite and what they predict not: one image of each agent tells."""
        predicted = mean_probabilities(belief, self.test.inputs[:1])
        finite = np.asarray(np.isfinite(predicted[:, 0]).all(axis=1))
        if not finite.all():
            raise TrainingFailed(
                "training: expected finite predictions, got others at agent"
                f" {self.agents[int(np.argmin(finite))]} in round {round}; lower the learning rates"
            )

    def _both(
        self,
        posterior: Posterior,
        agents: Sequence[int],
        images: int,
        draws: int,
        *,
        others: Tensor | None = None,
    ) -> dict[str, Scores]:
        ways = {"mean": 0, "sampled": draws} if self.samples else {"mean": 0}
        sample = self.test.sample(images)
        some = slice(None) if sample is None else np.array(sample)
        return {
            name: evaluate(
                posterior,
                self.test.inputs[some],
                self.test.labels[some],
                draws=count,
                seed=self.seed,
                own_labels=[self.test.own_labels[agent] for agent in agents],
                never_seen=self.test.never_seen,
                other_inputs=others,
            )
            for name, count in ways.items()
        }


def _measured(found: Scores) -> dict[str, Any]:
    """The measurements but for confusion matrices; six digits say all that images can."""
    each = {**found.by_measure(), "confidence": found.by_class["confidence"]}
    measured = {
        name: _rounded(plain(values))
        for name, values in each.items()
        if not np.isnan(values).all()  # of no use here
    }
    return {"images": int(found.examples[0]), "draws": found.draws, **measured}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _numbers(values: FloatArray | None, agents: Sequence[int]) -> list[float | None] | None:
    if values is None:
        return None
    chosen = values[list(agents)]
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in chosen]


def _sigma(posterior: Posterior, agents: Sequence[int]) -> list[list[float]]:
    """Quantiles of σ over the weights, one list for each agent."""
    shares = torch.tensor(SPREAD, dtype=torch.float32, device=posterior.variance.device)
    # torch.quantile takes no more than 2²⁴ numbers; the largest net has a thirtieth of that.
    return [
        _rounded(torch.quantile(posterior.variance[agent].sqrt(), shares).tolist())
        for agent in agents
    ]
