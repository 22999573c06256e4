"""A training from its first round to its end: validation, early stopping, resuming, one test.

Validation is by each agent on its own validation data, so that only scores travel; the network's
score is their mean, weighted by how many examples each has. Test data are looked at once, after
the last round, by beliefs that nothing will be chosen from any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.keeping import Generations, Kept, verify_file
from empirical.kernels.products import products
from empirical.nets.exchange import Exchange, OneProcess, block_of
from empirical.nets.threads import one_thread
from empirical.train.course import Course
from empirical.train.data.source_files import Sources, check_unchanged
from empirical.train.history import History, Metrics
from empirical.train.learners.averaging import Belief
from empirical.train.parts import check_device
from empirical.train.plan import TrainingPlan
from empirical.train.run import run_of_plan
from empirical.train.scores import Scores, as_rows, from_rows, measures_of, score
from empirical.train.trained import TrainedNetwork
from exact.cost import gibibytes
from exact.whole_files import remove_leftovers
from theory.progress import Progress
from theory.validation import fail

# Unfinished trainings on disk, one pair of files a process, and the round that all go on from ----


@dataclass
class Checkpoints:
    """The last two states of a run, of the agents of this process.

    Parameters
    ----------
    generations
        This process' two files.
    exchange
        How the processes agree.
    agents
        N, all processes together.
    sources
        Names and SHA-256 of the files that the data were read from, kept beside the state.
    """

    generations: Generations
    exchange: Exchange
    agents: int
    sources: Sources = ()

    def load(self) -> Kept | None:
        """The state of the last round that every process has whole; None if there is none.

        Raises
        ------
        ValueError
            If a state is of other files than are there now; the message names one.
        """
        self._check_sources()
        kept = self.generations.load()
        mine = [-1, -1] if kept is None else [self._other(kept), int(kept.words["done"])]
        everybody = self.exchange.collect(
            torch.tensor([mine] * len(self._own), dtype=torch.int64), self.agents
        )
        common = set.intersection(*({*pair} for pair in everybody.tolist())) - {-1}
        if kept is None or not common:
            return None
        if int(kept.words["done"]) != max(common):
            # Somebody was stopped before it had written this: so has nobody, from now on.
            assert self.generations.newest is not None
            self.generations.newest.unlink()
            kept = self.generations.load()
        return kept

    def due(self) -> bool:
        """Whether it is time for the next; the first process' clock decides for all."""
        mine = int(self.generations.due())
        column = torch.full((len(self._own), 1), mine, dtype=torch.int64)
        return bool(self.exchange.collect(column, self.agents)[0, 0])

    def save(self, done: int, tensors: Mapping[str, Tensor], words: Mapping[str, Any]) -> None:
        """Keep the state after `done` rounds.

        Raises
        ------
        ValueError
            If it cannot be written; in one line.
        """
        self.generations.save(
            done, tensors, {**words, "sources": [list(pair) for pair in self.sources]}
        )

    @property
    def _own(self) -> range:
        exchange = self.exchange
        return block_of(self.agents, processes=exchange.processes, rank=exchange.rank)

    def _other(self, kept: Kept) -> int:
        """The round of the file that was not read; −1 if it is of no use."""
        for path in self.generations.slots:
            if path == self.generations.newest:
                continue
            try:
                words = verify_file(path).words
            except ValueError:  # damaged, which is said when it is read
                continue
            if words.get("fingerprint") == kept.words["fingerprint"]:
                return int(words["done"])
        return -1

    def _check_sources(self) -> None:
        for path in self.generations.slots:
            try:
                before = verify_file(path).words.get("sources", [])
            except ValueError:  # damaged, which is said when it is read
                continue
            check_unchanged(self.sources, [(path, digest) for path, digest in before])


def checkpoints_at(
    path: Path,
    fingerprint: str,
    *,
    exchange: Exchange,
    agents: int,
    sources: Sources,
    notice: Any = None,
) -> Checkpoints:
    """The checkpoints of this process, in files beside each other.

    Parameters
    ----------
    path
        Of the run; the files are PATH.unfinished….safetensors.
    fingerprint
        Of all that the run's numbers follow from.
    notice
        Told of files that could not be used.
    """
    rank, processes = exchange.rank, exchange.processes
    name = f"{path.name}.unfinished" + (f".{rank}-of-{processes}" if processes > 1 else "")
    own = Generations(path.with_name(name), f"{fingerprint} {rank}/{processes}", notice)
    return Checkpoints(own, exchange, agents, sources)


def remove_unfinished(path: Path) -> None:
    """Delete all that a run at `path` has left unfinished, of however many processes."""
    for file in path.parent.glob(f"{_escaped(path.name)}.unfinished.*safetensors"):
        file.unlink(missing_ok=True)
        remove_leftovers(file)


def _escaped(name: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


# A training from its first round to its end ------------------------------------------------------


# A rise of the validation loss is told from these on: a share of its fall before, and nats.
RISE, LEAST_RISE = 0.1, 0.01


def follow(
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
    checkpoints
        Where states are kept meanwhile; left out: nowhere.
    resume
        Whether to go on from the last state there; the numbers are then the same to the last bit.
    memory
        Bytes that the run may take; left out: any.
    exchange
        The processes that share the agents; left out: this one alone.
    device
        ``"cpu"`` or ``"cuda"``.
    progress
        Called with rounds done and rounds in all.
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
        following = _Following(plan, exchange, device, say)
        following.check_memory(memory)
        following.train(checkpoints, resume=resume, progress=progress)
        return following.finish(before_test)


class _Following:
    """One training, watched."""

    def __init__(
        self,
        plan: TrainingPlan,
        exchange: Exchange,
        device: str,
        say: Callable[[str], None] | None,
    ) -> None:
        self.plan, self._exchange, self._device, self._say = plan, exchange, device, say
        self._run = run_of_plan(plan, plan.shares(device), exchange=exchange, device=device)
        own, data = self._run.own, plan.data
        self._validation = [
            plan.tensors(f"validation labels of agent {data.names[i]!r}", data.validation[i])
            for i in own
        ]
        self._course = Course(len(own), plan.patience)

    def check_memory(self, allowed: int | None) -> None:
        """Refuse a training whose own tensors would take more than is allowed.

        Raises
        ------
        ValueError
            If they would.
        """
        best = 2 * len(self._run.own) if self.plan.patience is not None else 0
        needed = self._run.footprint + 4 * self.plan.net.parameters * best
        if allowed is not None and needed > allowed:
            raise fail(
                self.plan.name,
                f"a training within {gibibytes(allowed)} GiB of memory",
                f"one of about {gibibytes(needed)} GiB",
                "use fewer agents or a smaller net, spread the agents over machines with torchrun, "
                "or allow more with --memory",
            )

    def train(
        self, checkpoints: Checkpoints | None, *, resume: bool, progress: Progress | None
    ) -> None:
        """All rounds that are left, until patience ends."""
        plan, run, course = self.plan, self._run, self._course
        if checkpoints is not None and resume:
            kept = checkpoints.load()
            if kept is not None:
                run.restore(kept.tensors)
                course.restore(kept.tensors, self._device)
        before = course.seconds
        begin = time.perf_counter()
        while run.round < plan.rounds and not course.has_ended:
            report = run.run_round()
            course.add(report)
            last = run.round == plan.rounds
            if run.round % plan.interval == 0 or last:
                self._look(before + time.perf_counter() - begin)
            if checkpoints is not None and (last or course.has_ended or checkpoints.due()):
                checkpoints.save(run.round, {**run.state(), **course.state()}, {})
            if progress is not None:
                progress(plan.rounds if course.has_ended else run.round, plan.rounds)
        if progress is not None:
            progress(plan.rounds, plan.rounds)

    def finish(self, before_test: Callable[[int], None] | None) -> TrainedNetwork:
        """What was trained, tested."""
        plan, course = self.plan, self._course
        belief = course.best(self._run.belief())
        data, agents = plan.data, plan.data.agents
        validation = None
        if plan.has_validation:
            validation = self._scores(belief, self._validation)
        test = None
        if data.test is not None:
            if before_test is not None:
                before_test(course.kept_round)
            examples = plan.tensors("test labels", data.test)
            others = None if data.other is None else torch.from_numpy(np.array(data.other))
            test = self._scores(belief, [examples] * len(self._run.own), others=others)
        coded = {}
        if plan.messages is not None:
            coded["messages"] = {**plan.messages, "bytes_uncoded": course.bytes_uncoded}
        mean, variance = (
            None if part is None else self._exchange.collect(part, agents).cpu()
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
                "products": self._run.products,
                "round_kept": course.kept_round,
                **coded,
            },
            seed=plan.seed,
            notes=(*data.notes, *_notes(plan, history, validation), *plan.notes),
            features=data.given_features,
            filling=data.filling,
        )

    def _look(self, seconds: float) -> None:
        """Look at validation data, and say what was seen."""
        plan, course = self.plan, self._course
        scores = None
        if plan.has_validation:
            scores = self._scores(self._run.belief(), self._validation)
            if self._say is not None:
                self._say(f"validation {scores.main.replace('_', ' ')} {_short(scores)}")
        course.look(
            self._run.belief(),
            scores,
            seconds=seconds,
            exchange=self._exchange,
            agents=plan.data.agents,
        )

    def _scores(
        self,
        belief: Belief,
        examples: list[tuple[Tensor, Tensor]],
        *,
        others: Tensor | None = None,
    ) -> Scores:
        """The scores of all agents, each process measuring its own."""
        plan, own = self.plan, self._run.own
        variance = belief.variance
        draws = 0 if variance is None else plan.draws
        beliefs = (
            (agent, belief.mean[k], None if variance is None else variance[k])
            for k, agent in enumerate(own)
        )
        with products(self._run.products, device=self._device):
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
        rows = self._exchange.collect(as_rows(scores), plan.data.agents)
        return from_rows(rows, scores.measures, draws)


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
