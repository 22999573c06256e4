"""Settings of experiments, of nets of one's own, and of the records of both."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from peerbayes.settings.declared import Setting
from peerbayes.settings.domains import FOLDER, Flag, Memory, Text, Whole
from peerbayes.settings.groups import (
    NETS,
    SHARED,
    Folder,
    Images,
    Output,
    Seeded,
    StageFeedback,
)

_DEVICE = "cpu, or cuda for a GPU."
_RECORDS = Setting("Folder of short records; docs/experiments of a checkout if left out.", FOLDER)


@dataclass(frozen=True, kw_only=True)
class Experiment(Seeded, Output, Images, StageFeedback):
    """How an experiment of the papers is run."""

    replicates: Annotated[
        int | None,
        Setting(
            "Independent runs of each part; left out: what the experiment says.", Whole(1, "R")
        ),
    ] = None
    resume: Annotated[
        bool,
        Setting("Take the parts that are on record already, and go on in others.", Flag()),
    ] = False
    recipe: Annotated[
        str | None,
        Setting("paper, best, once or tuned; best if left out.", Text(), group=NETS),
    ] = None
    part: Annotated[
        str | None,
        Setting(
            "Only the part of this name, or all that contain it, such as 'a=0.5'.",
            Text("WORDS"),
            group=NETS,
        ),
    ] = None
    quick: Annotated[
        bool, Setting("A look of less than a minute, kept apart.", Flag(), group=NETS)
    ] = False
    device: Annotated[str | None, Setting(_DEVICE, Text(), group=NETS)] = None
    codec: Annotated[
        str | None,
        Setting(
            "How agents write messages, such as posterior:step=2, or difference+sign, in "
            "records of its own; left out, or none: as they are.",
            Text(),
            group=NETS,
        ),
    ] = None
    workers: Annotated[
        int | None,
        Setting(
            "Of gae: threads that train its nodes side by side; the numbers stay the same.",
            Whole(1, "K"),
            group=NETS,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class TrainFile(Output, Images, StageFeedback):
    """What is asked of a training that a net file describes, in place of what the file says."""

    rounds: Annotated[
        int | None, Setting("Rounds at most; left out: those of the file.", Whole(1))
    ] = None
    codec: Annotated[
        str | None,
        Setting(
            "How messages are written, such as topk:share=0.05, or difference+sign; none: as "
            "they are; left out: as the file says.",
            Text(),
        ),
    ] = None
    resume: Annotated[bool, Setting("Go on from where a killed run was.", Flag())] = False
    device: Annotated[str, Setting(_DEVICE, Text())] = "cpu"
    memory: Annotated[
        int | str | None,
        Setting("Refuse a training that would take more, such as 500M or 2GiB.", Memory()),
    ] = None
    seed: Annotated[
        int | None,
        Setting(
            "Seed of all that is random; left out: that of the file.", Whole(0, "S"), group=SHARED
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class CampaignRun(Seeded, Folder, Images, StageFeedback):
    """How the papers' experiments with nets are run until nothing is missing."""

    status: Annotated[bool, Setting("Say what is done, runs, failed or is missing.", Flag())] = (
        False
    )
    only: Annotated[
        str | None,
        Setting(
            "Parts whose names contain this or fit it, such as 'star-*: paper*'.", Text("PATTERN")
        ),
    ] = None
    workers: Annotated[int, Setting("Parts at once, each a process of one thread.", Whole(1))] = 1
    records: Annotated[str | Path | None, _RECORDS] = None
    again: Annotated[bool, Setting("Also parts whose behaviour mark is not today's.", Flag())] = (
        False
    )
    device: Annotated[str, Setting(_DEVICE, Text())] = "cpu"


@dataclass(frozen=True, kw_only=True)
class Figures(Output, StageFeedback):
    """From which records figures are redrawn."""

    records: Annotated[str | Path | None, _RECORDS] = None


@dataclass(frozen=True, kw_only=True)
class Report(Folder):
    """Where a page of records goes."""


@dataclass(frozen=True, kw_only=True)
class Listing(Folder):
    """The folder whose records are listed."""
