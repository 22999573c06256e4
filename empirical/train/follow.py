"""Runs followed from round to round: who looks on, what is shown, and what is kept meanwhile.

A run advances a round at a time. Who watches it says what is to be looked at between local steps
and consensus, sees what each round did, and may end it early; what was seen is kept in a checkpoint
together with the state of the run, so that a run that was killed and taken up again ends with the
same numbers, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from empirical.keeping import Generations, Kept, verify_file
from empirical.nets.exchange import Exchange, block_of
from empirical.train.averaging import Belief, Learner
from empirical.train.data.source_files import Sources, check_unchanged
from empirical.train.history import RoundReport
from empirical.train.net import Net
from empirical.train.run import TrainingRun
from empirical.train.steps import TrainingFailed
from exact.whole_files import remove_leftovers
from theory.progress import Progress
from theory.validation import fail

# Looks at what is between local steps and consensus.
Before = Callable[[Any], None]


class Run(Protocol):
    """What goes on in rounds."""

    @property
    def round(self) -> int:
        """How many rounds are done."""
        ...

    def run_round(self, *, before: Before | None = None) -> RoundReport:
        """The next round; `before` is called with what there is before its consensus."""
        ...

    def state(self) -> dict[str, Tensor]:
        """All that the rest of the run depends on, between two rounds; views, not copies."""
        ...

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`."""
        ...


class Watch:
    """Sees a run go by and counts what it costs; who wants to see more adds to it.

    Attributes
    ----------
    has_ended
        Whether enough is seen.
    local_steps, bytes_sent, seconds
        Of all rounds so far.
    """

    has_ended = False

    def __init__(self) -> None:
        self.local_steps, self.bytes_sent, self.seconds = 0, 0, 0.0

    def before(self, round: int) -> Before | None:
        """What is called in a round between local steps and consensus."""
        return None

    def see(self, report: RoundReport) -> None:
        """Take in what a round did."""
        self.local_steps += report.local_steps
        self.bytes_sent += report.bytes_sent
        self.seconds += report.seconds

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was seen so far, as tensors and as plain values."""
        costs = {"local_steps": self.local_steps, "bytes": self.bytes_sent, "seconds": self.seconds}
        return {}, costs

    def restore(self, kept: Kept) -> None:
        """Go on from a :meth:`state`."""
        self.local_steps, self.bytes_sent = kept.words["local_steps"], kept.words["bytes"]
        self.seconds = kept.words["seconds"]


W = TypeVar("W", bound=Watch)


def follow(
    run: Run,
    rounds: int,
    watch: W,
    *,
    kept: Checkpoints | Generations | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> W:
    """Run to the end, watched.

    Parameters
    ----------
    rounds
        How many there are at most, counted from the run's first.
    kept
        Where states are kept from time to time and at the end; None: nowhere.
    resume
        Whether to go on from the last state there; the numbers are then the same to the last bit.
    progress
        Called with rounds done and rounds in all.

    Returns
    -------
    Watch
        `watch`, which has seen all rounds.

    Raises
    ------
    TrainingFailed
        If a loss or a belief is not finite; the message names agent and round, and the file with
        the last good state.
    ValueError
        If a state cannot be written, or taken up.
    """
    good: int | None = None
    found = kept.load() if kept is not None and resume else None
    if found is not None:
        run.restore(found.tensors)
        watch.restore(found)
        good = run.round
    while run.round < rounds and not watch.has_ended:
        try:
            watch.see(run.run_round(before=watch.before(run.round + 1)))
        except TrainingFailed as error:
            if kept is None or good is None:
                raise
            where = f"the last good state, of round {good}, is kept in {kept.newest}"
            raise TrainingFailed(f"{error}; {where}") from None
        ended = run.round == rounds or watch.has_ended
        if kept is not None and (ended or kept.due()):
            tensors, words = watch.state()
            kept.save(run.round, {**run.state(), **tensors}, {**words, "rounds": rounds})
            good = run.round
        if progress is not None and not ended:
            progress(run.round, rounds)
    if progress is not None:
        progress(rounds, rounds)
    return watch


class Apart:
    """Runs of one agent each that never hear of each other, followed as one.

    Parameters
    ----------
    runs
        Before the same round.

    Raises
    ------
    ValueError
        If there is none, or one of several agents.
    """

    pools = False

    def __init__(self, runs: Sequence[TrainingRun]) -> None:
        self._runs = tuple(runs)
        if not self._runs or any(len(run.own) != 1 for run in self._runs):
            sizes, remedy = [len(run.own) for run in self._runs], "give each its own share"
            raise fail("runs", "trainings of one agent each", sizes, remedy)
        self.learner: Learner = self._runs[0].learner
        self.net: Net = self._runs[0].net

    @property
    def round(self) -> int:
        """How many rounds are done."""
        return self._runs[0].round

    def belief(self) -> Belief:
        """What all of them believe."""
        return _together([run.belief() for run in self._runs])

    def run_round(self, *, before: Callable[[Belief], None] | None = None) -> RoundReport:
        """The next round of each; nothing is sent."""
        local: list[Belief] = []
        hook = None if before is None else lambda belief: local.append(belief.copy())
        reports = [run.run_round(before=hook) for run in self._runs]
        if before is not None:
            before(_together(local))
        return RoundReport(
            self.round,
            np.concatenate([report.loss for report in reports]),
            sum(report.local_steps for report in reports),
            0,
            sum(report.seconds for report in reports),
        )

    def state(self) -> dict[str, Tensor]:
        """Those of the agents, each under its number."""
        return {
            f"{agent}.{name}": tensor
            for agent, run in enumerate(self._runs)
            for name, tensor in run.state().items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there."""
        for agent, run in enumerate(self._runs):
            head = f"{agent}."
            run.restore({k.removeprefix(head): v for k, v in state.items() if k.startswith(head)})


def _together(beliefs: Sequence[Belief]) -> Belief:
    variances = [one.variance for one in beliefs if one.variance is not None]
    return Belief(
        torch.cat([one.mean for one in beliefs]), torch.cat(variances) if variances else None
    )


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
        mine = [self._done(path) for path in self.generations.slots]
        everybody = self.exchange.collect(
            torch.tensor([mine] * len(self._own), dtype=torch.int64), self.agents
        )
        common = set.intersection(*({*pair} for pair in everybody.tolist())) - {-1}
        kept = self.generations.load()
        if kept is None or not common:
            return None
        if int(kept.words["done"]) != max(common):
            # Somebody was stopped before it had written this: so has nobody, from now on.
            assert self.newest is not None
            self.newest.unlink()
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
    def newest(self) -> Path | None:
        """The file that was written, or read, last."""
        return self.generations.newest

    @property
    def _own(self) -> range:
        exchange = self.exchange
        return block_of(self.agents, processes=exchange.processes, rank=exchange.rank)

    def _done(self, path: Path) -> int:
        """The round of a file; −1 if it is of no use."""
        try:
            words = verify_file(path).words
        except ValueError:  # damaged, which is said when it is read
            return -1
        check_unchanged(self.sources, [(own, digest) for own, digest in words.get("sources", [])])
        return (
            int(words["done"]) if words.get("fingerprint") == self.generations.fingerprint else -1
        )


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
