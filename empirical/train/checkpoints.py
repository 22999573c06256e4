"""Unfinished trainings on disk, one pair of files a process, and the round that all go on from.

Every process keeps the state of its own agents (:class:`empirical.keeping.Generations`), all
of them after the same rounds. A process that is killed while it writes leaves its newest file
behind the others'; the run then goes on from the last round that every process has whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from empirical.keeping import Generations, Kept
from empirical.nets.consensus import Exchange, block_of
from empirical.tensor_files import verify_file
from empirical.train.data.source_files import Sources, check_unchanged
from exact.whole_files import remove_leftovers


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
