"""`peerbayes campaign`: every part of the papers' rows that is not on record yet, by itself.

Each part is run in a process of its own with one thread. A campaign may be killed at any moment:
the next one goes on from the unfinished states, and ends with the same numbers bit for bit. Two
campaigns in one folder share the work: a part is held by the process that trains it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from rich.console import RenderableType
from rich.text import Text

from peerbayes._version import __version__
from peerbayes.documents import Documented
from peerbayes.experiments.campaign_plan import (
    STATES,
    Campaign,
    CampaignDocument,
    Task,
    TaskDocument,
    planned,
    selected,
)
from peerbayes.experiments.run import Parts
from peerbayes.experiments.setting import Held, all_marks, held, is_held, lock_of
from peerbayes.experiments.short_records import write_short
from peerbayes.tables import figures_table
from peerbayes.terminal import duration, say
from theory.progress import Progress

# What is run for each part, with an order in JSON as its argument.
WORKER = (sys.executable, "-m", "peerbayes.experiments.campaign")
# In succession; the cause is then likely to be none of the parts'.
MOST_FAILURES = 3
# Seconds between two looks at whether a part that others wait for is done.
_PAUSE = 0.5

_ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM")
}


@dataclass(frozen=True, eq=False)
class CampaignResult(Documented):
    """What a campaign did, or found.

    Attributes
    ----------
    campaign
        Where it lives.
    states
        Where every part that was asked for stands now.
    finished
        The names of the parts that this call ran to their end.
    damage
        A sentence about every line of the short records that cannot be read.
    """

    campaign: Campaign
    states: tuple[TaskDocument, ...]
    finished: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a part failed."""
        return any(one.state == "failed" for one in self.states)

    @property
    def hours_left(self) -> float:
        """Hours of one core that all unfinished parts will take; an estimate."""
        return sum(one.seconds for one in self.states if one.state != "done") / 3600

    def document(self) -> CampaignDocument:
        """What `campaign` prints."""
        return CampaignDocument(
            version=__version__,
            behaviour=all_marks(),
            out=str(self.campaign.out),
            records=str(self.campaign.records),
            hours_left=round(self.hours_left, 3),
            finished=list(self.finished),
            damage=list(self.damage),
            parts=[
                one.model_copy(
                    update={"share": round(one.share, 4), "seconds": round(one.seconds, 1)}
                )
                for one in self.states
            ],
        )

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        return campaign_parts(self.document())


def campaign_status(campaign: Campaign, tasks: Sequence[Task]) -> CampaignResult:
    """Where a campaign stands.

    Raises
    ------
    ValueError
        If short records cannot be opened; in one line. Damage in them is part of the result.
    """
    return CampaignResult(campaign, campaign.states(tasks), damage=campaign.damage(tasks))


def run_campaign(
    campaign: Campaign,
    tasks: Sequence[Task],
    *,
    workers: int = 1,
    progress: Callable[[str], Progress] | None = None,
    say: Callable[[str], None] | None = None,
) -> CampaignResult:
    """Run every part that is missing or failed before, in order; what others run is left to them.

    Parameters
    ----------
    workers
        How many parts at once, each in a process of one thread.
    progress
        Maps the name of a part to a callable of (rounds done, rounds).
    say
        Told of every part that ended, in one sentence.

    Raises
    ------
    ValueError
        If a record is damaged, data are missing, the folder is of another version, or the disk
        is full; in one line.
    """
    for words in campaign.damage(tasks):
        raise ValueError(words)
    states = campaign.states(tasks)
    wanted = [task for task, one in zip(tasks, states, strict=True) if one.state != "done"]
    _check_data(campaign, wanted)  # before anything is written
    campaign.open()
    if wanted:
        campaign.check_space(wanted[0])
    crew = _Crew(campaign, list(wanted), progress, say)
    crew.work(workers)
    return CampaignResult(campaign, campaign.states(tasks), tuple(crew.finished))


def _check_data(campaign: Campaign, tasks: Sequence[Task]) -> None:
    """See that torch, the device and every data set are there, and the data those of the papers."""
    from empirical.data import load_images

    for task in {task.experiment.dataset: task for task in tasks}.values():
        campaign.experiment(task).check()
        for split in ("train", "test"):
            load_images(task.experiment.dataset, split=split, directory=campaign.data)


@dataclass(eq=False)
class _Crew:
    """Threads that each look after one process at a time."""

    campaign: Campaign
    waiting: list[Task]
    progress: Callable[[str], Progress] | None
    say: Callable[[str], None] | None
    finished: list[str] = field(default_factory=list)
    _running: set[str] = field(default_factory=set)
    _processes: set[subprocess.Popen[str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _error: Exception | None = None
    _failures: int = 0

    def work(self, workers: int) -> None:
        """Until nothing waits; an interruption ends all processes."""
        threads = [threading.Thread(target=self._one_after_another) for _ in range(workers)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        finally:
            self._stop.set()
            with self._lock:
                for process in self._processes:
                    process.terminate()
            for thread in threads:
                thread.join()
        if self._error is not None:
            raise self._error

    def _one_after_another(self) -> None:
        while not self._stop.is_set():
            with self._lock:
                if not self.waiting:
                    return
                task = self._next()
            if task is None:
                self._stop.wait(_PAUSE)
                continue
            try:
                with held(self.campaign.claim_path(task)):
                    # It may have been done, or begun by hand, since this campaign began.
                    if self.campaign.state(task, is_claimed=True).state in ("missing", "failed"):
                        self.campaign.check_space(task)
                        self._run(task)
            except Held:
                continue  # another campaign runs it
            except Exception as error:
                self._error = self._error or error
                self._stop.set()
            finally:
                with self._lock:
                    self._running.discard(task.name)

    def _next(self) -> Task | None:
        """The first that waits for no other; None if all of them do."""
        ahead = {task.name for task in self.waiting} | self._running
        for task in self.waiting:
            if task.needs not in ahead and not self._is_run_elsewhere(task.needs):
                self.waiting.remove(task)
                self._running.add(task.name)
                return task
        return None

    def _is_run_elsewhere(self, name: str | None) -> bool:
        """Whether another campaign looks after the task of this name."""
        if name is None:
            return False
        (needed,) = (task for task in planned() if task.name == name)
        return is_held(self.campaign.claim_path(needed))

    def _run(self, task: Task) -> None:
        data = self.campaign.data
        order = {
            "task": task.name,
            "out": str(self.campaign.out),
            "records": str(self.campaign.records),
            "device": self.campaign.device,
            "data": None if data is None else str(data),
        }
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            with self._lock:
                if self._stop.is_set():
                    return
                process = subprocess.Popen(
                    [*WORKER, json.dumps(order)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    encoding="utf-8",
                    env={**os.environ, **_ONE_THREAD},
                )
                self._processes.add(process)
            with process:
                ending = self._follow(task, process)
            with self._lock:
                self._processes.discard(process)
            if self._stop.is_set() and "kept" not in ending:
                return
            self._conclude(task, ending, process.returncode, errors)

    def _follow(self, task: Task, process: subprocess.Popen[str]) -> dict[str, Any]:
        """Pass on what the process says; its last word."""
        report = None if self.progress is None else self.progress(task.name)
        speak = getattr(report, "say", None)
        ending: dict[str, Any] = {}
        assert process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            if "done" in message and report is not None:
                report(message["done"], message["total"])
            elif "words" in message and speak is not None:
                speak(message["words"])
            elif "kept" in message or "failed" in message:
                ending = message
        return ending

    def _conclude(self, task: Task, ending: dict[str, Any], code: int, errors: IO[str]) -> None:
        if "kept" in ending:
            self.campaign.failure_path(task).unlink(missing_ok=True)
            with self._lock:
                self.finished.append(task.name)
                self._failures = 0
            self._tell(f"{task.name}: on record in {ending['kept']}")
            return
        reason = str(ending.get("failed", ""))
        if not reason:
            errors.seek(0)
            last = errors.read().strip().rpartition("\n")[2]
            how = f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
            reason = f"{how}: {last}" if last else how
        self.campaign.note_failure(task, reason)
        self._tell(f"{task.name}: failed, {reason}")
        with self._lock:
            self._failures += 1
            if self._failures == MOST_FAILURES:
                self._stop.set()
                self._tell(f"{MOST_FAILURES} parts in succession failed: the campaign stops")

    def _tell(self, sentence: str) -> None:
        if self.say is not None:
            self.say(sentence)


# For people ---------------------------------------------------------------------------------------


def campaign_parts(result: CampaignDocument) -> list[RenderableType]:
    """The table of `campaign` for people: where every part stands."""
    table = figures_table("", "part", "state", "time", "mark, or why")
    table.columns[1].justify = table.columns[3].justify = "left"
    table.columns[3].no_wrap = False
    for same in _together(result.parts):
        one = same[0]
        state, time = str(one.state), duration(sum(each.seconds for each in same))
        if state != "done":
            share = f" {100 * one.share:.0f} %" if one.share > 0 else ""
            state, time = f"{state}{share}", f"about {time}"
        style = "bold red" if one.state == "failed" else ""
        remark = Text(one.behaviour or one.remark)
        name = f"{one.row}: {one.part}"
        if len(same) > 1:
            name += f" … {same[-1].part} ({len(same)} parts)"
        table.add_row(Text(name), Text(state, style=style), time, remark)
    counts = Counter(one.state for one in result.parts)
    words = [f"{counts[s]} {s}" for s in STATES if counts[s]]
    left = result.hours_left
    ending = f"; about {duration(3600 * left)} of one core left" if left else ""
    return [
        table,
        Text(f"{', '.join(words)}{ending}"),
        Text(f"version {result.version}, all marks: {result.behaviour}"),
        Text(f"short records: {result.records}"),
        *(Text(words, style="bold red") for words in result.damage),
    ]


def _together(parts: Sequence[TaskDocument]) -> Iterator[Sequence[TaskDocument]]:
    """Parts that one line says enough about: neighbours of one row's comparison that stand alike.

    A comparison (`tuned`) has over a hundred short parts; other parts have a line each.
    """
    for key, some in groupby(parts, lambda one: (one.row, one.state, one.behaviour, one.remark)):
        same = list(some)
        if key[0].endswith("-tuned"):
            yield same
        else:
            yield from ([one] for one in same)


# One part of a campaign in a process of its own ---------------------------------------------------
# What there is to say goes to standard output, a line of JSON each: ``{"done", "total"}``,
# ``{"words"}``, and at the end ``{"kept"}`` or ``{"failed"}``. The process ends when its standard
# input does: nobody is left at work when the campaign is killed.

FAILED, ORPHANED = 2, 3
PATIENCE = 10.0  # seconds


class _Reports:
    """Progress, as lines of JSON."""

    def __call__(self, done: int, total: int) -> None:
        _tell({"done": done, "total": total})

    def say(self, words: str) -> None:
        """The accuracy so far, in words."""
        _tell({"words": words})


def run_order(order: dict[str, Any]) -> Path:
    """Run the part that is ordered, or read it back, and keep its short record.

    Raises
    ------
    ValueError
        If it fails; in one line.
    """
    data = order["data"]
    campaign = Campaign(
        Path(order["out"]),
        Path(order["records"]),
        order["device"],
        None if data is None else Path(data),
    )
    (task,) = (task for task in selected(order["task"]) if task.name == order["task"])
    experiment = campaign.experiment(task)
    experiment = experiment.with_setting(replace(experiment.setting, notice=say))
    name, parts = task.part.name, Parts(experiment, campaign.out)
    content = parts.kept(name).content
    if content is None:
        experiment.check()
        _wait_for(lock_of(task.part, campaign.folder(task)))
        content = parts.keep(name, _Reports())
    return write_short(campaign.records, experiment, name, content)


def _wait_for(lock: Path) -> None:
    """Give the worker of a killed campaign time to end."""
    deadline = time.monotonic() + PATIENCE
    while is_held(lock) and time.monotonic() < deadline:
        time.sleep(0.1)


def main() -> int:
    """Run the order on the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign is interrupted, and ends this
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        path = run_order(json.loads(sys.argv[1]))
    except (ValueError, OSError, MemoryError) as error:
        _tell({"failed": " ".join(str(error).split()) or type(error).__name__})
        return FAILED
    _tell({"kept": str(path)})
    return 0


def _tell(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(ORPHANED)


if __name__ == "__main__":
    sys.exit(main())
