"""A training with its record: where it is kept, what it prints, and what it may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from platform import machine, python_version
from typing import TYPE_CHECKING, Any

import numpy as np

from exact.whole_files import remove_leftovers
from peerbayes import __version__
from peerbayes.documents import Documented, GraphDocument, names_of, numbers
from peerbayes.experiments.holding import Held, held
from peerbayes.nets.documents import (
    DataDocument,
    HistoryDocument,
    KeptBeliefs,
    ScoresDocument,
    SettingsDocument,
    StandardisationDocument,
    TestLook,
    TrainPrinted,
    TrainRecord,
)
from peerbayes.nets.looks import note_look
from peerbayes.problem.changing import graph_of
from peerbayes.progress import sayer
from peerbayes.record_names import file_name
from peerbayes.records import check_folder, write_record
from theory import Network
from theory.changing import AnyNetwork, influence
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    from rich.console import RenderableType

    from empirical.nets.consensus import Exchange
    from empirical.train.plan import TrainingPlan
    from empirical.train.scores import Scores
    from empirical.train.trained import TrainedNetwork

KIND = "train"


@dataclass(frozen=True, eq=False)
class TrainOutcome(Documented):
    """A trained network, and where its record is.

    Attributes
    ----------
    trained
        The nets.
    plan
        What was trained, on which data.
    looks
        Every look at the test data in this folder; empty without test data.
    kept
        The file of the beliefs; None where none was written.
    record_path, report_path
        The record's file, and the page's; None where none was written.
    """

    trained: TrainedNetwork
    plan: TrainingPlan
    looks: tuple[TestLook, ...] = ()
    kept: KeptBeliefs | None = None
    record_path: Path | None = None
    report_path: Path | None = None

    def _title(self) -> str:
        return f"{type(self).__name__} of {self.plan.name!r}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from self.trained._facts()
        yield "looks at test data", len(self.looks)
        yield "record", None if self.record_path is None else str(self.record_path)

    def document(self) -> TrainPrinted:
        """What `train` prints."""
        shown = {k: v for k, v in self.record() if k != "graph"}
        path = self.record_path
        return TrainPrinted(**shown, record=None if path is None else str(path))

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from peerbayes.nets.tables import train_parts

        return train_parts(self.document())

    def record(self) -> TrainRecord:
        """What `train` leaves on disk."""
        trained, plan, data = self.trained, self.plan, self.plan.data
        history = trained.history
        kept_round = int(trained.settings["round_kept"])
        rounds_run = int(history.rounds[-1]) if len(history.rounds) else 0
        return TrainRecord(
            names=None if data.names == _numbers(data.agents) else names_of(data.names),
            name=plan.name,
            title=plan.title,
            agents=data.agents,
            net=dict(plan.net.words),
            parameters=plan.net.parameters,
            likelihood=dict(plan.likelihood.words),
            learner=dict(trained.learner),
            settings=SettingsDocument(
                **{**plan.settings, "products": trained.settings["products"]}
            ),
            rounds_run=rounds_run,
            round_kept=kept_round,
            stopped_early=rounds_run < plan.rounds,
            data=_data(plan),
            inputs=_standardisation(data.scaling),
            targets=_standardisation(data.target_scaling),
            validation=_scores(trained.metrics.validation),
            test=_scores(trained.metrics.test),
            test_looks=list(self.looks),
            fingerprint=plan.fingerprint,
            kept=self.kept,
            versions=_versions(),
            notes=list(trained.notes),
            graph=_graph(plan.network),
            history=HistoryDocument(
                rounds=history.rounds.tolist(),
                loss=[numbers(row) for row in history.loss],
                validation={
                    measure: [numbers(row) for row in history.validation[:, :, k]]
                    for k, measure in enumerate(history.measures)
                    if plan.has_validation
                },
                bytes_sent=history.bytes_sent.tolist(),
                seconds=history.seconds.tolist(),
            ),
        )


def run_plan(
    plan: TrainingPlan,
    *,
    out: Path | None = None,
    resume: bool = False,
    device: str = "cpu",
    memory: int | None = None,
    exchange: Exchange | None = None,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
) -> TrainOutcome:
    """Train, and leave a record and the beliefs.

    Parameters
    ----------
    plan
        What, on which data, how.
    out
        Folder of the record; None: nothing is written.
    resume
        Go on from what a killed run has left there.
    memory
        Bytes that the run may take; left out: what is free.
    exchange
        The processes that share the agents; the first one alone writes records.
    notice
        Told, in one sentence each, of what is worth knowing.

    Raises
    ------
    ValueError
        If more memory would be needed, something cannot be written, or training fails.
    """
    from empirical.nets.consensus import OneProcess
    from empirical.train.checkpoints import checkpoints_at, remove_unfinished
    from empirical.train.follow import follow

    exchange = OneProcess() if exchange is None else exchange
    first = exchange.rank == 0
    looks: list[TestLook] = []
    path = None if out is None else out / file_name("train", plan.name, f"s{plan.seed}")
    if out is not None and first:
        check_folder(out)
    with _alone(path, plan.name) if first and path is not None else nullcontext():
        checkpoints = None
        if path is not None:
            checkpoints = checkpoints_at(
                path.with_suffix(""),
                f"{plan.fingerprint} {device}",
                exchange=exchange,
                agents=plan.data.agents,
                sources=plan.data.sources,
                notice=notice,
            )
            _say_of_left(checkpoints.generations.slots, resume=resume, notice=notice)

        def looking(round: int) -> None:
            look = TestLook(run=plan.fingerprint, round=round)
            if out is not None and first:
                assert plan.test_sha256 is not None
                looks.extend(note_look(out, plan.test_sha256, look))
            else:
                looks.append(look)

        trained = follow(
            plan,
            checkpoints=checkpoints,
            resume=resume,
            exchange=exchange,
            device=device,
            memory=memory,
            progress=progress,
            say=sayer(progress),
            before_test=looking,
        )
        kept = None
        if path is not None and first:
            folder = path.with_suffix(".trained")
            sha256 = trained.save(folder)
            kept = KeptBeliefs(file=f"{folder.name}/trained.safetensors", sha256=sha256)
        outcome = TrainOutcome(trained, plan, tuple(looks), kept, path)
        if path is not None and first:
            write_record(path, kind=KIND, body=outcome.record().as_json())
            remove_unfinished(path.with_suffix(""))
        return outcome


def _say_of_left(
    slots: Sequence[Path], *, resume: bool, notice: Callable[[str], None] | None
) -> None:
    left = [slot for slot in slots if slot.exists()]
    if notice is None:
        return
    if left and not resume:
        notice(f"{left[0]}: left by a killed run; starting afresh (--resume goes on)")
    if resume and not left:
        notice("nothing to resume: starting from the beginning")


@contextmanager
def _alone(path: Path, name: str) -> Iterator[None]:
    """Nobody else trains this in this folder."""
    try:
        with held(path.with_name(f".{path.stem}.held")):
            remove_leftovers(path)
            yield
    except Held:
        raise fail(
            str(path.parent), "a folder in which nobody else runs this training",
            f"another run of {name!r}", "wait for it, or choose another folder with --out",
        ) from None  # fmt: skip


def _numbers(agents: int) -> tuple[str, ...]:
    return tuple(str(agent) for agent in range(agents))


def _data(plan: TrainingPlan) -> DataDocument:
    data = plan.data
    return DataDocument(
        train=[len(examples) for examples in data.train],
        validation=[len(examples) for examples in data.validation],
        test=0 if data.test is None else len(data.test),
        other=0 if data.other is None else len(data.other),
        inputs=list(data.input_shape),
        features=None if data.features is None else list(data.features),
        classes=None if data.classes is None else list(data.classes),
        sources=dict(data.sources),
        test_sha256=plan.test_sha256,
    )


def _standardisation(scaling: Any) -> StandardisationDocument | None:
    if scaling is None:
        return None
    mean, std = (np.atleast_1d(part).ravel().tolist() for part in (scaling.mean, scaling.std))
    return StandardisationDocument(mean=mean, std=std)


def _scores(scores: Scores | None) -> ScoresDocument | None:
    if scores is None:
        return None
    bins = scores.bins.sum(axis=0)
    return ScoresDocument(
        examples=scores.examples.astype(int).tolist(),
        draws=scores.draws,
        bins=bins.tolist() if bins.any() else None,
        **{name: numbers(scores[name]) for name in scores.measures if " of " not in name},
        heads={name: numbers(scores[name]) for name in scores.measures if " of " in name} or None,
    )


def _graph(network: AnyNetwork) -> GraphDocument | None:
    """How the network is drawn; None for one whose agents' influence is not known."""
    try:
        if isinstance(network, Network):
            return GraphDocument.of(network)
        return graph_of(network, influence(network).values)
    except ValueError:
        return None


def _versions() -> dict[str, str]:
    """Versions of everything that the last bit of a result may depend on."""
    names = ("torch", "numpy", "numba", "safetensors")
    return {
        "peerbayes": __version__,
        "python": python_version(),
        "machine": machine(),
        **{name: version(name) for name in names},
    }
