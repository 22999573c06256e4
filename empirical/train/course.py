"""A training as planned: validation, early stopping, and one test at the end.

Validation is by each agent on its own validation data, so that only scores travel; the network's
score is their mean, weighted by how many examples each has. Test data are looked at once, after
the last round, by beliefs that nothing will be chosen from any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.keeping import Kept
from empirical.kernels.products import products
from empirical.nets.exchange import Exchange, OneProcess
from empirical.nets.threads import one_thread
from empirical.train.averaging import Belief
from empirical.train.follow import Checkpoints, Watch, follow
from empirical.train.history import History, Metrics, RoundReport
from empirical.train.parts import check_device
from empirical.train.plan import TrainingPlan
from empirical.train.pooling import restore_tensors
from empirical.train.run import TrainingRun, run_of_plan
from empirical.train.scores import Scores, as_rows, from_rows, measures_of, score
from empirical.train.trained import TrainedNetwork
from exact.cost import gibibytes
from theory.progress import Progress
from theory.validation import fail

_FLOATS = torch.float64
# A rise of the validation loss is told from these on: a share of its fall before, and nats.
RISE, LEAST_RISE = 0.1, 0.01


class Course(Watch):
    """Losses, scores and bytes of a training, its best beliefs, and whether patience has ended.

    Parameters
    ----------
    belief
        What own agents believe now.
    scores
        Scores of all agents on validation data with such beliefs; None without such data.
    own, agents, exchange
        How many agents this process holds, how many all hold, and how they agree.
    rounds, interval
        Of the training; from one look at validation data to the next.
    patience
        Looks without a smaller mean −log ℓ on validation data after which training ends; None:
        never.
    """

    def __init__(
        self,
        belief: Callable[[], Belief],
        scores: Callable[[Belief], Scores | None],
        *,
        own: int,
        agents: int,
        exchange: Exchange,
        rounds: int,
        interval: int,
        patience: int | None,
    ) -> None:
        super().__init__()
        self._belief, self._scores = belief, scores
        self._agents, self._exchange = agents, exchange
        self._rounds, self._interval, self._patience = rounds, interval, patience
        self._begin = time.perf_counter()
        # Since the last look: of each own agent the sum of losses, and how many there were; in the
        # first row bytes sent, and what they were without a codec.
        self._sums = torch.zeros(own, 4, dtype=_FLOATS)
        # The round, and of validation: the smallest loss, its round, looks since then.
        self._numbers = torch.tensor([0, torch.inf, 0, 0], dtype=_FLOATS)
        # One row a look: round, bytes, seconds, bytes without a codec; losses of all agents;
        # scores of all agents.
        self._rows: dict[str, list[Tensor]] = {"looks": [], "losses": [], "scores": []}
        self._best: Belief | None = None

    @property
    def has_ended(self) -> bool:  # type: ignore[override]
        """Whether patience has."""
        return self._patience is not None and bool(self._numbers[3] >= self._patience)

    @property
    def kept_round(self) -> int:
        """The round whose beliefs are kept: the best one with patience, else the last."""
        return int(self._numbers[0 if self._best is None else 2])

    @property
    def bytes_uncoded(self) -> int:
        """What all agents' messages, up to the last look, take without a codec."""
        return int(self._before[3])

    @property
    def best(self) -> Belief:
        """The beliefs to keep."""
        return self._belief() if self._best is None else self._best

    @property
    def _before(self) -> Tensor:
        """The last look's row."""
        looks = self._rows["looks"]
        return looks[-1] if looks else torch.zeros(4, dtype=_FLOATS)

    def see(self, report: RoundReport) -> None:
        """Take in what a round did, and look at validation data if it is time."""
        loss = torch.as_tensor(np.array(report.loss), dtype=_FLOATS)
        known = ~loss.isnan()
        self._sums[:, 0] += torch.where(known, loss, 0.0)
        self._sums[:, 1] += known
        self._sums[0, 2:] += torch.tensor([report.bytes_sent, report.bytes_uncoded])
        self._numbers[0] = report.round
        if report.round % self._interval == 0 or report.round == self._rounds:
            self._look()

    def _look(self) -> None:
        """What all agents have come to; the slowest process's clock counts."""
        belief = self._belief()
        scores = self._scores(belief)
        clock = torch.full((len(self._sums), 1), time.perf_counter() - self._begin, dtype=_FLOATS)
        everybody = self._exchange.collect(torch.cat([self._sums, clock], dim=1), self._agents)
        self._sums.zero_()
        sent, uncoded = self._before[[1, 3]] + everybody[:, 2:4].sum(dim=0)
        row = torch.stack([self._numbers[0], sent, everybody[:, 4].max(), uncoded])
        self._rows["looks"].append(row)
        self._rows["losses"].append(everybody[:, 0] / everybody[:, 1])  # 0/0 is NaN: no step
        if scores is None:
            return
        self._rows["scores"].append(torch.from_numpy(scores.values.copy()))
        if self._patience is None:
            return
        nll = scores.mean("nll")
        if nll < self._numbers[1]:
            self._numbers[1:] = torch.tensor([nll, float(self._numbers[0]), 0.0], dtype=_FLOATS)
            self._best = belief.copy()
        else:
            self._numbers[3] += 1

    def history(self, measures: tuple[str, ...]) -> History:
        """All looks."""
        rows = {name: torch.stack(own).numpy() for name, own in self._rows.items() if own}
        looks, loss = rows.get("looks", np.zeros((0, 4))), rows.get("losses", np.zeros((0, 0)))
        return History(
            rounds=looks[:, 0].astype(np.int64),
            loss=loss,
            measures=measures,
            validation=rows.get("scores", np.full((*loss.shape, len(measures)), np.nan)),
            bytes_sent=looks[:, 1].astype(np.int64),
            seconds=looks[:, 2].copy(),
        )

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All of it, as tensors for a checkpoint."""
        tensors = {"sums": self._sums, "numbers": self._numbers}
        tensors |= {name: torch.stack(rows) for name, rows in self._rows.items() if rows}
        if self._best is not None:
            tensors["best_mean"] = self._best.mean
            if self._best.variance is not None:
                tensors["best_variance"] = self._best.variance
        return {f"course.{name}": values for name, values in tensors.items()}, {}

    def restore(self, kept: Kept) -> None:
        """Go on from a :meth:`state`."""
        state, mine = kept.tensors, {"sums": self._sums, "numbers": self._numbers}
        restore_tensors({f"course.{name}": values for name, values in mine.items()}, state)
        for name, rows in self._rows.items():
            rows[:] = list(state.get(f"course.{name}", ()))
        self._begin -= float(self._before[2])
        if "course.best_mean" in state:
            device, variance = self._belief().mean.device, state.get("course.best_variance")
            self._best = Belief(
                state["course.best_mean"].to(device),
                None if variance is None else variance.to(device),
            )


# A training from its first round to its end ------------------------------------------------------


def train_as_planned(
    plan: TrainingPlan,
    *,
    checkpoints: Checkpoints | None = None,
    resume: bool = False,
    memory: int | None = None,
    exchange: Exchange | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
    before_test: Callable[[int], None] | None = None,
) -> TrainedNetwork:
    """Train as planned.

    Parameters
    ----------
    plan
        What, on which data, and how.
    checkpoints, resume, progress
        As of :func:`empirical.train.follow.follow`.
    memory
        Bytes that the run may take; left out: any.
    exchange
        The processes that share the agents; left out: this one alone.
    device
        ``"cpu"`` or ``"cuda"``.
    say
        Called with a few words on the validation score.
    before_test
        Called with the round whose beliefs are about to be tested.

    Raises
    ------
    ValueError
        If something does not fit, training fails (the message names agent and round), or a state
        cannot be written.
    """
    exchange = OneProcess() if exchange is None else exchange
    check_device(device)
    with one_thread() if device == "cpu" else nullcontext():
        run = run_of_plan(plan, plan.shares(device), exchange=exchange, device=device)
        _check_memory(plan, run, memory)
        measure = _Measured(plan, run, exchange, say)
        course = Course(
            run.belief, measure.validation, own=len(run.own), agents=plan.data.agents,
            exchange=exchange, rounds=plan.rounds, interval=plan.interval, patience=plan.patience,
        )  # fmt: skip
        follow(run, plan.rounds, course, kept=checkpoints, resume=resume, progress=progress)
        return _trained(plan, run, course, measure, before_test)


def _check_memory(plan: TrainingPlan, run: TrainingRun, allowed: int | None) -> None:
    """Refuse a training whose own tensors would take more than is allowed.

    Raises
    ------
    ValueError
        If they would.
    """
    best = 2 * len(run.own) if plan.patience is not None else 0
    needed = run.footprint + 4 * plan.net.parameters * best
    if allowed is not None and needed > allowed:
        raise fail(
            plan.name,
            f"a training within {gibibytes(allowed)} GiB of memory",
            f"one of about {gibibytes(needed)} GiB",
            "use fewer agents or a smaller net, spread the agents over machines with torchrun, "
            "or allow more with --memory",
        )


class _Measured:
    """Scores of all agents, each process measuring its own."""

    def __init__(
        self,
        plan: TrainingPlan,
        run: TrainingRun,
        exchange: Exchange,
        say: Callable[[str], None] | None,
    ) -> None:
        self._plan, self._run, self.exchange, self._say = plan, run, exchange, say
        data = plan.data
        self._validation = [
            plan.tensors(f"validation labels of agent {data.names[i]!r}", data.validation[i])
            for i in run.own
        ]

    def validation(self, belief: Belief, *, say: bool = True) -> Scores | None:
        """On validation data, and in a few words; None without any."""
        if not self._plan.has_validation:
            return None
        scores = self._scores(belief, self._validation)
        if self._say is not None and say:
            self._say(f"validation {scores.main.replace('_', ' ')} {_short(scores)}")
        return scores

    def test(self, belief: Belief) -> Scores | None:
        """On test data, and on other inputs; None without any."""
        plan, data = self._plan, self._plan.data
        if data.test is None:
            return None
        examples = plan.tensors("test labels", data.test)
        others = None if data.other is None else torch.from_numpy(np.array(data.other))
        return self._scores(belief, [examples] * len(self._run.own), others=others)

    def _scores(
        self,
        belief: Belief,
        examples: Sequence[tuple[Tensor, Tensor]],
        *,
        others: Tensor | None = None,
    ) -> Scores:
        plan, run, variance = self._plan, self._run, belief.variance
        draws = 0 if variance is None else plan.draws
        beliefs = (
            (agent, belief.mean[k], None if variance is None else variance[k])
            for k, agent in enumerate(run.own)
        )
        with products(run.products, device=run.device):
            scores = score(
                plan.net,
                plan.likelihood,
                beliefs,
                examples,
                draws=draws,
                seed=plan.seed,
                unit=plan.unit,
                others=others,
            )
        rows = self.exchange.collect(as_rows(scores), plan.data.agents)
        return from_rows(rows, scores.measures, draws)


def _trained(
    plan: TrainingPlan,
    run: TrainingRun,
    course: Course,
    measure: _Measured,
    before_test: Callable[[int], None] | None,
) -> TrainedNetwork:
    """What was trained, tested."""
    belief, data = course.best, plan.data
    validation = measure.validation(belief, say=False)
    if data.test is not None and before_test is not None:
        before_test(course.kept_round)
    test = measure.test(belief)
    coded = {}
    if plan.messages is not None:
        coded["messages"] = {**plan.messages, "bytes_uncoded": course.bytes_uncoded}
    mean, variance = (
        None if part is None else measure.exchange.collect(part, data.agents).cpu()
        for part in (belief.mean, belief.variance)
    )
    assert mean is not None
    history = course.history(measures_of(plan.likelihood))
    return TrainedNetwork(
        name=plan.name,
        agents=data.names,
        net=plan.net,
        likelihood=plan.likelihood,
        mean=mean,
        variance=variance,
        input_shape=data.given_shape,
        input_type=str(data.train[0].inputs.dtype),
        inputs=data.scaling,
        targets=data.target_scaling,
        classes=data.classes,
        history=history,
        metrics=Metrics(validation, test),
        learner=plan.learner.words(),
        settings={
            **plan.settings,
            "products": run.products,
            "round_kept": course.kept_round,
            **coded,
        },
        seed=plan.seed,
        notes=(*data.notes, *_notes(plan, history, validation), *plan.notes),
        features=data.given_features,
        filling=data.filling,
    )


def _notes(plan: TrainingPlan, history: History, validation: Scores | None) -> Iterator[str]:
    """What the user may not know: what draws the first weights, how wide the prior is, a rise."""
    first, again = (plan.net.initial(plan.seed) for _ in range(2))
    if not torch.equal(first, again):
        yield (
            "first weights: others at each call of the function that builds the module, so that no"
            " run can be repeated; draw them from torch's global generator, which the seed sets"
        )
    given = getattr(plan.learner, "prior_precision", None)
    if given is not None:
        std = (given * sum(map(len, plan.data.train))) ** -0.5
        yield f"prior_std: {std:.4g} here; prior_precision counts for each datum"
    if validation is None or plan.patience is not None:
        return
    held = validation.examples > 0
    each = history.validation[:, held, history.measures.index("nll")]
    nll = np.average(each, axis=1, weights=validation.examples[held])
    best = int(np.argmin(nll))
    if nll[-1] - nll[best] > max(RISE * (nll[0] - nll[best]), LEAST_RISE):
        yield (
            f"validation: −log p has been rising since round {history.rounds[best]}, from"
            f" {nll[best]:.4g} to {nll[-1]:.4g}; patience = 10 stops in time and keeps the best"
        )


def _short(scores: Scores) -> str:
    value = scores.mean(scores.main)
    return f"{100 * value:.1f} %" if scores.main == "accuracy" else f"{value:.4g}"
