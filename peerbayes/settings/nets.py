"""Settings of experiments, of nets of one's own, and of the records of both."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from peerbayes.settings.declared import Setting, Settings
from peerbayes.settings.domains import FOLDER, Flag, Memory, Python, Real, Text, Whole
from peerbayes.settings.questions import (
    NETS,
    SHARED,
    Feedback,
    Folder,
    Images,
    Output,
    Seeded,
    StageFeedback,
)

_DEVICE = "cpu, or cuda for a GPU."
_RECORDS = Setting("Folder of short records; docs/experiments of a checkout if left out.", FOLDER)


@dataclass(frozen=True, kw_only=True)
class RowOptions(Settings):
    """Which parts of an experiment with nets are run, and how; of no use to others."""

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
    nets: Annotated[
        RowOptions,
        Setting(
            "Of experiments with nets.",
            Python("settings peerbayes.settings.RowOptions()", group=RowOptions),
        ),
    ] = RowOptions()


# How a net of one's own is trained: `Train`, with its three groups -------------------------------


@dataclass(frozen=True, kw_only=True)
class Examples(Settings):
    """Which examples are trained on, how they are read, and how agents are scored on the others."""

    batch: Annotated[int, Setting("Examples a step.", Whole(1))] = 50
    validation: Annotated[
        float,
        Setting(
            "Share of each agent's data that is not trained on; by it early stopping decides.",
            Python("in [0, 1)"),
        ),
    ] = 0.1
    test: Annotated[
        Any,
        Setting(
            "Inputs and labels that are looked at once, at the end; or a share of each agent's "
            "data.",
            Python("a pair of arrays, a share in [0, 1), or None"),
        ),
    ] = None
    other: Annotated[
        Any,
        Setting(
            "Inputs of another data set, to see whether agents are unsure of them; needs test.",
            Python("an array or None"),
        ),
    ] = None
    standardise: Annotated[
        bool,
        Setting(
            "Whether inputs, and labels that are numbers, are learned from in units of pooled "
            "moments.",
            Flag(),
        ),
    ] = True
    tokens: Annotated[
        bool, Setting("Whether inputs are whole numbers that stand for words.", Flag())
    ] = False
    patience: Annotated[
        int | None,
        Setting(
            "End after so many looks without a smaller mean −log p on validation data, and keep "
            "the best.",
            Whole(1),
        ),
    ] = None
    every: Annotated[
        int | None, Setting("Rounds between two looks; left out: about fifty looks.", Whole(1))
    ] = None
    draws: Annotated[int, Setting("Posterior samples that scores average.", Whole(0))] = 20


@dataclass(frozen=True, kw_only=True)
class Method(Settings):
    """How rates change over the rounds, and what agents send each other after each."""

    clients: Annotated[
        int | None,
        Setting(
            "Agents that a server draws to learn in each round, on a network whose rows are all "
            "alike (empirical.train.federated); left out: all learn.",
            Whole(1),
        ),
    ] = None
    schedule: Annotated[
        Literal["cosine", "geometric"],
        Setting(
            "How learning rates fall: to 0 after the last round, or by the factor decay a round.",
            Python("'cosine' or 'geometric'"),
        ),
    ] = "cosine"
    decay: Annotated[
        float, Setting("The factor of a geometric fall.", Real("F", "a number above 0", 0.0))
    ] = 1.0
    warm_up: Annotated[
        float,
        Setting(
            "The share of the rounds over which they first rise.",
            Real("F", "a number of at least 0 and below 1", 0.0, 1.0, closed=True),
        ),
    ] = 0.0
    products: Annotated[
        str,
        Setting(
            "How a module multiplies: the fastest as accurate as float32, or rounded "
            "(empirical.kernels.products).",
            Python("'auto', 'highest', 'medium' or 'bfloat16'"),
        ),
    ] = "auto"
    codec: Annotated[
        Any,
        Setting(
            "How messages are written; left out: float32 as it is.",
            Python(
                "a codec, its name (empirical.messages.codecs.CODECS), or a table such as "
                "{'codec': 'seeds', 'share': 0.05}"
            ),
        ),
    ] = None
    missing: Annotated[
        str,
        Setting(
            "What stands in for weights that a message says nothing of: what the listener has, "
            "or zero.",
            Python("'own' or 'zero'"),
        ),
    ] = "own"
    influence: Annotated[
        str,
        Setting(
            "Whose word counts for how much: by the network's weights, or by examples trained on, "
            "with weights on the same links (theory.design.reweighted).",
            Python("'network' or 'data'"),
        ),
    ] = "network"


@dataclass(frozen=True, kw_only=True)
class Machine(Settings):
    """Where a training runs, within which memory, and from where it goes on."""

    resume: Annotated[
        bool,
        Setting("Go on from where a killed run was.", Flag()),
    ] = False
    device: Annotated[str, Setting(_DEVICE, Text())] = "cpu"
    memory: Annotated[
        int | str | None,
        Setting("Refuse a training that would take more, such as 500M or 2GiB.", Memory()),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Job(Machine, Output):
    """What a training is called, where it runs, and what it leaves."""

    name: Annotated[str, Setting("Name of the record.", Text())] = "training"
    exchange: Annotated[
        Any,
        Setting(
            "Processes that share the agents (empirical.nets.exchange.connect).",
            Python("an exchange or None"),
        ),
    ] = None
    notice: Callable[[str], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Train(Feedback):
    """How a net is trained on a network: what is said each time, and three groups of the rest."""

    moved: ClassVar = {"settings": "learner={'learner': ..., 'rate': ...}"}

    rounds: Annotated[int, Setting("Rounds at most.", Whole(1))]
    local_steps: Annotated[int, Setting("Local steps a round.", Whole(1))]
    learner: Annotated[
        Any,
        Setting(
            "How agents learn.",
            Python(
                "a learner, its name (empirical.train.learners.LEARNERS), or a table such as "
                "{'learner': 'averaging', 'rate': 0.1}"
            ),
        ),
    ] = "natural-gradient"
    likelihood: Annotated[
        Any,
        Setting(
            "What outputs mean; left out: classes if labels are integers or texts, else numbers "
            "with learned noise, and a note says so.",
            Python("a likelihood, or the words for it, such as {'kind': 'counts'}"),
        ),
    ] = None
    seed: Annotated[int, Setting("Seed of all that is random.", Whole(0, "S"))] = 0
    examples: Annotated[
        Examples,
        Setting(
            "How data are split, read and scored.", Python("settings pb.Examples()", group=Examples)
        ),
    ] = Examples()
    method: Annotated[
        Method,
        Setting(
            "Rates over the rounds, products, messages.",
            Python("settings pb.Method()", group=Method),
        ),
    ] = Method()
    job: Annotated[
        Job, Setting("Name, record, device and memory.", Python("settings pb.Job()", group=Job))
    ] = Job()


@dataclass(frozen=True, kw_only=True)
class TrainFile(Machine, Output, Images, StageFeedback):
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
