"""What the agents of a run know, before and after consensus, at chosen rounds.

Predictions are made by the mean weights and by posterior samples. Looking costs time, so that it
is done at few rounds, on some of the test images and with few samples; at the end all test images
are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from empirical.dealing import stratified_subset
from empirical.forecast import Site
from empirical.keeping import Generations, Kept
from empirical.nets.shares import Shares
from empirical.train.averaging import Belief, Learner
from empirical.train.backprop import Backprop
from empirical.train.evaluation import evaluate, judged, mean_probabilities
from empirical.train.follow import Apart, Before, Watch, follow
from empirical.train.history import RoundReport, plain
from empirical.train.recipe import run_of_classes
from empirical.train.run import TrainingRun
from empirical.train.scores import Scores
from empirical.train.steps import TrainingFailed
from theory.progress import Progress
from theory.validation import FloatArray, IntArray, as_integer, fail

Followed: TypeAlias = TrainingRun | Apart
"""What has beliefs that can be measured."""

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


def curve_of(
    run: Followed,
    test: Test,
    *,
    rounds: int,
    schedule: Schedule,
    seed: int,
    generations: Generations | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Train to the end and look on, at as many agents as the test has labels of.

    Parameters
    ----------
    run
        Before its first round.
    rounds
        How many to run.
    seed
        Of the samples of predictions.
    generations, resume, progress
        As of :func:`empirical.train.follow.follow`.
    say
        Called with the accuracy so far, in words.

    Returns
    -------
    dict
        What was seen, in plain values; what does not exist is None. ``points``: one mapping a
        recorded round, with ``round``, ``local_steps``, ``bytes`` and ``seconds`` so far, each
        agent's ``loss`` and ``divergence`` (nats), ``sigma`` (quantiles ``spread`` of each agent's
        σ), and ``before`` and ``after`` the consensus the measurements by ``mean`` weights and
        ``sampled``. ``last`` and ``last_before`` (the last consensus): the same of all agents at
        the end, with the confusion matrices. ``agents``: which the points are of. ``seconds``: of
        training, without the looking.

    Raises
    ------
    TrainingFailed
        As of :func:`empirical.train.follow.follow`, or if a prediction is not finite.
    ValueError
        If the run has begun, or a checkpoint cannot be written.
    """
    as_integer("rounds", rounds, minimum=1)
    if run.round != 0:
        raise fail("run", "one before its first round", run.round, "make a new one")
    watch = _Looks(run, test, schedule, seed, rounds, say)
    follow(run, rounds, watch, kept=generations, resume=resume, progress=progress)
    return {
        "spread": list(SPREAD),
        "agents": list(watch.agents),
        "points": watch.points,
        "last": watch.last(run.belief()),
        "last_before": watch.last_before,
        "seconds": round(watch.seconds, 3),
    }


class _Looks(Watch):
    """Measurements of beliefs at some rounds of a run, as plain values."""

    def __init__(
        self,
        run: Followed,
        test: Test,
        schedule: Schedule,
        seed: int,
        rounds: int,
        say: Callable[[str], None] | None,
    ) -> None:
        super().__init__()
        self._run, self._test, self._schedule, self._seed = run, test, schedule, seed
        self._rounds, self._recorded, self._say = rounds, set(schedule.rounds(rounds)), say
        self._everyone = range(len(test.own_labels))
        self.agents = tuple(self._everyone[: schedule.agents])
        self._samples = run.belief().variance is not None
        self.points: list[Mapping[str, Any]] = []
        self.last_before: Mapping[str, Any] | None = None
        # Of the round that goes on: what was seen before its consensus.
        self._before: dict[str, Any] | None = None
        self._divergence: FloatArray | None = None

    def before(self, round: int) -> Before | None:
        """What is measured before the consensus of a round, if it is one to look at."""
        self._before = self._divergence = None
        learner = self._run.learner
        is_last = round == self._rounds
        if round not in self._recorded and not is_last:
            return None
        prior: Belief | None = None
        if isinstance(learner, Backprop):
            prior = learner.prior(self._run.belief()).copy()

        def look(belief: Belief) -> None:
            if prior is not None:
                self._divergence = np.asarray(belief.divergence(prior).cpu().numpy())
            if self._run.pools:
                self._before = self._at(belief, round)
                self.last_before = self.last(belief) if is_last else None

        return look

    def see(self, report: RoundReport) -> None:
        """Look at a round that is one to look at."""
        super().see(report)
        if report.round not in self._recorded:
            return
        belief, loss = self._run.belief(), report.loss
        after = self._at(belief, report.round)
        if len(loss) > len(self._everyone):  # of a server's clients
            loss = np.array([np.nanmean(loss)])
        self.points.append(
            {
                "round": report.round,
                "local_steps": self.local_steps,
                "bytes": self.bytes_sent,
                "seconds": round(self.seconds, 3),
                "loss": _numbers(loss, self.agents),
                "divergence": _numbers(self._divergence, self.agents),
                "sigma": _sigma(belief.variance, self.agents),
                "before": self._before,
                "after": after,
            }
        )
        if self._say is not None:
            self._say(f"{100 * float(np.mean(after['mean']['accuracy'])):.1f} %")

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was measured, as plain values."""
        tensors, costs = super().state()
        return tensors, {**costs, "points": self.points, "last_before": self.last_before}

    def restore(self, kept: Kept) -> None:
        """Go on from a :meth:`state`."""
        super().restore(kept)
        self.points, self.last_before = kept.words["points"], kept.words.get("last_before")

    def last(self, belief: Belief) -> dict[str, Any]:
        """Measurements of everyone, in the last round."""
        schedule, others = self._schedule, self._test.other_inputs
        images, draws = schedule.last_images, schedule.last_draws
        found = self._both(belief, self._everyone, images, draws, others=others)
        return {
            name: {**_measured(one), "confusion": one.by_class["confusion"].tolist()}
            for name, one in found.items()
        }

    def _at(self, belief: Belief, round: int) -> dict[str, Any]:
        """Of the first agents; weights may be finite and what they predict not: one image tells."""
        predicted = mean_probabilities(self._run.net, belief.of(self.agents), self._test.inputs[:1])
        finite = np.asarray(np.isfinite(predicted[:, 0]).all(axis=1))
        if not finite.all():
            raise TrainingFailed(
                "training: expected finite predictions, got others at agent"
                f" {self.agents[int(np.argmin(finite))]} in round {round}; lower the learning rates"
            )
        found = self._both(belief, self.agents, self._schedule.images, self._schedule.draws)
        return {name: _measured(one) for name, one in found.items()}

    def _both(
        self,
        belief: Belief,
        agents: Sequence[int],
        images: int,
        draws: int,
        *,
        others: Tensor | None = None,
    ) -> dict[str, Scores]:
        """By mean weights, and by samples where beliefs are no single nets."""
        test, some_of = self._test, belief.of(agents)
        ways = {"mean": 0, "sampled": draws} if self._samples else {"mean": 0}
        sample = test.sample(images)
        some = slice(None) if sample is None else np.array(sample)
        return {
            name: evaluate(
                self._run.net,
                some_of,
                test.inputs[some],
                test.labels[some],
                draws=count,
                seed=self._seed,
                own_labels=[test.own_labels[agent] for agent in agents],
                never_seen=test.never_seen,
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


def _sigma(variance: Tensor | None, agents: Sequence[int]) -> list[list[float]] | None:
    """Quantiles of σ over the weights, one list for each agent; None of single nets."""
    if variance is None:
        return None
    shares = torch.tensor(SPREAD, dtype=torch.float32, device=variance.device)
    # torch.quantile takes no more than 2²⁴ numbers; the largest net has a thirtieth of that.
    return [_rounded(torch.quantile(variance[agent].sqrt(), shares).tolist()) for agent in agents]


# How soon nets do well on new images --------------------------------------------------------------


class LossCurve(Watch):
    r"""How the nets of a run do on new images, round after round; by mean weights.

    Parameters
    ----------
    inputs, labels
        Shapes (n, \*input_shape) and (n,).
    rounds
        After which to look, increasing, from 0 at the earliest; the last ends the run.

    Attributes
    ----------
    scores
        After each of them, of all agents.
    local_scores
        Before the last consensus.
    """

    local_scores: Scores

    def __init__(
        self, run: TrainingRun, inputs: Tensor, labels: Tensor, rounds: Sequence[int]
    ) -> None:
        super().__init__()
        self._run, self._inputs, self._labels, self.rounds = run, inputs, labels, list(rounds)
        self.scores = [self._scores(run.belief())] if rounds[0] == 0 else []

    def before(self, round: int) -> Before | None:
        """In the last round, a look at what is believed before its consensus."""
        return self._look_before if round == self.rounds[-1] else None

    def see(self, report: RoundReport) -> None:
        """Look at a round that is one to look at."""
        super().see(report)
        if report.round in self.rounds:
            self.scores.append(self._scores(self._run.belief()))

    def _look_before(self, belief: Belief) -> None:
        self.local_scores = self._scores(belief)

    def _scores(self, belief: Belief) -> Scores:
        outputs = self._run.net.outputs_of(belief.mean, self._inputs[None])
        return judged(torch.softmax(outputs, dim=2), self._labels)

    @property
    def losses(self) -> FloatArray:
        """Mean −log ℓ in nats, shape (T, N)."""
        return np.array([one["nll"] for one in self.scores])

    @property
    def accuracies(self) -> FloatArray:
        """The share of images whose label is the most likely, shape (T, N)."""
        return np.array([one["accuracy"] for one in self.scores])

    @property
    def label_confidences(self) -> FloatArray:
        """The mean probability of the true label after the last round, shape (N, classes)."""
        return np.asarray(self.scores[-1].by_class["confidence"])

    @property
    def local_label_confidences(self) -> FloatArray:
        """The same before the last consensus."""
        return np.asarray(self.local_scores.by_class["confidence"])


def loss_curve(
    shares: Shares,
    site: Site,
    learner: Learner,
    *,
    test_inputs: Tensor,
    test_labels: Tensor,
    record: Sequence[int],
    progress: Progress | None = None,
    **how: Any,
) -> LossCurve:
    """Train a network of nets at a constant rate, and look at new images every few rounds.

    Parameters
    ----------
    shares
        All images; who holds which is `site`'s partition.
    site
        The network, fixed or changing, and its partition.
    test_inputs, test_labels, record
        What a :class:`LossCurve` looks at, and after which rounds.
    how
        As of :func:`empirical.train.recipe.run_of_classes`.

    Raises
    ------
    ValueError
        If network and partition differ in their agents, or rounds do not increase.
    TrainingFailed
        If a loss is not finite any more.
    """
    looks = [as_integer("record", r, minimum=0) for r in record]
    if not looks or looks[-1] == 0 or any(b <= a for a, b in pairwise(looks)):
        raise fail("record", "increasing rounds, the last of at least 1", looks,
                   "sort them, without repeats")  # fmt: skip
    dealt = tuple(torch.tensor(own, device=shares.labels.device) for own in site.partition.indices)
    run = run_of_classes(
        shares=Shares(shares.inputs, shares.labels, dealt), network=site.network, learner=learner,
        rounds=looks[-1], schedule="geometric", **how,
    )  # fmt: skip
    watch = LossCurve(run, test_inputs, test_labels, looks)
    return follow(run, looks[-1], watch, progress=progress)
